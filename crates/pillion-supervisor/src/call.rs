//! A call on its way to a sidecar, and its answer.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use pillion_catalogue::{Error, Part, Result, Room};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::hold::Grant;
use crate::sidecar::LoadToken;

/// What to ask a sidecar.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The method or command.
    pub method: Cow<'static, str>,
    /// Its parameters.
    pub params: Option<Box<RawValue>>,
    /// The `project` of the old contract.
    pub project: String,
}

impl Ask {
    /// Of a hold, which asks for nothing but the process.
    pub(crate) fn nothing() -> Self {
        Self {
            method: Cow::Borrowed(""),
            params: None,
            project: String::new(),
        }
    }
}

/// A call: what to ask and under which rules.
#[derive(Debug)]
pub struct Call {
    /// What to ask.
    pub ask: Ask,
    /// Whether it may be asked again after a crash.
    pub safe: bool,
    /// How long it may take, from now, with waiting and starting.
    pub timeout: Duration,
    /// Where items and progress go; slow readers slow the sidecar down.
    pub parts: Option<mpsc::Sender<Part>>,
    /// Where the answer will wait; the call begins only while there is room.
    pub room: Room,
}

/// An answer and where it came from.
#[derive(Debug)]
pub struct Answer {
    /// What the sidecar gave back.
    pub result: Box<RawValue>,
    /// Which process of this sidecar answered: 1 for the first, and so on.
    pub generation: u64,
    /// Its process id.
    pub pid: Option<u32>,
    /// How long the process worked on it.
    pub took: Duration,
}

/// What becomes of a call in the hands of an actor.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Its answer.
    Done(Result<Answer>),
    /// The process itself, for a while.
    Held(Grant),
    /// Nothing yet: its caller has not read what it asked for before. It comes back when it
    /// has, and is in nobody's way until then.
    NoRoom {
        ask: Ask,
        parts: Option<mpsc::Sender<Part>>,
    },
}

/// A call in the hands of an actor. Answering consumes the way back, so that there is
/// exactly one answer; dropping it unanswered is seen by the caller too.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) ticket: u64,
    pub(crate) came: Instant,
    pub(crate) ask: Ask,
    pub(crate) safe: bool,
    pub(crate) repeated: bool,
    /// How often the process itself wanted to be asked again.
    pub(crate) put_off: u8,
    pub(crate) parts: Option<mpsc::Sender<Part>>,
    pub(crate) room: Room,
    pub(crate) way_back: oneshot::Sender<Outcome>,
    pub(crate) load: LoadToken,
}

impl Pending {
    pub(crate) fn answer(self, outcome: Result<Answer>) {
        // A caller that went away has cancelled; nobody misses the answer.
        let _ = self.way_back.send(Outcome::Done(outcome));
    }

    /// Hand it back until its caller has room for the answer.
    pub(crate) fn put_back(self) {
        let (ask, parts) = (self.ask, self.parts);
        let _ = self.way_back.send(Outcome::NoRoom { ask, parts });
    }

    /// Hand over the process; `grant` makes what is handed over of the load that this is.
    pub(crate) fn grant(self, grant: impl FnOnce(LoadToken) -> Grant) {
        // With nobody there, it is let go of at once.
        let _ = self.way_back.send(Outcome::Held(grant(self.load)));
    }

    pub(crate) fn fail(self, error: Error) {
        self.answer(Err(error));
    }
}

/// A call in the hands of the process.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// `None` once the caller has been told something else.
    pub(crate) pending: Option<Pending>,
    /// Still load, although nobody waits any more.
    pub(crate) load: Option<LoadToken>,
    pub(crate) began: Instant,
    /// When the process is killed for not ending a cancelled call.
    pub(crate) kill_at: Option<Instant>,
    pub(crate) ticket: u64,
}
