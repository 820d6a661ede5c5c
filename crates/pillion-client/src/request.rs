//! One request: what it asks for, how long it may take, and whether it may be repeated.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pillion_protocol::{Code, Error, Result};
use serde::de::DeserializeOwned;

use crate::pending::Outcome;
use crate::shared::SharedConnection;
use crate::stream::{CallStream, timed_out};

/// Requests that only look, so that a second one does no harm.
const SAFE: &[&str] = &[
    "system.ping",
    "system.version",
    "system.status",
    "system.stats",
];

/// A request about to be sent.
#[must_use = "a request does nothing until it is sent"]
pub struct RequestBuilder {
    shared: Arc<SharedConnection>,
    id: u64,
    method: String,
    frame: Result<Bytes>,
    timeout: Duration,
    safe: bool,
}

impl RequestBuilder {
    pub(crate) fn new(
        shared: Arc<SharedConnection>,
        id: u64,
        method: &str,
        frame: Result<Bytes>,
    ) -> Self {
        Self {
            timeout: shared.timeout(),
            safe: SAFE.contains(&method),
            shared,
            id,
            method: method.to_owned(),
            frame,
        }
    }

    /// How long it may take, from now to the answer, with connecting and writing. For a
    /// stream: how long it may be silent.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Whether the daemon may get it twice. If so, it is sent once more when the connection
    /// breaks before the answer.
    ///
    /// By default only `system.ping`, `system.version`, `system.status` and `system.stats`
    /// are.
    pub fn safe_to_repeat(mut self, safe: bool) -> Self {
        self.safe = safe;
        self
    }

    /// Send it and wait for the result. Dropping the future cancels the request.
    pub async fn send(self) -> Outcome {
        let frame = self.frame?;
        let answered = answer(&self.shared, self.id, frame, self.safe);
        tokio::time::timeout(self.timeout, answered)
            .await
            .unwrap_or_else(|_| Err(timed_out(&self.method, self.timeout)))
    }

    /// Send it, wait for the result and read it.
    pub async fn send_as<T: DeserializeOwned>(self) -> Result<T> {
        let method = self.method.clone();
        let result = self.send().await?;
        serde_json::from_str(result.get()).map_err(|error| {
            Error::new(
                Code::InvalidResult,
                format!("the answer to `{method}` has another form than expected: {error}"),
            )
            .hint("client and daemon may be of different versions; compare `pillion --version` with `pillion status`")
        })
    }

    /// Send it on a connection of its own, and get its answer in parts as they come.
    ///
    /// A stream is never repeated.
    pub async fn stream(self) -> Result<CallStream> {
        let frame = self.frame?;
        let opened = async {
            let connection = Box::pin(self.shared.separate_connection()).await?;
            connection.open(self.id, frame).await
        };
        let (call, events) = tokio::time::timeout(self.timeout, opened)
            .await
            .unwrap_or_else(|_| Err(timed_out(&self.method, self.timeout)))?;
        Ok(CallStream::new(call, events, self.method, self.timeout))
    }
}

impl std::fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestBuilder")
            .field("id", &self.id)
            .field("method", &self.method)
            .field("timeout", &self.timeout)
            .field("safe", &self.safe)
            .finish_non_exhaustive()
    }
}

/// The way of a request: twice at most, and a second time only if that does no harm.
async fn answer(shared: &SharedConnection, id: u64, frame: Bytes, safe: bool) -> Outcome {
    let connection = shared.connection().await?;
    let first = match connection.send(id, frame.clone()).await {
        Ok(mut call) => call.outcome().await,
        // The connection turned out to be broken before anything was sent.
        Err(_) => return once_more(shared, id, frame).await,
    };
    match first {
        Err(error) if error.code == Code::Unreachable && connection.is_closed() && safe => {
            once_more(shared, id, frame).await
        }
        // It was refused, not begun: the next daemon can have it, when this one is gone.
        Err(error) if error.code == Code::ShuttingDown && shared.starts() => {
            connection.closed().await;
            once_more(shared, id, frame).await
        }
        outcome => outcome,
    }
}

async fn once_more(shared: &SharedConnection, id: u64, frame: Bytes) -> Outcome {
    let connection = shared.connection().await?;
    connection.send(id, frame).await?.outcome().await
}
