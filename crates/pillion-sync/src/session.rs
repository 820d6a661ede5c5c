//! The task of a session: it takes the next delivery, sends it, and notes what became of it.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pillion_store::{Outgoing, StoreError, StoreHandle};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::answer::{Verdict, backoff};
use crate::backend::BackendTarget;
use crate::request::{Clients, deliver};
use crate::status::{SessionLink, SessionStatus};
use crate::timing::Timing;

/// A task that waits looks at the clock this often: a machine that slept does not wait
/// longer than it has to.
const LONGEST_NAP: Duration = Duration::from_secs(60);

/// A backend that has made a session, and yet does not know it, is asked this often. It may
/// need a moment.
const MISSING_ATTEMPTS: u32 = 5;

/// What the tasks of all sessions share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: StoreHandle,
    pub(crate) timing: Timing,
    /// A permit for each request that may be under way.
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) clients: Clients,
    pub(crate) delivered: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) given_up: AtomicU64,
}

/// An attached session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) name: String,
    pub(crate) stop: CancellationToken,
    /// There is something new in the outbox, or another backend.
    pub(crate) wake: Notify,
    attached: Mutex<Attached>,
    seen: Mutex<(SessionLink, Option<String>)>,
}

/// The backend, and how often the session was attached.
#[derive(Debug, Clone)]
struct Attached {
    target: Arc<BackendTarget>,
    times: u64,
}

impl Session {
    pub(crate) fn new(name: &str, target: BackendTarget, stop: CancellationToken) -> Self {
        let target = Arc::new(target);
        Self {
            name: name.to_owned(),
            stop,
            wake: Notify::new(),
            attached: Mutex::new(Attached { target, times: 0 }),
            seen: Mutex::new((SessionLink::Idle, None)),
        }
    }

    /// From now on this backend: what waits is tried at once.
    pub(crate) fn attach(&self, mut target: BackendTarget) {
        let mut attached = lock(&self.attached);
        target.keep_token_of(&attached.target);
        attached.target = Arc::new(target);
        attached.times += 1;
        drop(attached);
        self.wake.notify_one();
    }

    fn attached(&self) -> Attached {
        lock(&self.attached).clone()
    }

    pub(crate) fn status(&self) -> SessionStatus {
        let (link, problem) = lock(&self.seen).clone();
        SessionStatus {
            session: self.name.clone(),
            link,
            problem,
        }
    }

    fn link(&self, link: SessionLink) {
        lock(&self.seen).0 = link;
    }

