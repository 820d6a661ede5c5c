//! The folders pillion keeps things in, decided in one place.
//!
//! `PILLION_HOME` puts everything below one folder; without it the XDG base folders are
//! used. A home that cannot be written must not stop pillion: what can be made again then
//! goes into a private folder for temporary files.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use etcetera::BaseStrategy;

/// The variable that puts all of pillion's folders below one.
pub const PILLION_HOME: &str = "PILLION_HOME";

/// Our folder's name below each base folder.
const NAME: &str = "pillion";

/// Why no folder could be used.
#[derive(Debug, thiserror::Error)]
pub enum DirsError {
    /// Neither the wanted folder nor its stand-in can be created.
    #[error("cannot create the folder `{path}`: {source}")]
    Create {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder for temporary files belongs to somebody else, who could plant code in it.
    #[error("`{path}` is not a private folder of this user ({why}), so it is not used")]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl DirsError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Create { .. } => {
                format!("set `{PILLION_HOME}` to a folder that you can write")
            }
            Self::NotOurs { path, .. } => format!(
                "remove `{}`, or set `{PILLION_HOME}` to a folder that you can write",
                path.display()
            ),
        }
    }
}

/// Where things are kept. None of these folders has to exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// What can be made again at any time: probe results, the worker package.
    pub cache: PathBuf,
    /// What is costly to make again: managed environments.
    pub data: PathBuf,
    /// What is lost if it is deleted: logs, records of daemons.
    pub state: PathBuf,
    /// What the user wrote: the keys of bundles that they trust. Nothing of ours writes there.
    pub config: PathBuf,
    /// Where other tools keep their caches, to find what poetry made.
    pub foreign_cache: Option<PathBuf>,
    /// Where other tools keep their data, to find what uv installed.
    pub foreign_data: Option<PathBuf>,
}

impl Dirs {
    /// The folders of this process's user, from the environment.
    pub fn from_env() -> Self {
        let base = etcetera::choose_base_strategy().ok();
        let home = std::env::var_os(PILLION_HOME).filter(|value| !value.is_empty());
        let mut dirs = match (home, &base) {
            (Some(home), _) => Self::under(home),
            (None, Some(base)) => Self {
                cache: without_dots(&base.cache_dir().join(NAME)),
                data: without_dots(&base.data_dir().join(NAME)),
                state: without_dots(
                    &base
                        .state_dir()
                        .unwrap_or_else(|| base.data_dir())
                        .join(NAME),
                ),
                config: without_dots(&base.config_dir().join(NAME)),
                foreign_cache: None,
                foreign_data: None,
            },
            // A user without a home, as services and containers have.
            (None, None) => Self::under(private_temp_path()),
        };
        dirs.foreign_cache = base.as_ref().map(BaseStrategy::cache_dir);
        dirs.foreign_data = base.as_ref().map(BaseStrategy::data_dir);
        dirs
    }

    /// All folders below one; nothing of other tools is looked at.
    pub fn under(home: impl AsRef<Path>) -> Self {
        let home = home.as_ref();
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        let home = without_dots(&home);
        Self {
            cache: home.join("cache"),
            data: home.join("data"),
            state: home.join("state"),
            config: home.join("config"),
            foreign_cache: None,
            foreign_data: None,
        }
    }

    /// The cache folder, created; or a private temporary one if it cannot be written.
    pub fn writable_cache(&self) -> Result<PathBuf, DirsError> {
        let cache = self.usable_cache();
        create(&cache)?;
        Ok(cache)
    }

    /// The state folder, created; or a private temporary one if it cannot be written.
    pub fn writable_state(&self) -> Result<PathBuf, DirsError> {
        let state = self.usable_state();
        create(&state)?;
        Ok(state)
    }

    /// The cache folder, or its temporary stand-in if it could not be written. Nothing is
    /// created.
    pub fn usable_cache(&self) -> PathBuf {
        usable(&self.cache, "cache")
    }

    /// The data folder, or its temporary stand-in if it could not be written. Nothing is
    /// created.
    pub fn usable_data(&self) -> PathBuf {
        usable(&self.data, "data")
    }

    /// The state folder, or its temporary stand-in if it could not be written. Nothing is
    /// created.
    pub fn usable_state(&self) -> PathBuf {
        usable(&self.state, "state")
    }
}

/// The same place without `..`: behind walls a folder is where its path says, and there is none
/// that a `..` could lead out of. Links before it are followed, as the system does.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain = plain.canonicalize().unwrap_or(plain);
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

