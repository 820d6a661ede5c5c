//! The handle that services have.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_store::{Delivery, GivenUp, OutboxCounts, StoreHandle};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::SyncError;
use crate::backend::{self, Backend, BackendTarget};
use crate::request::Clients;
use crate::session::{Session, Shared, run};
use crate::status::SyncStatus;
use crate::timing::Timing;

/// At most this many requests are under way at a time.
pub const MAX_REQUESTS: usize = 8;

/// At most this many sessions are attached.
pub const MAX_ATTACHED: usize = 4096;

/// Delivers what sessions have for their backends. Clones are handles on the same.
#[derive(Debug, Clone)]
pub struct Sync {
    shared: Arc<Shared>,
    ending: CancellationToken,
    tasks: TaskTracker,
    sessions: Arc<Mutex<BTreeMap<String, Entry>>>,
}

/// A session, and the task that delivers for it. A detached one stays until its task has
/// ended.
#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    task: JoinHandle<()>,
}

impl Entry {
    fn is_detached(&self) -> bool {
        self.session.stop.is_cancelled()
    }
}

impl Sync {
    /// Deliveries by way of this store, until the token is cancelled. Nothing is opened and
    /// nothing runs before the first session is attached.
    pub fn new(store: StoreHandle, ending: &CancellationToken) -> Self {
        Self::with_timing(store, ending, Timing::default())
    }

