//! Sidecars of the same make, for calls side by side.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use pillion_catalogue::Activity;
use pillion_protocol::Result;

use crate::actor::ActorContext;
use crate::{
    CallAnswer, CallRequest, Events, Hold, Notice, Sidecar, SidecarSpec, SidecarState,
    SidecarStatus,
};

/// How long a spare waits before it takes processor time from the successor's start.
const SPARE_DELAY: Duration = Duration::from_millis(300);

/// One or more sidecars of the same make. A second one starts only when the first is
/// busy, up to the size of the pool.
#[derive(Debug)]
pub struct Pool {
    spec: SidecarSpec,
    size: usize,
    around: ActorContext,
    started: SystemTime,
    /// How people see it, if not by the name it was made with.
    name: Mutex<Option<String>>,
    slots: Mutex<Vec<Sidecar>>,
    /// Started but never used: takes over when a source file changes. There is one only
    /// where files do change, from the first change on.
    spare: Mutex<Option<Sidecar>>,
}

impl Pool {
    pub(crate) fn new(spec: SidecarSpec, size: usize, events: Events, activity: Activity) -> Self {
        let around = ActorContext {
            events,
            activity,
            generations: Arc::new(AtomicU64::new(0)),
        };
        Self {
            spec,
            size: size.max(1),
            around,
            started: SystemTime::now(),
            name: Mutex::default(),
            slots: Mutex::default(),
            spare: Mutex::default(),
        }
    }

    /// Ask one of them something. Dropping the future cancels the call.
    pub async fn call(&self, call: CallRequest) -> Result<CallAnswer> {
        let sidecar = self.pick();
        sidecar.call(call).await
    }

    /// Have the process of one of them until the hold is dropped. Dropping the future gives up
    /// the wait; a process that is starting for it goes on to start, for the next caller.
    pub async fn hold(&self) -> Result<Hold> {
        let sidecar = self.pick();
        Hold::of(&sidecar).await
    }

    /// Tell all of them something; see [`Sidecar::notify`].
    pub fn notify(&self, notice: &Notice) {
        for slot in self.slots().iter() {
            slot.notify(notice.clone());
        }
    }

    /// What they are made of.
    pub fn spec(&self) -> &SidecarSpec {
        &self.spec
    }

    /// Let each finish what it does and go on with a fresh process. Says how many there are.
    pub fn restart(&self) -> usize {
        let mut slots = self.slots();
        for (index, slot) in slots.iter_mut().enumerate() {
            // Who holds a process may do so for long, and nobody should wait for that.
            match self.spec.dialect.is_held() {
                true => self.replace(slot, index),
                false => slot.restart(),
            }
        }
        slots.len()
    }

    /// People see it under this name from now on.
    pub(crate) fn rename(&self, name: &str) {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.to_owned());
    }

    /// Let each finish what it does and end.
    pub(crate) fn retire(&self) {
        for slot in self.take_all() {
            slot.retire();
        }
    }

    /// End them all; returns when their processes are gone.
    pub async fn stop(&self) {
        let slots = self.take_all();
        futures::future::join_all(slots.iter().map(Sidecar::stop)).await;
    }

    fn take_all(&self) -> Vec<Sidecar> {
        let mut all = std::mem::take(&mut *self.slots());
        all.extend(self.spare().take());
        all
    }

    /// What people see of them.
    pub fn status(&self) -> Vec<SidecarStatus> {
        let mut all: Vec<_> = self.slots().iter().map(Sidecar::status).collect();
        if let Some(name) = &*self.name.lock().unwrap_or_else(PoisonError::into_inner) {
            for status in &mut all {
                status.name.clone_from(name);
            }
        }
        all.extend(self.spare().iter().map(|spare| {
            let mut status = spare.status();
            status.name.push_str(" (spare)");
            status
        }));
        all
    }

    pub(crate) fn started(&self) -> SystemTime {
        self.started
    }

    pub(crate) fn used(&self) -> SystemTime {
        self.slots()
            .iter()
            .map(Sidecar::used)
            .max()
            .unwrap_or(self.started)
    }

    /// Processes that run.
    pub(crate) fn alive(&self) -> usize {
        let gone = [
            SidecarState::Idle,
            SidecarState::Stopped,
            SidecarState::Backoff,
            SidecarState::Broken,
        ];
        let (slots, spare) = (self.slots(), self.spare());
        let all = slots.iter().chain(spare.as_ref());
        all.filter(|s| !gone.contains(&s.state())).count()
    }

    /// Whether any call waits or runs.
    pub(crate) fn is_loaded(&self) -> bool {
        self.slots().iter().any(|slot| slot.load() > 0)
    }

    /// The one that answers soonest. One whose source files have changed answers nothing
    /// any more: it finishes what it does, and a successor takes its place.
    fn pick(&self) -> Sidecar {
        let mut slots = self.slots();
        for (index, slot) in slots.iter_mut().enumerate() {
            if let Some(file) = slot.changed_file() {
                tracing::info!(
                    sidecar = self.spec.name,
                    file,
                    "retired: a source file changed"
                );
                self.replace(slot, index);
            } else if slot.is_worn() {
                self.replace(slot, index);
            }
        }
        let free = |wanted: fn(&Sidecar) -> bool| slots.iter().find(|s| s.load() == 0 && wanted(s));
        let found = free(|slot| slot.state() == SidecarState::Ready).or_else(|| free(|_| true));
        if let Some(slot) = found {
            return slot.clone();
        }
        if slots.len() < self.size {
            let slot = self.fresh(slots.len());
            slots.push(slot.clone());
            return slot;
        }
        match slots.iter().min_by_key(|slot| slot.load()) {
            Some(slot) => slot.clone(),
            None => self.fresh(0),
        }
    }

    /// Let one finish what it does, and put another in its place.
    fn replace(&self, slot: &mut Sidecar, index: usize) {
        slot.retire();
        *slot = match self.spec.dialect.is_held() {
            // No spare: one more is not worth its memory where callers have another way.
            true => self.fresh(index),
            false => self.successor(index),
        };
    }

    /// Who takes the place of a retired sidecar: the spare, if it knows no old code itself.
    /// The next spare is started for the next change, but not while somebody waits for this
    /// successor.
    fn successor(&self, index: usize) -> Sidecar {
        let mut spare = self.spare();
        let ready = spare.take().filter(|spare| spare.changed_file().is_none());
        let successor = ready.unwrap_or_else(|| self.fresh(index));
        let next = self.fresh(index);
        *spare = Some(next.clone());
        tokio::spawn(async move {
            tokio::time::sleep(SPARE_DELAY).await;
            next.warm();
        });
        successor
    }

    fn fresh(&self, index: usize) -> Sidecar {
        let mut spec = self.spec.clone();
        if self.size > 1 {
            spec.name = format!("{}-{}", spec.name, index + 1);
        }
        Sidecar::new(spec, self.around.clone())
    }

    fn spare(&self) -> MutexGuard<'_, Option<Sidecar>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Sidecar>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
