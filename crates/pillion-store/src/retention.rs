//! How much is kept, and what goes first.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use crate::connection_thread::Transaction;
use crate::{StoreError, time};

/// Free pages are given back to the system this many at a time.
const PAGES: u32 = 1024;

/// How much is kept. Jobs that are queued or running are not counted and never go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// At most this many finished jobs; the one that ended last always stays.
    pub jobs: usize,
    /// At most this many bytes of their requests and results.
    pub bytes: u64,
    /// Finished jobs for at most this long.
    pub age: Duration,
    /// At most this many runs of each session.
    pub runs: usize,
    /// At most this many bytes of runs of all sessions, each with 1 KiB on top; the one
    /// recorded last always stays.
    pub run_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            jobs: 1000,
            bytes: 256 << 20,
            age: Duration::from_secs(30 * 24 * 60 * 60),
            runs: 10,
            run_bytes: 64 << 20,
        }
    }
}

/// How much went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// Jobs.
    pub jobs: usize,
    /// Runs.
    pub runs: usize,
}

/// Let go of all that is too much, and give its room back to the system.
pub(crate) fn prune(transaction: &Transaction<'_>, keep: &Retention) -> Result<Pruned, StoreError> {
    let pruned = Pruned {
        jobs: prune_jobs(transaction, keep, None)?,
        runs: prune_runs(transaction, keep)?,
    };
    transaction.sql(|connection| {
        connection
            .prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?
            .query([])?
            .next()
            .map(drop)
    })?;
    Ok(pruned)
}

/// Let go of finished jobs: those that ended first go first.
///
/// The job that ended just now stays, whatever the clock says of the others: its caller was
/// not told yet.
pub(crate) fn prune_jobs(
    transaction: &Transaction<'_>,
    keep: &Retention,
    just_ended: Option<&str>,
) -> Result<usize, StoreError> {
    transaction.sql(|connection| {
        let gone = jobs_to_go(connection, keep, just_ended)?;
        let mut delete = connection.prepare("DELETE FROM jobs WHERE seq = ?1")?;
        for seq in &gone {
            delete.execute([seq])?;
        }
        Ok(gone.len())
    })
}

/// The oldest finished jobs, until the rest is not too much. All is read from one index.
fn jobs_to_go(
    connection: &Connection,
    keep: &Retention,
    just_ended: Option<&str>,
) -> rusqlite::Result<Vec<i64>> {
    let (mut count, mut total): (i64, i64) = connection.query_row(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM jobs WHERE ended_at IS NOT NULL",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let just_ended: Option<i64> = connection
        .query_row("SELECT seq FROM jobs WHERE id = ?1", [just_ended], |row| {
            row.get(0)
        })
        .optional()?;
    let mut oldest = connection.prepare(
        "SELECT seq, ended_at, bytes FROM jobs
         WHERE ended_at IS NOT NULL AND seq IS NOT ?1 ORDER BY ended_at, seq",
    )?;
    let mut rows = oldest.query([just_ended])?;
    let too_old = time::ago(keep.age);
    let mut gone = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, ended_at, bytes): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let too_much = count > limit(keep.jobs) || total > limit(keep.bytes);
        if ended_at >= too_old && !(too_much && count > 1) {
            break;
        }
        gone.push(seq);
        count -= 1;
        total -= bytes;
    }
    Ok(gone)
}

/// Let go of runs: the oldest of each session, then the oldest of all.
fn prune_runs(transaction: &Transaction<'_>, keep: &Retention) -> Result<usize, StoreError> {
    let sessions: Vec<String> = transaction.sql(|connection| {
        connection
            .prepare("SELECT session FROM runs GROUP BY session HAVING count(*) > ?1")?
            .query_map([limit(keep.runs)], |row| row.get(0))?
            .collect()
    })?;
    let mut gone = 0;
    for session in sessions {
        gone += prune_runs_of(transaction, &session, keep)?;
    }
    Ok(gone + prune_oldest_runs(transaction, keep)?)
}

/// Let go of what is too much after a run of this session was added.
pub(crate) fn prune_runs_after(
    transaction: &Transaction<'_>,
    session: &str,
    keep: &Retention,
) -> Result<usize, StoreError> {
    Ok(prune_runs_of(transaction, session, keep)? + prune_oldest_runs(transaction, keep)?)
}

fn prune_runs_of(
    transaction: &Transaction<'_>,
    session: &str,
    keep: &Retention,
) -> Result<usize, StoreError> {
    transaction.sql(|connection| {
        connection.execute(
            "DELETE FROM runs WHERE session = ?1 AND seq NOT IN (
                 SELECT seq FROM runs WHERE session = ?1 ORDER BY seq DESC LIMIT ?2
             )",
            params![session, limit(keep.runs).max(1)],
        )
    })
}

fn prune_oldest_runs(transaction: &Transaction<'_>, keep: &Retention) -> Result<usize, StoreError> {
    transaction.sql(|connection| {
        let most = limit(keep.run_bytes);
        let total: i64 =
            connection.query_row("SELECT coalesce(sum(bytes), 0) FROM runs", [], |row| {
                row.get(0)
            })?;
        if total <= most {
            return Ok(0);
        }
        connection.execute(
            "DELETE FROM runs WHERE seq IN (
                 SELECT seq FROM (
                     SELECT seq, row_number() OVER newest AS place, sum(bytes) OVER newest AS total
                     FROM runs WINDOW newest AS (ORDER BY seq DESC ROWS UNBOUNDED PRECEDING)
                 )
                 WHERE place > 1 AND total > ?1
             )",
            [most],
        )
    })
}

/// A limit as SQLite counts.
pub(crate) fn limit(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
