//! The connection that all calls of a client share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pillion_protocol::endpoint::Endpoint;
use pillion_protocol::{Error, Result};
use tokio::time::{Instant, timeout};

use crate::connect::dial;
use crate::connection::Connection;
use crate::launch::{Launched, Started};
use crate::no_connection::NoConnection;
use crate::options::Options;
use crate::polling::Pauses;
use crate::{version, wire};

/// The connection of a client: made when it is first needed, and again after it broke.
pub(crate) struct SharedConnection {
    options: Options,
    next_id: AtomicU64,
    current: Mutex<Option<Arc<Connection>>>,
    /// Held while connecting. Holds how the last attempt failed, for all who waited for it.
    connecting: tokio::sync::Mutex<Option<Error>>,
    attempts: AtomicU64,
    launched: Mutex<Option<Launched>>,
}

impl SharedConnection {
    /// No connection yet.
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            next_id: AtomicU64::new(1),
            current: Mutex::new(None),
            connecting: tokio::sync::Mutex::new(None),
            attempts: AtomicU64::new(0),
            launched: Mutex::new(None),
        }
    }

    /// The id of the next request.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The daemon, if this client started it and it has not ended since.
    pub(crate) fn started(&self) -> Option<Started> {
        let mut launched = lock(&self.launched);
        let launched = launched.as_mut()?;
        launched.ended().is_none().then_some(launched.started)
    }

    /// Where the daemon listens.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.options.endpoint
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.options.timeout
    }

    pub(crate) fn starts(&self) -> bool {
        self.options.start
    }

    /// The connection of all calls, made now if there is none.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>> {
        match self.live() {
            Some(connection) => Ok(connection),
            None => Box::pin(self.reconnect()).await,
        }
    }

    /// A connection for one stream.
    pub(crate) async fn separate_connection(&self) -> Result<Arc<Connection>> {
        let endpoint = self.endpoint();
        let connection = match dial(endpoint).await {
            Err(NoConnection::Absent) if self.starts() => {
                self.connection().await?;
                dial(endpoint).await
            }
            dialled => dialled,
        };
        connection
            .map(Arc::new)
            .map_err(|error| error.into_error(endpoint))
    }

    /// Stop the daemon if this client started it, within `limit`.
    pub(crate) async fn stop_started(&self, limit: Duration) {
        if self.started().is_none() {
            return;
        }
        let deadline = Instant::now() + limit;
        if let (Some(connection), Ok(frame)) =
            (self.live(), wire::request(0, "system.shutdown", &()))
        {
            let asked = async { connection.send(0, frame).await?.outcome().await };
            let _ = timeout(limit / 2, asked).await;
        }
        // A daemon that drains need not wait for us.
        lock(&self.current).take();
        let mut pauses = Pauses::default();
        let mut told = false;
        while self.started().is_some() && Instant::now() < deadline {
            if !told && Instant::now() + limit / 3 > deadline {
                told = true;
                if let Some(launched) = lock(&self.launched).as_mut() {
                    launched.terminate();
                }
            }
            pauses.next().await;
        }
    }

    pub(crate) fn live(&self) -> Option<Arc<Connection>> {
        let current = lock(&self.current);
        current.as_ref().filter(|c| !c.is_closed()).cloned()
    }

    async fn reconnect(&self) -> Result<Arc<Connection>> {
        let seen = self.attempts.load(Ordering::Acquire);
        let mut last = self.connecting.lock().await;
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        // Those who waited for one attempt share its failure, instead of each making another.
        if self.attempts.load(Ordering::Acquire) != seen
            && let Some(error) = &*last
        {
            return Err(error.clone());
        }
        let reached = version::reach(&self.options).await;
        self.attempts.fetch_add(1, Ordering::Release);
        let (connection, launched) = reached.inspect_err(|error| *last = Some(error.clone()))?;
        *last = None;
        if launched.is_some() {
            *lock(&self.launched) = launched;
        }
        *lock(&self.current) = Some(Arc::clone(&connection));
        Ok(connection)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
