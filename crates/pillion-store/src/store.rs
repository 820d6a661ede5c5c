//! The handle that services have.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::params;
use serde_json::value::RawValue;

use crate::StoreError;
use crate::connection_thread::ConnectionThread;
use crate::jobs::{self, JobDetail, JobEnd, JobFilter, JobPage, NewJob, StoredJob};
use crate::open_connection::Use;
use crate::outbox::{self, Delivery, Enqueued, GivenUp, OutboxCounts, OutboxLimits, Outgoing};
use crate::owner::{self, Life};
use crate::retention::{self, Pruned, Retention};
use crate::runs::{self, NewRun, StoredRun};

/// How a store is run.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    /// How much is kept.
    pub retention: Retention,
    /// How much waits for backends.
    pub outbox: OutboxLimits,
    /// This many commands wait in each of the two queues; more callers wait before it.
    pub queue: usize,
    /// How long a caller waits for a place in the queue, before it is told
    /// [`StoreError::Busy`].
    pub queue_timeout: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            retention: Retention::default(),
            outbox: OutboxLimits::default(),
            // A finished job may have some megabytes.
            queue: 64,
            queue_timeout: Duration::from_secs(10),
        }
    }
}

/// An open store. What a function answers was committed; see the crate's page.
///
/// Dropping it carries out what is in the queues, brings the log into the file and ends the
/// threads; [`Store::close`] does so without blocking the thread it is called on.
pub struct Store {
    // Dropped in this order: the last connection to close is the one that can tidy up.
    reader: ConnectionThread,
    writer: ConnectionThread,
    life: Life,
    retention: Retention,
    outbox: OutboxLimits,
    set_aside: Option<PathBuf>,
}

impl Store {
    /// Open the store at this path, or begin one.
    ///
    /// The folder of the file is the store's own: it is made private. A damaged file is
    /// renamed and kept ([`Store::set_aside`]); one that a newer pillion wrote is refused.
    pub async fn open(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let StoreOptions {
            retention,
            outbox,
            queue,
            queue_timeout,
        } = options;
        let (writer, set_aside) =
            ConnectionThread::start(path, Use::Writing, queue, queue_timeout).await?;
        let (reader, _) = ConnectionThread::start(path, Use::Reading, queue, queue_timeout).await?;
        Ok(Self {
            reader,
            writer,
            life: Life::begin(),
            retention,
            outbox,
            set_aside,
        })
    }

