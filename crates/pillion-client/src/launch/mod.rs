//! Connecting to the daemon, or starting it where one can run; how it starts differs between
//! systems.

#[cfg(unix)]
mod daemon_log;
#[cfg(unix)]
mod launched;
#[cfg(unix)]
mod start_lock;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::sync::Arc;

#[cfg(unix)]
pub(crate) use launched::Launched;
#[cfg(unix)]
pub use launched::Started;
use pillion_protocol::Result;
use tokio::time::Instant;
#[cfg(unix)]
use unix::start;
#[cfg(windows)]
pub(crate) use windows::Launched;
#[cfg(windows)]
pub use windows::Started;
#[cfg(windows)]
use windows::start;

use crate::connect::answering;
use crate::connection::Connection;
use crate::no_connection::NoConnection;
use crate::options::Options;

/// A connection, and the daemon behind it if it had to be started.
pub(crate) type Reached = (Arc<Connection>, Option<Launched>);

/// Connect; if nobody listens, start a daemon, if the options allow it.
pub(crate) async fn connect_or_start(options: &Options) -> Result<Reached> {
    match answering(&options.endpoint, Instant::now() + options.start_timeout).await {
        Ok(connection) => Ok((connection, None)),
        Err(NoConnection::Absent) if options.start => start(options).await,
        Err(error) => Err(error.into_error(&options.endpoint)),
    }
}
