//! MCP on standard input and output: one JSON message per line.
//!
//! A line that is no message is answered with a JSON-RPC error, and the session goes on. While
//! an agent does not read, its requests wait here; cancels among them are still heard.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use pillion_catalogue::SendBudget;
use pillion_protocol::frame::Lines;
use pillion_protocol::jsonrpc::Id;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, JsonRpcNotification,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

use super::exact_numbers;
use crate::intake::{Claimed, too_much};
use crate::outbox::{self, Outbox};
use crate::stdio::encode;

/// Requests that are worked on at once; further ones wait.
const IN_FLIGHT: usize = 256;
/// Requests that may wait, and their bytes; then reading pauses.
const WAITING: usize = 1024;
const WAITING_BYTES: usize = 16 << 20;

/// How long requests may go on when the input has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);

/// JSON-RPC's numbers for what cannot be read.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// A pair of streams as a transport of MCP.
pub(super) struct LineTransport<R> {
    lines: FramedRead<R, Claimed<Lines>>,
    outbox: Outbox,
    /// Requests that wait until there is room for their answers.
    waiting: VecDeque<Waiting>,
    /// The input has no more.
    no_more: bool,
    /// Whether the session has been opened.
    opened: bool,
    /// Cancelled when the input has ended.
    ended: CancellationToken,
    /// How long requests may go on, once the input has ended.
    until: Option<Instant>,
    pending: Arc<Pending>,
}

