//! No daemon runs on Windows yet. Checked by `cargo xtask cross`; not run by us.

use std::convert::Infallible;

use pillion_protocol::{Code, Error, Result};

use super::Reached;
use crate::options::Options;

/// No daemon can be started here.
pub(crate) async fn start(_options: &Options) -> Result<Reached> {
    Err(
        Error::new(Code::Unsupported, "no daemon runs on Windows yet").hint(
            "run pillion inside of WSL; docs/guides/platforms.md says what Windows still needs",
        ),
    )
}

/// The daemon that a client started: there is none here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// Its process id.
    pub pid: u32,
}

/// The handle on a daemon that was started here: there is none.
pub(crate) struct Launched {
    pub(crate) started: Started,
    none: Infallible,
}

impl Launched {
    pub(crate) fn ended(&mut self) -> Option<Infallible> {
        match self.none {}
    }

    pub(crate) fn terminate(&mut self) {
        match self.none {}
    }
}
