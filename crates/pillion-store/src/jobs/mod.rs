//! Jobs: what one is, and the ways from one state to the next.

mod reading;
mod writing;

use serde_json::value::RawValue;

pub(crate) use reading::{get, json, list};
pub(crate) use writing::{create, finish, lose, size, start};

use crate::StoreError;
use crate::status::JobState;

/// The largest request that is kept.
pub const MAX_REQUEST_BYTES: usize = 1 << 20;

/// The largest result that is kept.
pub const MAX_RESULT_BYTES: usize = 4 << 20;

/// The longest name of a session or a lane, and the longest label.
pub const MAX_NAME_BYTES: usize = 512;

/// A list has at most this many jobs.
pub const MAX_LISTED: usize = 1000;

/// How a job ends by itself or by its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobEnd {
    /// As it should; only what runs can.
    Succeeded,
    /// Badly; only what runs can.
    Failed,
    /// Somebody said so; what waits can be cancelled too.
    Cancelled,
}

impl From<JobEnd> for JobState {
    fn from(end: JobEnd) -> Self {
        match end {
            JobEnd::Succeeded => Self::Succeeded,
            JobEnd::Failed => Self::Failed,
            JobEnd::Cancelled => Self::Cancelled,
        }
    }
}

/// A job that is to be created.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// The session it belongs to.
    pub session: Option<String>,
    /// The lane it runs in.
    pub lane: String,
    /// What a list shows of the request; may be empty.
    pub label: String,
    /// What was asked for.
    pub request: Box<RawValue>,
}

/// A job without what went in and came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredJob {
    /// Its name: random, safe in a URL, later ones behind earlier ones.
    pub id: String,
    /// The session it belongs to.
    pub session: Option<String>,
    /// The lane it runs in.
    pub lane: String,
    /// What a list shows of the request.
    pub label: String,
    /// Where it stands.
    pub status: JobState,
    /// When it was created: RFC 3339, UTC, milliseconds, as the other two.
    pub created_at: String,
    /// When it began to run, if it did.
    pub started_at: Option<String>,
    /// When it ended, if it did.
    pub ended_at: Option<String>,
    /// The life it belongs to: see [`crate::owner`].
    pub owner: String,
}

/// A job with all that is known about it.
#[derive(Debug, Clone)]
pub struct JobDetail {
    /// The job.
    pub job: StoredJob,
    /// What was asked for.
    pub request: Box<RawValue>,
    /// What came out, if something did.
    pub result: Option<Box<RawValue>>,
}

/// Which jobs are listed.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those that stand at one of these; at any if there is none.
    pub statuses: Vec<JobState>,
    /// At most this many, and never more than [`MAX_LISTED`]; 0 for that many.
    pub limit: usize,
}

/// Jobs that were asked for.
#[derive(Debug, Clone)]
pub struct JobPage {
    /// The newest ones, newest first.
    pub jobs: Vec<StoredJob>,
    /// How many there are, listed or not.
    pub total: u64,
}

/// Refuse what is larger than what is kept.
pub(crate) fn expect_fits(what: &'static str, text: &str, limit: usize) -> Result<(), StoreError> {
    if text.len() > limit {
        return Err(StoreError::TooBig {
            what,
            bytes: text.len(),
            limit,
        });
    }
    Ok(())
}
