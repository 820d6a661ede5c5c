//! Folders that belong to this user alone.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::effective_uid;

/// Why a folder cannot be used for private things.
#[derive(Debug, thiserror::Error)]
pub enum PrivateDirError {
    /// Someone else made it, perhaps to listen in.
    #[error("`{path}` belongs to another user (uid {owner})")]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// A file or a link is where the folder should be.
    #[error("`{0}` is not a folder")]
    NotADir(PathBuf),
    /// The system refused.
    #[error("cannot use `{path}`: {source}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Make sure that `path` is a folder which only this user can enter.
///
/// A missing one is made with mode 0700; one of ours that others may enter is closed; one
/// that belongs to somebody else is refused.
pub fn ensure(path: &Path) -> Result<(), PrivateDirError> {
    let io = |source| PrivateDirError::Io {
        path: path.to_owned(),
        source,
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(io(error)),
    }
    // A link could be redirected after the check, so it is not followed.
    let meta = fs::symlink_metadata(path).map_err(io)?;
    if !meta.is_dir() {
        return Err(PrivateDirError::NotADir(path.to_owned()));
    }
    if meta.uid() != effective_uid() {
        return Err(PrivateDirError::NotOurs {
            path: path.to_owned(),
            owner: meta.uid(),
        });
    }
    if meta.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(io)?;
    }
    Ok(())
}

/// Make sure that a socket can be put into `dir`.
///
/// A folder called `pillion` or `pillion-UID` is pillion's own and must be private. Any
/// other was chosen by the user: it is made if it is missing, and else left as it is.
pub fn ensure_socket_dir(dir: &Path) -> Result<(), PrivateDirError> {
    let name = dir
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if name == "pillion" || name.starts_with("pillion-") || !dir.exists() {
        return ensure(dir);
    }
    if dir.is_dir() {
        Ok(())
    } else {
        Err(PrivateDirError::NotADir(dir.to_owned()))
    }
}

/// A variable of the environment that says where private things are.
///
/// Hosts of agents start programs with few variables, and a user has one daemon all the same. So
/// where nobody passes `XDG_RUNTIME_DIR` on, it is the folder that the system made for this user.
pub fn variable(name: &str) -> Option<OsString> {
    let said = std::env::var_os(name).filter(|value| !value.is_empty());
    match name {
        "XDG_RUNTIME_DIR" => said.or_else(|| made_for(Path::new("/run/user"), effective_uid())),
        _ => said,
    }
}

/// The folder of this user below `all`, if it is the user's alone.
fn made_for(all: &Path, uid: u32) -> Option<OsString> {
    let folder = all.join(uid.to_string());
    let meta = fs::symlink_metadata(&folder).ok()?;
    let is_private = meta.is_dir() && meta.uid() == uid && meta.mode() & 0o077 == 0;
    is_private.then(|| folder.into_os_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_the_system_counts_if_it_is_the_users_alone() {
        let temp = tempfile::tempdir().unwrap();
        let uid = effective_uid();
        let folder = temp.path().join(uid.to_string());
        assert_eq!(made_for(temp.path(), uid), None);
        fs::create_dir(&folder).unwrap();
        for (mode, counts) in [(0o700, true), (0o755, false), (0o770, false)] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            let found = made_for(temp.path(), uid);
            assert_eq!(found, counts.then(|| folder.clone().into_os_string()));
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(made_for(temp.path(), uid + 1), None);
        assert_eq!(variable("PILLION_NO_SUCH_VARIABLE"), None);
    }

    #[test]
    fn a_folder_is_made_or_closed() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("a/b");
        ensure(&dir).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        ensure(&dir).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_chosen_folder_is_left_as_it_is() {
        let temp = tempfile::tempdir().unwrap();
        let chosen = temp.path().join("shared");
        fs::create_dir(&chosen).unwrap();
        fs::set_permissions(&chosen, fs::Permissions::from_mode(0o777)).unwrap();
        ensure_socket_dir(&chosen).unwrap();
        assert_eq!(fs::metadata(&chosen).unwrap().mode() & 0o777, 0o777);
        let own = temp.path().join("pillion-7");
        fs::create_dir(&own).unwrap();
        ensure_socket_dir(&own).unwrap();
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn files_and_links_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(ensure(&file), Err(PrivateDirError::NotADir(_))));
        let link = temp.path().join("link");
        std::os::unix::fs::symlink(temp.path(), &link).unwrap();
        assert!(matches!(ensure(&link), Err(PrivateDirError::NotADir(_))));
    }
}
