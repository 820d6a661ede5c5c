//! What is at a path: nothing, a file with bytes and a mode, or something else.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

/// The bits of a mode that belong to a file, not to its type.
const MODE: u32 = 0o7777;

/// The bytes of a file, and whose they are.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    pub bytes: Arc<[u8]>,
    /// Who may do what; for a new file what is usual for this user.
    pub mode: Option<u32>,
    /// User and group; this user's for a new file.
    pub owner: Option<(u32, u32)>,
}

impl Content {
    /// What a file that is made now will have.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.into(),
            mode: None,
            owner: None,
        }
    }

    /// Other bytes in a file like this.
    pub(crate) fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.into(),
            ..self.clone()
        }
    }

    /// Whether a file is as it should be. Where no mode was asked for, any will do.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same_mode = match (self.mode, other.mode) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        };
        same_mode && self.bytes == other.bytes
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.mode.is_some_and(|mode| mode & 0o100 != 0)
    }
}

/// A path, and what is there before and after a transaction.
#[derive(Debug, Clone)]
pub(crate) struct PathChange {
    pub path: String,
    pub before: Option<Content>,
    pub after: Option<Content>,
}

impl PathChange {
    /// The way back.
    pub(crate) fn reversed(&self) -> Self {
        Self {
            path: self.path.clone(),
            before: self.after.clone(),
            after: self.before.clone(),
        }
    }
}

/// What is at a path now.
#[derive(Debug)]
pub(crate) enum PathState {
    Nothing,
    File(Content),
    /// A folder, a link, a device; or a link on the way there.
    Other,
}

impl PathState {
    pub(crate) fn is(&self, wanted: Option<&Content>) -> bool {
        match (self, wanted) {
            (Self::Nothing, None) => true,
            (Self::File(held), Some(wanted)) => wanted.is_same(held),
            _ => false,
        }
    }
}

/// What is at a path below `root`. Links are not followed: the paths of a change have none,
/// so one that is there now was put there since, and may lead anywhere.
pub(crate) fn held(root: &Path, path: &str) -> io::Result<PathState> {
    for folder in folders_above(path).into_iter().rev() {
        match fs::symlink_metadata(root.join(folder)) {
            Ok(meta) if meta.is_dir() => {}
            // Nothing can lie below a file, but a link may lead out.
            Ok(meta) if meta.is_symlink() => return Ok(PathState::Other),
            Ok(_) => return Ok(PathState::Nothing),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PathState::Nothing),
            Err(error) => return Err(error),
        }
    }
    held_at(&root.join(path))
}

/// What is at a path whose folders are known. A link is not followed.
pub(crate) fn held_at(at: &Path) -> io::Result<PathState> {
    let read = match fs::symlink_metadata(at) {
        Ok(meta) if meta.is_file() => read(at).map(PathState::File),
        Ok(_) => return Ok(PathState::Other),
        Err(error) => Err(error),
    };
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PathState::Nothing),
        other => other,
    }
}

/// A regular file.
fn read(path: &Path) -> io::Result<Content> {
    // Were it replaced by a link or a pipe just now: do not follow, do not wait.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let mut file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Content {
        bytes: bytes.into(),
        mode: Some(meta.mode() & MODE),
        owner: Some((meta.uid(), meta.gid())),
    })
}

/// The mode of a folder, if it is one.
pub(crate) fn folder_mode(path: &Path) -> Option<u32> {
    let meta = fs::symlink_metadata(path).ok()?;
    meta.is_dir().then(|| meta.mode() & MODE)
}

/// The folders that a path lies in, innermost first, without the root.
pub(crate) fn folders_above(path: &str) -> Vec<&str> {
    path.rmatch_indices('/')
        .map(|(at, _)| &path[..at])
        .collect()
}

/// The innermost folder above a path that exists.
pub(crate) fn nearest_folder(root: &Path, path: &str) -> PathBuf {
    let above = folders_above(path).into_iter();
    above
        .map(|folder| root.join(folder))
        .find(|folder| folder.is_dir())
        .unwrap_or_else(|| root.to_owned())
}

/// The SHA-256 of some bytes, in hexadecimal.
pub(crate) fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
