//! Which folders their user trusts: those whose `pillion.toml` he has seen.
//!
//! A folder from elsewhere brings its own `pillion.toml`, and much of what that can say would
//! run programs or open walls. It says so to nobody until the user has said `pillion trust`
//! there. What is kept is the hash of the file, in the user's own state folder, one record for
//! each folder; another `pillion.toml` is one that nobody has seen. There is no operation for
//! this: what asks pillion is often a program, and this is for people to say.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use pillion_protocol::{Code, Error};
use serde::{Deserialize, Serialize};

use crate::dirs::{self, Dirs, DirsError};
use crate::file;

/// The records of one user.
#[derive(Debug, Clone)]
pub struct TrustRecords {
    folder: PathBuf,
}

/// A folder that was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFolder {
    /// The folder.
    pub root: PathBuf,
    /// The hash of its `pillion.toml`, or of none.
    hash: String,
}

impl TrustRecords {
    /// The records in these folders.
    pub fn new(dirs: &Dirs) -> Self {
        Self {
            folder: dirs.usable_state().join("trust"),
        }
    }

    /// Whether the folder is trusted with the `pillion.toml` that it has now.
    pub fn holds(&self, root: &Path, config: &Path) -> bool {
        read(config).is_ok_and(|found| self.holds_for(root, found.as_deref()))
    }

    /// Whether the folder is trusted with a `pillion.toml` of this content, or with none.
    pub fn holds_for(&self, root: &Path, content: Option<&[u8]>) -> bool {
        let record = self.read(&self.record(root));
        record.is_some_and(|record| record.root == root && record.hash == hash(content))
    }

    /// Trust the folder with the `pillion.toml` that it has now.
    pub fn give(&self, root: &Path, config: &Path) -> Result<(), TrustError> {
        let failed = |source| TrustError::Write {
            path: self.folder.clone(),
            source,
        };
        dirs::create(&self.folder)?;
        std::fs::set_permissions(&self.folder, std::fs::Permissions::from_mode(0o700))
            .map_err(failed)?;
        let found = read(config).map_err(|source| TrustError::Read {
            path: config.to_owned(),
            source,
        })?;
        let record = TrustedFolder {
            root: root.to_owned(),
            hash: hash(found.as_deref()),
        };
        let bytes = serde_json::to_vec(&record).map_err(|error| failed(error.into()))?;
        let path = self.record(root);
        file::write_atomically(&path, &bytes)
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)))
            .map_err(failed)
    }

    /// Trust it no more; says whether it was.
    pub fn take_back(&self, root: &Path) -> Result<bool, TrustError> {
        match std::fs::remove_file(self.record(root)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(TrustError::Write {
                path: self.folder.clone(),
                source,
            }),
        }
    }

    /// Every folder that was trusted, sorted.
    pub fn list(&self) -> Vec<TrustedFolder> {
        let entries = self.folder.read_dir().into_iter().flatten().flatten();
        let mut all: Vec<TrustedFolder> = entries
            .filter_map(|entry| self.read(&entry.path()))
            .collect();
        all.sort_by(|one, other| one.root.cmp(&other.root));
        all
    }

    /// Where it is noted whether a folder is trusted: what another answer of [`Self::holds`]
    /// would have to come with, beside another `pillion.toml`.
    pub fn record(&self, root: &Path) -> PathBuf {
        let name = file::sha256([root.as_os_str().as_encoded_bytes()]);
        self.folder.join(name)
    }

    /// A record, if nobody else can have written it.
    fn read(&self, path: &Path) -> Option<TrustedFolder> {
        let us = pillion_process::effective_uid();
        let ours = [self.folder.as_path(), path].iter().all(|path| {
            path.symlink_metadata().is_ok_and(|found| {
                !found.is_symlink() && found.uid() == us && found.mode() & 0o022 == 0
            })
        });
        let bytes = ours.then(|| std::fs::read(path).ok()).flatten()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// Why trust could not be noted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// There is no folder for it.
    #[error(transparent)]
    Dirs(#[from] DirsError),
    /// What is to be trusted cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It could not be written.
    #[error("cannot write to `{path}`: {source}")]
    Write {
        /// The folder of the records.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a caller hears whose folder asks for these settings, and is not trusted.
pub fn refused(root: &Path, settings: &[String]) -> Error {
    let named: Vec<String> = settings.iter().map(|name| format!("`{name}`")).collect();
    let message = format!(
        "the `pillion.toml` of `{}` asks for {}, and you have not said that you trust this folder",
        root.display(),
        named.join(", ")
    );
    Error::new(Code::Untrusted, message).hint(format!(
        "read that file; if it may have this: `pillion trust {}`",
        root.display()
    ))
}

/// The content of a file, if it is there.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The hash of a content; that there is none has one, too.
fn hash(content: Option<&[u8]>) -> String {
    match content {
        Some(bytes) => file::sha256([b"file".as_slice(), bytes]),
        None => file::sha256([b"none".as_slice()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_in_a_folder_with_what_it_said() {
        let home = tempfile::tempdir().unwrap();
        let trust = TrustRecords::new(&Dirs::under(home.path().join("pillion")));
        let root = home.path().join("project");
        std::fs::create_dir(&root).unwrap();
        let config = root.join("pillion.toml");
        let holds = || trust.holds(&root, &config);
        assert!(!holds());
        trust.give(&root, &config).unwrap();
        assert!(holds());
        std::fs::write(&config, "").unwrap();
        assert!(!holds(), "an empty file is not no file");
        trust.give(&root, &config).unwrap();
        assert!(holds());
        assert!(!trust.holds(&home.path().join("other"), &config));
        std::fs::write(&config, "[python]\n").unwrap();
        assert!(!holds());
        std::fs::write(&config, "").unwrap();
        assert!(holds(), "it is the file that was seen");
        assert_eq!(trust.list().len(), 1);
        let record = trust.record(&root);
        assert_eq!(record.metadata().unwrap().mode() & 0o777, 0o600);
        std::fs::set_permissions(&record, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(!holds(), "anybody could have written that");
        std::fs::set_permissions(&record, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(trust.take_back(&root).unwrap() && !trust.take_back(&root).unwrap());
        assert!(!holds() && trust.list().is_empty());
    }
}
