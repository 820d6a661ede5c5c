//! What pillion keeps across its lives: jobs, runs and the outbox, in SQLite.
//!
//! # Theory of operation
//!
//! A [`Store`] is one database file in write-ahead mode, and two threads that own a
//! connection each: one writes, one reads. Callers put a command into a thread's bounded
//! queue and wait. The writer takes all that is waiting, carries it out in one transaction,
//! commits, and only then answers: **what was answered was committed**, also if the process
//! is killed or the power fails in the next moment. A caller that no longer waits changes
//! nothing: a command in the queue is carried out.
//!
//! Several daemons may have the same file open. SQLite's locks order their transactions;
//! opening, migrating and setting a broken file aside happen under a lock file, one process
//! at a time. Before each transaction a thread makes sure that its connection still is the
//! file with that name, and that no newer pillion has changed the tables.
//!
//! A job belongs to a *life*: the process and the store in it that created the job
//! ([`owner`]). When a life has ended, what it left unfinished becomes
//! [`JobState::Lost`] by [`Store::lose`].
//!
//! What is kept is bounded by [`Retention`], each time something is added.
//!
//! The [outbox](Delivery) has what sessions have for their backends. Whoever delivers asks
//! for the next one of a session ([`Store::next_delivery`]), and says what became of it.
//!
//! A daemon opens one store, when it first needs it: services share a [`StoreHandle`].

mod connection_thread;
mod error;
mod handle;
mod id;
mod jobs;
mod open_connection;
mod opening;
mod outbox;
pub mod owner;
mod retention;
mod runs;
mod schema;
mod status;
mod store;
mod time;

pub use error::StoreError;
pub use handle::{FILE, StoreHandle};
pub use id::new_id;
pub use jobs::{
    JobDetail, JobEnd, JobFilter, JobPage, MAX_LISTED, MAX_NAME_BYTES, MAX_REQUEST_BYTES,
    MAX_RESULT_BYTES, NewJob, StoredJob,
};
pub use outbox::{
    Delivery, DeliveryKind, Enqueued, GivenUp, MAX_BODY_BYTES, MAX_DELAY, MAX_ENQUEUED,
    MAX_GIVEN_UP_LISTED, MAX_REASON_BYTES, OutboxCounts, OutboxLimits, Outgoing,
};
pub use retention::{Pruned, Retention};
pub use runs::{MAX_RUN_BYTES, NewRun, StoredRun};
pub use status::JobState;
pub use store::{Store, StoreOptions};
