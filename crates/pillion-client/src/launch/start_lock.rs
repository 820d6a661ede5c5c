//! The lock under which a daemon is started, so that racing clients start one.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use pillion_process::{effective_uid, private_folder};
use pillion_protocol::endpoint::Endpoint;
use pillion_protocol::{Code, Error, Result};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// The lock file, open but not yet ours. The lock goes when it is dropped, or with the
/// process; the file stays, since removing it would let two hold "the" lock.
pub(crate) struct StartLock {
    file: File,
}

impl StartLock {
    /// Open the lock file of this endpoint, in a folder that is fit for it.
    pub(crate) fn open(endpoint: &Endpoint) -> Result<Self> {
        // One of pillion's own must be private; one that somebody named with `--socket` may
        // hold other things too, and keeps the rights it has.
        private_folder::ensure_socket_dir(endpoint.dir()).map_err(|error| {
            Error::new(Code::StartFailed, error.to_string())
                .hint("the daemon's socket needs a folder of your own; choose another with `--socket` or `XDG_RUNTIME_DIR`")
        })?;
        let path = endpoint.start_lock();
        let failed = |what: &dyn std::fmt::Display| {
            Error::new(
                Code::StartFailed,
                format!("cannot use the lock file `{}`: {what}", path.display()),
            )
            .hint("the socket's folder must be writable; choose another with `--socket`")
        };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(|e| failed(&e))?;
        let owner = file.metadata().map_err(|e| failed(&e))?.uid();
        if owner != effective_uid() {
            return Err(failed(&format!("it belongs to another user (uid {owner})")));
        }
        Ok(Self { file })
    }

    /// Take the lock if nobody holds it. Never blocks.
    pub(crate) fn try_take(&self) -> Result<bool> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
            Err(error) => Err(Error::new(
                Code::StartFailed,
                format!("cannot take the start lock: {error}"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn one_holder_at_a_time() {
        let temp = tempfile::tempdir().unwrap();
        let endpoint = Endpoint {
            socket: temp.path().join("pillion/a.sock"),
        };
        let first = StartLock::open(&endpoint).unwrap();
        let second = StartLock::open(&endpoint).unwrap();
        assert!(first.try_take().unwrap());
        assert!(!second.try_take().unwrap());
        drop(first);
        assert!(second.try_take().unwrap());
    }

    #[test]
    fn a_folder_of_the_users_keeps_its_rights() {
        let temp = tempfile::tempdir().unwrap();
        let rights = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        for (name, expected) in [("project", 0o755), ("pillion", 0o700)] {
            let dir = temp.path().join(name);
            std::fs::create_dir(&dir).unwrap();
            std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
            let endpoint = Endpoint {
                socket: dir.join("a.sock"),
            };
            StartLock::open(&endpoint).unwrap();
            assert_eq!(rights(&dir), expected);
        }
    }
}
