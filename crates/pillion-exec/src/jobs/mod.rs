//! Jobs: runs that nobody waits for. A queue with limits, what is known about each, and the
//! way to end them. How one is carried out is in `queue.rs`.
//!
//! A job is a row of the store and, until it ends, a task of this daemon. The store says what
//! is true about jobs; tasks only tell it. A task that is gone without a word leaves a row
//! whose owner is dead, and the next to look at it finds it lost.

pub(crate) mod feed;
pub(crate) mod result_limit;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_store::{StoreHandle, StoredJob};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use feed::Feed;

/// Jobs that wait for their turn before callers are told to come back.
pub(crate) const QUEUED: usize = 64;
/// How long whoever cancels a job waits for its end.
const CANCEL: Duration = Duration::from_secs(5);
/// How long the end of the daemon waits for jobs.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// The jobs of this daemon.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub(crate) store: StoreHandle,
    live: Mutex<HashMap<String, Arc<Live>>>,
    queue: Arc<Semaphore>,
    /// Fewer jobs run at once than runs may, so that who waits for a run gets a turn.
    gate: Semaphore,
    ending: CancellationToken,
}

/// A job that has not ended.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) cancel: CancellationToken,
    pub(crate) feed: Feed,
}

impl Jobs {
    pub(crate) fn new(store: StoreHandle, parallel: usize, ending: CancellationToken) -> Self {
        Self {
            store,
            live: Mutex::default(),
            queue: Arc::new(Semaphore::new(QUEUED)),
            gate: Semaphore::new(parallel),
            ending,
        }
    }

    /// A job of this daemon that has not ended.
    pub(crate) fn live(&self, id: &str) -> Option<Arc<Live>> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.get(id).cloned()
    }

    /// Whether jobs are taken: not when the daemon is ending.
    pub(crate) fn are_taken(&self) -> Result<()> {
        match self.ending.is_cancelled() {
            true => Err(Error::new(Code::ShuttingDown, "the daemon is ending")),
            false => Ok(()),
        }
    }

    /// A place in the queue, if there is one.
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.queue).try_acquire_owned().map_err(|_| {
            Error::new(Code::Busy, format!("{QUEUED} jobs are waiting already"))
                .hint("try again when some have ended, or cancel one")
        })
    }

    /// Wait for the turn of a job among jobs.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>> {
        self.gate.acquire().await.map_err(Error::internal)
    }

    /// A job of this name is under way from now on.
    pub(crate) fn begin(&self, id: &str) -> Arc<Live> {
        let live = Arc::new(Live {
            cancel: self.ending.child_token(),
            feed: Feed::default(),
        });
        let mut all = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(id.to_owned(), Arc::clone(&live));
        live
    }

    /// Note that a job has ended.
    pub(crate) fn end(&self, id: &str, live: &Live) {
        let mut all = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(id);
        drop(all);
        live.feed.end();
    }

    /// Wait until all jobs have ended, which they do when the daemon is ending.
    pub(crate) async fn ended(&self) {
        let all = async {
            loop {
                let one = {
                    let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
                    live.values().next().cloned()
                };
                let Some(one) = one else { return };
                one.feed.ended().await;
                // It leaves the list before it says so.
                tokio::task::yield_now().await;
            }
        };
        let _ = tokio::time::timeout(STOP_TIMEOUT, all).await;
    }

    /// End a job; says whether this did.
    pub(crate) async fn cancel(&self, id: &str) -> Result<(StoredJob, bool)> {
        let Some(live) = self.live(id) else {
            let job = self.store.job(id).await?.job;
            if job.status.is_final() {
                return Ok((job, false));
            }
            return Err(elsewhere(id));
        };
        live.cancel.cancel();
        let _ = tokio::time::timeout(CANCEL, live.feed.ended()).await;
        let job = self.store.job(id).await?.job;
        let cancelled = job.status == pillion_store::JobState::Cancelled;
        Ok((job, cancelled))
    }
}

/// A job that another daemon runs.
pub(crate) fn elsewhere(id: &str) -> Error {
    Error::new(
        Code::Conflict,
        format!("job `{id}` belongs to another daemon that runs now"),
    )
    .hint("ask that daemon: `--instance` or `--socket` names it")
}
