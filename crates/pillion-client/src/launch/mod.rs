//! Starting a daemon, where one can run: what differs between systems.

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
pub use launched::Started;
#[cfg(windows)]
pub use windows::Started;
#[cfg(windows)]
pub(crate) use windows::{Launched, start};
#[cfg(unix)]
pub(crate) use {launched::Launched, unix::start};

use crate::connection::Connection;

/// A connection, and the daemon behind it if it had to be started.
pub(crate) type Reached = (Arc<Connection>, Option<Launched>);
