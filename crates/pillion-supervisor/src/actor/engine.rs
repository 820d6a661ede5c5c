//! The conversation with a language server.
//!
//! It begins with `initialize`, whose answer is the hello. Then the server is told
//! `initialized`, what the [`Opening`](crate::Opening) replays, and what was kept while it
//! was starting; only then do calls follow. It ends with `shutdown` and `exit`.

use bytes::BytesMut;
use pillion_protocol::Result;
use pillion_protocol::line::Ready;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Actor;
use crate::dialect::{rpc, rpc_answer};
use crate::failure::ServerError;
use crate::life::Happening;
use crate::{Cause, Dialect, Notice};

/// The id of `initialize`; calls begin at 1.
const INITIALIZE: u64 = 0;
/// Notices that are kept for a process that is starting.
const KEEP: usize = 1024;
/// How often a call is asked again because the server says that files changed under it.
const ASK_AGAIN: u8 = 16;

/// What a server wrote: a request has a method and an id, a notification only a method, an
/// answer only an id.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<ServerError>,
}

impl Actor {
    /// Say the first word.
    pub(super) fn open(&mut self) {
        let params = match &self.spec.opening {
            Some(opening) => opening.initialize(),
            None => json!({ "processId": null, "rootUri": null, "capabilities": {} }),
        };
        self.write(Some(INITIALIZE), "initialize", Some(&params));
    }

    /// Say goodbye. A server that has not begun is not asked first.
    pub(super) fn farewell(&mut self) {
        let Some(child) = &mut self.child else { return };
        if child.hello.is_none() || !child.is_open() {
            self.exit();
            return;
        }
        let id = child.new_id();
        child.talk.farewell = Some(id);
        self.write(Some(id), "shutdown", None);
    }

    fn exit(&mut self) {
        self.write(None, "exit", None);
        if let Some(child) = &mut self.child
            && child.has_sent_all()
        {
            child.close_input();
        }
    }

    /// Tell the server something. What no process is there to hear is dropped: a fresh one
    /// finds the files on the disk, and its replay carries the rest.
    pub(super) fn notify(&mut self, notice: Notice) {
        let Some(child) = &mut self.child else { return };
        if self.spec.dialect != Dialect::Lsp || self.life.expects_death() {
            return;
        }
        if child.hello.is_none() {
            child.talk.kept.push(notice);
            if child.talk.kept.len() > KEEP {
                tracing::info!(sidecar = self.spec.name, "restarted: too much has changed");
                child.talk.kept = Vec::new();
                self.cause.get_or_insert(Cause::Restart);
                self.step(Happening::Restart);
            }
        } else if notice.stamp.is_none_or(|stamp| stamp > child.talk.replayed) {
            self.write(None, &notice.method, Some(&notice.params));
        }
    }

    /// The server wrote a frame.
    pub(super) fn on_frame(&mut self, frame: &[u8]) {
        if self
            .child
            .as_ref()
            .is_none_or(|child| child.broke.is_some())
        {
            // It is being killed because nothing it says can be trusted.
            return;
        }
        let Ok(written) = serde_json::from_slice::<Written>(frame) else {
            let text: String = String::from_utf8_lossy(frame).chars().take(200).collect();
            return self.on_broken(format!("wrote `{text}`, which is no message").into());
        };
        match (written.method, written.id) {
            (Some(method), Some(id)) => self.on_request(&method, id, written.params),
            (Some(method), None) => {
                tracing::debug!(
                    sidecar = self.spec.name,
                    method,
                    params = written.params.map(RawValue::get),
                    "says"
                );
            }
            (None, id) => {
                // One without a readable id answers nothing we asked.
                let Some(id) = id.and_then(|id| id.get().parse().ok()) else {
                    return;
                };
                let result = written.result.unwrap_or(RawValue::NULL);
                self.on_answer(id, written.error.map_or(Ok(result), Err));
            }
        }
    }

    /// The server asks us. It always gets an answer: it may wait for it.
    fn on_request(&mut self, method: &str, id: &RawValue, params: Option<&RawValue>) {
        let result = self.spec.opening.as_ref().map_or(Value::Null, |opening| {
            let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
            opening.answer(method, &params.unwrap_or(Value::Null))
        });
        let mut frame = BytesMut::new();
        rpc_answer(id, &result, &mut frame);
        self.write_frame(frame);
    }

    fn on_answer(&mut self, id: u64, outcome: Result<&RawValue, ServerError>) {
        let Some(child) = &mut self.child else { return };
        if child.hello.is_none() {
            if id == INITIALIZE {
                self.on_opened(outcome);
            }
            return;
        }
        if child.talk.farewell == Some(id) {
            return self.exit();
        }
        let outcome = match outcome {
            Ok(result) => Ok(result.to_owned()),
            Err(error) if error.is_passing() && self.ask_again(id) => return,
            Err(error) => Err(error.into_error(&self.spec)),
        };
        self.conclude(id, outcome);
    }

    fn on_opened(&mut self, outcome: Result<&RawValue, ServerError>) {
        let answer: Value = match outcome {
            Ok(result) => serde_json::from_str(result.get()).unwrap_or_default(),
            Err(error) => {
                let reason = format!("refused to begin: {}", error.message);
                return self.on_broken(reason.into());
            }
        };
        let version = answer.pointer("/serverInfo/version");
        let ready = Ready {
            status: "ready".into(),
            version: version.and_then(Value::as_str).map(str::to_owned),
            ..Ready::default()
        };
        let Some(child) = &mut self.child else { return };
        child.greet(ready);
        self.shared.born(child.pid(), None);
        let kept = std::mem::take(&mut child.talk.kept);
        self.write(None, "initialized", Some(&json!({})));
        if let Some(opening) = self.spec.opening.clone() {
            opening.opened(&answer);
            let replay = opening.replay();
            if let Some(child) = &mut self.child {
                child.talk.replayed = replay.stamp;
            }
            for (method, params) in replay.notices {
                self.write(None, &method, Some(&params));
            }
        }
        for notice in kept {
            self.notify(notice);
        }
        self.step(Happening::Hello);
        self.pump();
    }

    /// Put a call that is safe to repeat back to the front of the queue, unless that was
    /// done too often already.
    fn ask_again(&mut self, id: u64) -> bool {
        let Some(child) = &mut self.child else {
            return false;
        };
        let call = child.in_flight.get(&id).and_then(|c| c.pending.as_ref());
        if !call.is_some_and(|call| call.safe && call.put_off < ASK_AGAIN) {
            return false;
        }
        if let Some(mut pending) = child.in_flight.remove(&id).and_then(|call| call.pending) {
            pending.put_off += 1;
            self.queue.push_front(pending);
        }
        self.step(Happening::CallEnded);
        self.pump();
        true
    }

    fn write(&mut self, id: Option<u64>, method: &str, params: Option<&Value>) {
        let mut frame = BytesMut::new();
        rpc(id, method, params, &mut frame);
        self.write_frame(frame);
    }

    /// A server that does not read what it is sent is stuck: nothing may pile up for it.
    fn write_frame(&mut self, frame: BytesMut) {
        let Some(child) = &mut self.child else { return };
        child.send(frame.freeze());
        if child.is_clogged(self.spec.limits.frame) {
            tracing::warn!(sidecar = self.spec.name, "reads nothing any more");
            self.cause.get_or_insert(Cause::Hang);
            child.close_input();
            child.kill();
        }
    }
}
