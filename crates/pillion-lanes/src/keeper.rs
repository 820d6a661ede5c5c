//! Keeping a zygote alive, and some of its slots warm.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::zygote::{Make, Slot, Zygote, mounts};

/// Runs after which a zygote is replaced.
const RUNS: u32 = 500;
/// A zygote that could not be started is not tried again for so long.
const PAUSE: Duration = Duration::from_secs(30);
/// How long a run keeps others from making the next slot.
const SOON: Duration = Duration::from_millis(25);
/// A zygote that nobody needed for so long ends.
pub(crate) const IDLE: Duration = Duration::from_secs(5 * 60);

/// A zygote, started when it is first needed, with its warm slots.
#[derive(Debug)]
pub(crate) struct Keeper {
    make: Make,
    /// How many slots are kept warm.
    slots: usize,
    state: tokio::sync::Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    zygote: Option<Arc<Zygote>>,
    warm: VecDeque<Warm>,
    given: u32,
    /// Slots that are being made.
    coming: usize,
    failed: Option<(Instant, String)>,
    used: Option<Instant>,
}

#[derive(Debug)]
struct Warm {
    /// The folder that it has, and which one that was.
    folder: Option<(PathBuf, Place)>,
    slot: Slot,
}

/// Which folder a path led to.
type Place = (u64, u64);

/// How a slot was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Warm,
    Forked,
}

impl Keeper {
    pub(crate) fn new(make: Make, slots: usize) -> Self {
        Self {
            make,
            slots,
            state: tokio::sync::Mutex::default(),
        }
    }

    /// A slot whose folder is thrown away, or the part `folder` of what was handed on.
    pub(crate) async fn slot(self: &Arc<Self>, folder: Option<&Path>) -> io::Result<(Slot, How)> {
        let place = folder.map(|folder| self.place(folder)).transpose()?;
        let wanted = folder.map(Path::to_owned).zip(place);
        let (zygote, warm) = {
            let mut state = self.state.lock().await;
            let zygote = self.living(&mut state).await?;
            state.used = Some(Instant::now());
            (zygote, state.take(wanted.as_ref()))
        };
        let found = match warm {
            Some(slot) => (slot, How::Warm),
            None => {
                let made = zygote.slot(self.mounts(folder), true).await;
                (self.or_forget(made).await?, How::Forked)
            }
        };
        let (mut slot, how) = found;
        let (over, ended) = tokio::sync::oneshot::channel();
        slot.init.over = Some(over);
        let keeper = Arc::clone(self);
        tokio::spawn(async move {
            // Not now: the run that this is about wants the processor first.
            let _ = tokio::time::timeout(SOON, ended).await;
            keeper.refill(wanted).await;
        });
        Ok((slot, how))
    }

    /// End the zygote if nobody needed it lately; says whether it lives.
    pub(crate) async fn rest(&self, idle: Duration) -> bool {
        let mut state = self.state.lock().await;
        if state.used.is_none_or(|used| used.elapsed() >= idle) {
            *state = State::default();
        }
        state.zygote.is_some()
    }

    /// How many slots wait.
    pub(crate) async fn warm(&self) -> usize {
        self.state.lock().await.warm.len()
    }

    async fn living(&self, state: &mut State) -> io::Result<Arc<Zygote>> {
        if state.given >= RUNS {
            *state = State::default();
        }
        if let Some(zygote) = &state.zygote {
            return Ok(Arc::clone(zygote));
        }
        if let Some((when, why)) = &state.failed
            && when.elapsed() < PAUSE
        {
            return Err(io::Error::other(why.clone()));
        }
        match Zygote::start(&self.make).await {
            Ok(zygote) => {
                let zygote = Arc::new(zygote);
                state.zygote = Some(Arc::clone(&zygote));
                Ok(zygote)
            }
            Err(error) => {
                tracing::warn!(%error, "no zygote: runs start an interpreter each");
                state.failed = Some((Instant::now(), error.to_string()));
                Err(error)
            }
        }
    }

    /// A zygote that makes no slots is of no use: the next caller starts another.
    async fn or_forget(&self, made: io::Result<Slot>) -> io::Result<Slot> {
        if made.is_err() {
            *self.state.lock().await = State::default();
        }
        made
    }

    /// Make slots until enough are warm. Slots with a folder are of use to one session only,
    /// so one is kept for each of those that ran last.
    async fn refill(&self, wanted: Option<(PathBuf, Place)>) {
        loop {
            let zygote = {
                let mut state = self.state.lock().await;
                let fitting = state
                    .warm
                    .iter()
                    .filter(|warm| warm.folder == wanted)
                    .count();
                let most = if wanted.is_some() {
                    self.slots.min(1)
                } else {
                    self.slots
                };
                let Some(zygote) = state.zygote.clone() else {
                    return;
                };
                if fitting + state.coming >= most {
                    return;
                }
                state.coming += 1;
                zygote
            };
            let folder = wanted.as_ref().map(|(folder, _)| folder.as_path());
            let made = zygote.slot(self.mounts(folder), false).await;
            let mut state = self.state.lock().await;
            state.coming = state.coming.saturating_sub(1);
            let is_same = state
                .zygote
                .as_ref()
                .is_some_and(|now| Arc::ptr_eq(now, &zygote));
            let (Ok(slot), true) = (made, is_same) else {
                return;
            };
            state.warm.push_back(Warm {
                folder: wanted.clone(),
                slot,
            });
            if state.warm.len() > self.slots.max(1) {
                state.warm.pop_front();
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
}

impl State {
    /// A warm slot with this folder.
    fn take(&mut self, wanted: Option<&(PathBuf, Place)>) -> Option<Slot> {
        self.warm.retain(|warm| warm.slot.init.is_alive());
        self.given += 1;
        let fits = |warm: &Warm| warm.folder.as_ref() == wanted;
        let at = self.warm.iter().position(fits)?;
        self.warm.remove(at).map(|warm| warm.slot)
    }
}
