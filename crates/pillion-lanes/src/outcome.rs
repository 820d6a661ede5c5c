//! How a run ended, in the words and numbers of the contract.

use pillion_sandbox::InitMessage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::runner_messages::Ended;

/// The word for how a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Outcome")]
pub enum RunOutcome {
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

impl RunOutcome {
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
        said: Option<&InitMessage>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner_messages::Exception;

    fn ended(exit: Option<i32>, signal: Option<i32>, killed: Option<&str>) -> InitMessage {
        InitMessage {
            exit,
            signal,
            killed: killed.map(ToOwned::to_owned),
            ..InitMessage::default()
        }
    }

    #[test]
    fn each_end_has_its_word_and_its_number() {
        use RunOutcome::{DiskLimit, Error, Killed, Memory, Ok, ProcessLimit, Timeout};
        let cases = [
            (ended(Some(0), None, None), (Ok, 0)),
            (ended(Some(7), None, None), (Error, 7)),
            (ended(None, Some(11), None), (Killed, -111)),
            (ended(None, Some(24), None), (Timeout, -1)),
            (ended(None, Some(25), None), (DiskLimit, -125)),
            (ended(None, Some(9), Some("memory")), (Memory, -4)),
            (
                ended(None, Some(9), Some("processes")),
                (ProcessLimit, -109),
            ),
            (ended(None, Some(9), Some("disk")), (DiskLimit, -109)),
            // Whatever it was killed for, if nobody knows that word.
            (ended(None, Some(9), Some("else")), (Killed, -109)),
        ];
        for (said, expected) in cases {
            assert_eq!(
                RunOutcome::of(None, Some(&said), None),
                expected,
                "{said:?}"
            );
        }
    }

    #[test]
    fn what_the_daemon_did_counts_before_what_was_said() {
        let said = ended(Some(0), None, None);
        let of = |stopped| RunOutcome::of(Some(stopped), Some(&said), None);
        assert_eq!(of(Stopped::Timeout), (RunOutcome::Timeout, -1));
        assert_eq!(of(Stopped::Cancelled), (RunOutcome::Cancelled, -2));
        assert_eq!(of(Stopped::Output), (RunOutcome::OutputLimit, -5));
    }

    #[test]
    fn an_init_that_says_nothing_was_killed() {
        assert_eq!(RunOutcome::of(None, None, None), (RunOutcome::Killed, -109));
    }

    #[test]
    fn an_exception_may_name_the_limit_behind_it() {
        let exception = |limit: &str| Ended {
            exception: Some(Exception {
                kind: "MemoryError".into(),
                message: String::new(),
                limit: Some(limit.into()),
            }),
            ..Ended::default()
        };
        let said = ended(Some(1), None, None);
        let of = |limit| RunOutcome::of(None, Some(&said), Some(&exception(limit)));
        assert_eq!(of("memory"), (RunOutcome::Memory, -4));
        assert_eq!(of("disk"), (RunOutcome::DiskLimit, 1));
        // What the kernel or the init says counts before what the program says.
        let said = ended(None, Some(9), Some("processes"));
        let both = RunOutcome::of(None, Some(&said), Some(&exception("memory")));
        assert_eq!(both, (RunOutcome::ProcessLimit, -109));
    }
}
