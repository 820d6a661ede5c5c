//! Some slots of a zygote, kept warm.
//!
//! The zygote itself is the supervisor's: it starts one when a run first needs it, replaces it
//! when a module that it imported has changed, and ends it when it is not used. What is kept
//! here belongs to one process of it, and is of no use with the next.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Code, Error};
use pillion_supervisor::{Hold, Pool, Supervisor};

use crate::zygote::{self, Make, Slot, mounts};

/// How long a run keeps others from making the next slot.
const REFILL_DELAY: Duration = Duration::from_millis(25);

/// A zygote with its warm slots.
#[derive(Debug)]
pub(crate) struct SlotPool {
    supervisor: Arc<Supervisor>,
    make: Make,
    key: String,
    /// How many slots are kept warm.
    slots: usize,
    state: Mutex<State<Slot>>,
}

/// The folder that a slot has, and which one that was.
type Wanted = Option<(PathBuf, Place)>;
/// Which folder a path led to.
type Place = (u64, u64);

/// How a slot was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Warm,
    Forked,
}

impl SlotPool {
    /// Whether it keeps so many slots of such a zygote.
    pub(crate) fn is_of(&self, make: &Make, slots: usize) -> bool {
        self.slots == slots && self.make == *make
    }

    pub(crate) fn new(supervisor: Arc<Supervisor>, make: Make, slots: usize) -> Self {
        Self {
            key: make.key(),
            supervisor,
            make,
            slots,
            state: Mutex::default(),
        }
    }

    /// A slot whose folder is thrown away, or the part `folder` of what was handed on. Dropping
    /// the future does not keep a zygote from starting.
    pub(crate) async fn slot(self: &Arc<Self>, folder: Option<&Path>) -> io::Result<(Slot, How)> {
        let place = folder.map(|folder| self.place(folder)).transpose()?;
        let wanted = folder.map(Path::to_owned).zip(place);
        let zygote = self.hold().await.map_err(io::Error::other)?;
        let warm = {
            let mut state = self.state();
            state.keep_alive(|slot| slot.init.is_alive());
            state.take(zygote.process(), &wanted)
        };
        let (mut slot, how) = match warm {
            Some(slot) => (slot, How::Warm),
            None => (self.fork(&zygote, folder).await?, How::Forked),
        };
        let (over, ended) = tokio::sync::oneshot::channel();
        slot.init.over = Some(over);
        slot.init.zygote = Some(zygote.clone());
        let slot_pool = Arc::clone(self);
        tokio::spawn(async move {
            // Not now: the run that this is about wants the processor first.
            let _ = tokio::time::timeout(REFILL_DELAY, ended).await;
            slot_pool.refill(&zygote, wanted).await;
        });
        Ok((slot, how))
    }

    /// How many slots wait.
    pub(crate) fn warm(&self) -> usize {
        let mut state = self.state();
        state.keep_alive(|slot| slot.init.is_alive());
        state.warm.len()
    }

    /// The zygote. One that was just being replaced is asked for again.
    async fn hold(&self) -> Result<Hold, Error> {
        match self.pool().hold().await {
            Err(error) if error.code == Code::ShuttingDown => self.pool().hold().await,
            held => held,
        }
    }

    /// Asked for each time: it may have been retired, and forgotten, meanwhile.
    fn pool(&self) -> Arc<Pool> {
        self.supervisor.pool(&self.key, 1, || self.make.spec())
    }

    async fn fork(&self, zygote: &Hold, folder: Option<&Path>) -> io::Result<Slot> {
        let made = zygote::fork(zygote, self.mounts(folder), true).await;
        if let Err(error) = &made
            && !is_gone(error)
        {
            // It lives, and is of no use: the next caller gets another.
            tracing::warn!(%error, "a zygote makes no slots: it is replaced");
            self.pool().restart();
        }
        made
    }

    /// Make slots until enough are warm. Slots with a folder are of use to one session only,
    /// so one is kept for each of those that ran last.
    async fn refill(&self, zygote: &Hold, wanted: Wanted) {
        let process = zygote.process();
        let most = match wanted {
            Some(_) => self.slots.min(1),
            None => self.slots,
        };
        let folder = wanted.as_ref().map(|(folder, _)| folder.as_path());
        while self.state().begin(process, &wanted, most) {
            let made = zygote::fork(zygote, self.mounts(folder), false).await;
            let made = made.ok();
            let failed = made.is_none();
            let mut state = self.state();
            state.made(process, &wanted, made);
            state.shrink(self.slots.max(1));
            if failed {
                return;
            }
        }
    }

    fn mounts(&self, folder: Option<&Path>) -> Option<Vec<serde_json::Value>> {
        folder.map(|folder| mounts(&self.make.policy, Some(folder)))
    }

    fn place(&self, folder: &Path) -> io::Result<Place> {
        let handed = self.make.handed.as_deref().unwrap_or(Path::new("/"));
        let meta = std::fs::metadata(handed.join(folder))?;
        Ok((meta.dev(), meta.ino()))
    }

