//! A call that answers in parts.

use std::time::Duration;

use pillion_protocol::{Code, Error};
use tokio::sync::mpsc;

use crate::connection::InFlight;
use crate::pending::Outcome;
use crate::wire::WireEvent;

/// The parts of one answer as they come, and then its outcome.
///
/// A consumer that reads slowly slows the sender down; nothing is lost or piled up.
/// Dropping the stream before its end cancels the call.
///
/// ```no_run
/// # async fn demo(client: pillion_client::Client) -> pillion_protocol::Result<()> {
/// # let params = serde_json::json!({});
/// let mut stream = client.request("py.stream", params).stream().await?;
/// while let Some(event) = stream.next().await {
///     println!("{event:?}");
/// }
/// let result = stream.finish().await?;
/// # Ok(())
/// # }
/// ```
pub struct CallStream {
    call: Option<InFlight>,
    events: mpsc::Receiver<WireEvent>,
    method: String,
    silence: Duration,
    outcome: Option<Outcome>,
}

impl CallStream {
    pub(crate) fn new(
        call: InFlight,
        events: mpsc::Receiver<WireEvent>,
        method: String,
        silence: Duration,
    ) -> Self {
        Self {
            call: Some(call),
            events,
            method,
            silence,
            outcome: None,
        }
    }

    /// The next part, or `None` when there will be no more: then [`finish`](Self::finish)
    /// says how it ended. Cancel-safe.
    ///
    /// The request's timeout bounds the silence between parts, not the whole stream.
    pub async fn next(&mut self) -> Option<WireEvent> {
        let call = self.call.as_mut()?;
        let step = async {
            match self.events.recv().await {
                Some(event) => Ok(event),
                None => Err(call.outcome().await),
            }
        };
        let outcome = match tokio::time::timeout(self.silence, step).await {
            Ok(Ok(event)) => return Some(event),
            Ok(Err(outcome)) => outcome,
            Err(_) => Err(timed_out(&self.method, self.silence)),
        };
        self.outcome = Some(outcome);
        self.call = None;
        None
    }

    /// Pass by the parts that are left, and give the outcome.
    pub async fn finish(mut self) -> Outcome {
        while self.next().await.is_some() {}
        self.outcome.unwrap_or_else(|| {
            Err(Error::new(
                Code::Cancelled,
                format!("`{}` was cancelled", self.method),
            ))
        })
    }
}

impl std::fmt::Debug for CallStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallStream")
            .field("method", &self.method)
            .field("ended", &self.call.is_none())
            .finish_non_exhaustive()
    }
}

/// The error of a request that took too long.
pub(crate) fn timed_out(method: &str, limit: Duration) -> Error {
    Error::new(
        Code::Timeout,
        format!(
            "`{method}` was not answered within {} s",
            limit.as_secs_f64()
        ),
    )
    .hint(
        "the call was cancelled; give it a longer timeout, or ask `pillion status` what is running",
    )
}
