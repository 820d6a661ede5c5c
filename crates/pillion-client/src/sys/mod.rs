//! What differs between systems: how a daemon is reached, and whether one can be started.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as platform;
#[cfg(windows)]
use windows as platform;

pub use platform::Started;
pub(crate) use platform::{
    Launched, ReadHalf, Stream, WriteHalf, dial, effective_uid, split, start,
};
