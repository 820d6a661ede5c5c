//! How deliveries stand, as far as this daemon saw it.

use serde::Serialize;

/// How deliveries stand. What is in the outbox is asked by `Sync::counts`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SyncStatus {
    /// Deliveries that arrived since the start.
    pub delivered: u64,
    /// Tries in vain since the start.
    pub failed: u64,
    /// Deliveries that were given up since the start.
    pub given_up: u64,
    /// The attached sessions, by name.
    pub sessions: Vec<SessionStatus>,
}

/// How the deliveries of one session stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionStatus {
    /// The session.
    pub session: String,
    /// What its task is doing.
    pub link: SessionLink,
    /// What went wrong last, since the last delivery that arrived.
    pub problem: Option<String>,
}

/// What the task of a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionLink {
    /// Nothing waits.
    Idle,
    /// A delivery is being sent, or has its turn next.
    Sending,
    /// The next delivery is tried later.
    PutOff,
    /// The backend does not take the token: another one is waited for.
    Refused,
    /// The outbox cannot be read or written at the moment.
    Broken,
}