    fn state(&self) -> MutexGuard<'_, State<Slot>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the process that should have answered has ended, which its supervisor knows best.
fn is_gone(error: &io::Error) -> bool {
    let gone = [
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::BrokenPipe,
        io::ErrorKind::ConnectionReset,
    ];
    gone.contains(&error.kind())
}

/// The slots that wait, of one process of the zygote.
#[derive(Debug)]
struct State<S> {
    /// Which process.
    process: u64,
    /// Those that were made first are in front.
    warm: VecDeque<(Wanted, S)>,
    /// Slots that are being made.
    coming: usize,
}

impl<S> Default for State<S> {
    fn default() -> Self {
        Self {
            process: 0,
            warm: VecDeque::new(),
            coming: 0,
        }
    }
}

impl<S> State<S> {
    /// Another process has come: what was made by those before it is old.
    fn enter(&mut self, process: u64) -> bool {
        if process > self.process {
            *self = Self {
                process,
                ..Self::default()
            };
        }
        process == self.process
    }

    /// A slot of this process with this folder.
    fn take(&mut self, process: u64, wanted: &Wanted) -> Option<S> {
        if !self.enter(process) {
            return None;
        }
        let at = self.warm.iter().position(|(folder, _)| folder == wanted)?;
        self.warm.remove(at).map(|(_, slot)| slot)
    }

    /// Whether one more slot with this folder is to be made, if `most` of them are enough. It
    /// is, then, and [`made`](Self::made) says what came of it.
    fn begin(&mut self, process: u64, wanted: &Wanted, most: usize) -> bool {
        if !self.enter(process) {
            return false;
        }
        let fitting = self.warm.iter().filter(|(folder, _)| folder == wanted);
        let begins = fitting.count() + self.coming < most;
        self.coming += usize::from(begins);
        begins
    }

    fn made(&mut self, process: u64, wanted: &Wanted, slot: Option<S>) {
        if process == self.process {
            self.coming = self.coming.saturating_sub(1);
            self.warm.extend(slot.map(|slot| (wanted.clone(), slot)));
        }
    }

    /// Let go of those that have waited longest.
    fn shrink(&mut self, most: usize) {
        let over = self.warm.len().saturating_sub(most);
        self.warm.drain(..over);
    }

    fn keep_alive(&mut self, is_alive: impl Fn(&S) -> bool) {
        self.warm.retain(|(_, slot)| is_alive(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> Wanted {
        Some((PathBuf::from(name), (1, 2)))
    }

    fn fill(state: &mut State<u32>, process: u64, wanted: &Wanted, slot: u32) {
        assert!(state.begin(process, wanted, usize::MAX));
        state.made(process, wanted, Some(slot));
    }

    #[test]
    fn a_slot_is_for_its_folder_and_taken_once() {
        let mut state = State::default();
        fill(&mut state, 1, &session("a"), 7);
        fill(&mut state, 1, &None, 8);
        assert_eq!(state.take(1, &session("b")), None);
        assert_eq!(state.take(1, &session("a")), Some(7));
        assert_eq!(state.take(1, &session("a")), None);
        assert_eq!(state.take(1, &None), Some(8));
    }

    #[test]
    fn a_folder_that_was_replaced_is_another() {
        let mut state = State::default();
        fill(&mut state, 1, &session("a"), 7);
        let replaced = Some((PathBuf::from("a"), (1, 3)));
        assert_eq!(state.take(1, &replaced), None);
    }

    #[test]
    fn slots_of_an_old_zygote_are_never_handed_out() {
        let mut state = State::default();
        fill(&mut state, 1, &None, 7);
        assert_eq!(state.take(2, &None), None);
        assert!(state.warm.is_empty(), "they are let go of");
        // One that the old zygote was still making comes too late.
        state.made(1, &None, Some(8));
        assert_eq!(state.take(2, &None), None);
        // Who still holds the old zygote takes nothing of the new one's.
        fill(&mut state, 2, &None, 9);
        assert_eq!(state.take(1, &None), None);
        assert!(!state.begin(1, &None, 9));
        assert_eq!(state.take(2, &None), Some(9));
    }

    #[test]
    fn no_more_are_made_than_are_wanted() {
        let mut state: State<u32> = State::default();
        assert!(state.begin(1, &None, 2));
        assert!(state.begin(1, &None, 2));
        assert!(!state.begin(1, &None, 2), "two are coming");
        state.made(1, &None, None);
        assert!(state.begin(1, &None, 2), "one failed");
        for slot in 0..5 {
            state.made(1, &None, Some(slot));
        }
        state.shrink(2);
        assert_eq!(state.take(1, &None), Some(3), "the newest stay");
        state.keep_alive(|slot| *slot != 4);
        assert_eq!(state.take(1, &None), None, "that one has died");
    }
}
