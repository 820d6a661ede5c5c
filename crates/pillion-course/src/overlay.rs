//! Kept content: folders that are named by the hash of what is in them and never change.
//!
//! ```text
//! <store>/.lock                   taken for the moment in which a folder gets or loses its name
//! <store>/<sha256>/manifest.json  every file with its length and hash; the name is its hash
//! <store>/<sha256>/chapter/       the chapter's files and prompts, scripts/, datasets/
//! <store>/<sha256>/experts/       the experts that it may ask, and their page
//! <store>/.stage-PID.START-N/     what a process is making or taking away
//! ```
//!
//! A folder has its name only once everything in it is on the disk. What a killed process was
//! making is removed by the next one, which knows it by the pid and the start of its maker.
//! Whoever uses a folder holds a shared lock on it, so that [`sweep`] leaves it alone.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use pillion_process::stat::{self, Identity};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::chapter::{self, ChapterFolder, ChapterFolders};
use crate::files::{self, Bundle};
use crate::{Chapter, ChapterId, Error, ExpertRegistry};

/// The list of files of an overlay.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The largest such list.
const MANIFEST_BYTES: u64 = 4 << 20;
/// Version of the layout; another one is not read.
pub(crate) const VERSION: u32 = 1;
/// How deep an overlay's folders are nested.
const MOST_DEPTH: usize = 6;
/// How names of folders begin that are being made or taken away.
const STAGE: &str = ".stage-";
/// How often a folder is tried to be held that others replace.
const ROUNDS: usize = 100;

/// The content of a session's chapter, as it was when the session began.
///
/// While this exists, [`sweep`] does not remove the folder, in whichever process it is called.
#[derive(Debug)]
pub struct Overlay {
    id: String,
    folder: PathBuf,
    chapter_id: ChapterId,
    _held: OwnedFd,
}

/// How closely an overlay is looked at when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayCheck {
    /// Names and lengths of its files.
    Names,
    /// Every byte.
    Content,
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Overlays that were removed.
    pub removed: usize,
    /// Overlays that are still there.
    pub kept: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) version: u32,
    pub(crate) chapter_id: ChapterId,
    pub(crate) files: BTreeMap<String, StoredFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredFile {
    pub(crate) size: u64,
    pub(crate) sha256: String,
}

impl Overlay {
    /// The overlay of this id.
    ///
    /// A damaged one is an error: what a session was begun with is no longer there, and
    /// [`freeze`](crate::freeze) of the chapter makes it anew.
    pub fn open(store: &Path, id: &str, verify: OverlayCheck) -> Result<Self, Error> {
        if !is_hash(id) {
            let id = id.chars().take(80).collect();
            let what = "id of kept content";
            return Err(Error::BadId { what, id });
        }
        let folder = store.join(id);
        let held = hold(&folder)?.ok_or_else(|| Error::NotFound {
            what: format!("the kept content `{id}`"),
            looked: vec![store.to_owned()],
        })?;
        let manifest = manifest(&folder, id)?;
        check_files(&folder, &manifest, verify)?;
        Ok(Self {
            id: id.to_owned(),
            folder,
            chapter_id: manifest.chapter_id,
            _held: held,
        })
    }

    /// Its id: the SHA-256 of its list of files, each with its own hash.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The chapter that it was made of.
    pub fn chapter_id(&self) -> &ChapterId {
        &self.chapter_id
    }

    /// Read the chapter from it.
    pub fn chapter(&self) -> Result<Chapter, Error> {
        let Some(bundle) = Bundle::open(&self.folder)? else {
            return Err(damaged(&self.folder, "its folder is gone"));
        };
        let mut registry = ExpertRegistry::default();
        registry.add_entries(&bundle, Path::new("experts"))?;
        let places = ChapterFolders {
            chapter: vec![ChapterFolder {
                bundle,
                folder: "chapter".into(),
            }],
            ..ChapterFolders::default()
        };
        chapter::read(&self.chapter_id, &places, &registry)
    }
}