    /// The same, with other times.
    pub fn with_timing(store: StoreHandle, ending: &CancellationToken, timing: Timing) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                timing,
                requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
                clients: Clients::default(),
                delivered: AtomicU64::new(0),
                failed: AtomicU64::new(0),
                given_up: AtomicU64::new(0),
            }),
            // The end of the deliveries is not the end of whoever gave the token.
            ending: ending.child_token(),
            tasks: TaskTracker::new(),
            sessions: Arc::default(),
        }
    }

    /// Deliver what this session has, and will have, to this backend. An attached session
    /// gets another backend by it, and what waits is tried again at once. Has to be called
    /// in a runtime.
    pub fn attach(&self, session: &str, backend: &Backend) -> Result<(), SyncError> {
        backend::name("the session", session)?;
        let target = BackendTarget::new(backend)?;
        let mut sessions = self.sessions();
        if self.ending.is_cancelled() {
            return Err(SyncError::Stopped);
        }
        sessions.retain(|_, entry| !(entry.is_detached() && entry.task.is_finished()));
        let before = match sessions.remove(session) {
            Some(entry) if !entry.is_detached() => {
                entry.session.attach(target);
                sessions.insert(session.to_owned(), entry);
                return Ok(());
            }
            Some(entry) => Some(entry.task),
            None if sessions.len() >= MAX_ATTACHED => {
                let limit = MAX_ATTACHED;
                return Err(SyncError::TooMany { limit });
            }
            None => None,
        };
        let attached = Session::new(session, target, self.ending.child_token());
        let attached = Arc::new(attached);
        let shared = Arc::clone(&self.shared);
        let task = self.tasks.spawn(run(shared, Arc::clone(&attached), before));
        let entry = Entry {
            session: attached,
            task,
        };
        sessions.insert(session.to_owned(), entry);
        Ok(())
    }

    /// Deliver no more for this session. What waits is kept.
    pub fn detach(&self, session: &str) {
        if let Some(entry) = self.sessions().get(session) {
            entry.session.stop.cancel();
        }
    }

    /// Hand over deliveries of a session, in this order, all or none. They are durable when
    /// this returns, and wait for their backend also if the session is not attached.
    ///
    /// A delivery is known by session, kind and number: handing it over again changes
    /// nothing, so that a caller may repeat what it is not sure of. What has other contents
    /// has to have a larger number, also a second report of the same turn.
    pub async fn enqueue(&self, session: &str, deliveries: Vec<Delivery>) -> Result<(), SyncError> {
        backend::name("the session", session)?;
        let store = self.shared.store.store().await?;
        store.enqueue(session, deliveries).await?;
        if let Some(entry) = self.sessions().get(session) {
            entry.session.wake.notify_one();
        }
        Ok(())
    }

    /// Detach the session and let go of all that is known of its deliveries. Nothing of it
    /// is sent after this has returned.
    pub async fn forget(&self, session: &str) -> Result<(), SyncError> {
        let entry = self.sessions().remove(session);
        if let Some(entry) = entry {
            entry.session.stop.cancel();
            let _ = entry.task.await;
        }
        let store = self.shared.store.store().await?;
        store.forget_deliveries(session).await?;
        Ok(())
    }

    /// How deliveries stand, from memory.
    pub fn status(&self) -> SyncStatus {
        let shared = &self.shared;
        let sessions = self.sessions();
        let attached = sessions.values().filter(|entry| !entry.is_detached());
        SyncStatus {
            delivered: shared.delivered.load(Ordering::Relaxed),
            failed: shared.failed.load(Ordering::Relaxed),
            given_up: shared.given_up.load(Ordering::Relaxed),
            sessions: attached.map(|entry| entry.session.status()).collect(),
        }
    }

    /// How much is in the outbox, of one session or of all.
    pub async fn counts(&self, session: Option<&str>) -> Result<OutboxCounts, SyncError> {
        let store = self.shared.store.store().await?;
        Ok(store.outbox_counts(session).await?)
    }

    /// The deliveries that were given up, of one session or of all, the last one first.
    pub async fn given_up(
        &self,
        session: Option<&str>,
        limit: usize,
    ) -> Result<Vec<GivenUp>, SyncError> {
        let store = self.shared.store.store().await?;
        Ok(store.given_up_deliveries(session, limit).await?)
    }

    /// Send nothing any more: requests that are under way are broken off. What waits is
    /// kept for the next daemon.
    pub async fn stop(&self) {
        self.ending.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use pillion_store::StoreOptions;
    use tokio::sync::Notify;

    use super::*;

    /// Steps that others may take before the test looks again.
    const STEPS: usize = 100;

    async fn let_others_go_on() {
        for _ in 0..STEPS {
            tokio::task::yield_now().await;
        }
    }

    /// Deliveries by way of a store that notes that it is asked for.
    fn noted(folder: &tempfile::TempDir) -> (Sync, Arc<AtomicBool>) {
        let (path, asked) = (folder.path().join("store/x"), Arc::<AtomicBool>::default());
        let noted = Arc::clone(&asked);
        let path = move || {
            noted.store(true, Ordering::Relaxed);
            path.clone()
        };
        let store = StoreHandle::new(path, StoreOptions::default());
        (Sync::new(store, &CancellationToken::new()), asked)
    }

    /// A task of a session that still writes down what it has sent, until it may end.
    fn writing(sync: &Sync) -> (Entry, Arc<Notify>) {
        let may_end = Arc::new(Notify::new());
        let waits = Arc::clone(&may_end);
        let stop = sync.ending.child_token();
        let entry = Entry {
            session: Arc::new(Session::new(
                "s",
                BackendTarget::new(&backend()).unwrap(),
                stop,
            )),
            task: tokio::spawn(async move { waits.notified().await }),
        };
        (entry, may_end)
    }

    fn backend() -> Backend {
        Backend {
            url: "http://127.0.0.1:1".into(),
            token: None,
            chapter: "first".into(),
            course_id: None,
        }
    }

    #[tokio::test]
    async fn the_next_task_of_a_session_begins_when_the_last_one_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (sync, asked) = noted(&folder);
        let (entry, may_end) = writing(&sync);
        sync.sessions().insert("s".into(), entry);
        sync.detach("s");
        sync.attach("s", &backend()).unwrap();
        let_others_go_on().await;
        assert!(!asked.load(Ordering::Relaxed), "it looks into the outbox");
        may_end.notify_one();
        while !asked.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        sync.stop().await;
    }

    #[tokio::test]
    async fn a_session_is_forgotten_when_its_task_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (sync, asked) = noted(&folder);
        let (entry, may_end) = writing(&sync);
        sync.sessions().insert("s".into(), entry);
        let forgetting = sync.clone();
        let forgetting = tokio::spawn(async move { forgetting.forget("s").await });
        let_others_go_on().await;
        assert!(!asked.load(Ordering::Relaxed), "the outbox is changed");
        assert!(!forgetting.is_finished());
        may_end.notify_one();
        forgetting.await.unwrap().unwrap();
        assert!(asked.load(Ordering::Relaxed));
    }
}
