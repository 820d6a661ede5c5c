//! Jobs as they are read from their table.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, ToSql};
use serde_json::value::RawValue;

use super::{JobDetail, JobFilter, JobPage, JobState, MAX_LISTED, StoredJob};
use crate::StoreError;
use crate::connection_thread::Transaction;

/// The columns of a [`StoredJob`], in the order of [`job`].
pub(super) const COLUMNS: &str =
    "id, session, lane, label, status, created_at, started_at, ended_at, owner";

/// The job of a row that begins with [`COLUMNS`].
pub(super) fn job(row: &Row<'_>) -> rusqlite::Result<StoredJob> {
    Ok(StoredJob {
        id: row.get(0)?,
        session: row.get(1)?,
        lane: row.get(2)?,
        label: row.get(3)?,
        status: row.get(4)?,
        created_at: row.get(5)?,
        started_at: row.get(6)?,
        ended_at: row.get(7)?,
        owner: row.get(8)?,
    })
}

/// A column with JSON in it.
pub(crate) fn json(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Box<RawValue>>> {
    let text: Option<String> = row.get(column)?;
    text.map(RawValue::from_string)
        .transpose()
        .map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
        })
}

/// A job with all that is known about it.
pub(crate) fn get(transaction: &Transaction<'_>, id: &str) -> Result<JobDetail, StoreError> {
    let sql = format!("SELECT {COLUMNS}, request, result FROM jobs WHERE id = ?1");
    let found = transaction.sql(|connection| {
        connection
            .query_row(&sql, [id], |row| {
                Ok(JobDetail {
                    job: job(row)?,
                    request: json(row, 9)?.unwrap_or_else(|| RawValue::NULL.to_owned()),
                    result: json(row, 10)?,
                })
            })
            .optional()
    })?;
    found.ok_or_else(|| StoreError::NoJob { id: id.to_owned() })
}

/// The newest jobs, and how many there are.
pub(crate) fn list(
    transaction: &Transaction<'_>,
    filter: &JobFilter,
) -> Result<JobPage, StoreError> {
    let mut conditions = vec!["true".to_owned()];
    let mut values: Vec<&dyn ToSql> = Vec::new();
    if let Some(session) = &filter.session {
        conditions.push("session = ?".into());
        values.push(session);
    }
    // A word said twice changes nothing, and there are only so many.
    let statuses: Vec<JobState> = JobState::ALL
        .into_iter()
        .filter(|status| filter.statuses.contains(status))
        .collect();
    if !statuses.is_empty() {
        let marks = vec!["?"; statuses.len()].join(", ");
        conditions.push(format!("status IN ({marks})"));
        values.extend(statuses.iter().map(|status| status as &dyn ToSql));
    }
    let conditions = conditions.join(" AND ");
    let limit = match filter.limit {
        0 => MAX_LISTED,
        limit => limit.min(MAX_LISTED),
    };
    transaction.sql(|connection| {
        let total: i64 = connection.query_row(
            &format!("SELECT count(*) FROM jobs WHERE {conditions}"),
            values.as_slice(),
            |row| row.get(0),
        )?;
        let jobs = connection
            .prepare(&format!(
                "SELECT {COLUMNS} FROM jobs WHERE {conditions} ORDER BY seq DESC LIMIT {limit}"
            ))?
            .query_map(values.as_slice(), job)?
            .collect::<rusqlite::Result<_>>()?;
        Ok(JobPage {
            jobs,
            total: total.unsigned_abs(),
        })
    })
}
