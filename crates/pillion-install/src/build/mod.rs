//! Making bundles: what goes in, in what order of steps, and what comes out.
//!
//! A [`Plan`] is the manifest of a bundle and where the content of each of its files is. It is
//! made without writing anything but temporary files; [`Plan::write`] makes the archive, its
//! checksum and its signature of it.

mod runtime;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use pillion_bundle::signature::{self, SecretKey};
use pillion_bundle::{
    BundleType, ChapterManifest, Compression, ContentManifest, Digest, FORMAT_VERSION, Hashing,
    Manifest, Version, checksum_line,
};
use pillion_runtime::managed::ProgressListener;

pub use runtime::{RuntimeInput, python_layout};

use crate::error::{Error, Result};
use crate::store::{ArchiveFile, CHECKSUM, Expected, check};
use crate::trust::TrustPolicy;

/// Where the content of a file is.
#[derive(Debug, Clone)]
enum Content {
    File(PathBuf),
    Bytes(Vec<u8>),
}

impl Content {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::File(path) => Box::new(fs::File::open(path)?),
            Self::Bytes(bytes) => Box::new(bytes.as_slice()),
        })
    }

    /// Its size and hash.
    fn measure(&self) -> io::Result<(u64, Digest)> {
        let mut reader = Hashing::new(self.open()?);
        let mut buffer = vec![0; 1 << 16];
        while reader.read(&mut buffer)? > 0 {}
        Ok(reader.finish())
    }
}

/// A bundle that can be made.
#[derive(Debug)]
pub struct Plan {
    /// Its manifest.
    pub manifest: Manifest,
    /// What was to be left out, and is not there.
    pub unmatched: Vec<String>,
    contents: BTreeMap<String, Content>,
    /// What was unpacked or downloaded for it; goes with the plan.
    _temporary: Vec<tempfile::TempDir>,
}

/// What every bundle says of itself.
#[derive(Debug, Clone)]
pub struct BundleIdentity {
    /// Its type.
    pub kind: BundleType,
    /// Its scope.
    pub scope: String,
    /// Its version.
    pub version: Version,
    /// When it was made, as ISO 8601.
    pub created_at: String,
}

/// What was made.
#[derive(Debug, Clone)]
pub struct Built {
    /// The archive.
    pub archive: PathBuf,
    /// Its hash.
    pub sha256: Digest,
    /// Its size.
    pub size_bytes: u64,
    /// Its signature, if it has one.
    pub signature: Option<PathBuf>,
    /// The file of its hash.
    pub checksum: PathBuf,
}

/// Where the bytes of a bundle are.
#[derive(Debug, Clone)]
pub struct SizeReport {
    /// The first two folders of paths, with their bytes and numbers of files, the largest first.
    pub folders: Vec<(String, u64, usize)>,
    /// The largest files.
    pub files: Vec<(String, u64)>,
}

/// How the archive at this path is compressed, by its name.
pub fn compression_of(out: &Path) -> Result<Compression> {
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    Compression::of_name(&name).ok_or_else(|| Error::Input {
        what: format!("`{}` is no name of an archive", out.display()),
        hint: "let it end with `.tar.zst`, or with `.tar.gz` for older desktops".to_owned(),
    })
}

/// A bundle of content: the files of a folder. What an earlier build left at `out` is none.
pub fn content(
    identity: &BundleIdentity,
    from: &Path,
    out: &Path,
    exclude: &[String],
    chapter: Option<ChapterManifest>,
    progress: &dyn ProgressListener,
) -> Result<Plan> {
    progress.step(&format!("reading {}", from.display()));
    let mut found = tree::read(from, exclude)?;
    if let Some((path, _)) = found.links.first() {
        return Err(Error::unfit(from.display().to_string())(
            pillion_bundle::Error::LinkNotAllowed { path: path.clone() },
        ));
    }
    // Neither manifests of older builds are content, nor what they made.
    let made = ["", signature::ENDING, CHECKSUM].map(|ending| resolved(&beside(out, ending)));
    found.files.retain(|path, (content, _)| {
        let is_made = matches!(content, Content::File(file) if made.contains(file));
        !Manifest::is_name(path) && !is_made
    });
    let (files, contents) = tree::measure(found.files, false, progress)?;
    let chapter = chapter.map(|chapter| ChapterManifest {
        has_scripts: files.iter().any(|file| file.path.starts_with("scripts/")),
        has_datasets: files.iter().any(|file| file.path.starts_with("datasets/")),
        ..chapter
    });
    let manifest = Manifest::Content(Box::new(ContentManifest {
        format_version: FORMAT_VERSION.to_owned(),
        bundle_type: identity.kind,
        scope_id: identity.scope.clone(),
        version: identity.version.clone(),
        created_at: identity.created_at.clone(),
        files,
        chapter,
    }));
    Plan::of(manifest, contents, found.unmatched, Vec::new())
}

