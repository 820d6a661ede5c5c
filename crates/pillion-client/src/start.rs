//! Connecting to the daemon, or starting it where one can run.

use pillion_protocol::Result;
use tokio::time::Instant;

use crate::connect::answering;
use crate::launch::{self, Reached};
use crate::no_connection::NoConnection;
use crate::options::Options;

/// Connect; if nobody listens, start a daemon, if the options allow it.
pub(crate) async fn connect_or_start(options: &Options) -> Result<Reached> {
    match answering(&options.endpoint, Instant::now() + options.start_timeout).await {
        Ok(connection) => Ok((connection, None)),
        Err(NoConnection::Absent) if options.start => launch::start(options).await,
        Err(error) => Err(error.into_error(&options.endpoint)),
    }
}
