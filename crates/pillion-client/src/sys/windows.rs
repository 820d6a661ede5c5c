//! On Windows a daemon would be reached by a named pipe, and none runs there yet. Checked by
//! `cargo xtask cross`; not run by us.

use std::io;
use std::time::Duration;

use pillion_protocol::endpoint::Endpoint;
use pillion_protocol::{Code, Error};
use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient};
use tokio::time::{Instant, sleep};

use crate::no_connection::NoConnection;

/// A connection as the system gives it.
pub(crate) type Stream = NamedPipeClient;
/// What is read from it.
pub(crate) type ReadHalf = tokio::io::ReadHalf<Stream>;
/// What is written to it.
pub(crate) type WriteHalf = tokio::io::WriteHalf<Stream>;

/// How long to knock at a daemon whose pipes are all in use.
const CROWDED: Duration = Duration::from_secs(1);
/// `ERROR_PIPE_BUSY`: all pipes of that name are in use.
const BUSY: i32 = 231;

/// Both directions of a connection.
pub(crate) fn split(stream: Stream) -> (ReadHalf, WriteHalf) {
    tokio::io::split(stream)
}

/// Connect. Who listens learns who we are and cannot act as us; that it is this user is not
/// looked at yet.
pub(crate) async fn dial(
    endpoint: &Endpoint,
) -> std::result::Result<(Stream, Option<i32>), NoConnection> {
    let deadline = Instant::now() + CROWDED;
    loop {
        match ClientOptions::new().open(&endpoint.socket) {
            Ok(pipe) => return Ok((pipe, None)),
            Err(error) if error.raw_os_error() == Some(BUSY) => {
                if Instant::now() > deadline {
                    return Err(NoConnection::Wrong(Error::new(
                        Code::Busy,
                        "the daemon has too many connections waiting",
                    )));
                }
                sleep(Duration::from_millis(10)).await;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(NoConnection::Absent);
            }
            Err(error) => {
                let pipe = endpoint.socket.display();
                let message = format!("cannot connect to `{pipe}`: {error}");
                return Err(NoConnection::Wrong(Error::new(Code::Unreachable, message)));
            }
        }
    }
}

/// Users have no numbers here.
pub(crate) fn effective_uid() -> u32 {
    0
}
