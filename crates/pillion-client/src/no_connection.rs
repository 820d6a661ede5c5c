//! Telling "nobody listens" from everything that needs a person.

use pillion_protocol::endpoint::Endpoint;
use pillion_protocol::{Code, Error};

/// Why there is no connection.
pub(crate) enum NoConnection {
    /// Nobody listens: starting a daemon would help.
    Absent,
    /// Somebody listens, and does not answer.
    Silent,
    /// Something is there, and starting a daemon would not help.
    Wrong(Error),
}

impl NoConnection {
    /// As an error, where no daemon may be started.
    pub(crate) fn into_error(self, endpoint: &Endpoint) -> Error {
        match self {
            Self::Wrong(error) => error,
            Self::Silent => Error::new(
                Code::Timeout,
                format!("the daemon on `{}` does not answer", endpoint.socket.display()),
            )
            .hint("it may be stopped or overloaded; end its process, and the next call starts a new one"),
            Self::Absent => Error::new(
                Code::Unreachable,
                format!("no daemon listens on `{}`", endpoint.socket.display()),
            )
            .hint("start one with `pillion daemon`"),
        }
    }
}
