//! Why the store did not do what it was asked for, and what to do next.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_process::private_folder::PrivateDirError;
use pillion_protocol::{Code, Error};
use rusqlite::ErrorCode;

use crate::status::JobState;

/// Why the store did not do what it was asked for.
///
/// It can be cloned, since one failed commit is the answer to several callers.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The folder is not a private one.
    #[error("{0}")]
    Folder(Arc<PrivateDirError>),
    /// A file beside the database could not be used.
    #[error("cannot use `{path}`: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The file cannot be written.
    #[error("`{path}` cannot be written")]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// The file was written by a newer pillion.
    #[error("`{path}` has tables of version {found}, and this pillion knows {known}")]
    Newer {
        /// The database.
        path: PathBuf,
        /// The version in the file.
        found: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// There is no room for more.
    #[error("the disk of `{path}` is full")]
    DiskFull {
        /// The database.
        path: PathBuf,
    },
    /// The file broke while it was in use.
    #[error("`{path}` is damaged")]
    Corrupt {
        /// The database.
        path: PathBuf,
    },
    /// Another process holds the file for too long.
    #[error("another process keeps `{path}` locked")]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// SQLite refused for another reason.
    #[error("cannot use `{path}`: {source}")]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// Too many callers are waiting already.
    #[error("the store is busy: {waiting} callers are waiting")]
    Busy {
        /// The length of the queue.
        waiting: usize,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// There is no such job, or no longer.
    #[error("there is no job `{id}`")]
    NoJob {
        /// What was asked for.
        id: String,
    },
    /// The job is in a state from which no way leads to the wanted one.
    #[error("job `{id}` is {found} and cannot become {wanted}")]
    Conflict {
        /// The job.
        id: String,
        /// Its state, which it keeps.
        found: JobState,
        /// The state that was asked for.
        wanted: JobState,
    },
    /// Too much waits for backends already.
    #[error("{waiting} deliveries would wait, and the outbox takes {limit}, of limited size")]
    OutboxFull {
        /// How many would wait.
        waiting: usize,
        /// How many may.
        limit: usize,
    },
    /// Something is larger than what is kept.
    #[error("{what} has {bytes} bytes, and at most {limit} are kept")]
    TooBig {
        /// What it is.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The largest size.
        limit: usize,
    },
}

/// The store's errors as callers get them, whichever service asked.
impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NoJob { .. } => Code::NotFound,
            StoreError::Conflict { .. } => Code::Conflict,
            StoreError::TooBig { .. } => Code::InvalidParams,
            StoreError::Busy { .. } | StoreError::Locked { .. } | StoreError::OutboxFull { .. } => {
                Code::Busy
            }
            StoreError::Closed => Code::ShuttingDown,
            _ => Code::WriteFailed,
        };
        Self::new(code, error.to_string()).hint(error.hint())
    }
}

impl StoreError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Folder(_) | Self::ReadOnly { .. } => {
                "set `PILLION_HOME` to a folder that you can write".into()
            }
            Self::File { source, .. } if source.kind() == io::ErrorKind::StorageFull => full(),
            Self::File { .. } | Self::Sqlite { .. } => {
                "look at the file's permissions and its disk, or set `PILLION_HOME` to a folder \
                 elsewhere"
                    .into()
            }
            Self::Newer { .. } => {
                "update pillion, or set `PILLION_HOME` to a folder of its own".into()
            }
            Self::DiskFull { .. } => full(),
            Self::Corrupt { .. } => {
                "restart the daemon: it sets the file aside and begins a new one".into()
            }
            Self::Locked { .. } => {
                "another daemon, or a tool that has the file open, must let go of it; try again"
                    .into()
            }
            Self::Busy { .. } => "try again in a moment".into(),
            Self::Closed => "the daemon is ending: ask the next one".into(),
            Self::NoJob { .. } => "list the jobs: finished ones are kept for a limited time".into(),
            Self::Conflict { found, .. } if found.is_final() => {
                "a finished job stays as it is: start another one".into()
            }
            Self::Conflict { .. } => "look at the job's status first".into(),
            Self::OutboxFull { .. } => {
                "let the backend take what waits for it, or delete sessions that need no backend"
                    .into()
            }
            Self::TooBig { .. } => "make it smaller, or put it into a file".into(),
        }
    }

    /// What SQLite's error means for the caller.
    pub(crate) fn sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            _ => Self::Sqlite {
                path,
                source: Arc::new(error),
            },
        }
    }

    /// What the system's error about a file means for the caller.
    pub(crate) fn file(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull => Self::DiskFull { path },
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Self::ReadOnly { path }
            }
            _ => Self::File {
                path,
                source: Arc::new(error),
            },
        }
    }
}

fn full() -> String {
    "the disk is full: make room, or set `PILLION_HOME` to a folder elsewhere".into()
}
