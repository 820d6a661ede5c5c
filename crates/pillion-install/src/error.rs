//! What can go wrong with bundles on a machine, and what callers hear of it.

use std::io;
use std::path::{Path, PathBuf};

use pillion_protocol::{Code, Error as Told};
use pillion_runtime::bundle::BundleError;
use serde_json::json;

/// What fallible functions of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A bundle is not taken.
    #[error("`{name}` is refused: {reason}")]
    Refused {
        /// The archive.
        name: String,
        /// Why.
        #[source]
        reason: pillion_bundle::Error,
    },
    /// A bundle cannot be made of what was named.
    #[error("`{name}` cannot be made: {reason}")]
    Unfit {
        /// The bundle, or the folder that it was to be made of.
        name: String,
        /// Why.
        #[source]
        reason: pillion_bundle::Error,
    },
    /// What is installed is not as it should be.
    #[error(transparent)]
    Damaged(#[from] BundleError),
    /// There is no such file, version or previous version.
    #[error("{what}")]
    NotFound {
        /// What there is not.
        what: String,
        /// What to do next.
        hint: String,
    },
    /// Something else is there under the same version.
    #[error("{what}")]
    Conflict {
        /// What is there.
        what: String,
        /// What to do next.
        hint: String,
    },
    /// Another process changes the store, or downloads the same.
    #[error("{} uses `{}`, and was not done in time", named(*holder), path.display())]
    Busy {
        /// What it uses.
        path: PathBuf,
        /// Its pid, if that is known.
        holder: Option<u32>,
    },
    /// A file cannot be read or written.
    #[error("cannot {what} `{path}`: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The configuration is wrong.
    #[error("`{path}` is wrong: {why}")]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What was asked for makes no sense.
    #[error("{what}")]
    Input {
        /// What is wrong.
        what: String,
        /// What to do next.
        hint: String,
    },
    /// A host does not give what was asked for.
    #[error("cannot get `{url}`: {why}")]
    Download {
        /// The address, without secrets.
        url: String,
        /// What went wrong.
        why: String,
        /// Whether asking again will not help.
        is_final: bool,
    },
    /// A tool of a build failed.
    #[error("{what}")]
    Tool {
        /// What was tried and how it ended.
        what: String,
        /// What to do next.
        hint: String,
    },
}

impl Error {
    /// A file that cannot be read or written.
    pub fn io(what: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { what, path, source }
    }

    /// A bundle that is not taken.
    pub fn refused(name: impl Into<String>) -> impl FnOnce(pillion_bundle::Error) -> Self {
        let name = name.into();
        move |reason| Self::Refused { name, reason }
    }

    /// A bundle that cannot be made.
    pub fn unfit(name: impl Into<String>) -> impl FnOnce(pillion_bundle::Error) -> Self {
        let name = name.into();
        move |reason| Self::Unfit { name, reason }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            // Who makes a bundle has what is wrong with it at hand.
            Self::Unfit {
                reason: pillion_bundle::Error::InvalidManifest(_),
                ..
            } => "`pillion bundle build --help` tells what each part is".to_owned(),
            Self::Unfit { .. } => {
                "change it, or leave it out: `pillion bundle build --exclude PATH`".to_owned()
            }
            Self::Refused { reason, .. } => reason.hint().to_owned(),
            Self::Damaged(error) => error.hint(),
            Self::NotFound { hint, .. }
            | Self::Conflict { hint, .. }
            | Self::Input { hint, .. }
            | Self::Tool { hint, .. } => hint.clone(),
            Self::Busy { .. } => "try again when it is done".to_owned(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "the disk is full: make room, or name another folder with `--store`".to_owned()
            }
            Self::Io {
                what: "read",
                source,
                ..
            } if matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidInput
            ) =>
            {
                "name a file or folder that is there; that of a registry has an `index.json`"
                    .to_owned()
            }
            Self::Io { .. } => "look at its permissions, or name another folder".to_owned(),
            Self::Config { .. } => {
                "write `[bundles]` and `trusted_keys = [\"RW...\"]` there".to_owned()
            }
            Self::Download { is_final: true, .. } => {
                "look at the address; what lies beside an archive has its name and `.minisig` or \
                 `.sha256`"
                    .to_owned()
            }
            Self::Download { .. } => {
                "try again: what has arrived is kept, and only the rest is asked for".to_owned()
            }
        }
    }
}

impl From<Error> for Told {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Refused { .. } | Error::Unfit { .. } => Code::BundleRefused,
            Error::Damaged(BundleError::NoBundle { .. }) | Error::NotFound { .. } => Code::NotFound,
            Error::Damaged(_) => Code::BundleDamaged,
            Error::Conflict { .. } => Code::Conflict,
            Error::Busy { .. } => Code::Busy,
            Error::Io { what, source, .. } => match (*what, source.kind()) {
                ("read", io::ErrorKind::NotFound) => Code::NotFound,
                ("read", io::ErrorKind::InvalidInput) => Code::InvalidParams,
                _ => Code::WriteFailed,
            },
            Error::Config { .. } => Code::InvalidConfig,
            Error::Input { .. } => Code::InvalidParams,
            Error::Download { .. } => Code::Unreachable,
            Error::Tool { .. } => Code::StartFailed,
        };
        let told = Self::new(code, error.to_string()).hint(error.hint());
        match &error {
            Error::Refused { reason, .. } | Error::Unfit { reason, .. } => {
                told.data(json!({ "reason": reason.reason() }))
            }
            Error::Busy {
                holder: Some(pid), ..
            } => told.data(json!({ "pid": pid })),
            Error::Damaged(BundleError::Damaged { root, damages, .. }) => {
                let damages: Vec<_> = damages
                    .iter()
                    .map(|damage| json!({ "path": damage.path, "what": damage.what }))
                    .collect();
                told.data(json!({ "root": root, "damages": damages }))
            }
            _ => told,
        }
    }
}

/// What a process is called of which at most the pid is known.
fn named(holder: Option<u32>) -> String {
    holder.map_or_else(
        || "another process".to_owned(),
        |pid| format!("process {pid}"),
    )
}