/// Remove the overlays that are not among `in_use` and that nobody has open, and what killed
/// processes left.
pub fn sweep(store: &Path, in_use: &HashSet<String>) -> Result<Swept, Error> {
    let mut swept = Swept::default();
    if !store.is_dir() {
        return Ok(swept);
    }
    remove_dead(store)?;
    for name in names(store)? {
        if !is_hash(&name) {
            continue;
        }
        // One that cannot be removed is no reason to keep the others.
        let gone = !in_use.contains(&name) && take_away(store, &name).unwrap_or(false);
        if gone {
            swept.removed += 1;
        } else {
            swept.kept += 1;
        }
    }
    Ok(swept)
}

/// Remove an overlay unless somebody holds it; whether it is gone.
fn take_away(store: &Path, name: &str) -> Result<bool, Error> {
    let folder = store.join(name);
    let aside = {
        let _moment = lock(store)?;
        let Some(open) = open_folder(&folder)? else {
            return Ok(true);
        };
        match flock(&open, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(error) => return Err(Error::unreadable(&folder, error.into())),
        }
        // Its name goes first: whoever looks for it now finds nothing, not a half.
        let aside = Stage::name(store);
        fs::rename(&folder, &aside.path).map_err(|error| Error::unreadable(&folder, error))?;
        aside
    };
    drop(aside);
    Ok(true)
}

/// A folder that goes away with this value, unless it got another name.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) path: PathBuf,
}

impl Stage {
    /// A name that says whose it is, for something that is not there yet.
    pub(crate) fn name(store: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let start = Identity::of(pid).map_or(0, |identity| identity.start);
        let path = store.join(format!("{STAGE}{pid}.{start}-{number}"));
        Self { path }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed now is removed once this process is gone.
        let _ = remove_tree(&self.path);
    }
}

/// Remove what processes were making that no longer run.
pub(crate) fn remove_dead(store: &Path) -> Result<(), Error> {
    for name in names(store)? {
        if name.starts_with(STAGE) && !maker_runs(&name) {
            let path = store.join(&name);
            match remove_tree(&path) {
                // Another process may be removing the same.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::unreadable(&path, error)),
                Ok(()) => {}
            }
        }
    }
    Ok(())
}

fn maker_runs(name: &str) -> bool {
    let owner = name
        .strip_prefix(STAGE)
        .and_then(|rest| rest.split('-').next());
    let parts = owner.and_then(|owner| owner.split_once('.'));
    let parsed = parts.and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
    match parsed {
        // Where the start of a process cannot be told, its pid has to do.
        Some((pid, 0)) => stat::exists(pid),
        Some((pid, start)) => Identity { pid, start }.is_alive(),
        None => false,
    }
}

/// Remove a folder whose folders may not be writable.
fn remove_tree(path: &Path) -> io::Result<()> {
    fn unlock(path: &Path, depth: usize) -> io::Result<()> {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
        for entry in path.read_dir()? {
            let entry = entry?;
            if depth > 0 && entry.file_type()?.is_dir() {
                unlock(&entry.path(), depth - 1)?;
            }
        }
        Ok(())
    }
    if !path.symlink_metadata()?.is_dir() {
        return fs::remove_file(path);
    }
    unlock(path, MOST_DEPTH * 2)?;
    fs::remove_dir_all(path)
}

fn names(store: &Path) -> Result<Vec<String>, Error> {
    let unreadable = |error| Error::unreadable(store, error);
    let mut names = Vec::new();
    for entry in store.read_dir().map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        names.extend(name.into_string().ok());
    }
    Ok(names)
}

/// The moment in which folders get and lose their names, one process and thread at a time.
pub(crate) fn lock(store: &Path) -> Result<OwnedFd, Error> {
    let path = store.join(".lock");
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let unreadable = |error: Errno| Error::unreadable(&path, error.into());
    let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(unreadable)?;
    wait_for(&file, FlockOperation::LockExclusive).map_err(unreadable)?;
    Ok(file)
}

