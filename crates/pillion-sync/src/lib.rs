//! Delivers what sessions have for their backends: turns, memory and reports.
//!
//! # Theory of operation
//!
//! What is to be delivered is in the store's outbox before anybody is told that a turn is
//! committed ([`Sync::enqueue`]), and stays there until the backend has it. Each attached
//! session has one task, which takes the next delivery of its session, sends it, and says in
//! the outbox what became of it: it arrived, it is tried later, or it is given up because the
//! backend will never take it. So the deliveries of a session arrive in order and one at a
//! time, and a session whose backend is down holds up no other one.
//!
//! A delivery may be sent twice: when the daemon is killed, or a connection breaks, between
//! the backend's commit and our note of it. Every request says which delivery it is
//! (`Idempotency-Key`), and an answer that the backend knows it (409) counts as arrived.
//!
//! Tokens are in memory only. After a restart the deliveries of a session wait until it is
//! attached again.

mod answer;
mod backend;
mod error;
mod handle;
mod request;
mod session;
mod status;
mod timing;

pub use backend::Backend;
pub use error::SyncError;
pub use handle::{MAX_ATTACHED, MAX_REQUESTS, Sync};
pub use pillion_store::{Delivery, DeliveryKind, GivenUp, OutboxCounts};
pub use status::{SessionLink, SessionStatus, SyncStatus};
pub use timing::Timing;
