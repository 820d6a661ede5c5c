//! The handle on a sidecar.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use pillion_catalogue::SendBudget;
use pillion_protocol::{Error, Result};
use tokio::sync::{mpsc, oneshot};

use super::{Actor, ActorContext};
use crate::failure::{busy, stopped, too_slow};
use crate::message::{ActorMessage, Grant, LoadToken, Outcome, Pending};
use crate::status::Shared;
use crate::{Ask, CallAnswer, CallRequest, Notice, SidecarSpec, SidecarState, SidecarStatus};

/// How long a call that was handed back waits for a place in a full queue, at a time.
const NO_PLACE: Duration = Duration::from_millis(10);

/// A handle on a sidecar. The sidecar ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct Sidecar {
    to_actor: mpsc::UnboundedSender<ActorMessage>,
    spec: Arc<SidecarSpec>,
    shared: Arc<Shared>,
    tickets: Arc<AtomicU64>,
}

/// What a caller is given.
enum Given {
    Answer(CallAnswer),
    Grant(Grant),
}

impl Sidecar {
    /// A sidecar that starts with its first call.
    pub(crate) fn new(spec: SidecarSpec, around: ActorContext) -> Self {
        let (to_actor, messages) = mpsc::unbounded_channel();
        let spec = Arc::new(spec);
        let shared = Arc::new(Shared::new());
        Actor::spawn(&spec, &shared, around, (to_actor.downgrade(), messages));
        Self {
            to_actor,
            spec,
            shared,
            tickets: Arc::default(),
        }
    }

    /// Ask it something. Dropping the future cancels the call.
    pub async fn call(&self, call: CallRequest) -> Result<CallAnswer> {
        let deadline = Instant::now() + call.timeout;
        let timeout = call.timeout;
        let given = tokio::time::timeout_at(deadline.into(), self.until_given(call))
            .await
            .unwrap_or_else(|_| Err(too_slow(&self.spec, timeout)))?;
        match given {
            Given::Answer(answer) => Ok(answer),
            Given::Grant(_) => Err(Error::internal("this sidecar answers no calls")),
        }
    }

    /// Have its process until the grant is dropped; one is started if there is none. Dropping
    /// the future gives up the wait, not the start.
    pub(crate) async fn grant(&self) -> Result<Grant> {
        let call = CallRequest {
            ask: Ask::nothing(),
            safe: true,
            timeout: Duration::MAX,
            parts: None,
            budget: SendBudget::default(),
        };
        match self.until_given(call).await? {
            Given::Grant(grant) => Ok(grant),
            Given::Answer(_) => Err(Error::internal("this sidecar cannot be held")),
        }
    }

    async fn until_given(&self, call: CallRequest) -> Result<Given> {
        let came = Instant::now();
        let (mut ask, mut parts) = (call.ask, call.parts);
        let mut handed_back = false;
        loop {
            call.budget.free().await;
            let limit = self.spec.limits.queue + self.spec.limits.in_flight;
            let load = match LoadToken::take(&self.shared, limit) {
                Some(load) => load,
                // It had its place already.
                None if handed_back => {
                    tokio::time::sleep(NO_PLACE).await;
                    continue;
                }
                None => return Err(busy(&self.spec)),
            };
            let (way_back, answer) = oneshot::channel();
            let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
            let pending = Pending {
                ticket,
                came,
                ask,
                safe: call.safe,
                repeated: false,
                put_off: 0,
                parts,
                budget: call.budget.clone(),
                way_back,
                load,
            };
            if self.to_actor.send(ActorMessage::Call(pending)).is_err() {
                return Err(stopped(&self.spec));
            }
            let mut cancel = CancelOnDrop {
                to_actor: &self.to_actor,
                ticket,
                armed: true,
            };
            let outcome = answer.await;
            cancel.armed = false;
            match outcome {
                Ok(Outcome::Done(outcome)) => return outcome.map(Given::Answer),
                Ok(Outcome::Held(grant)) => return Ok(Given::Grant(grant)),
                Ok(Outcome::NoRoom { ask: a, parts: p }) => (ask, parts) = (a, p),
                Err(_) => return Err(stopped(&self.spec)),
            }
            handed_back = true;
        }
    }

    /// Tell a language server something. It is written before any call that is made after
    /// this on the same handle. If no process runs it is dropped, if one is starting it is
    /// told when it is ready.
    pub fn notify(&self, notice: Notice) {
        let _ = self.to_actor.send(ActorMessage::Notify(notice));
    }

    /// Start it before its first call.
    pub(crate) fn warm(&self) {
        let _ = self.to_actor.send(ActorMessage::Warm);
    }

    /// Let it finish what it does, then go on with a fresh process.
    pub fn restart(&self) {
        let _ = self.to_actor.send(ActorMessage::Restart);
    }

    /// Let it finish what it does, then end it for good.
    pub(crate) fn retire(&self) {
        let _ = self.to_actor.send(ActorMessage::Stop(None));
    }

    /// End it for good; returns when its process is gone.
    pub async fn stop(&self) {
        let (done, ended) = oneshot::channel();
        if self.to_actor.send(ActorMessage::Stop(Some(done))).is_ok() {
            let _ = ended.await;
        }
    }

    /// What people see of it.
    pub fn status(&self) -> SidecarStatus {
        self.shared.status(&self.spec.name, self.spec.kind)
    }

    /// Where it is in its life.
    pub fn state(&self) -> SidecarState {
        self.shared.state()
    }

    /// When it last answered.
    pub(crate) fn used(&self) -> SystemTime {
        self.shared.used()
    }

    /// Calls that wait or run.
    pub(crate) fn load(&self) -> usize {
        self.shared.load.load(Ordering::Relaxed)
    }

    /// Whether a fresh process should take its place: it has worked off its calls.
    pub(crate) fn is_worn(&self) -> bool {
        let served = self.shared.served.load(Ordering::Relaxed);
        self.spec.limits.calls.is_some_and(|calls| served >= calls)
    }

    /// A source file that changed since its process imported it.
    pub(crate) fn changed_file(&self) -> Option<String> {
        self.shared.changed_file()
    }
}

struct CancelOnDrop<'a> {
    to_actor: &'a mpsc::UnboundedSender<ActorMessage>,
    ticket: u64,
    armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.armed {
            let _ = self.to_actor.send(ActorMessage::Cancel(self.ticket));
        }
    }
}