fn wait_for(file: &OwnedFd, how: FlockOperation) -> Result<(), Errno> {
    loop {
        match flock(file, how) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

fn open_folder(folder: &Path) -> Result<Option<OwnedFd>, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::empty()) {
        Ok(open) => Ok(Some(open)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => Err(damaged(folder, "it is no folder")),
        Err(error) => Err(Error::unreadable(folder, error.into())),
    }
}

/// Hold a folder so that no sweep takes it away; `None` if it is not there.
fn hold(folder: &Path) -> Result<Option<OwnedFd>, Error> {
    for _ in 0..ROUNDS {
        let Some(open) = open_folder(folder)? else {
            return Ok(None);
        };
        let unreadable = |error: Errno| Error::unreadable(folder, error.into());
        wait_for(&open, FlockOperation::LockShared).map_err(unreadable)?;
        // The folder may have lost its name while the lock was waited for.
        let held = rustix::fs::fstat(&open).map_err(unreadable)?;
        let now = folder.symlink_metadata();
        if now.is_ok_and(|now| {
            (now.dev(), now.ino()) == (pillion_process::device(&held), held.st_ino)
        }) {
            return Ok(Some(open));
        }
    }
    Ok(None)
}

/// Whether this is written as hashes are here.
pub(crate) fn is_hash(id: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    id.len() == 64 && id.bytes().all(digit)
}

fn damaged(path: &Path, message: impl Into<String>) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        message: message.into(),
    }
}

fn manifest(folder: &Path, id: &str) -> Result<Manifest, Error> {
    let bytes = files::read_bytes(&folder.join(MANIFEST), MANIFEST_BYTES)
        .map_err(|error| damaged(folder, error.to_string()))?;
    if hex::encode(Sha256::digest(&bytes)) != id {
        return Err(damaged(folder, "its list of files is another one"));
    }
    let manifest: Manifest = serde_json::from_slice(&bytes)
        .map_err(|error| damaged(folder, format!("its list of files is unreadable: {error}")))?;
    match manifest.version {
        VERSION => Ok(manifest),
        other => Err(damaged(folder, format!("it is of version {other}"))),
    }
}

fn check_files(folder: &Path, manifest: &Manifest, verify: OverlayCheck) -> Result<(), Error> {
    let mut found = BTreeMap::new();
    walk(folder, Path::new(""), MOST_DEPTH, &mut found)?;
    found.remove(MANIFEST);
    for (name, kept) in &manifest.files {
        match found.remove(name) {
            Some(size) if size == kept.size => {}
            Some(_) => return Err(damaged(folder, format!("`{name}` has another length"))),
            None => return Err(damaged(folder, format!("`{name}` is missing"))),
        }
        let same = || hash_file(&folder.join(name)).is_ok_and(|found| found == *kept);
        if verify == OverlayCheck::Content && !same() {
            return Err(damaged(folder, format!("`{name}` has another content")));
        }
    }
    match found.keys().next() {
        Some(name) => Err(damaged(folder, format!("`{name}` does not belong to it"))),
        None => Ok(()),
    }
}

/// All files below a folder with their lengths.
fn walk(
    root: &Path,
    below: &Path,
    depth: usize,
    found: &mut BTreeMap<String, u64>,
) -> Result<(), Error> {
    let folder = root.join(below);
    let unreadable = |error: io::Error| damaged(root, error.to_string());
    for entry in folder.read_dir().map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let meta = entry.path().symlink_metadata().map_err(unreadable)?;
        let name = below.join(entry.file_name());
        let shown = name.to_string_lossy().into_owned();
        if meta.is_dir() && depth > 0 {
            walk(root, &name, depth - 1, found)?;
        } else if meta.is_file() {
            found.insert(shown, meta.len());
        } else {
            return Err(damaged(root, format!("`{shown}` does not belong to it")));
        }
    }
    Ok(())
}

/// Length and hash of a file.
pub(crate) fn hash_file(path: &Path) -> Result<StoredFile, Error> {
    let (mut file, _) = files::open(path)?;
    let unreadable = |error| Error::unreadable(path, error);
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    let mut size = 0;
    loop {
        let count = file.read(&mut buffer).map_err(unreadable)?;
        if count == 0 {
            break;
        }
        size += count as u64;
        if size > files::DATASET_BYTES {
            return Err(Error::TooLarge {
                path: path.to_owned(),
                limit: files::DATASET_BYTES,
                unit: "bytes",
            });
        }
        digest.update(&buffer[..count]);
    }
    let sha256 = hex::encode(digest.finalize());
    Ok(StoredFile { size, sha256 })
}

#[cfg(test)]
#[path = "overlay_tests.rs"]
mod tests;