/// A request that waits.
struct Waiting {
    message: ClientJsonRpcMessage,
    id: RequestId,
    bytes: usize,
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
    /// The transport, where its answers wait, what tells that its input has ended, and the task that writes: it
    /// ends after the transport, when all that was said is written.
    pub(super) fn new(
        input: R,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> (Self, SendBudget, CancellationToken, JoinHandle<()>) {
        let (outbox, waiting) = Outbox::new();
        let budget = outbox.budget().clone();
        let ended = CancellationToken::new();
        let decoder = Claimed::new(Lines::default());
        let transport = Self {
            lines: FramedRead::with_capacity(input, decoder, 64 * 1024),
            outbox,
            waiting: VecDeque::new(),
            no_more: false,
            opened: false,
            ended: ended.clone(),
            until: None,
            pending: Arc::default(),
        };
        // A host may take its time; it ends us when it wants to.
        let writing = tokio::spawn(outbox::write(output, waiting, false));
        (transport, budget, ended, writing)
    }

    /// The next message that can be dealt with; `None` is the end. Loses nothing when it is
    /// dropped.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.has_room()
                && let Some(next) = self.waiting.pop_front()
            {
                return Some(next.message);
            }
            let bytes: usize = self.waiting.iter().map(|waiting| waiting.bytes).sum();
            let full = self.waiting.len() >= WAITING || bytes >= WAITING_BYTES;
            if self.no_more && self.waiting.is_empty() {
                return None;
            }
            let line = tokio::select! {
                line = self.lines.next(), if !full && !self.no_more => line,
                () = budget(&self.outbox, &self.pending), if !self.waiting.is_empty() => continue,
                // The writer only ends early when nobody reads.
                () = self.outbox.closed() => return None,
            };
            let (line, _claim) = match line {
                Some(Ok(line)) => line,
                Some(Err(error)) => {
                    let what = match error.kind() {
                        io::ErrorKind::OutOfMemory => too_much().message,
                        _ => error.to_string(),
                    };
                    self.refuse(&Id::Null, INVALID_REQUEST, &what).await;
                    self.no_more = true;
                    continue;
                }
                None => {
                    self.no_more = true;
                    continue;
                }
            };
            match read(&line) {
                Ok(message) if !self.fits(&message) => {
                    tracing::debug!("a message before the session was opened is dropped");
                }
                Ok(message) => {
                    if let Some(message) = self.sort(message, line.len()).await {
                        return Some(message);
                    }
                }
                Err((id, code, what)) => self.refuse(&id, code, &what).await,
            }
        }
    }

    /// What to do with a message: hand it on, or let it wait, or refuse it.
    async fn sort(
        &mut self,
        message: ClientJsonRpcMessage,
        bytes: usize,
    ) -> Option<ClientJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                if self.pending.ids().contains(&id) {
                    let what = "another request with this id is being worked on";
                    self.refuse(&id, INVALID_REQUEST, what).await;
                    return None;
                }
                let has_room = self.has_room() && self.waiting.is_empty();
                self.pending.ids().insert(id.clone());
                if !has_room {
                    self.waiting.push_back(Waiting { message, id, bytes });
                    return None;
                }
            }
            JsonRpcMessage::Notification(JsonRpcNotification {
                notification: ClientNotification::CancelledNotification(cancelled),
                ..
            }) => {
                if let Some(id) = &cancelled.params.request_id {
                    self.pending.ids().remove(id);
                    // One that has not begun never does, and needs no answer.
                    self.waiting.retain(|waiting| waiting.id != *id);
                }
            }
            _ => {}
        }
        Some(message)
    }

    fn has_room(&self) -> bool {
        let begun = self.pending.ids().len() - self.waiting.len();
        self.outbox.budget().is_free() && begun < IN_FLIGHT
    }

    /// Before the session is opened only requests make sense: anything else would end it.
    fn fits(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if let JsonRpcMessage::Request(request) = message {
            self.opened |= !matches!(request.request, ClientRequest::PingRequest(_));
            return true;
        }
        self.opened
    }

    fn refuse<I: Serialize>(
        &self,
        id: &I,
        code: i64,
        what: &str,
    ) -> impl Future<Output = ()> + use<R, I> {
        #[derive(Serialize)]
        struct Refused<'a, I> {
            jsonrpc: &'static str,
            id: &'a I,
            error: Value,
        }
        let error = Refused {
            jsonrpc: "2.0",
            id,
            error: json!({ "code": code, "message": what }),
        };
        let outbox = self.outbox.clone();
        let line = encode(&error);
        async move { outbox.refuse(line).await }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (outbox, pending) = (self.outbox.clone(), Arc::clone(&self.pending));
        async move {
            let is_news = matches!(message, JsonRpcMessage::Notification(_));
            let line = encode(&message);
            // Before it counts as answered it counts as waiting.
            let sent = match is_news {
                true => outbox.send_part(line).await,
                false => {
                    outbox.send(line);
                    !outbox.is_closed()
                }
            };
            pending.said(&message);
            sent.then_some(())
                .ok_or_else(|| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if let Some(message) = self.next().await {
            return Some(message);
        }
        self.ended.cancel();
        // The session ends with the input: what was read is answered before that. This
        // future is dropped and made anew for every message that is sent meanwhile.
        let until = *self
            .until
            .get_or_insert_with(|| Instant::now() + DRAIN_TIMEOUT);
        tokio::select! {
            () = self.pending.none() => {}
            () = tokio::time::sleep_until(until) => {}
            () = self.outbox.closed() => {}
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a line is no message: the id it had, JSON-RPC's number, what is wrong.
type Refusal = (Id, i64, String);

/// A line as a message, or what to answer.
fn read(line: &[u8]) -> Result<ClientJsonRpcMessage, Refusal> {
    let why = match serde_json::from_slice(&exact_numbers::kept(line)) {
        Ok(message) => return Ok(message),
        Err(why) => why,
    };
    let nobody = |code, what: String| (Id::Null, code, what);
    // What is wrong with a value does not hide whose it is.
    let value: &RawValue = serde_json::from_slice(line)
        .map_err(|error| nobody(PARSE_ERROR, format!("the line is not JSON: {error}")))?;
    if value.get().starts_with('[') {
        let what = "MCP has no batches; send one message per line";
        return Err(nobody(INVALID_REQUEST, what.to_owned()));
    }
    #[derive(Deserialize)]
    struct Outside<'a> {
        #[serde(default, borrow)]
        id: Option<&'a RawValue>,
        #[serde(default, borrow)]
        method: Option<&'a RawValue>,
    }
    let Ok(Outside { id, method }) = serde_json::from_str(value.get()) else {
        let what = "a line is one JSON-RPC 2.0 message";
        return Err(nobody(INVALID_REQUEST, what.to_owned()));
    };
    let id = id.and_then(|id| serde_json::from_str(id.get()).ok());
    // Values take what serde's own limits let in.
    let taken_apart: Result<Value, _> = serde_json::from_str(value.get());
    let (code, what) = match (taken_apart, method) {
        (Err(_), Some(_)) => (
            INVALID_PARAMS,
            format!("the parameters hold what cannot be read: {why}"),
        ),
        (_, Some(_)) => (
            INVALID_REQUEST,
            "not a request of MCP: check `jsonrpc`, `id` and `params`".to_owned(),
        ),
        (_, None) => (
            INVALID_REQUEST,
            "a line is one JSON-RPC 2.0 message".to_owned(),
        ),
    };
    Err((id.unwrap_or(Id::Null), code, what))
}

/// Wait until one more request can be begun.
async fn budget(outbox: &Outbox, pending: &Pending) {
    tokio::select! {
        () = outbox.budget().free(), if !outbox.budget().is_free() => {}
        () = pending.answered.notified() => {}
    }
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
        assert_eq!((id, code), (Id::Number(7), INVALID_REQUEST));
        let deep = "[".repeat(1_000) + &"]".repeat(1_000);
        for bad in [&deep, "1e400", r#""\ud800""#] {
            let call = format!(
                r#"{{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call","params":{{"name":"x","arguments":{{"a":{bad}}}}}}}"#
            );
            let (id, code, what) = wrong(&call);
            assert_eq!(id, Id::Other("12345678901234567890".into()), "{what}");
            assert_eq!(code, INVALID_PARAMS, "{what}");
        }
        let ping = br#"{"jsonrpc": "2.0", "id": "a", "method": "ping"}"#;
        assert!(read(ping).is_ok());
    }
}
