//! Folders of sessions: one for each, below one root, and nothing in it leads out.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use pillion_catalogue::{Code, Error, Result};
use pillion_process::private;
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, statat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files that are listed.
const MOST_LISTED: usize = 1000;
/// Files and folders that are looked at, and change hands where pillion is root.
const MOST_OWNED: usize = 100_000;

/// Folders that are open at the same time, meanwhile.
const MOST_OPEN: usize = 256;
/// How names of folders begin that are no session's.
const RUN: &str = ".run-";
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A file that a run made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// Its name in the folder.
    pub name: String,
    /// Its length.
    pub size_bytes: u64,
}

/// Whether this is the name of a session.
pub(crate) fn check_id(id: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.'].contains(&c);
    let fits = !id.is_empty() && id.len() <= 128 && id.chars().all(plain);
    if fits && ![".", ".."].contains(&id) && !id.starts_with(RUN) {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidParams,
        format!("`{id}` is no name of a session"),
    )
    .hint("letters, digits, `_`, `-` and `.`, at most 128"))
}

/// A name for the folder of a run that keeps nothing. No session can have it.
pub(crate) fn name_of_run() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{RUN}{}-{number}", std::process::id())
}

/// The folder of a session or a run below `root`, made if it is not there.
pub(crate) fn folder(root: &Path, id: &str) -> Result<PathBuf> {
    if !id.starts_with(RUN) {
        check_id(id)?;
    }
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(
            Code::StartFailed,
            format!("no folder for the session: {error}"),
        )
        .hint("set `PILLION_HOME` to a folder that you can write")
    };
    let folder = root.join(id);
    for path in [root, &folder] {
        private_for_lanes(path).map_err(|error| failed(&error))?;
    }
    Ok(folder)
}

/// A folder for whoever runs code, and nobody else.
fn private_for_lanes(path: &Path) -> Result<(), private::PrivateDirError> {
    let stranger = pillion_sandbox::stranger();
    let given = |path: &Path| {
        let meta = std::fs::symlink_metadata(path);
        meta.is_ok_and(|meta| meta.is_dir() && Some(meta.uid()) == stranger)
    };
    if given(path) {
        return Ok(());
    }
    private::ensure(path)?;
    let Some(id) = stranger else {
        return Ok(());
    };
    std::os::unix::fs::lchown(path, Some(id), Some(id)).map_err(|source| {
        private::PrivateDirError::Io {
            path: path.to_owned(),
            source,
        }
    })
}

/// Where pillion is root, what is in a folder must belong to whoever runs code. Another run may
/// be changing it meanwhile, so no name is followed: each step is from an open folder to what is
/// in it.
pub(crate) fn give_to_stranger(folder: &Path) -> io::Result<()> {
    let Some(id) = pillion_sandbox::stranger() else {
        return Ok(());
    };
    let root = rustix::fs::openat(rustix::fs::CWD, folder, FOLDER, Mode::empty())?;
    let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
    if rustix::fs::fstat(&root)?.st_uid != id {
        rustix::fs::fchown(&root, Some(uid), Some(gid))?;
    }
    let mut open = vec![root];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        for entry in Dir::read_from(&folder)?.flatten() {
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            seen += 1;
            if seen > MOST_OWNED || open.len() > MOST_OPEN {
                return Err(io::Error::other("too many files in the folder"));
            }
            // What is gone by now needs no owner.
            let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            if stat.st_uid != id {
                let _ = chownat(
                    &folder,
                    name,
                    Some(uid),
                    Some(gid),
                    AtFlags::SYMLINK_NOFOLLOW,
                );
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory
                && let Ok(below) = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())
            {
                open.push(below);
            }
        }
    }
    Ok(())
}

/// Remove the folder of a run. Nobody is in there any more, but folders may be closed to their
/// own owner.
pub(crate) fn remove(folder: &Path) {
    if std::fs::remove_dir_all(folder).is_ok() {
        return;
    }
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let _ = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700));
        let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(folders.map(|entry| entry.path()));
    }
    if let Err(error) = std::fs::remove_dir_all(folder) {
        tracing::warn!(%error, folder = %folder.display(), "a folder is left");
    }
}

/// Remove what runs of daemons left that were killed.
pub(crate) fn sweep(root: &Path) {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(RUN));
        let owner = rest.and_then(|rest| rest.split('-').next()?.parse().ok());
        if owner.is_some_and(|pid: u32| !pillion_process::stat::exists(pid)) {
            remove(&entry.path());
        }
    }
}

/// A file, with the time of its last change.
pub(crate) type Listed = (Artifact, (i64, i64));

/// What is in a folder.
pub(crate) fn listed(folder: &Path) -> Vec<Listed> {
    let mut open = vec![PathBuf::new()];
    let mut all = Vec::new();
    let mut seen = 0;
    while let Some(inside) = open.pop() {
        let entries = std::fs::read_dir(folder.join(&inside));
        for entry in entries.into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_OWNED {
                open.clear();
                break;
            }
            let place = inside.join(entry.file_name());
            let (Ok(meta), Some(name)) = (entry.metadata(), place.to_str()) else {
                continue;
            };
            if meta.is_dir() {
                open.push(place);
            } else if meta.is_file() && all.len() < MOST_LISTED {
                let artifact = Artifact {
                    name: name.to_owned(),
                    size_bytes: meta.len(),
                };
                all.push((artifact, (meta.mtime(), meta.mtime_nsec())));
            }
        }
    }
    all.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    all
}

/// What is new or different in `after`.
pub(crate) fn made(before: &[Listed], after: Vec<Listed>) -> Vec<Artifact> {
    let is_new = |file: &Listed| !before.contains(file);
    after
        .into_iter()
        .filter(is_new)
        .map(|(file, _)| file)
        .collect()
}
