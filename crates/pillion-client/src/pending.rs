//! The table of requests that wait for their answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pillion_protocol::{Error, Result};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::wire::WireEvent;

/// What a request ends with.
pub(crate) type Outcome = Result<Box<RawValue>>;

/// Where the parts of an answer go.
pub(crate) struct Waiter {
    /// The outcome, once.
    pub(crate) outcome: oneshot::Sender<Outcome>,
    /// Items and progress before it, if the caller wants them.
    pub(crate) events: Option<mpsc::Sender<WireEvent>>,
}

/// Who waits for what. Whoever takes an entry out decides that request's outcome, and
/// only one can: that is why there is exactly one.
#[derive(Default)]
pub(crate) struct Pending {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, Waiter>,
    /// Why nothing more will be answered.
    closed: Option<Error>,
}

impl Pending {
    /// Wait for the answer to request `id`, unless the connection is already closed.
    pub(crate) fn insert(&self, id: u64, waiter: Waiter) -> Result<()> {
        let mut state = self.lock();
        if let Some(reason) = &state.closed {
            return Err(reason.clone());
        }
        state.waiting.insert(id, waiter);
        Ok(())
    }

    /// Stop waiting. False if the outcome is already decided.
    pub(crate) fn remove(&self, id: u64) -> bool {
        self.lock().waiting.remove(&id).is_some()
    }

    /// Hand an answer over. Nobody waits for a late one.
    pub(crate) fn answer(&self, id: u64, outcome: Outcome) {
        let waiter = self.lock().waiting.remove(&id);
        if let Some(waiter) = waiter {
            let _ = waiter.outcome.send(outcome);
        }
    }

    /// Where the events of request `id` go, if anybody wants them.
    pub(crate) fn events(&self, id: u64) -> Option<mpsc::Sender<WireEvent>> {
        self.lock().waiting.get(&id)?.events.clone()
    }

    /// No answer will come any more: fail all that wait, and all that would.
    pub(crate) fn close(&self, reason: &Error) {
        let waiting = {
            let mut state = self.lock();
            state.closed.get_or_insert_with(|| reason.clone());
            std::mem::take(&mut state.waiting)
        };
        for waiter in waiting.into_values() {
            let _ = waiter.outcome.send(Err(reason.clone()));
        }
    }

    /// Whether the connection is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pillion_protocol::Code;

    fn waiter() -> (Waiter, oneshot::Receiver<Outcome>) {
        let (outcome, answer) = oneshot::channel();
        let events = None;
        (Waiter { outcome, events }, answer)
    }

    #[test]
    fn an_outcome_is_decided_once() {
        let pending = Pending::default();
        let (first, mut answer) = waiter();
        pending.insert(1, first).unwrap();
        pending.answer(1, Err(Error::new(Code::Busy, "first")));
        pending.answer(1, Err(Error::new(Code::Busy, "late")));
        assert!(!pending.remove(1));
        assert_eq!(answer.try_recv().unwrap().unwrap_err().message, "first");
    }

    #[test]
    fn closing_fails_everyone_with_the_first_reason() {
        let pending = Pending::default();
        let (first, mut answer) = waiter();
        pending.insert(1, first).unwrap();
        pending.close(&Error::new(Code::Unreachable, "gone"));
        pending.close(&Error::new(Code::Unreachable, "gone again"));
        assert_eq!(answer.try_recv().unwrap().unwrap_err().message, "gone");
        let error = pending.insert(2, waiter().0).unwrap_err();
        assert_eq!(error.message, "gone");
        assert!(pending.is_closed());
    }
}