fn usable(wanted: &Path, stand_in: &str) -> PathBuf {
    if could_write(wanted) {
        return wanted.to_owned();
    }
    let stand_in = private_temp_path().join(stand_in);
    tracing::debug!(
        wanted = %wanted.display(), using = %stand_in.display(),
        "a folder cannot be written"
    );
    stand_in
}

/// Create one of our folders; below the private temporary one only if that is ours.
pub(crate) fn create(path: &Path) -> Result<(), DirsError> {
    if path.starts_with(private_temp_path()) {
        private_temp(&std::env::temp_dir())?;
    }
    create_writable(path).map_err(|source| DirsError::Create {
        path: path.to_owned(),
        source,
    })
}

/// Whether a folder is there and can be written, or could be made. Nothing is made.
fn could_write(path: &Path) -> bool {
    let nearest = path
        .ancestors()
        .find(|path| path.symlink_metadata().is_ok());
    nearest.is_some_and(|path| path.is_dir() && may_write(path).is_ok())
}

fn may_write(path: &Path) -> io::Result<()> {
    let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    Ok(rustix::fs::access(path, wanted)?)
}

/// Create a folder and those above it, for this user only, and see that it can be written.
pub(crate) fn create_writable(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    }
    may_write(path)
}

fn private_temp_path() -> PathBuf {
    std::env::temp_dir().join(private_name())
}

fn private_name() -> String {
    format!("{NAME}-{}", pillion_process::effective_uid())
}

/// Our folder below one that everybody can write: ours alone, or refused.
fn private_temp(temp: &Path) -> Result<PathBuf, DirsError> {
    let path = temp.join(private_name());
    let failed = |source| DirsError::Create {
        path: path.clone(),
        source,
    };
    match DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => return Ok(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    // Not followed: a link planted by another user points wherever they like.
    let found = path.symlink_metadata().map_err(failed)?;
    let refused = |why: &str| DirsError::NotOurs {
        path: path.clone(),
        why: why.to_owned(),
    };
    if !found.is_dir() {
        return Err(refused("it is not a folder"));
    }
    if found.uid() != pillion_process::effective_uid() {
        return Err(refused(&format!("user {} owns it", found.uid())));
    }
    if found.mode() & 0o022 != 0 {
        return Err(refused("others can write into it"));
    }
    if found.mode() & 0o077 != 0 {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_created_for_this_user_only() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path().join("deep/home"));
        let cache = dirs.writable_cache().unwrap();
        assert_eq!(cache, dirs.cache);
        assert_eq!(cache.metadata().unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_home_that_is_named_by_way_of_another_folder_is_where_the_system_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(folder.join("far/inner")).unwrap();
        std::os::unix::fs::symlink("far/inner", folder.join("link")).unwrap();
        let cache = |home: &str| Dirs::under(folder.join(home)).cache;
        assert_eq!(cache("none/../home"), folder.join("home/cache"));
        assert_eq!(cache("link/../home"), folder.join("far/home/cache"));
        assert_eq!(cache("link/home"), folder.join("link/home/cache"));
        assert_eq!(without_dots(Path::new("/../..")), Path::new("/"));
    }

    #[test]
    fn an_unusable_home_leads_to_a_private_temporary_folder() {
        // A file where the home should be stops even root.
        let home = tempfile::NamedTempFile::new().unwrap();
        let cache = Dirs::under(home.path()).writable_cache().unwrap();
        assert_eq!(cache, private_temp_path().join("cache"));
        let dirs = Dirs::under(home.path());
        assert_eq!(dirs.usable_data(), private_temp_path().join("data"));
        assert_eq!(dirs.usable_state(), private_temp_path().join("state"));
        assert_eq!(
            private_temp_path().metadata().unwrap().mode() & 0o777,
            0o700
        );
    }

    #[test]
    fn a_temporary_folder_that_is_not_private_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let ours = private_temp(temp.path()).unwrap();
        assert_eq!(private_temp(temp.path()).unwrap(), ours, "it is used again");

        std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o755)).unwrap();
        private_temp(temp.path()).unwrap();
        assert_eq!(
            ours.metadata().unwrap().mode() & 0o777,
            0o700,
            "readers are shut out"
        );

        std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o777)).unwrap();
        let error = private_temp(temp.path()).unwrap_err();
        assert!(error.to_string().contains("others can write"), "{error}");

        std::fs::remove_dir(&ours).unwrap();
        std::os::unix::fs::symlink("/etc", &ours).unwrap();
        let error = private_temp(temp.path()).unwrap_err();
        assert!(error.to_string().contains("not a folder"), "{error}");
        assert!(error.hint().contains(PILLION_HOME));
    }
}
