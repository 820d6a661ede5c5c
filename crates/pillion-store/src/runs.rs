//! The history of what ran in a session.

use rusqlite::params;
use serde_json::value::RawValue;

use crate::connection_thread::Transaction;
use crate::jobs::{MAX_NAME_BYTES, expect_fits, json, size};
use crate::retention::limit as as_limit;
use crate::{StoreError, time};

/// The largest that is kept of what ran, and of what came out.
pub const MAX_RUN_BYTES: usize = 1 << 20;

/// What a run counts on top, so that small ones are not kept without end.
const ROW_BYTES: i64 = 1024;

/// A run that is to be recorded.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The session it was for.
    pub session: String,
    /// What ran.
    pub ran: Box<RawValue>,
    /// The stable word for how it ended.
    pub outcome: String,
    /// What came out.
    pub result: Option<Box<RawValue>>,
}

/// A run that was recorded.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// The session it was for.
    pub session: String,
    /// When it was recorded: RFC 3339, UTC, milliseconds.
    pub at: String,
    /// What ran.
    pub ran: Box<RawValue>,
    /// The stable word for how it ended.
    pub outcome: String,
    /// What came out.
    pub result: Option<Box<RawValue>>,
}

/// Add a run to the history of its session.
pub(crate) fn record(transaction: &Transaction<'_>, run: &NewRun) -> Result<(), StoreError> {
    let result = run.result.as_deref().map(RawValue::get);
    expect_fits("the session", &run.session, MAX_NAME_BYTES)?;
    expect_fits("the outcome", &run.outcome, MAX_NAME_BYTES)?;
    expect_fits("what ran", run.ran.get(), MAX_RUN_BYTES)?;
    expect_fits("the result", result.unwrap_or_default(), MAX_RUN_BYTES)?;
    let bytes = ROW_BYTES + size(run.ran.get()) + size(result.unwrap_or_default());
    transaction.sql(|connection| {
        connection.execute(
            "INSERT INTO runs (session, at, outcome, bytes, ran, result)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                run.session,
                time::now(),
                run.outcome,
                bytes,
                run.ran.get(),
                result
            ],
        )
    })?;
    Ok(())
}

/// The last runs of a session, newest first.
pub(crate) fn list(
    transaction: &Transaction<'_>,
    session: &str,
    limit: usize,
) -> Result<Vec<StoredRun>, StoreError> {
    transaction.sql(|connection| {
        connection
            .prepare(
                "SELECT session, at, outcome, ran, result FROM runs
                 WHERE session = ?1 ORDER BY seq DESC LIMIT ?2",
            )?
            .query_map(params![session, as_limit(limit)], |row| {
                Ok(StoredRun {
                    session: row.get(0)?,
                    at: row.get(1)?,
                    outcome: row.get(2)?,
                    ran: json(row, 3)?.unwrap_or_else(|| RawValue::NULL.to_owned()),
                    result: json(row, 4)?,
                })
            })?
            .collect()
    })
}
