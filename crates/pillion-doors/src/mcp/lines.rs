//! MCP on standard input and output: one JSON message per line.
//!
//! A line that is no message is answered with a JSON-RPC error, and the session goes on.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use pillion_protocol::frame::{Lines, write_line};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, JsonRpcNotification,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

/// Lines that may wait for a slow reader.
const ANSWERS: usize = 64;

/// How long requests may go on when the input has ended.
const GO_ON: Duration = Duration::from_secs(60);

/// JSON-RPC's numbers for what cannot be read.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;

/// A pair of streams as a transport of MCP.
pub(super) struct LineTransport<R> {
    lines: FramedRead<R, Lines>,
    answers: mpsc::Sender<Bytes>,
    /// Whether the session has been opened.
    opened: bool,
    /// Cancelled when the input has ended.
    ended: CancellationToken,
    /// How long requests may go on, once the input has ended.
    until: Option<Instant>,
    pending: Arc<Pending>,
}

/// The requests that were read and are not answered yet.
#[derive(Default)]
struct Pending {
    ids: Mutex<HashSet<RequestId>>,
    answered: Notify,
}

impl Pending {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has come, or is not wanted any more.
    fn heard(&self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => drop(self.ids().insert(request.id.clone())),
            JsonRpcMessage::Notification(JsonRpcNotification {
                notification: ClientNotification::CancelledNotification(cancelled),
                ..
            }) => {
                if let Some(id) = &cancelled.params.request_id {
                    self.ids().remove(id);
                }
            }
            _ => {}
        }
    }

    fn said(&self, message: &ServerJsonRpcMessage) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if id.is_some_and(|id| self.ids().remove(id)) {
            self.answered.notify_one();
        }
    }

    /// Wait until all is answered.
    async fn none(&self) {
        while !self.ids().is_empty() {
            self.answered.notified().await;
        }
    }
}

impl<R: AsyncRead + Unpin + Send> LineTransport<R> {
    /// The transport, what tells that its input has ended, and the task that writes: it
    /// ends after the transport, when all that was said is written.
    pub(super) fn new(
        input: R,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> (Self, CancellationToken, JoinHandle<()>) {
        let (answers, queue) = mpsc::channel(ANSWERS);
        let ended = CancellationToken::new();
        let transport = Self {
            lines: FramedRead::with_capacity(input, Lines::default(), 64 * 1024),
            answers,
            opened: false,
            ended: ended.clone(),
            until: None,
            pending: Arc::default(),
        };
        (transport, ended, tokio::spawn(write_lines(output, queue)))
    }

    /// The next message; `None` is the end.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let line = tokio::select! {
                line = self.lines.next() => line?,
                // The writer only ends early when nobody reads.
                () = self.answers.closed() => return None,
            };
            let line = match line {
                Ok(line) => line,
                Err(error) => {
                    self.refuse(&Value::Null, INVALID_REQUEST, &error.to_string())
                        .await;
                    return None;
                }
            };
            match read(&line) {
                Ok(message) if self.fits(&message) => return Some(message),
                Ok(_) => tracing::debug!("a message before the session was opened is dropped"),
                Err((id, code, what)) => self.refuse(&id, code, &what).await,
            }
        }
    }

    /// Before the session is opened only requests make sense: anything else would end it.
    fn fits(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if let JsonRpcMessage::Request(request) = message {
            self.opened |= !matches!(request.request, ClientRequest::PingRequest(_));
            return true;
        }
        self.opened
    }

    fn refuse(&self, id: &Value, code: i64, what: &str) -> impl Future<Output = ()> + use<R> {
        let error = json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": { "code": code, "message": what },
        });
        let answers = self.answers.clone();
        async move { drop(answers.send(encode(&error)).await) }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (answers, pending) = (self.answers.clone(), Arc::clone(&self.pending));
        async move {
            pending.said(&message);
            let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            answers.send(encode(&message)).await.map_err(gone)
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if let Some(message) = self.next().await {
            self.pending.heard(&message);
            return Some(message);
        }
        self.ended.cancel();
        // The session ends with the input: what was read is answered before that. This
        // future is dropped and made anew for every message that is sent meanwhile.
        let until = *self.until.get_or_insert_with(|| Instant::now() + GO_ON);
        tokio::select! {
            () = self.pending.none() => {}
            () = tokio::time::sleep_until(until) => {}
            () = self.answers.closed() => {}
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line as a message, or what to answer: the id it had, JSON-RPC's number, what is wrong.
fn read(line: &[u8]) -> Result<ClientJsonRpcMessage, (Value, i64, String)> {
    if let Ok(message) = serde_json::from_slice(line) {
        return Ok(message);
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let what = format!("the line is not JSON: {error}");
        (Value::Null, PARSE_ERROR, what)
    })?;
    let what = match &value {
        Value::Array(_) => "MCP has no batches; send one message per line",
        Value::Object(object) if object.contains_key("method") => {
            "not a request of MCP: check `jsonrpc`, `id` and `params`"
        }
        _ => "a line is one JSON-RPC 2.0 message",
    };
    let id = value.get("id").cloned();
    let id = id.filter(|id| id.is_string() || id.is_number());
    Err((id.unwrap_or(Value::Null), INVALID_REQUEST, what.to_owned()))
}

async fn write_lines(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Bytes>) {
    while let Some(line) = queue.recv().await {
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn encode(message: &impl serde::Serialize) -> Bytes {
    let mut line = BytesMut::new();
    write_line(&serde_json::to_vec(message).unwrap_or_default(), &mut line);
    line.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_told_apart() {
        let wrong = |line: &str| read(line.as_bytes()).map(|_| ()).unwrap_err();
        assert_eq!(wrong("{not json").1, PARSE_ERROR);
        assert_eq!(wrong("[1, 2]").1, INVALID_REQUEST);
        assert_eq!(wrong("7").1, INVALID_REQUEST);
        let (id, code, _) = wrong(r#"{"id": 7, "method": "ping"}"#);
        assert_eq!((id, code), (json!(7), INVALID_REQUEST));
        let ping = br#"{"jsonrpc": "2.0", "id": "a", "method": "ping"}"#;
        assert!(read(ping).is_ok());
    }
}
