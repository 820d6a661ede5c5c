//! Connecting to the daemon, or starting it where one can run.

use std::sync::Arc;
use std::time::Duration;

use pillion_protocol::Result;
use tokio::time::{Instant, sleep};

use crate::connect::{NoConnection, answering};
use crate::connection::Connection;
use crate::options::Options;
use crate::sys::{self, Launched};

/// A connection, and the daemon behind it if it had to be started.
pub(crate) type Reached = (Arc<Connection>, Option<Launched>);

/// Connect; if nobody listens, start a daemon, if the options allow it.
pub(crate) async fn connect_or_start(options: &Options) -> Result<Reached> {
    match answering(&options.endpoint, Instant::now() + options.start_timeout).await {
        Ok(connection) => Ok((connection, None)),
        Err(NoConnection::Absent) if options.start => sys::start(options).await,
        Err(error) => Err(error.into_error(&options.endpoint)),
    }
}

/// Short waits that grow from 1 ms to 20 ms.
pub(crate) struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(Duration::from_millis(1))
    }
}

impl Pauses {
    pub(crate) async fn next(&mut self) {
        sleep(self.0).await;
        self.0 = (self.0 * 2).min(Duration::from_millis(20));
    }
}
