//! The ways of a job: queued, running, finished; a finished one never changes again.

use std::path::Path;

use rusqlite::{OptionalExtension, params};
use serde_json::value::RawValue;

use super::reading::{COLUMNS, job};
use super::{JobEnd, JobState, MAX_NAME_BYTES, MAX_REQUEST_BYTES, NewJob, StoredJob, expect_fits};
use crate::connection_thread::Transaction;
use crate::jobs::MAX_RESULT_BYTES;
use crate::{StoreError, new_id, time};

/// A new job, which waits for its turn.
pub(crate) fn create(
    transaction: &Transaction<'_>,
    new: &NewJob,
    owner: &str,
) -> Result<StoredJob, StoreError> {
    let session = new.session.as_deref();
    expect_fits("the session", session.unwrap_or_default(), MAX_NAME_BYTES)?;
    expect_fits("the lane", &new.lane, MAX_NAME_BYTES)?;
    expect_fits("the label", &new.label, MAX_NAME_BYTES)?;
    expect_fits("the request", new.request.get(), MAX_REQUEST_BYTES)?;
    let request = new.request.get();
    let id = new_id().map_err(|error| StoreError::file(Path::new("/dev/urandom"), error))?;
    transaction.sql(|connection| {
        connection.query_row(
            &format!(
                "INSERT INTO jobs
                     (id, session, lane, label, status, created_at, owner, bytes, request)
                 VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8) RETURNING {COLUMNS}"
            ),
            params![
                id,
                session,
                new.lane,
                new.label,
                time::now(),
                owner,
                size(request),
                request,
            ],
            job,
        )
    })
}

/// The job's turn has come.
pub(crate) fn start(transaction: &Transaction<'_>, id: &str) -> Result<StoredJob, StoreError> {
    // The clock may have been set back: what is later never has an earlier time.
    let started = transaction.sql(|connection| {
        connection
            .query_row(
                &format!(
                    "UPDATE jobs SET status = 'running', started_at = max(?2, created_at)
                     WHERE id = ?1 AND status = 'queued' RETURNING {COLUMNS}"
                ),
                params![id, time::now()],
                job,
            )
            .optional()
    })?;
    started.map_or_else(|| refuse(transaction, id, JobState::Running), Ok)
}

/// The job has ended. One that waits can only be cancelled.
pub(crate) fn finish(
    transaction: &Transaction<'_>,
    id: &str,
    end: JobEnd,
    result: Option<&RawValue>,
) -> Result<StoredJob, StoreError> {
    let result = result.map(RawValue::get);
    expect_fits("the result", result.unwrap_or_default(), MAX_RESULT_BYTES)?;
    let from = match end {
        JobEnd::Cancelled => "('queued', 'running')",
        JobEnd::Succeeded | JobEnd::Failed => "('running')",
    };
    let ended = transaction.sql(|connection| {
        connection
            .query_row(
                &format!(
                    "UPDATE jobs SET status = ?2, result = ?3, bytes = bytes + ?4,
                         ended_at = max(?5, coalesce(started_at, created_at))
                     WHERE id = ?1 AND status IN {from} RETURNING {COLUMNS}"
                ),
                params![
                    id,
                    JobState::from(end),
                    result,
                    size(result.unwrap_or_default()),
                    time::now()
                ],
                job,
            )
            .optional()
    })?;
    ended.map_or_else(|| refuse(transaction, id, end.into()), Ok)
}

/// What the dead left unfinished is lost.
pub(crate) fn lose(
    transaction: &Transaction<'_>,
    is_alive: impl Fn(&str) -> bool,
) -> Result<Vec<StoredJob>, StoreError> {
    let owners: Vec<String> = transaction.sql(|connection| {
        connection
            .prepare("SELECT DISTINCT owner FROM jobs WHERE ended_at IS NULL")?
            .query_map([], |row| row.get(0))?
            .collect()
    })?;
    let mut lost = Vec::new();
    for owner in owners.iter().filter(|owner| !is_alive(owner)) {
        lost.extend(transaction.sql(|connection| {
            connection
                .prepare(&format!(
                    "UPDATE jobs SET status = 'lost',
                         ended_at = max(?2, coalesce(started_at, created_at))
                     WHERE owner = ?1 AND ended_at IS NULL RETURNING {COLUMNS}"
                ))?
                .query_map(params![owner, time::now()], job)?
                .collect::<rusqlite::Result<Vec<_>>>()
        })?);
    }
    Ok(lost)
}

/// Why a job could not change.
fn refuse(
    transaction: &Transaction<'_>,
    id: &str,
    wanted: JobState,
) -> Result<StoredJob, StoreError> {
    let found: Option<JobState> = transaction.sql(|connection| {
        connection
            .query_row("SELECT status FROM jobs WHERE id = ?1", [id], |row| {
                row.get(0)
            })
            .optional()
    })?;
    let id = id.to_owned();
    Err(match found {
        Some(found) => StoreError::Conflict { id, found, wanted },
        None => StoreError::NoJob { id },
    })
}

/// A size as SQLite counts.
pub(crate) fn size(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}
