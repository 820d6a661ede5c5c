//! How a run ended, in the words and numbers of the contract.

use pillion_sandbox::Said;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::order::Ended;

/// The word for how a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ended with code 0.
    Ok,
    /// It ended with another code.
    Error,
    /// It took too long.
    Timeout,
    /// Somebody cancelled it.
    Cancelled,
    /// It used too much memory.
    Memory,
    /// It wrote too much.
    OutputLimit,
    /// It started too many processes or threads.
    ProcessLimit,
    /// It filled its folder.
    DiskLimit,
    /// A signal ended it.
    Killed,
    /// It could not be started.
    StartFailed,
}

/// Why the daemon ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    Timeout,
    Cancelled,
    Output,
}

impl Outcome {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Memory => "memory",
            Self::OutputLimit => "output_limit",
            Self::ProcessLimit => "process_limit",
            Self::DiskLimit => "disk_limit",
            Self::Killed => "killed",
            Self::StartFailed => "start_failed",
        }
    }

    /// The word and the return code of a run that ended so.
    pub(crate) fn of(
        stopped: Option<Stopped>,
        said: Option<&Said>,
        ended: Option<&Ended>,
    ) -> (Self, i32) {
        match stopped {
            Some(Stopped::Timeout) => return (Self::Timeout, -1),
            Some(Stopped::Cancelled) => return (Self::Cancelled, -2),
            Some(Stopped::Output) => return (Self::OutputLimit, -5),
            None => {}
        }
        let Some(said) = said else {
            return (Self::Killed, -100 - 9);
        };
        let passed = ended.and_then(|ended| ended.exception.as_ref()?.limit.as_deref());
        let code = said.exit.unwrap_or_else(|| -100 - said.signal.unwrap_or(9));
        match said.killed.as_deref().or(passed) {
            Some("memory") => return (Self::Memory, -4),
            Some("processes") => return (Self::ProcessLimit, code),
            Some("disk") => return (Self::DiskLimit, code),
            _ => {}
        }
        match (said.exit, said.signal) {
            (Some(0), _) => (Self::Ok, 0),
            (Some(code), _) => (Self::Error, code),
            // Its own limit of processor time.
            (None, Some(24)) => (Self::Timeout, -1),
            (None, Some(25)) => (Self::DiskLimit, code),
            (None, _) => (Self::Killed, code),
        }
    }
}
