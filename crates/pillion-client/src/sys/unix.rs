//! A daemon on this machine is reached by a Unix socket.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::time::Duration;

use pillion_protocol::endpoint::{Endpoint, MAX_PATH};
use pillion_protocol::{Code, Error};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, sleep};

use crate::no_connection::NoConnection;

pub(crate) use pillion_process::effective_uid;

/// A connection as the system gives it.
pub(crate) type Stream = UnixStream;
/// What is read from it.
pub(crate) type ReadHalf = OwnedReadHalf;
/// What is written to it.
pub(crate) type WriteHalf = OwnedWriteHalf;

/// How long to knock at a daemon whose queue of connections is full.
const CROWDED: Duration = Duration::from_secs(1);

/// Both directions of a connection.
pub(crate) fn split(stream: Stream) -> (ReadHalf, WriteHalf) {
    stream.into_split()
}

/// Connect, and make sure that whoever listens is this user; says which process that is.
pub(crate) async fn dial(endpoint: &Endpoint) -> Result<(Stream, Option<i32>), NoConnection> {
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
    Ok((socket, peer.pid()))
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
