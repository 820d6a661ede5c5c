//! The file that a download goes to, for one process alone.
//!
//! Two who write to it would both get nonsense, and who is done removes it. So its lock is held
//! from the first byte until the archive is installed, and whoever wants the same waits.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pillion_bundle::Digest;
use pillion_runtime::managed::ProgressListener;

use crate::error::{Error, Result};
use crate::store::WaitLimit;

/// So long one waits for another who downloads the same, and so often it is looked.
const TIMEOUT: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(50);

/// A download that is ours alone.
#[derive(Debug)]
pub(crate) struct Held {
    /// What has arrived.
    pub(crate) path: PathBuf,
    _lock: File,
}

impl Held {
    /// Take the download from this address; people call it `name`.
    pub(crate) async fn take(
        url: &str,
        name: &str,
        folder: &Path,
        limit: WaitLimit,
        progress: &dyn ProgressListener,
    ) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
        let path = folder.join(format!("{}.part", Digest::of(url.as_bytes())));
        let lock = lock_of(&path);
        let until = limit.until(TIMEOUT);
        let mut told = false;
        loop {
            let file = File::create(&lock).map_err(Error::io("write", &lock))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &lock) => return Ok(Self { path, _lock: file }),
                // Who had it has removed it meanwhile: it keeps nobody away any more.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    return Err(Error::Busy { path, holder: None });
                }
                Err(TryLockError::WouldBlock) => {
                    if !std::mem::replace(&mut told, true) {
                        progress.step(&format!("waiting for another download of {name}"));
                    }
                    let next = (Instant::now() + LOOK).min(until);
                    tokio::time::sleep_until(next.into()).await;
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &lock)(error)),
            }
        }
    }

    /// Remove it, and its lock last.
    pub(crate) fn forget(self) {
        for path in [&self.path, &tag_of(&self.path), &lock_of(&self.path)] {
            let _ = fs::remove_file(path);
        }
    }
}

/// What says of a download that the file at its host is still the same.
pub(crate) fn tag_of(path: &Path) -> PathBuf {
    path.with_extension("tag")
}

fn lock_of(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// Whether a file that is open is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

/// Whether a file that is open is the one at a path. One that is open cannot be removed there.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}