    /// Where a damaged file was put when this store was opened.
    pub fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
    }

    /// The life that the jobs of this store belong to.
    pub fn owner(&self) -> &str {
        &self.life.name
    }

    /// Create a job of this life, which waits for its turn.
    pub async fn create(&self, new: NewJob) -> Result<StoredJob, StoreError> {
        let owner = self.life.name.clone();
        self.writer
            .ask(move |transaction| jobs::create(transaction, &new, &owner))
            .await
    }

    /// A job that waits begins to run.
    pub async fn start(&self, id: &str) -> Result<StoredJob, StoreError> {
        let id = id.to_owned();
        self.writer
            .ask(move |transaction| jobs::start(transaction, &id))
            .await
    }

    /// A job that runs has ended; one that waits can be cancelled. What is too much of
    /// finished jobs goes in the same moment.
    pub async fn finish(
        &self,
        id: &str,
        end: JobEnd,
        result: Option<Box<RawValue>>,
    ) -> Result<StoredJob, StoreError> {
        let (id, keep) = (id.to_owned(), self.retention);
        self.writer
            .ask(move |transaction| {
                let job = jobs::finish(transaction, &id, end, result.as_deref())?;
                retention::prune_jobs(transaction, &keep, Some(&id))?;
                Ok(job)
            })
            .await
    }

    /// A job with all that is known about it.
    pub async fn get(&self, id: &str) -> Result<JobDetail, StoreError> {
        let id = id.to_owned();
        self.reader
            .ask(move |transaction| jobs::get(transaction, &id))
            .await
    }

    /// The newest jobs, and how many there are.
    pub async fn list(&self, filter: JobFilter) -> Result<JobPage, StoreError> {
        self.reader
            .ask(move |transaction| jobs::list(transaction, &filter))
            .await
    }

    /// What lives that have ended left unfinished is lost; said once, at the start. Jobs of
    /// other living daemons stay as they are.
    pub async fn lose(&self) -> Result<Vec<StoredJob>, StoreError> {
        self.lose_unless(owner::is_alive).await
    }

    /// The same, by another judgement of who is alive.
    pub async fn lose_unless(
        &self,
        is_alive: impl Fn(&str) -> bool + Send + 'static,
    ) -> Result<Vec<StoredJob>, StoreError> {
        self.writer
            .ask(move |transaction| jobs::lose(transaction, is_alive))
            .await
    }

    /// Let go of what is more or older than what is kept.
    pub async fn prune(&self) -> Result<Pruned, StoreError> {
        let keep = self.retention;
        self.writer
            .ask(move |transaction| retention::prune(transaction, &keep))
            .await
    }

    /// Add a run to the history of its session; the oldest go.
    pub async fn record_run(&self, run: NewRun) -> Result<(), StoreError> {
        let keep = self.retention;
        self.writer
            .ask(move |transaction| {
                runs::record(transaction, &run)?;
                retention::prune_runs_after(transaction, &run.session, &keep).map(drop)
            })
            .await
    }

    /// The last runs of a session, newest first.
    pub async fn runs(&self, session: &str, limit: usize) -> Result<Vec<StoredRun>, StoreError> {
        let session = session.to_owned();
        self.reader
            .ask(move |transaction| runs::list(transaction, &session, limit))
            .await
    }

    /// Let go of a session's runs and finished jobs.
    pub async fn forget(&self, session: &str) -> Result<Pruned, StoreError> {
        let session = session.to_owned();
        self.writer
            .ask(move |transaction| {
                transaction.sql(|connection| {
                    Ok(Pruned {
                        jobs: connection.execute(
                            "DELETE FROM jobs WHERE session = ?1 AND ended_at IS NOT NULL",
                            params![session],
                        )?,
                        runs: connection
                            .execute("DELETE FROM runs WHERE session = ?1", params![session])?,
                    })
                })
            })
            .await
    }

    /// Enqueue deliveries of a session in this order, all of them or none. Those that are
    /// known already change nothing.
    pub async fn enqueue(
        &self,
        session: &str,
        deliveries: Vec<Delivery>,
    ) -> Result<Enqueued, StoreError> {
        let (session, limits) = (session.to_owned(), self.outbox);
        self.writer
            .ask(move |transaction| outbox::enqueue(transaction, &session, &deliveries, &limits))
            .await
    }

    /// The delivery of a session whose turn it is, due or not: those behind it wait for it.
    pub async fn next_delivery(&self, session: &str) -> Result<Option<Outgoing>, StoreError> {
        let session = session.to_owned();
        self.reader
            .ask(move |transaction| outbox::next(transaction, &session))
            .await
    }

    /// A delivery arrived. `false` if it no longer waited, because it was superseded, ended
    /// or forgotten in the meantime.
    pub async fn settle_delivery(&self, id: i64) -> Result<bool, StoreError> {
        let limits = self.outbox;
        self.writer
            .ask(move |transaction| outbox::settle(transaction, id, &limits))
            .await
    }

    /// A delivery is tried again after this much time, at most [`crate::MAX_DELAY`]. Gives
    /// back how often it was put off by now, or nothing if it no longer waits.
    pub async fn put_off_delivery(
        &self,
        id: i64,
        delay: Duration,
        reason: &str,
    ) -> Result<Option<u32>, StoreError> {
        let reason = reason.to_owned();
        self.writer
            .ask(move |transaction| outbox::put_off(transaction, id, delay, &reason))
            .await
    }

    /// A delivery will never arrive; those behind it go on. `false` if it no longer waited.
    pub async fn give_up_delivery(&self, id: i64, reason: &str) -> Result<bool, StoreError> {
        let (reason, limits) = (reason.to_owned(), self.outbox);
        self.writer
            .ask(move |transaction| outbox::give_up(transaction, id, &reason, &limits))
            .await
    }

    /// The deliveries that were given up, of one session or of all, the last one first.
    pub async fn given_up_deliveries(
        &self,
        session: Option<&str>,
        limit: usize,
    ) -> Result<Vec<GivenUp>, StoreError> {
        let session = session.map(str::to_owned);
        self.reader
            .ask(move |transaction| outbox::given_up(transaction, session.as_deref(), limit))
            .await
    }

    /// How much is in the outbox, of one session or of all.
    pub async fn outbox_counts(&self, session: Option<&str>) -> Result<OutboxCounts, StoreError> {
        let session = session.map(str::to_owned);
        self.reader
            .ask(move |transaction| outbox::counts(transaction, session.as_deref()))
            .await
    }

    /// Let go of all that is known of a session's deliveries; gives back how many waited.
    pub async fn forget_deliveries(&self, session: &str) -> Result<usize, StoreError> {
        let session = session.to_owned();
        self.writer
            .ask(move |transaction| outbox::forget(transaction, &session))
            .await
    }

    /// Carry out what is in the queues, and close the file.
    pub async fn close(self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}
