//! What a handle on a sidecar and the task that owns its process tell each other: calls, what
//! becomes of them, and the right to the process itself.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use pillion_catalogue::{Error, Part, Result, SendBudget};
use tokio::sync::{mpsc, oneshot, watch};

use crate::status::Shared;
use crate::{Ask, CallAnswer, Cause, Ended, Notice};

/// What handles tell the owner.
#[derive(Debug)]
pub(crate) enum ActorMessage {
    Call(Pending),
    Notify(Notice),
    Cancel(u64),
    /// A hold is over.
    LetGo {
        process: u64,
        id: u64,
    },
    /// Who holds a process wants its end.
    Kill {
        process: u64,
        cause: Cause,
    },
    Warm,
    Restart,
    Stop(Option<oneshot::Sender<()>>),
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
    pub(crate) budget: SendBudget,
    pub(crate) way_back: oneshot::Sender<Outcome>,
    pub(crate) load: LoadToken,
}

impl Pending {
    pub(crate) fn answer(self, outcome: Result<CallAnswer>) {
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

/// What becomes of a call in the hands of an actor.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Its answer.
    Done(Result<CallAnswer>),
    /// The process itself, for a while.
    Held(Grant),
    /// Nothing yet: its caller has not read what it asked for before. It comes back when it
    /// has, and is in nobody's way until then.
    NoRoom {
        ask: Ask,
        parts: Option<mpsc::Sender<Part>>,
    },
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

/// The right to a process, which is given back when this is dropped, wherever that happens.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) channel: Arc<UnixStream>,
    pub(crate) process: u64,
    pub(crate) over: watch::Receiver<Option<Ended>>,
    pub(crate) id: u64,
    pub(crate) to_actor: mpsc::WeakUnboundedSender<ActorMessage>,
    pub(crate) _load: LoadToken,
}

impl Drop for Grant {
    fn drop(&mut self) {
        // Without a sender the sidecar is over already.
        if let Some(to_actor) = self.to_actor.upgrade() {
            let (process, id) = (self.process, self.id);
            let _ = to_actor.send(ActorMessage::LetGo { process, id });
        }
    }
}

/// Counts a call as load from the moment it is made until the process is done with it.
#[derive(Debug)]
pub(crate) struct LoadToken(Arc<Shared>);

impl LoadToken {
    pub(crate) fn take(shared: &Arc<Shared>, limit: usize) -> Option<Self> {
        let token = Self(Arc::clone(shared));
        (shared.load.fetch_add(1, Ordering::Relaxed) < limit).then_some(token)
    }
}

impl Drop for LoadToken {
    fn drop(&mut self) {
        self.0.load.fetch_sub(1, Ordering::Relaxed);
    }
}
