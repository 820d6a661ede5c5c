//! One kernel as Jupyter's clients see it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error, Result};
use pillion_kernel::{KernelChoice, KernelClient, KernelLife, Kernels, Listening, PYTHON};
use pillion_lanes::Whereabouts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// Clients of one kernel at once.
const CLIENTS: usize = 16;
/// A kernel that dies so often in so long is not started again by itself.
const DEATHS: usize = 5;
const DEATHS_WITHIN: Duration = Duration::from_secs(60);
/// How long, and for how many clients that went away, messages are kept.
const AWAY: Duration = Duration::from_secs(120);
const AWAY_CLIENTS: usize = 4;

/// A kernel, as Jupyter's clients read it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Model")]
pub struct KernelModel {
    /// Its id.
    pub id: String,
    /// What kind of kernel it is.
    pub name: String,
    /// When something was last said or heard.
    pub last_activity: String,
    /// What it does: `starting`, `idle`, `busy` or `dead`.
    pub execution_state: String,
    /// So many clients talk with it.
    pub connections: usize,
    /// The session that it belongs to.
    pub session: String,
}

/// A kernel under an id.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) id: String,
    pub(crate) session: String,
    /// Where it was asked for; it is made anew from there if need be.
    pub(crate) whereabouts: Option<Whereabouts>,
    /// What kind of kernel was asked for.
    pub(crate) wanted: KernelChoice,
    /// It was asked for here, and is listed until it is shut down here.
    pub(crate) is_kept: bool,
    /// Cancelled when it was shut down here.
    pub(crate) gone: CancellationToken,
    clients: AtomicUsize,
    restarts: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last_activity: jiff::Timestamp,
    deaths: VecDeque<Instant>,
    away: VecDeque<Away>,
    /// The number of the next client that goes away.
    next: u64,
}

/// What is kept for a client that may come back.
#[derive(Debug)]
struct Away {
    number: u64,
    name: String,
    client: Arc<KernelClient>,
    listening: Listening,
}

impl Served {
    pub(super) fn new(session: String, whereabouts: Option<Whereabouts>) -> Result<Self> {
        let id = pillion_kernel::new_id().map_err(|error| {
            let what = format!("no randomness for an id: {error}");
            Error::new(Code::StartFailed, what)
        })?;
        Ok(Self {
            id,
            session,
            is_kept: whereabouts.is_some(),
            whereabouts,
            wanted: KernelChoice::default(),
            gone: CancellationToken::new(),
            clients: AtomicUsize::new(0),
            restarts: AtomicUsize::new(0),
            state: Mutex::new(State {
                last_activity: jiff::Timestamp::now(),
                deaths: VecDeque::new(),
                away: VecDeque::new(),
                next: 0,
            }),
        })
    }

    /// As clients read it.
    pub(crate) fn model(&self, kernels: &Kernels) -> KernelModel {
        let kernel = kernels.find(&self.session);
        let name = match &kernel {
            Some(kernel) => kernel.name(),
            None => self.wanted.name.as_deref().unwrap_or(PYTHON),
        };
        let life = kernel.as_ref().map(|kernel| kernel.life());
        let state = match life {
            Some(KernelLife::Starting) => "starting",
            Some(KernelLife::Idle) => "idle",
            Some(KernelLife::Busy) => "busy",
            Some(KernelLife::Absent | KernelLife::Dead) | None => "dead",
        };
        KernelModel {
            id: self.id.clone(),
            name: name.to_owned(),
            last_activity: written(self.state().last_activity),
            execution_state: state.to_owned(),
            connections: self.clients.load(Ordering::Relaxed),
            session: self.session.clone(),
        }
    }

    /// Something was said or heard.
    pub(crate) fn touch(&self) {
        self.state().last_activity = jiff::Timestamp::now();
    }

    /// A client comes, if there is room for it.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Inside> {
        let before = self.clients.fetch_add(1, Ordering::Relaxed);
        let inside = Inside(Arc::clone(self));
        match before < CLIENTS {
            true => Ok(inside),
            false => {
                let what = format!("this kernel has {CLIENTS} clients already");
                Err(Error::new(Code::Busy, what).hint("close notebooks that use it"))
            }
        }
    }

    /// It died; says whether it should be started again.
    pub(crate) fn died(&self) -> bool {
        let mut state = self.state();
        let now = Instant::now();
        state.deaths.push_back(now);
        state.deaths.retain(|at| now - *at < DEATHS_WITHIN);
        state.deaths.len() <= DEATHS
    }

    /// It ends and comes back, as long as this is held.
    pub(crate) fn restarting(self: &Arc<Self>) -> Restarting {
        self.restarts.fetch_add(1, Ordering::Relaxed);
        Restarting(Arc::clone(self))
    }

    pub(crate) fn is_restarting(&self) -> bool {
        self.restarts.load(Ordering::Relaxed) > 0
    }

    /// Keep what comes for a client that went away, for a while.
    pub(crate) fn keep_for(
        self: &Arc<Self>,
        name: String,
        client: Arc<KernelClient>,
        ear: Listening,
    ) {
        if ear.is_over() {
            return;
        }
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.away.retain(|away| away.name != name);
        state.away.push_back(Away {
            number,
            name,
            client,
            listening: ear,
        });
        while state.away.len() > AWAY_CLIENTS {
            state.away.pop_front();
        }
        drop(state);
        let served = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(AWAY).await;
            if let Some(served) = served.upgrade() {
                served.state().away.retain(|away| away.number != number);
            }
        });
    }

    /// What was kept for a client that comes back, if its kernel is still the same process.
    pub(crate) fn kept_for(&self, name: &str, client: &Arc<KernelClient>) -> Option<Listening> {
        let mut state = self.state();
        let at = state.away.iter().position(|away| away.name == name)?;
        let away = state.away.remove(at)?;
        let is_same = Arc::ptr_eq(&away.client, client) && !away.listening.is_over();
        is_same.then_some(away.listening)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A time as Jupyter's clients read it: with six digits behind the second, no more and no less.
pub(crate) fn written(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// A client of a kernel, for as long as it is there.
#[derive(Debug)]
pub(crate) struct Inside(Arc<Served>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A kernel ends and comes back.
#[derive(Debug)]
pub(crate) struct Restarting(Arc<Served>);

impl Drop for Restarting {
    fn drop(&mut self) {
        self.0.restarts.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_six_digits_behind_the_second() {
        let time = jiff::Timestamp::new(0, 5_000).unwrap();
        assert_eq!(written(time), "1970-01-01T00:00:00.000005Z");
        assert_eq!(
            written(jiff::Timestamp::UNIX_EPOCH),
            "1970-01-01T00:00:00.000000Z"
        );
    }

    #[test]
    fn a_kernel_that_dies_again_and_again_is_left_alone() {
        let served = Served::new("s".to_owned(), None).unwrap();
        let lives: Vec<bool> = (0..7).map(|_| served.died()).collect();
        assert_eq!(lives, [true, true, true, true, true, false, false]);
    }

    #[test]
    fn there_is_room_for_so_many_clients() {
        let served = Arc::new(Served::new("s".to_owned(), None).unwrap());
        let mut inside: Vec<_> = (0..CLIENTS).map(|_| served.enter().unwrap()).collect();
        assert_eq!(served.enter().unwrap_err().code, Code::Busy);
        inside.pop();
        assert!(served.enter().is_ok());
    }
}
