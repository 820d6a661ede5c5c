//! A thread that owns a connection and carries out what is in its queue.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::StoreError;
use crate::open_connection::{OpenConnection, Use};
use crate::opening;

/// At most this many commands share a transaction, and with it the sync of the disk.
const BATCH: usize = 64;

/// Carried out in a transaction, or told why there is none. Gives back what went wrong, and
/// the way to answer.
type Command = Box<dyn FnOnce(Result<&Connection, StoreError>) -> Done + Send>;

/// A command that was carried out and not answered yet.
struct Done {
    failed: Option<StoreError>,
    /// Answers; with the error if the transaction came to nothing.
    answer: Box<dyn FnOnce(Option<StoreError>) + Send>,
}

/// A handle to the thread. Dropping it lets the thread finish its queue and waits for it.
pub(crate) struct ConnectionThread {
    queue: Option<mpsc::Sender<Command>>,
    thread: Option<JoinHandle<()>>,
    ended: oneshot::Receiver<()>,
    path: PathBuf,
    queue_timeout: Duration,
}

impl ConnectionThread {
    /// Start the thread, which opens the file; also where a broken one was put.
    pub(crate) async fn start(
        path: &Path,
        purpose: Use,
        queue: usize,
        queue_timeout: Duration,
    ) -> Result<(Self, Option<PathBuf>), StoreError> {
        let (sender, commands) = mpsc::channel(queue.max(1));
        let (tell, opened) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let place = path.to_owned();
        let thread = std::thread::Builder::new()
            .name("pillion-store".into())
            .spawn(move || {
                match OpenConnection::open(&place, purpose) {
                    Ok((held, set_aside)) => {
                        let _ = tell.send(Ok(set_aside));
                        work(held, commands);
                    }
                    Err(error) => drop(tell.send(Err(error))),
                }
                let _ = end.send(());
            })
            .map_err(|error: io::Error| StoreError::file(path, error))?;
        let thread = Self {
            queue: Some(sender),
            thread: Some(thread),
            ended,
            path: path.to_owned(),
            queue_timeout,
        };
        let set_aside = opened.await.map_err(|_| StoreError::Closed)??;
        Ok((thread, set_aside))
    }

    /// Have something done in a transaction; the answer comes after the commit.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Transaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, told) = oneshot::channel();
        let path = self.path.clone();
        let command: Command = Box::new(move |connection| {
            let result = connection.and_then(|connection| {
                let transaction = Transaction { connection, path };
                transaction.all_or_nothing(task)
            });
            Done {
                failed: result.as_ref().err().cloned(),
                answer: Box::new(move |broken| {
                    let _ = tell.send(broken.map_or(result, Err));
                }),
            }
        });
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        match queue.send_timeout(command, self.queue_timeout).await {
            Ok(()) => {}
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => {
                return Err(StoreError::Busy {
                    waiting: queue.max_capacity(),
                });
            }
            Err(mpsc::error::SendTimeoutError::Closed(_)) => return Err(StoreError::Closed),
        }
        told.await.map_err(|_| StoreError::Closed)?
    }

    /// Let the thread finish its queue, and wait for it without blocking this one.
    pub(crate) async fn close(mut self) {
        self.queue = None;
        let _ = (&mut self.ended).await;
    }
}

impl Drop for ConnectionThread {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The transaction that a task is carried out in: its connection, and the file's name for
/// errors.
pub(crate) struct Transaction<'a> {
    pub(crate) connection: &'a Connection,
    path: PathBuf,
}

impl Transaction<'_> {
    /// Say something to SQLite.
    pub(crate) fn sql<T>(
        &self,
        say: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        say(self.connection).map_err(|error| StoreError::sqlite(&self.path, error))
    }

    /// A task that fails leaves nothing in a transaction that it shares with others.
    fn all_or_nothing<T>(
        &self,
        task: impl FnOnce(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.sql(|connection| connection.execute_batch("SAVEPOINT task"))?;
        let result = task(self);
        // SQLite ends the whole transaction by itself after the worst errors.
        if !self.connection.is_autocommit() {
            let end = match result {
                Ok(_) => "RELEASE task",
                Err(_) => "ROLLBACK TO task; RELEASE task",
            };
            self.sql(|connection| connection.execute_batch(end))?;
        }
        result
    }
}

fn work(mut held: OpenConnection, mut commands: mpsc::Receiver<Command>) {
    let mut taken = Vec::with_capacity(BATCH);
    while commands.blocking_recv_many(&mut taken, BATCH) > 0 {
        let mut batch = VecDeque::from(std::mem::take(&mut taken));
        while !batch.is_empty() {
            carry_out(&mut held, &mut batch);
        }
    }
    held.close();
}

/// Carry out commands in one transaction, commit it, and answer.
fn carry_out(held: &mut OpenConnection, batch: &mut VecDeque<Command>) {
    let path = held.path().to_owned();
    let connection = match held.begin() {
        Ok(connection) => connection,
        Err(error) => {
            for command in batch.drain(..) {
                (command(Err(error.clone())).answer)(None);
            }
            note(&path, &error);
            return;
        }
    };
    let mut answers = Vec::with_capacity(batch.len());
    let mut broken = None;
    while let Some(command) = batch.pop_front() {
        let done = command(Ok(connection));
        answers.push(done.answer);
        if let Some(error) = &done.failed {
            note(&path, error);
        }
        if connection.is_autocommit() {
            // The transaction is gone, and with it what was done before in it.
            broken = Some(done.failed.unwrap_or(StoreError::Closed));
            break;
        }
    }
    if broken.is_none() {
        broken = held.commit().err();
        if let Some(error) = &broken {
            note(&path, error);
        }
    }
    for answer in answers {
        answer(broken.clone());
    }
}

fn note(path: &Path, error: &StoreError) {
    if matches!(error, StoreError::Corrupt { .. }) {
        opening::suspect(path);
    }
}

#[cfg(test)]
#[path = "connection_thread_tests.rs"]
mod tests;
