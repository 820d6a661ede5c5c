//! The handle that programs hold.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pillion_protocol::endpoint::Endpoint;
use pillion_protocol::{Caller, Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};

use crate::connect::{NoConnection, dial};
use crate::connection::Connection;
use crate::options::Options;
use crate::request::RequestBuilder;
use crate::start::Pauses;
use crate::sys::{Launched, Started};
use crate::{skew, wire};

/// What the daemon says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonVersion {
    /// Its version, such as `0.1.0`.
    pub version: String,
    /// `json-rpc-2.0`.
    #[serde(default)]
    pub protocol: String,
    /// `unix-socket`.
    #[serde(default)]
    pub transport: String,
    /// The hash of its operations' schemas.
    #[serde(default)]
    pub contract: String,
}

/// A handle on the daemon: cheap to clone, and made to be used by many at once.
///
/// All calls share one connection, which is made when first needed and made again after
/// it broke. A client belongs to the tokio runtime it was first used on.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    next_id: AtomicU64,
    current: Mutex<Option<Arc<Connection>>>,
    /// Held while connecting. Holds how the last attempt failed, for all who waited for it.
    connecting: tokio::sync::Mutex<Option<Error>>,
    attempts: AtomicU64,
    launched: Mutex<Option<Launched>>,
}

impl Client {
    /// Connect to a daemon that runs. None is ever started.
    pub async fn connect(endpoint: &Endpoint) -> Result<Self> {
        Self::connect_or_start(&Options::at(endpoint.clone()).start(false)).await
    }

    /// Connect to the daemon; start it if nobody listens and `options.start` is set.
    ///
    /// Returns when the daemon is known to answer. Racing clients start one daemon. Only a
    /// missing or refusing socket leads to a start: anything else in its place is an error.
    pub async fn connect_or_start(options: &Options) -> Result<Self> {
        let client = Self::lazy(options.clone());
        client.connection().await?;
        Ok(client)
    }

    /// A client that connects, and starts the daemon if need be, with its first request.
    pub fn lazy(options: Options) -> Self {
        Self {
            inner: Arc::new(Inner {
                options,
                next_id: AtomicU64::new(1),
                current: Mutex::new(None),
                connecting: tokio::sync::Mutex::new(None),
                attempts: AtomicU64::new(0),
                launched: Mutex::new(None),
            }),
        }
    }

    /// Ask for something, with the usual timeout.
    ///
    /// Dropping the future cancels the request. The result is JSON that was not looked into.
    pub async fn call(&self, method: &str, params: impl Serialize) -> Result<Box<RawValue>> {
        self.request(method, params).send().await
    }

    /// Ask for something, and read the result.
    pub async fn call_as<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<T> {
        self.request(method, params).send_as().await
    }

    /// A request with a timeout of its own, or one whose answer comes in parts.
    ///
    /// Parameters that cannot be sent are reported by sending it.
    pub fn request(&self, method: &str, params: impl Serialize) -> RequestBuilder {
        self.request_for(&Caller::default(), method, params)
    }

    /// The same, on behalf of somebody: where they stand, which Python is theirs, how long they
    /// wait.
    pub fn request_for(
        &self,
        caller: &Caller,
        method: &str,
        params: impl Serialize,
    ) -> RequestBuilder {
        let id = self.inner.next_id.fetch_add(1, Ordering::Relaxed);
        let frame = wire::request_for(caller, id, method, &params);
        RequestBuilder::new(self.clone(), id, method, frame)
    }

    /// What the daemon says about itself.
    pub async fn version(&self) -> Result<DaemonVersion> {
        self.call_as("system.version", ()).await
    }

    /// The daemon, if this client started it and it has not ended since.
    pub fn started(&self) -> Option<Started> {
        let mut launched = lock(&self.inner.launched);
        let launched = launched.as_mut()?;
        launched.ended().is_none().then_some(launched.started)
    }

    /// Where the daemon listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.inner.options.endpoint
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.inner.options.timeout
    }

    pub(crate) fn starts(&self) -> bool {
        self.inner.options.start
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
        lock(&self.inner.current).take();
        let mut pauses = Pauses::default();
        let mut told = false;
        while self.started().is_some() && Instant::now() < deadline {
            if !told && Instant::now() + limit / 3 > deadline {
                told = true;
                if let Some(launched) = lock(&self.inner.launched).as_mut() {
                    launched.terminate();
                }
            }
            pauses.next().await;
        }
    }

    fn live(&self) -> Option<Arc<Connection>> {
        let current = lock(&self.inner.current);
        current.as_ref().filter(|c| !c.is_closed()).cloned()
    }

    async fn reconnect(&self) -> Result<Arc<Connection>> {
        let inner = &self.inner;
        let seen = inner.attempts.load(Ordering::Acquire);
        let mut last = inner.connecting.lock().await;
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        // Those who waited for one attempt share its failure, instead of each making another.
        if inner.attempts.load(Ordering::Acquire) != seen
            && let Some(error) = &*last
        {
            return Err(error.clone());
        }
        let reached = skew::reach(&inner.options).await;
        inner.attempts.fetch_add(1, Ordering::Release);
        let (connection, launched) = reached.inspect_err(|error| *last = Some(error.clone()))?;
        *last = None;
        if launched.is_some() {
            *lock(&inner.launched) = launched;
        }
        *lock(&inner.current) = Some(Arc::clone(&connection));
        Ok(connection)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("socket", &self.endpoint().socket)
            .field("connected", &self.live().is_some())
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
