//! Listing a folder and what is beneath it, with the rules applied.
//!
//! Each folder is watched first and listed then: what happens in between is told, and
//! what happened before is listed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_process::stamp::{Look, Stamp};

use crate::files::{FileEntry, LeftOutPath};
use crate::rules::{Library, RULE_FILES, Rules, is_built_in, is_marker};
use crate::watch::{self, Refused, Watch, join};

/// A folder that is not ignored.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) watch: Option<i32>,
    /// The rules that count in it.
    pub(crate) rules: Rules,
    /// It is ignored for what is in it; it is only known so that the end of that is seen.
    pub(crate) marked: bool,
    /// What in it is left out: names that are no UTF-8, or all if it is unreadable.
    pub(crate) left_out: Vec<LeftOutPath>,
    pub(crate) dev: u64,
}

/// Why a name is left out.
const NOT_UTF8: &str = "its name is not UTF-8";
/// Why a folder is left out.
const UNREADABLE: &str = "it cannot be read";

/// Why a scan could not go on.
#[derive(Debug)]
pub(crate) enum Stop {
    /// More files than are kept.
    TooMany,
    /// More folders than can be watched.
    Limit(String),
    /// A part of the tree cannot be watched, nor the times of its stamps be relied on.
    Distrust(String),
    /// The root cannot be read.
    Root(io::Error),
}

/// A walk through a part of the tree.
pub(crate) struct Scan<'a> {
    pub(crate) root: &'a Path,
    pub(crate) watch: Option<&'a mut Watch>,
    pub(crate) library: &'a mut Library,
    pub(crate) max_files: usize,
    /// The times of stamps are not relied on.
    pub(crate) distrust: bool,
    /// In no order.
    pub(crate) files: Vec<FileEntry>,
    pub(crate) folders: Vec<(Arc<str>, Folder)>,
}

/// What is in a folder: name, kind and entry of each, and when it was looked at.
type Listing = (Vec<(String, FileType, fs::DirEntry)>, Vec<Unnamed>, Look);
/// A name that is no UTF-8, and whether it is a folder.
type Unnamed = (OsString, bool);
/// A folder yet to be listed: its path, its device, and the rules of its parent.
type Next = (Arc<str>, u64, Rules);

impl Scan<'_> {
    /// List the folder `path` on this device, whose parent has these rules, and
    /// everything beneath it.
    pub(crate) fn run(&mut self, path: Arc<str>, dev: u64, rules: Rules) -> Result<(), Stop> {
        let mut next = vec![(path, dev, rules)];
        while let Some((path, dev, rules)) = next.pop() {
            self.folder(path, dev, rules, &mut next)?;
        }
        Ok(())
    }

    fn folder(
        &mut self,
        path: Arc<str>,
        dev: u64,
        above: Rules,
        next: &mut Vec<Next>,
    ) -> Result<(), Stop> {
        let full = self.root.join(&*path);
        let mut folder = Folder {
            watch: None,
            rules: above,
            marked: false,
            left_out: Vec::new(),
            dev,
        };
        let listed = self.list(&full, &path, &mut folder);
        let (listed, unnamed, look) = match listed {
            Ok(listed) => listed,
            Err(Refused::Limit(why)) => return Err(Stop::Limit(why)),
            Err(Refused::This(error)) if path.is_empty() => return Err(Stop::Root(error)),
            Err(Refused::This(error)) => {
                // Gone again, or a link by now: then there will be news of it.
                let gone = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
                if !gone.contains(&error.kind()) {
                    folder.left_out.push(unreadable(&path));
                    self.folders.push((path, folder));
                }
                return Ok(());
            }
        };
        folder.marked = !path.is_empty() && listed.iter().any(|entry| is_marker(&entry.0));
        if folder.marked {
            self.folders.push((path, folder));
            return Ok(());
        }
        let has = RULE_FILES.map(|name| {
            let mut entries = listed.iter();
            entries.any(|(known, kind, _)| known == name && kind.is_file())
        });
        folder.rules = self.library.rules(folder.rules, &full, has);
        let unnamed = left_out(&full, &path, &folder.rules, unnamed);
        folder.left_out.extend(unnamed);
        for (name, kind, entry) in listed {
            if is_built_in(&name, kind.is_dir())
                || folder.rules.ignore(&full.join(&name), kind.is_dir())
            {
                continue;
            }
            // One without properties is gone again.
            let Ok(meta) = entry.metadata() else { continue };
            let path = join(&path, &name).into();
            if meta.file_type() != kind {
                continue; // it is another by now: there will be news of it
            }
            if kind.is_dir() {
                if meta.dev() != dev && !self.distrust {
                    let why = watch::distrust(&entry.path());
                    why.map_or(Ok(()), |why| Err(Stop::Distrust(why)))?;
                }
                next.push((path, meta.dev(), folder.rules.clone()));
            } else {
                self.file(path, &meta, look)?;
            }
        }
        self.folders.push((path, folder));
        Ok(())
    }

    /// Watch and list a folder. Links and special files are left out.
    fn list(
        &mut self,
        full: &Path,
        path: &Arc<str>,
        folder: &mut Folder,
    ) -> Result<Listing, Refused> {
        if let Some(watch) = &mut self.watch {
            folder.watch = Some(watch.folder(full, path)?);
        }
        let look = Look::now(self.distrust);
        let (mut listed, mut unnamed) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(full).map_err(Refused::This)? {
            let Ok(entry) = entry else {
                folder.left_out.push(unreadable(path));
                break;
            };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            match entry.file_name().into_string() {
                Err(name) => unnamed.push((name, kind.is_dir())),
                Ok(name) if kind.is_dir() || kind.is_file() => listed.push((name, kind, entry)),
                Ok(_) => {}
            }
        }
        Ok((listed, unnamed, look))
    }

    fn file(&mut self, path: Arc<str>, meta: &Metadata, look: Look) -> Result<(), Stop> {
        let again = match &mut self.watch {
            Some(watch) => watch_links(watch, &self.root.join(&*path), meta)?,
            None => None,
        };
        let stamp = Stamp::from(again.as_ref().unwrap_or(meta));
        if self.files.len() >= self.max_files {
            return Err(Stop::TooMany);
        }
        self.files.push(FileEntry {
            path,
            stamp,
            settled: look.settles(&stamp),
        });
        Ok(())
    }
}

