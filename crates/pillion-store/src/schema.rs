//! The tables, and how they came to be: numbered steps, each taken once, whole or not at all.

use std::path::Path;

use rusqlite::Connection;

use crate::StoreError;

/// The steps. A step that was released is never changed: the next one is added below it.
const STEPS: &[&str] = &[
    // 1: jobs and runs. What is long stands last in a row, so that a list reads none of it.
    "CREATE TABLE jobs (
         seq INTEGER PRIMARY KEY AUTOINCREMENT,
         id TEXT NOT NULL UNIQUE,
         session TEXT,
         lane TEXT NOT NULL,
         label TEXT NOT NULL,
         status TEXT NOT NULL CHECK
             (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'lost')),
         created_at TEXT NOT NULL,
         started_at TEXT,
         ended_at TEXT,
         owner TEXT NOT NULL,
         bytes INTEGER NOT NULL,
         request TEXT NOT NULL,
         result TEXT,
         CHECK ((ended_at IS NULL) = (status IN ('queued', 'running')))
     ) STRICT;
     CREATE INDEX jobs_by_session ON jobs (session, seq);
     CREATE INDEX jobs_by_status ON jobs (status, seq);
     CREATE INDEX jobs_by_owner ON jobs (owner) WHERE ended_at IS NULL;
     CREATE INDEX jobs_by_end ON jobs (ended_at, seq, bytes) WHERE ended_at IS NOT NULL;
     CREATE TABLE runs (
         seq INTEGER PRIMARY KEY AUTOINCREMENT,
         session TEXT NOT NULL,
         at TEXT NOT NULL,
         outcome TEXT NOT NULL,
         bytes INTEGER NOT NULL,
         ran TEXT NOT NULL,
         result TEXT
     ) STRICT;
     CREATE INDEX runs_by_session ON runs (session, seq);
     CREATE INDEX runs_by_size ON runs (seq, bytes);",
    // 2: what sessions have for their backends. `ended` numbers the ends.
    "CREATE TABLE outbox (
         seq INTEGER PRIMARY KEY AUTOINCREMENT,
         session TEXT NOT NULL,
         kind TEXT NOT NULL CHECK (kind IN ('turn', 'memory', 'report')),
         number INTEGER NOT NULL,
         state TEXT NOT NULL CHECK
             (state IN ('waiting', 'settled', 'given_up', 'superseded')),
         enqueued_at TEXT NOT NULL,
         attempts INTEGER NOT NULL DEFAULT 0,
         put_off_at TEXT,
         due_at TEXT,
         ended INTEGER,
         ended_at TEXT,
         reason TEXT,
         bytes INTEGER NOT NULL,
         body TEXT,
         UNIQUE (session, kind, number),
         CHECK ((ended IS NULL) = (state = 'waiting')),
         CHECK ((body IS NULL) = (state <> 'waiting'))
     ) STRICT;
     CREATE INDEX outbox_waiting ON outbox (session, seq, bytes) WHERE state = 'waiting';
     CREATE UNIQUE INDEX outbox_by_end ON outbox (ended) WHERE ended IS NOT NULL;
     CREATE INDEX outbox_given_up ON outbox (ended) WHERE state = 'given_up';",
];

/// The version that this pillion reads and writes.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// The version of the tables in the file.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Refuse tables of another version than this pillion's.
///
/// Asked in every transaction: a newer pillion may have taken a step in the meantime.
pub(crate) fn expect_known(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let found = version(connection).map_err(|error| StoreError::sqlite(path, error))?;
    if found > VERSION {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: VERSION,
        });
    }
    Ok(())
}

/// Take the steps that the file has not taken yet.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    migrate_by(STEPS, connection).map_err(|error| StoreError::sqlite(path, error))?;
    expect_known(connection, path)
}

fn migrate_by(steps: &[&str], connection: &mut Connection) -> rusqlite::Result<()> {
    loop {
        let step =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let taken = version(&step)?;
        let Some(next) = usize::try_from(taken).ok().and_then(|at| steps.get(at)) else {
            return step.rollback();
        };
        step.execute_batch(next)?;
        step.pragma_update(None, "user_version", taken + 1)?;
        step.commit()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_once_and_later_ones_added() {
        let mut connection = Connection::open_in_memory().unwrap();
        let one = "CREATE TABLE a (x)";
        let two = "ALTER TABLE a ADD COLUMN y";
        migrate_by(&[one], &mut connection).unwrap();
        migrate_by(&[one, two], &mut connection).unwrap();
        migrate_by(&[one, two], &mut connection).unwrap();
        assert_eq!(version(&connection).unwrap(), 2);
        connection
            .execute("INSERT INTO a (x, y) VALUES (1, 2)", [])
            .unwrap();
    }

    #[test]
    fn a_step_that_fails_leaves_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        let broken = "CREATE TABLE a (x); CREATE TABLE a (x)";
        assert!(migrate_by(&[broken], &mut connection).is_err());
        assert_eq!(version(&connection).unwrap(), 0);
        migrate_by(&["CREATE TABLE a (x)"], &mut connection).unwrap();
    }
}
