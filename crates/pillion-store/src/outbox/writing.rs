//! The ways of a delivery: it waits, and is put off, until it has ended. An ended one never
//! waits again, and has no body any more.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use super::{
    Delivery, Enqueued, MAX_BODY_BYTES, MAX_DELAY, MAX_ENQUEUED, MAX_REASON_BYTES, OutboxLimits,
};
use crate::connection_thread::Transaction;
use crate::jobs::{MAX_NAME_BYTES, expect_fits, size};
use crate::retention::limit;
use crate::{StoreError, time};

/// What a row has when a delivery ends. Ends are numbered, because clocks jump.
const ENDS: &str = "body = NULL, bytes = 0, ended_at = :now,
     ended = 1 + coalesce((SELECT max(ended) FROM outbox), 0)";

/// Enqueue deliveries of a session, all of them or none.
pub(crate) fn enqueue(
    transaction: &Transaction<'_>,
    session: &str,
    deliveries: &[Delivery],
    limits: &OutboxLimits,
) -> Result<Enqueued, StoreError> {
    expect_fits("the session", session, MAX_NAME_BYTES)?;
    if deliveries.len() > MAX_ENQUEUED {
        return Err(StoreError::OutboxFull {
            waiting: deliveries.len(),
            limit: MAX_ENQUEUED,
        });
    }
    let mut told = Enqueued::default();
    for delivery in deliveries {
        expect_fits("the body", delivery.body.get(), MAX_BODY_BYTES)?;
        if is_known(transaction, session, delivery)? {
            told.known += 1;
            continue;
        }
        told.superseded += supersede(transaction, session, delivery)?;
        add(transaction, session, delivery)?;
        told.added += 1;
    }
    if told.added > 0 {
        expect_room(transaction, limits)?;
        prune(transaction, limits)?;
    }
    Ok(told)
}

/// Whether the delivery was enqueued before, or a newer one that supersedes it.
fn is_known(
    transaction: &Transaction<'_>,
    session: &str,
    delivery: &Delivery,
) -> Result<bool, StoreError> {
    let condition = match delivery.kind.supersedes() {
        true => "number >= ?3",
        false => "number = ?3",
    };
    transaction.sql(|connection| {
        connection
            .prepare(&format!(
                "SELECT 1 FROM outbox WHERE session = ?1 AND kind = ?2 AND {condition} LIMIT 1"
            ))?
            .exists(params![session, delivery.kind, delivery.number])
    })
}

/// The one that waits for the same place in the backend need not be delivered any more: there
/// is at most one, since it was enqueued in this way, too. It may be on its way at this
/// moment, which does no harm, because the newer one comes after it.
fn supersede(
    transaction: &Transaction<'_>,
    session: &str,
    delivery: &Delivery,
) -> Result<usize, StoreError> {
    if !delivery.kind.supersedes() {
        return Ok(0);
    }
    transaction.sql(|connection| {
        connection.execute(
            &format!(
                "UPDATE outbox SET state = 'superseded', {ENDS}
                 WHERE session = :session AND state = 'waiting' AND kind = :kind"
            ),
            rusqlite::named_params! {
                ":now": time::now(),
                ":session": session,
                ":kind": delivery.kind,
            },
        )
    })
}

fn add(
    transaction: &Transaction<'_>,
    session: &str,
    delivery: &Delivery,
) -> Result<(), StoreError> {
    let body = delivery.body.get();
    transaction.sql(|connection| {
        connection.execute(
            "INSERT INTO outbox (session, kind, number, state, enqueued_at, bytes, body)
             VALUES (?1, ?2, ?3, 'waiting', ?4, ?5, ?6)",
            params![
                session,
                delivery.kind,
                delivery.number,
                time::now(),
                size(body),
                body
            ],
        )
    })?;
    Ok(())
}

