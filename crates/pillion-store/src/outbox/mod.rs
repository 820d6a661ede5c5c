//! The outbox: what a session has for its backend, kept until the backend has it.
//!
//! Deliveries of a session leave in the order in which they came, one at a time: one that
//! has to be tried later holds up those behind it, and those of no other session. A delivery
//! is known by session, kind and number. Enqueuing it again changes nothing, also after it
//! was settled: a caller that does not know whether it was heard says it again.

mod reading;
mod writing;

use std::fmt;
use std::time::Duration;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(crate) use reading::{counts, given_up, next};
pub(crate) use writing::{enqueue, forget, give_up, put_off, settle};

/// The largest body that is kept.
pub const MAX_BODY_BYTES: usize = 4 << 20;

/// At most this many deliveries are enqueued at once.
pub const MAX_ENQUEUED: usize = 1000;

/// A delivery is put off for at most this long, whoever asks.
pub const MAX_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What is kept of a reason; the rest is cut off.
pub const MAX_REASON_BYTES: usize = 1024;

/// A list has at most this many deliveries that were given up.
pub const MAX_GIVEN_UP_LISTED: usize = 1000;

/// What kind of thing is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryKind {
    /// A turn. Every one is delivered.
    Turn,
    /// The memory of the session. Only the newest one is delivered.
    Memory,
    /// The report of the session. Only the newest one is delivered.
    Report,
}

impl DeliveryKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Turn, Self::Memory, Self::Report];

    /// The word for it, on every door and in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Memory => "memory",
            Self::Report => "report",
        }
    }

    /// Whether a newer one takes the place of an older one that waits.
    pub fn supersedes(self) -> bool {
        matches!(self, Self::Memory | Self::Report)
    }
}

impl fmt::Display for DeliveryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl ToSql for DeliveryKind {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.word().into())
    }
}

impl FromSql for DeliveryKind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = value.as_str()?;
        let found = Self::ALL.into_iter().find(|kind| kind.word() == word);
        found.ok_or(FromSqlError::InvalidType)
    }
}

/// A delivery that is to be enqueued.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Delivery {
    /// What it is.
    pub kind: DeliveryKind,
    /// Which one of its session and kind. A newer one has a larger number, and what has
    /// another body has another number: the number is what it is known by.
    pub number: u32,
    /// What the backend gets.
    pub body: Box<RawValue>,
}

/// What became of deliveries that were enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Enqueued {
    /// Those that wait from now on.
    pub added: usize,
    /// Those that were known already, or older than one that is known.
    pub known: usize,
    /// Those that waited, and were superseded.
    pub superseded: usize,
}

/// The delivery of a session whose turn it is.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// What it is settled, put off or given up by. It is never used again.
    pub id: i64,
    /// Its session.
    pub session: String,
    /// What it is.
    pub kind: DeliveryKind,
    /// Which one of its session and kind.
    pub number: u32,
    /// How often it was put off.
    pub attempts: u32,
    /// How long it still has to wait; zero if it is due.
    pub wait: Duration,
    /// Why it was put off, if it was.
    pub reason: Option<String>,
    /// What the backend gets.
    pub body: Box<RawValue>,
}

/// A delivery that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GivenUp {
    /// Its session.
    pub session: String,
    /// What it was.
    pub kind: DeliveryKind,
    /// Which one of its session and kind.
    pub number: u32,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was given up: RFC 3339, UTC, milliseconds.
    pub at: String,
    /// Why.
    pub reason: String,
}

/// How much is in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OutboxCounts {
    /// Deliveries that wait.
    pub waiting: u64,
    /// Those of them that were put off at least once.
    pub put_off: u64,
    /// Bytes of what waits.
    pub bytes: u64,
    /// Deliveries that arrived, as far as they are still known.
    pub settled: u64,
    /// Deliveries that were given up, as far as they are still known.
    pub given_up: u64,
}

/// How much the outbox takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxLimits {
    /// At most this many deliveries wait, of all sessions together.
    pub waiting: usize,
    /// At most this many bytes wait, of all sessions together.
    pub bytes: u64,
    /// This many deliveries that no longer wait are known by their key; the ones that ended
    /// first are forgotten first. They are counted, not dated: a clock that is wrong for an
    /// hour forgets nothing.
    pub ended: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self {
            waiting: 10_000,
            bytes: 256 << 20,
            // Without their bodies, these are some megabytes.
            ended: 20_000,
        }
    }
}
