//! Whether what was found by a look at some paths can have changed since.
//!
//! The file system is the truth, and it is asked before every use of what was found there.
//! Asking costs a system call for each path, though, and with dozens of paths more than the
//! call it is asked for. So for what is asked often the kernel keeps watch: it notes a change
//! before the writer's own system call returns, hence what was written before a request came
//! is noted when the request is looked at, and one read tells that nothing was. Whatever a
//! watch cannot see is still looked at, and so is everything where no watch can be had.
//!
//! One queue of the kernel's serves the whole process (`inotify`): a user has only 128.

#[cfg(target_os = "linux")]
mod inotify;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[cfg(not(target_os = "linux"))]
use elsewhere::Watches;
#[cfg(target_os = "linux")]
use inotify::Watches;

use crate::stamp::Stamps;

/// What is asked for less often than this is looked at: to have it watched costs more.
const ASKED_OFTEN: u32 = 3;
/// After so long everything is looked at again: for writes through a memory map and for
/// mounts, which no watch sees.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Says whether a look is needed.
#[derive(Debug, Default)]
pub struct Watch(Mutex<State>);

#[derive(Debug)]
enum State {
    /// It was looked at so often since something changed.
    Looked(u32),
    Kept {
        watches: Watches,
        looked: Instant,
    },
    /// It cannot be had here.
    Impossible,
}

impl Default for State {
    fn default() -> Self {
        Self::Looked(0)
    }
}

impl Watch {
    /// Whether everything is as it was: either nothing can have happened since `look` said so
    /// last, or it says so again. It must depend only on what is at `paths`, links followed,
    /// and on nothing below a folder but the names in it.
    pub fn holds(&self, paths: impl FnOnce() -> Vec<PathBuf>, look: impl FnOnce() -> bool) -> bool {
        let mut state = self.state();
        if let State::Kept { watches, looked } = &mut *state {
            if !watches.are_quiet() {
                // Some of them may be on what is not there any more.
                *state = State::default();
            } else if looked.elapsed() < LOOK_AGAIN {
                return true;
            } else {
                *looked = Instant::now();
            }
        }
        if let State::Looked(times) = &mut *state {
            *times += 1;
            if *times > ASKED_OFTEN {
                // Before looking, so that nothing can happen in between.
                let looked = Instant::now();
                *state = Watches::of(&paths())
                    .map_or(State::Impossible, |watches| State::Kept { watches, looked });
            }
        }
        let holds = look();
        if !holds && !matches!(*state, State::Impossible) {
            // Its quiet would only mean that everything is as changed as before.
            *state = State::default();
        }
        holds
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stamps that are watched if they are asked for often.
#[derive(Debug, Default)]
pub struct Watched {
    stamps: Stamps,
    watch: Watch,
}

impl Watched {
    /// The stamps.
    pub fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// Whether everything is still so.
    pub fn hold(&self) -> bool {
        self.changed().is_none()
    }

    /// The first path that is not as it was.
    pub fn changed(&self) -> Option<PathBuf> {
        let mut changed = None;
        let paths = || self.stamps.paths().map(ToOwned::to_owned).collect();
        self.watch.holds(paths, || {
            changed = self.stamps.changed().map(ToOwned::to_owned);
            changed.is_none()
        });
        changed
    }

    /// The stamps alone.
    pub fn into_stamps(self) -> Stamps {
        self.stamps
    }
}

impl From<Stamps> for Watched {
    fn from(stamps: Stamps) -> Self {
        Self {
            stamps,
            watch: Watch::default(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::path::PathBuf;

    /// Nobody keeps watch here.
    #[derive(Debug)]
    pub(super) enum Watches {}

    impl Watches {
        pub(super) fn of(_: &[PathBuf]) -> Option<Self> {
            None
        }

        pub(super) fn are_quiet(&self) -> bool {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests;