/// A path whose folder is as the system knows it.
fn resolved(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

impl Plan {
    fn of(
        manifest: Manifest,
        contents: BTreeMap<String, Content>,
        unmatched: Vec<String>,
        temporary: Vec<tempfile::TempDir>,
    ) -> Result<Self> {
        let title = manifest.title();
        manifest
            .check(&pillion_bundle::BundleLimits::default())
            .map_err(Error::unfit(title))?;
        Ok(Self {
            manifest,
            unmatched,
            contents,
            _temporary: temporary,
        })
    }

    /// Write the archive, its checksum and, with a key, its signature. Each appears when it is
    /// whole; the archive comes last.
    pub fn write(
        &self,
        out: &Path,
        key: Option<&SecretKey>,
        progress: &dyn ProgressListener,
    ) -> Result<Built> {
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        let compression = compression_of(out)?;
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
        let temporary = tempfile::NamedTempFile::new_in(folder);
        let temporary = temporary.map_err(Error::io("write", folder))?;
        progress.step(&format!("packing {name}"));
        let (total, mut done) = (self.manifest.size(), 0);
        let open = |file: &pillion_bundle::BundleFile| {
            done += file.size_bytes;
            progress.bytes(done, Some(total));
            match self.contents.get(&file.path) {
                Some(content) => content.open(),
                None => Err(io::ErrorKind::NotFound.into()),
            }
        };
        let file = temporary.reopen().map_err(Error::io("write", out))?;
        let mut file =
            pillion_bundle::write(file, compression, &self.manifest, open).map_err(|error| {
                match error {
                    pillion_bundle::Error::Read(error) | pillion_bundle::Error::Write(error) => {
                        Error::io("write", out)(error)
                    }
                    unfit => Error::unfit(self.manifest.title())(unfit),
                }
            })?;
        file.flush().map_err(Error::io("write", out))?;
        file.sync_all().map_err(Error::io("write", out))?;
        // What was written is read again, in all ways that an installation would.
        let source = ArchiveFile {
            path: temporary.path().to_owned(),
            name: name.clone().into_owned(),
            signature: None,
            checksum: None,
        };
        let trust = TrustPolicy {
            allow_unsigned: true,
            ..TrustPolicy::default()
        };
        let verified = check(&source, &trust, &Expected::default(), progress)?.verified;
        let signature = match key {
            None => None,
            Some(key) => {
                progress.step("signing");
                let archive = fs::File::open(temporary.path());
                let archive = archive.map_err(Error::io("read", temporary.path()))?;
                let about = format!("{} {name}", self.manifest.title());
                let text = key
                    .sign(archive, &about)
                    .map_err(Error::refused(name.clone()))?;
                let path = beside(out, signature::ENDING);
                pillion_runtime::write_atomically(&path, text.as_bytes())
                    .map_err(Error::io("write", &path))?;
                Some(path)
            }
        };
        if signature.is_none() {
            // That of an earlier build would not fit any more.
            let _ = fs::remove_file(beside(out, signature::ENDING));
        }
        let checksum = beside(out, CHECKSUM);
        let line = checksum_line(&verified.sha256, &name);
        pillion_runtime::write_atomically(&checksum, line.as_bytes())
            .map_err(Error::io("write", &checksum))?;
        let persisted = temporary.persist(out).map_err(|error| error.error);
        persisted
            .and_then(|file| readable(&file))
            .map_err(Error::io("write", out))?;
        Ok(Built {
            archive: out.to_owned(),
            sha256: verified.sha256,
            size_bytes: verified.size_bytes,
            signature,
            checksum,
        })
    }

    /// Where its bytes are.
    pub fn sizes(&self) -> SizeReport {
        let mut folders: BTreeMap<String, (u64, usize)> = BTreeMap::new();
        for file in self.manifest.files() {
            let parts: Vec<&str> = file.path.split('/').collect();
            let depth = parts.len().saturating_sub(1).min(2);
            let folder = match depth {
                0 => ".".to_owned(),
                depth => parts[..depth].join("/"),
            };
            let known = folders.entry(folder).or_default();
            known.0 += file.size_bytes;
            known.1 += 1;
        }
        let mut folders: Vec<_> = folders
            .into_iter()
            .map(|(name, (bytes, files))| (name, bytes, files))
            .collect();
        folders.sort_by_key(|(_, bytes, _)| std::cmp::Reverse(*bytes));
        let files = self.manifest.files().iter();
        let mut files: Vec<_> = files
            .map(|file| (file.path.clone(), file.size_bytes))
            .collect();
        files.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        files.truncate(10);
        SizeReport { folders, files }
    }
}

/// Temporary files are private; an archive is for others.
#[cfg(unix)]
fn readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &fs::File) -> io::Result<()> {
    Ok(())
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
