//! Folders as lists of files and links.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use pillion_bundle::{BundleFile, FileMode, paths, signature};
use pillion_runtime::managed::ProgressListener;

use super::Content;
use crate::error::{Error, Result};

/// Python keeps byte-code here, which depends on times and paths of the machine it was made on.
const BYTE_CODE: &str = "__pycache__";
/// So deep folders may be.
const MAX_DEPTH: usize = 64;

/// The files and links of a folder.
#[derive(Debug, Default)]
pub(super) struct TreeContents {
    /// Files by their paths from the folder, and whether they can be run.
    pub(super) files: BTreeMap<String, (Content, FileMode)>,
    /// Links: their paths, and where they lead.
    pub(super) links: Vec<(String, String)>,
    /// What was to be left out, and is not there.
    pub(super) unmatched: Vec<String>,
}

/// Read a folder. `exclude` are paths from there that are left out, with all below them.
pub(super) fn read(root: &Path, exclude: &[String]) -> Result<TreeContents> {
    let real = root.canonicalize().map_err(Error::io("read", root))?;
    let is_missing = |path: &&String| real.join(inside(&real, path)).symlink_metadata().is_err();
    let mut found = TreeContents {
        unmatched: exclude.iter().filter(is_missing).cloned().collect(),
        ..TreeContents::default()
    };
    let left: Vec<String> = exclude.iter().map(|path| inside(&real, path)).collect();
    walk(&real, &real, "", &left, &mut found, 0)?;
    Ok(found)
}

/// A path as it is called below the root, however somebody wrote it.
fn inside(root: &Path, path: &str) -> String {
    let path = Path::new(path);
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    let plain = parts.filter(|part| *part != Component::CurDir);
    plain.collect::<PathBuf>().to_string_lossy().into_owned()
}

fn walk(
    root: &Path,
    folder: &Path,
    prefix: &str,
    exclude: &[String],
    found: &mut TreeContents,
    depth: usize,
) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(Error::unfit(root.display().to_string())(
            pillion_bundle::Error::LongPath {
                path: paths::shown(prefix),
                limit: paths::MAX_PATH,
            },
        ));
    }
    let entries = folder.read_dir().map_err(Error::io("read", folder))?;
    for entry in entries {
        let entry = entry.map_err(Error::io("read", folder))?;
        let path = entry.path();
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(Error::unfit(root.display().to_string())(
                pillion_bundle::Error::BadPath {
                    path: paths::shown(&path.to_string_lossy()),
                    why: "it is not UTF-8",
                },
            ));
        };
        let inner = match prefix {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        };
        if name == BYTE_CODE || exclude.contains(&inner) {
            continue;
        }
        let meta = path.symlink_metadata().map_err(Error::io("read", &path))?;
        if meta.is_dir() {
            walk(root, &path, &inner, exclude, found, depth + 1)?;
        } else if meta.is_symlink() {
            let target = link_target(root, &path, &inner)?;
            found.links.push((inner, target));
        } else if meta.is_file() {
            let mode = mode(&meta);
            found.files.insert(inner, (Content::File(path), mode));
        } else {
            return Err(Error::unfit(root.display().to_string())(
                pillion_bundle::Error::SpecialFile {
                    path: paths::shown(&inner),
                },
            ));
        }
    }
    Ok(())
}

/// Where a link leads, from its own folder: also where it names a place inside by the whole
/// path that it has on this machine.
fn link_target(root: &Path, path: &Path, inner: &str) -> Result<String> {
    let target = fs::read_link(path).map_err(Error::io("read", path))?;
    let text = target.to_string_lossy().into_owned();
    let Ok(inside) = target.strip_prefix(root) else {
        return Ok(text);
    };
    let up = "../".repeat(inner.matches('/').count());
    Ok(format!("{up}{}", inside.display()))
}

#[cfg(unix)]
fn mode(meta: &fs::Metadata) -> FileMode {
    use std::os::unix::fs::PermissionsExt;
    FileMode::of_bits(meta.permissions().mode())
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> FileMode {
    FileMode::Plain
}

/// Sizes and hashes of all files, for a manifest; and where their contents are.
pub(super) fn measure(
    files: BTreeMap<String, (Content, FileMode)>,
    with_modes: bool,
    progress: &dyn ProgressListener,
) -> Result<(Vec<BundleFile>, BTreeMap<String, Content>)> {
    let mut listed = Vec::with_capacity(files.len());
    let mut contents = BTreeMap::new();
    progress.step(&format!("hashing {} files", files.len()));
    for (path, (content, mode)) in files {
        let place = match &content {
            Content::File(path) => path.clone(),
            Content::Bytes(_) => PathBuf::from(&path),
        };
        let (size_bytes, sha256) = content.measure().map_err(Error::io("read", &place))?;
        if size_bytes <= signature::MAX_SIZE {
            let mut bytes = Vec::new();
            let read = content
                .open()
                .and_then(|mut file| file.read_to_end(&mut bytes));
            read.map_err(Error::io("read", &place))?;
            if signature::is_secret_key(&String::from_utf8_lossy(&bytes)) {
                let key = pillion_bundle::Error::SecretKey {
                    path: paths::shown(&path),
                };
                return Err(Error::unfit("the bundle")(key));
            }
        }
        listed.push(BundleFile {
            path: path.clone(),
            sha256,
            size_bytes,
            mode: with_modes.then_some(mode),
        });
        contents.insert(path, content);
    }
    Ok((listed, contents))
}
