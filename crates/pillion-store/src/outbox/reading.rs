//! Deliveries as they are read from their table.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};
use serde_json::value::RawValue;

use super::{GivenUp, MAX_GIVEN_UP_LISTED, OutboxCounts, Outgoing};
use crate::connection_thread::Transaction;
use crate::jobs::json;
use crate::retention::limit as as_limit;
use crate::{StoreError, time};

/// The delivery of a session whose turn it is, due or not.
pub(crate) fn next(
    transaction: &Transaction<'_>,
    session: &str,
) -> Result<Option<Outgoing>, StoreError> {
    transaction.sql(|connection| {
        connection
            .query_row(
                "SELECT seq, session, kind, number, attempts, put_off_at, due_at, reason, body
                 FROM outbox WHERE session = ?1 AND state = 'waiting' ORDER BY seq LIMIT 1",
                [session],
                |row| {
                    let put_off_at: Option<String> = row.get(5)?;
                    let due_at: Option<String> = row.get(6)?;
                    Ok(Outgoing {
                        id: row.get(0)?,
                        session: row.get(1)?,
                        kind: row.get(2)?,
                        number: row.get(3)?,
                        attempts: row.get(4)?,
                        wait: wait(put_off_at.as_deref(), due_at.as_deref(), &time::now()),
                        reason: row.get(7)?,
                        body: json(row, 8)?.unwrap_or_else(|| RawValue::NULL.to_owned()),
                    })
                },
            )
            .optional()
    })
}

/// How long a delivery that was put off still has to wait.
///
/// A clock that was set back since shows a time before that of putting off. How long the
/// delivery has waited is not known then, and it is due: a request too early does less harm
/// than one that waits for a year.
fn wait(put_off_at: Option<&str>, due_at: Option<&str>, now: &str) -> Duration {
    let (Some(put_off_at), Some(due_at)) = (put_off_at, due_at) else {
        return Duration::ZERO;
    };
    if now < put_off_at {
        return Duration::ZERO;
    }
    time::between(now, due_at)
}

/// Those that were given up, the last one first.
pub(crate) fn given_up(
    transaction: &Transaction<'_>,
    session: Option<&str>,
    limit: usize,
) -> Result<Vec<GivenUp>, StoreError> {
    transaction.sql(|connection| {
        connection
            .prepare(
                "SELECT session, kind, number, attempts, ended_at, coalesce(reason, '')
                 FROM outbox WHERE state = 'given_up' AND (?1 IS NULL OR session = ?1)
                 ORDER BY ended DESC LIMIT ?2",
            )?
            .query_map(
                params![session, as_limit(limit.min(MAX_GIVEN_UP_LISTED))],
                |row| {
                    Ok(GivenUp {
                        session: row.get(0)?,
                        kind: row.get(1)?,
                        number: row.get(2)?,
                        attempts: row.get(3)?,
                        at: row.get(4)?,
                        reason: row.get(5)?,
                    })
                },
            )?
            .collect()
    })
}

/// How much there is, of one session or of all.
pub(crate) fn counts(
    transaction: &Transaction<'_>,
    session: Option<&str>,
) -> Result<OutboxCounts, StoreError> {
    transaction.sql(|connection| {
        connection.query_row(
            "SELECT count(*) FILTER (WHERE state = 'waiting'),
                 count(*) FILTER (WHERE state = 'waiting' AND attempts > 0),
                 coalesce(sum(bytes), 0),
                 count(*) FILTER (WHERE state = 'settled'),
                 count(*) FILTER (WHERE state = 'given_up')
             FROM outbox WHERE ?1 IS NULL OR session = ?1",
            [session],
            |row| {
                let number = |column| row.get(column).map(i64::unsigned_abs);
                Ok(OutboxCounts {
                    waiting: number(0)?,
                    put_off: number(1)?,
                    bytes: number(2)?,
                    settled: number(3)?,
                    given_up: number(4)?,
                })
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUT_OFF: Option<&str> = Some("2026-01-01T10:00:00.000Z");
    const DUE: Option<&str> = Some("2026-01-01T10:05:00.000Z");

    #[test]
    fn a_delivery_waits_until_it_is_due() {
        let waits = |now| wait(PUT_OFF, DUE, now).as_millis();
        assert_eq!(waits("2026-01-01T10:00:00.000Z"), 300_000);
        assert_eq!(waits("2026-01-01T10:04:59.999Z"), 1);
        assert_eq!(waits("2026-01-01T10:05:00.000Z"), 0);
        assert_eq!(waits("2027-01-01T00:00:00.000Z"), 0);
        assert_eq!(wait(None, None, "2026-01-01T10:00:00.000Z").as_millis(), 0);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_it_due() {
        for now in ["2026-01-01T09:59:59.999Z", "1970-01-01T00:00:00.000Z"] {
            assert_eq!(wait(PUT_OFF, DUE, now), Duration::ZERO);
        }
    }

    #[test]
    fn what_is_no_time_makes_nobody_wait() {
        assert_eq!(
            wait(Some("?"), Some("later"), "@"),
            Duration::ZERO,
            "the table was edited"
        );
    }
}