fn expect_room(transaction: &Transaction<'_>, limits: &OutboxLimits) -> Result<(), StoreError> {
    let (waiting, bytes): (i64, i64) = transaction.sql(|connection| {
        connection.query_row(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM outbox WHERE state = 'waiting'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    })?;
    if waiting > limit(limits.waiting) || bytes > limit(limits.bytes) {
        return Err(StoreError::OutboxFull {
            waiting: usize::try_from(waiting).unwrap_or(usize::MAX),
            limit: limits.waiting,
        });
    }
    Ok(())
}

/// The delivery arrived. `false` if it no longer waits: it was superseded or forgotten while
/// it was on its way, or another daemon was quicker.
pub(crate) fn settle(
    transaction: &Transaction<'_>,
    id: i64,
    limits: &OutboxLimits,
) -> Result<bool, StoreError> {
    end(transaction, id, "settled", None, limits)
}

/// The delivery will never arrive. Those behind it go on.
pub(crate) fn give_up(
    transaction: &Transaction<'_>,
    id: i64,
    reason: &str,
    limits: &OutboxLimits,
) -> Result<bool, StoreError> {
    end(transaction, id, "given_up", Some(cut(reason)), limits)
}

fn end(
    transaction: &Transaction<'_>,
    id: i64,
    state: &str,
    reason: Option<&str>,
    limits: &OutboxLimits,
) -> Result<bool, StoreError> {
    let changed = transaction.sql(|connection| {
        connection.execute(
            &format!(
                "UPDATE outbox SET state = :state, reason = :reason, attempts = attempts + 1, {ENDS}
                 WHERE seq = :seq AND state = 'waiting'"
            ),
            rusqlite::named_params! {
                ":now": time::now(),
                ":state": state,
                ":reason": reason,
                ":seq": id,
            },
        )
    })?;
    prune(transaction, limits)?;
    Ok(changed > 0)
}

/// The delivery is tried again, but not before this much time has passed. Gives back how
/// often it was put off by now, or nothing if it no longer waits.
pub(crate) fn put_off(
    transaction: &Transaction<'_>,
    id: i64,
    delay: Duration,
    reason: &str,
) -> Result<Option<u32>, StoreError> {
    let (now, due) = time::now_and_in(delay.min(MAX_DELAY));
    transaction.sql(|connection| {
        connection
            .query_row(
                "UPDATE outbox SET attempts = attempts + 1, reason = ?2, put_off_at = ?3, due_at = ?4
                 WHERE seq = ?1 AND state = 'waiting' RETURNING attempts",
                params![id, cut(reason), now, due],
                |row| row.get(0),
            )
            .optional()
    })
}

/// Let go of all that is known of a session's deliveries; gives back how many of them waited.
pub(crate) fn forget(transaction: &Transaction<'_>, session: &str) -> Result<usize, StoreError> {
    transaction.sql(|connection| {
        let waited = connection.execute(
            "DELETE FROM outbox WHERE session = ?1 AND state = 'waiting'",
            [session],
        )?;
        connection.execute("DELETE FROM outbox WHERE session = ?1", [session])?;
        Ok(waited)
    })
}

/// Let go of those that ended first, until the rest is not too much.
fn prune(transaction: &Transaction<'_>, limits: &OutboxLimits) -> Result<(), StoreError> {
    transaction.sql(|connection| {
        connection.execute(
            "DELETE FROM outbox WHERE ended <= (
                 SELECT ended FROM outbox WHERE ended IS NOT NULL
                 ORDER BY ended DESC LIMIT 1 OFFSET ?1
             )",
            [limit(limits.ended)],
        )
    })?;
    Ok(())
}

/// As much of a reason as is kept.
fn cut(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(MAX_REASON_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_letters() {
        let long = "é".repeat(MAX_REASON_BYTES);
        assert_eq!(cut(&long).len(), MAX_REASON_BYTES);
        assert_eq!(cut(&format!("x{long}")).len(), MAX_REASON_BYTES - 1);
        assert_eq!(cut("short"), "short");
    }
}
