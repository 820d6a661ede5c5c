//! A connection that is held for long, and still is the file with that name.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::opening::{self, FileId, Opened};
use crate::{StoreError, schema};

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Writing,
    Reading,
}

impl Use {
    fn open(self, path: &Path) -> Result<Opened, StoreError> {
        match self {
            Self::Writing => opening::for_writing(path),
            Self::Reading => opening::for_reading(path),
        }
    }
}

/// A connection to the file at a path.
pub(crate) struct OpenConnection {
    path: PathBuf,
    purpose: Use,
    connection: Connection,
    file: FileId,
}

impl OpenConnection {
    /// Open the file; also where a broken one was put.
    pub(crate) fn open(path: &Path, purpose: Use) -> Result<(Self, Option<PathBuf>), StoreError> {
        let opened = purpose.open(path)?;
        let held = Self {
            path: path.to_owned(),
            purpose,
            connection: opened.connection,
            file: opened.file,
        };
        Ok((held, opened.set_aside))
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Begin a transaction and give out its connection.
    ///
    /// Another daemon may have set the file aside, or somebody deleted it. What would be
    /// written to it then, nobody would find.
    pub(crate) fn begin(&mut self) -> Result<&Connection, StoreError> {
        if opening::file_id(&self.path) != Some(self.file) {
            tracing::warn!(path = %self.path.display(), "the store was replaced: opening it again");
            let opened = self.purpose.open(&self.path)?;
            self.connection = opened.connection;
            self.file = opened.file;
        }
        let begin = match self.purpose {
            // A reading transaction that turns to writing could be refused in its middle.
            Use::Writing => "BEGIN IMMEDIATE",
            Use::Reading => "BEGIN",
        };
        self.connection
            .execute_batch(begin)
            .map_err(|error| StoreError::sqlite(&self.path, error))?;
        if let Err(error) = schema::expect_known(&self.connection, &self.path) {
            self.roll_back();
            return Err(error);
        }
        Ok(&self.connection)
    }

    /// Commit what was begun.
    pub(crate) fn commit(&self) -> Result<(), StoreError> {
        let committed = self.connection.execute_batch("COMMIT");
        committed.map_err(|error| {
            self.roll_back();
            StoreError::sqlite(&self.path, error)
        })
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "cannot roll back");
        }
    }

    /// Bring the log into the file, if nobody else needs it, and close.
    pub(crate) fn close(self) {
        if self.purpose == Use::Writing {
            // The log is as durable as the file: to wait for others would gain nothing.
            let checkpoint = self
                .connection
                .busy_timeout(std::time::Duration::ZERO)
                .and_then(|()| {
                    self.connection
                        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                });
            if let Err(error) = checkpoint {
                tracing::debug!(%error, "the store's log stays for the next one");
            }
        }
        if let Err((_, error)) = self.connection.close() {
            tracing::debug!(%error, "cannot close the store");
        }
    }
}
