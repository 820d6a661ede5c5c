//! What differs between systems: how a daemon is reached. Whether one can be started is in
//! `launch`.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as platform;
#[cfg(windows)]
use windows as platform;

pub(crate) use platform::{ReadHalf, Stream, WriteHalf, dial, effective_uid, split};
