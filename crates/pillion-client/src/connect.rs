//! Reaching a socket, and telling "nobody listens" from everything that needs a person.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::Arc;
use std::time::Duration;

use pillion_process::effective_uid;
use pillion_protocol::endpoint::{Endpoint, MAX_PATH};
use pillion_protocol::{Code, Error};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout_at};

use crate::connection::{Connection, closed_connection};
use crate::wire;

/// How long to knock at a daemon whose queue of connections is full.
const CROWDED: Duration = Duration::from_secs(1);

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
    let deadline = Instant::now() + CROWDED;
    let socket = loop {
        match UnixStream::connect(&endpoint.socket).await {
            Ok(socket) => break socket,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() > deadline {
                    return Err(NoConnection::Wrong(Error::new(
                        Code::Busy,
                        "the daemon has too many connections waiting",
                    )));
                }
                sleep(Duration::from_millis(10)).await;
            }
            Err(error) => return Err(explain(endpoint, &error)),
        }
    };
    let peer = socket.peer_cred().map_err(|e| explain(endpoint, &e))?;
    if peer.uid() != effective_uid() {
        return Err(foreign(endpoint, peer.uid()));
    }
    Ok(Connection::new(socket, peer.pid()))
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

fn explain(endpoint: &Endpoint, error: &io::Error) -> NoConnection {
    let path = endpoint.socket.display();
    let wrong = |message: String, hint: &str| {
        NoConnection::Wrong(Error::new(Code::Unreachable, message).hint(hint))
    };
    if !endpoint.fits() {
        return wrong(
            format!(
                "the socket's path `{path}` is longer than {} bytes",
                MAX_PATH - 1
            ),
            "choose a shorter one with `--socket` or `PILLION_SOCKET`",
        );
    }
    match error.kind() {
        io::ErrorKind::NotFound => NoConnection::Absent,
        // A plain file refuses connections too, and must not be taken for a stale socket.
        io::ErrorKind::ConnectionRefused => match std::fs::symlink_metadata(&endpoint.socket) {
            Ok(meta) if !meta.file_type().is_socket() => wrong(
                format!("`{path}` is not a socket"),
                "something else is in the daemon's place; move it away, or choose another with `--socket`",
            ),
            Ok(meta) if meta.uid() != effective_uid() => foreign(endpoint, meta.uid()),
            _ => NoConnection::Absent,
        },
        io::ErrorKind::PermissionDenied => wrong(
            format!("no permission to connect to `{path}`"),
            "the socket or its folder belongs to another user, or a sandbox forbids it; choose another with `--socket`",
        ),
        _ => wrong(
            format!("cannot connect to `{path}`: {error}"),
            "`pillion socket-path` prints where the daemon is expected",
        ),
    }
}

fn foreign(endpoint: &Endpoint, uid: u32) -> NoConnection {
    let path = endpoint.socket.display();
    NoConnection::Wrong(
        Error::new(
            Code::Unauthorized,
            format!("the daemon on `{path}` belongs to another user (uid {uid})"),
        )
        .hint("every user has a daemon of their own; choose another socket with `--socket`"),
    )
}