    fn problem(&self, problem: Option<&str>) {
        lock(&self.seen).1 = problem.map(str::to_owned);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Deliver until the session is stopped. The task that had the session before has ended
/// first: no two send at a time.
pub(crate) async fn run(
    shared: Arc<Shared>,
    session: Arc<Session>,
    before: Option<JoinHandle<()>>,
) {
    if let Some(before) = before {
        let _ = before.await;
    }
    let stop = session.stop.clone();
    let mut task = Task {
        shared,
        session,
        refused: None,
        put_off: None,
        missing: 0,
        broken: 0,
    };
    while let Some(due) = unless(&stop, task.next_due()).await {
        let Some(verdict) = unless(&stop, task.deliver(&due)).await else {
            break;
        };
        // What was answered is noted, also if the session is stopped in the meantime.
        match task.note(&due, verdict).await {
            Ok(()) => task.broken = 0,
            Err(error) => task.store_failed(&error),
        }
    }
}

/// Do this, but not a step of it after the stop.
async fn unless<T>(stop: &CancellationToken, todo: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        done = todo => Some(done),
    }
}

struct Task {
    shared: Arc<Shared>,
    session: Arc<Session>,
    /// Which attachment's token was refused.
    refused: Option<u64>,
    /// Which attachment's backend the next delivery was put off for.
    put_off: Option<u64>,
    /// How often in a row the backend did not know a session that it had made.
    missing: u32,
    /// How often in a row the outbox failed.
    broken: u32,
}

/// A delivery that may be sent now.
struct Due {
    outgoing: Outgoing,
    attached: Attached,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Task {
    /// Wait until something may be sent.
    async fn next_due(&mut self) -> Due {
        loop {
            if self.broken > 0 {
                self.session.link(SessionLink::Broken);
                tokio::time::sleep(self.backoff(self.broken)).await;
            }
            let times = self.session.attached().times;
            if self.refused == Some(times) {
                self.session.link(SessionLink::Refused);
                self.session.wake.notified().await;
                continue;
            }
            let outgoing = match self.next().await {
                Ok(Some(outgoing)) => outgoing,
                Ok(None) => {
                    self.broken = 0;
                    self.session.link(SessionLink::Idle);
                    self.session.wake.notified().await;
                    continue;
                }
                Err(error) => {
                    self.store_failed(&error);
                    continue;
                }
            };
            self.broken = 0;
            // Another backend than the one that it was put off for has not been asked yet.
            let asked = self.put_off.is_none_or(|put_off| put_off == times);
            if asked && !outgoing.wait.is_zero() {
                self.session.link(SessionLink::PutOff);
                tokio::select! {
                    () = tokio::time::sleep(outgoing.wait.min(LONGEST_NAP)) => {}
                    () = self.session.wake.notified() => {}
                }
                continue;
            }
            self.session.link(SessionLink::Sending);
            let permit = Arc::clone(&self.shared.requests).acquire_owned().await;
            return Due {
                outgoing,
                attached: self.session.attached(),
                // The semaphore is never closed.
                _permit: permit.ok(),
            };
        }
    }

    async fn next(&self) -> Result<Option<Outgoing>, StoreError> {
        let store = self.shared.store.store().await?;
        store.next_delivery(&self.session.name).await
    }

    async fn deliver(&self, due: &Due) -> Verdict {
        let Shared {
            clients, timing, ..
        } = &*self.shared;
        deliver(clients, &due.attached.target, *timing, &due.outgoing).await
    }

    /// Write down what became of a delivery.
    async fn note(&mut self, due: &Due, verdict: Verdict) -> Result<(), StoreError> {
        let Due {
            outgoing, attached, ..
        } = due;
        let verdict = self.known_by_now(verdict);
        let store = self.shared.store.store().await?;
        let (session, kind, number) = (&outgoing.session, outgoing.kind, outgoing.number);
        let (delay, reason) = match verdict {
            Verdict::Arrived => {
                store.settle_delivery(outgoing.id).await?;
                self.shared.delivered.fetch_add(1, Ordering::Relaxed);
                self.session.problem(None);
                self.put_off = None;
                tracing::debug!(%session, %kind, number, "delivered to the backend");
                return Ok(());
            }
            Verdict::Never(reason) => {
                store.give_up_delivery(outgoing.id, &reason).await?;
                self.shared.given_up.fetch_add(1, Ordering::Relaxed);
                self.session.problem(Some(&reason));
                self.put_off = None;
                tracing::warn!(%session, %kind, number, %reason, "a delivery is given up");
                return Ok(());
            }
            Verdict::Refused(reason) => {
                self.refused = Some(attached.times);
                (Duration::ZERO, reason)
            }
            Verdict::Later(reason, wanted) => {
                let delay = self.backoff(outgoing.attempts.saturating_add(1));
                (delay.max(wanted.unwrap_or_default()), reason)
            }
            Verdict::Missing => {
                let delay = self.backoff(self.missing);
                (delay, "the backend does not know the session (404)".into())
            }
        };
        self.shared.failed.fetch_add(1, Ordering::Relaxed);
        self.session.problem(Some(&reason));
        self.put_off = Some(attached.times);
        tracing::info!(%session, %kind, number, %reason, "a delivery is put off");
        let put_off = store.put_off_delivery(outgoing.id, delay, &reason);
        put_off.await.map(drop)
    }

    /// A backend that never knows what it has made will not take a delivery.
    fn known_by_now(&mut self, verdict: Verdict) -> Verdict {
        if verdict != Verdict::Missing {
            self.missing = 0;
            return verdict;
        }
        self.missing += 1;
        if self.missing < MISSING_ATTEMPTS {
            return verdict;
        }
        self.missing = 0;
        Verdict::Never("the backend does not know the session that it has made (404)".into())
    }

    fn store_failed(&mut self, error: &StoreError) {
        self.broken = self.broken.saturating_add(1);
        self.session.problem(Some(&error.to_string()));
        tracing::warn!(session = %self.session.name, %error, "the outbox cannot be used");
    }

    fn backoff(&self, attempts: u32) -> Duration {
        let Timing { first, longest, .. } = self.shared.timing;
        // Its keys are random, and nothing of it has to be hard to guess.
        let random = RandomState::new().build_hasher().finish();
        backoff(attempts, first, longest, (random >> 32) as u32)
    }
}
