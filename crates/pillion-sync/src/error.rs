//! Why something could not be handed over for delivery, and what to do next.

use pillion_protocol::{Code, Error};
use pillion_store::StoreError;

/// Why something could not be handed over for delivery. No text of it contains an address or
/// a token.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SyncError {
    /// The address of the backend cannot be used.
    #[error("the backend's URL {why}")]
    Url {
        /// What is wrong with it.
        why: &'static str,
    },
    /// The token cannot be sent.
    #[error("the backend's token contains characters that no header can have")]
    Token,
    /// A name cannot be part of an address.
    #[error("{what} has to be 1 to {limit} bytes long and must not be `.` or `..`")]
    Name {
        /// Whose name it is.
        what: &'static str,
        /// The greatest length.
        limit: usize,
    },
    /// Too many sessions are attached.
    #[error("{limit} sessions are attached to a backend already")]
    TooMany {
        /// How many may be.
        limit: usize,
    },
    /// Nothing is delivered any more.
    #[error("the daemon is ending, and delivers nothing any more")]
    Stopped,
    /// The outbox refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SyncError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Url { .. } => {
                "give an address such as `https://backend.example`, and the token by itself".into()
            }
            Self::Token => "give the token as the backend issued it, in one line".into(),
            Self::Name { .. } => "use letters, digits, `_`, `-` and `.`".into(),
            Self::TooMany { .. } => "end sessions that are no longer used".into(),
            Self::Stopped => "ask the next daemon: what waits is kept".into(),
            Self::Store(error) => error.hint(),
        }
    }
}

impl From<SyncError> for Error {
    fn from(error: SyncError) -> Self {
        let code = match error {
            SyncError::Store(error) => return error.into(),
            SyncError::Url { .. } | SyncError::Token | SyncError::Name { .. } => {
                Code::InvalidParams
            }
            SyncError::TooMany { .. } => Code::Busy,
            SyncError::Stopped => Code::ShuttingDown,
        };
        Self::new(code, error.to_string()).hint(error.hint())
    }
}
