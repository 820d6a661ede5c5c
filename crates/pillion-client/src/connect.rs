//! Reaching a daemon by its socket.

use std::sync::Arc;

use pillion_protocol::Code;
use pillion_protocol::endpoint::Endpoint;
use tokio::time::{Instant, timeout_at};

use crate::connection::{Connection, closed_connection};
use crate::no_connection::NoConnection;
use crate::{sys, wire};

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
