//! Reaching a socket, and telling "nobody listens" from everything that needs a person.

use std::sync::Arc;

use pillion_protocol::endpoint::Endpoint;
use pillion_protocol::{Code, Error};
use tokio::time::{Instant, timeout_at};

use crate::connection::{Connection, closed_connection};
use crate::{sys, wire};

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

/// Connect, and make sure that whoever listens is this user.
pub(crate) async fn dial(endpoint: &Endpoint) -> Result<Connection, NoConnection> {
    let (stream, peer) = sys::dial(endpoint).await?;
    Ok(Connection::new(stream, peer))
}

/// Connect, and make sure that a ping is answered.
///
/// A daemon that is ending still takes connections for a moment, and then closes them
/// unread. Nothing that must not be repeated may be sent into one.
pub(crate) async fn answering(
    endpoint: &Endpoint,
    deadline: Instant,
) -> Result<Arc<Connection>, NoConnection> {
    let connection = Arc::new(dial(endpoint).await?);
    let frame = wire::request(0, "system.ping", &()).map_err(NoConnection::Wrong)?;
    let asked = async { connection.send(0, frame).await?.outcome().await };
    match timeout_at(deadline, asked).await {
        Ok(Ok(_)) => Ok(connection),
        Ok(Err(error)) if error.code == Code::ShuttingDown || error == closed_connection() => {
            Err(NoConnection::Absent)
        }
        Ok(Err(error)) => Err(NoConnection::Wrong(error)),
        Err(_) => Err(NoConnection::Silent),
    }
}