/// Watch a file with several names by itself, and look at it again: a write through
/// another name, just before, was told to nobody.
pub(crate) fn watch_links(
    watch: &mut Watch,
    full: &Path,
    meta: &Metadata,
) -> Result<Option<Metadata>, Stop> {
    if meta.nlink() < 2 {
        return Ok(None);
    }
    match watch.linked(full, (meta.dev(), meta.ino())) {
        Err(Refused::Limit(why)) => Err(Stop::Limit(why)),
        // Gone, or not ours to read: its folder tells.
        Ok(()) | Err(Refused::This(_)) => Ok(fs::symlink_metadata(full).ok()),
    }
}

/// The names in a folder that are no UTF-8, and are not ignored.
pub(crate) fn unnamed(full: &Path, path: &str, rules: &Rules) -> Vec<LeftOutPath> {
    let entries = fs::read_dir(full).into_iter().flatten().flatten();
    let unnamed = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().err()?;
        Some((name, entry.file_type().is_ok_and(|kind| kind.is_dir())))
    });
    left_out(full, path, rules, unnamed.collect())
}

fn left_out(full: &Path, path: &str, rules: &Rules, unnamed: Vec<Unnamed>) -> Vec<LeftOutPath> {
    let all = unnamed.into_iter();
    all.filter(|(name, is_folder)| !rules.ignore(&full.join(name), *is_folder))
        .map(|(name, is_folder)| LeftOutPath {
            path: format!(
                "{}{}",
                join(path, &escaped(&name)),
                if is_folder { "/" } else { "" }
            )
            .into(),
            why: NOT_UTF8,
        })
        .collect()
}

fn unreadable(path: &str) -> LeftOutPath {
    LeftOutPath {
        path: format!("{path}/").into(),
        why: UNREADABLE,
    }
}

/// A name as it can be shown: bytes that are no UTF-8, and characters that would do something
/// to a terminal, are written as what they are.
fn escaped(name: &OsStr) -> String {
    let mut shown = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c.is_control() {
                true => shown.extend(c.escape_default()),
                false => shown.push(c),
            }
        }
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown
}

/// The root's device and number.
pub(crate) fn identity(root: &Path) -> io::Result<(u64, u64)> {
    let meta = fs::metadata(root)?;
    match meta.is_dir() {
        true => Ok((meta.dev(), meta.ino())),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// The file or folder at `path` itself, not what a link there leads to.
pub(crate) fn look(root: &Path, path: &str) -> Option<(PathBuf, Metadata)> {
    let full = root.join(path);
    let meta = fs::symlink_metadata(&full).ok()?;
    Some((full, meta))
}
