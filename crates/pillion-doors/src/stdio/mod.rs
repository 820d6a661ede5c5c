//! The line-JSON contract on standard input and output: what old hosts speak to a
//! persistent child, served by pillion itself. [`OldOperation`] knows the commands that they
//! ask for.

mod legacy_commands;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use pillion_catalogue::{Caller, Code, Door, Error, Part};
use pillion_protocol::frame::{Lines, write_line};
use pillion_protocol::line::{self, LineRequest, PROTOCOL, Ready, ReplyBody, ReplyLine};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use legacy_commands::OldOperation;

use crate::DoorState;
use crate::dispatch::{Asked, dispatch};
use crate::intake::{Claim, Claimed, too_much};
use crate::outbox::{self, Outbox};

/// Requests worked on at once; further ones wait their turn.
const IN_FLIGHT: usize = 64;
/// Requests that were read and are not answered; then reading pauses. Until then a cancel is
/// heard, whatever is being done.
const TAKEN: usize = 4096;

/// Serve the contract until the input ends; what was read is still answered.
pub async fn serve(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    state: DoorState,
    version: &str,
) {
    let (outbox, waiting) = Outbox::new();
    // A host may take its time; it ends us when it wants to.
    let writing = tokio::spawn(outbox::write(output, waiting, false));
    let ready = Ready {
        status: "ready".into(),
        protocol: Some(PROTOCOL),
        version: Some(version.to_owned()),
        pid: Some(std::process::id()),
        ..Ready::default()
    };
    outbox.send(encode(&ready));
    let stdio = Arc::new(StdioDoor {
        state,
        outbox,
        running: Mutex::default(),
        turns: Semaphore::new(IN_FLIGHT),
    });
    let taken = Arc::new(Semaphore::new(TAKEN));
    let open = TaskTracker::new();
    let decoder = Claimed::new(Lines::default());
    let mut lines = FramedRead::with_capacity(input, decoder, 64 * 1024);
    loop {
        let Ok(place) = Arc::clone(&taken).acquire_owned().await else {
            break;
        };
        let line = tokio::select! {
            line = lines.next() => line,
            () = stdio.outbox.closed() => break,
            () = stdio.state.shutdown.cancelled() => break,
        };
        match line {
            Some(Ok((line, claim))) => {
                if let Some(work) = stdio.take(&line, claim) {
                    open.spawn(async move {
                        work.await;
                        drop(place);
                    });
                }
            }
            Some(Err(error)) => {
                let error = match error.kind() {
                    io::ErrorKind::OutOfMemory => too_much(),
                    _ => Error::new(Code::InvalidRequest, error.to_string()),
                };
                stdio.reply(None, ReplyBody::Error(error.into()));
                break;
            }
            None => break,
        }
    }
    open.close();
    open.wait().await;
    drop(stdio);
    let _ = writing.await;
}

/// What is being worked on.
struct StdioDoor {
    state: DoorState,
    outbox: Outbox,
    /// By the text of their id.
    running: Mutex<HashMap<String, CancellationToken>>,
    turns: Semaphore,
}

impl StdioDoor {
    /// Take a line: what is left to do about it, if anything. A cancel that comes after it
    /// finds it.
    fn take(self: &Arc<Self>, line: &[u8], claim: Claim) -> Option<BoxFuture<'static, ()>> {
        let request = match line::read(line) {
            Ok(request) if request.method.is_some() => {
                return self.beyond(&request).map(|reply| self.small(reply));
            }
            Ok(request) => request,
            Err((id, error)) => {
                let (id, body) = (id.as_deref(), ReplyBody::Error(error.into()));
                return Some(self.small(encode(&ReplyLine { id, body })));
            }
        };
        let cancel = CancellationToken::new();
        let key = request.id.as_deref().map(|id| id.get().to_owned());
        if let Some(key) = &key {
            self.running().insert(key.clone(), cancel.clone());
        }
        let stdio = Arc::clone(self);
        let work = async move {
            let _claim = claim;
            let _turn = tokio::select! {
                turn = stdio.turns.acquire() => turn.ok(),
                // Its answer says so.
                () = cancel.cancelled() => None,
            };
            stdio.command(request, cancel).await;
            if let Some(key) = &key {
                stdio.running().remove(key);
            }
        };
        Some(work.boxed())
    }

    /// An answer that nothing had to be done for. They wait until the others are read.
    fn small(&self, reply: Bytes) -> BoxFuture<'static, ()> {
        let outbox = self.outbox.clone();
        async move { outbox.refuse(reply).await }.boxed()
    }

    /// The old form: a command with its project and arguments.
    async fn command(&self, request: LineRequest, cancel: CancellationToken) {
        let command = request.command.as_deref().unwrap_or_default();
        let id = request.id.as_deref();
        let old = OldOperation::find(&self.state.catalogue, command);
        let operation = old.as_ref().map_or(command, |old| old.operation);
        if self.state.catalogue.get(operation).is_none() {
            // A result, kept for old hosts.
            let unknown = serde_json::json!({
                "error": "UnknownCommand",
                "message": format!("Unknown command: {command}"),
            });
            if let Ok(unknown) = serde_json::value::to_raw_value(&unknown) {
                self.reply(id, ReplyBody::Result(&unknown));
            }
            return;
        }
        let params = match old.as_ref().map(|old| old.params(request.args.as_deref())) {
            None => request.args,
            Some(Ok(params)) => Some(params),
            Some(Err(error)) => return self.reply(id, ReplyBody::Error(error.into())),
        };
        let mut caller = request
            .caller
            .map_or_else(Caller::default, |caller| *caller);
        if let Some(project) = request.project.filter(|project| !project.is_empty()) {
            // The old word for both: which folder, and where paths are meant from.
            caller.near.get_or_insert_with(|| project.clone().into());
            caller.root.get_or_insert_with(|| project.into());
        }
        let asked = Asked {
            door: Door::Stdio,
            operation,
            params: params.as_deref(),
            caller,
            cancel,
            budget: self.outbox.budget().clone(),
        };
        let wanted = request.progress;
        let outcome = dispatch(&self.state, asked, |part| async move {
            let body = match (&part, wanted) {
                (_, false) => return !self.outbox.is_closed(),
                (Part::Item(item), true) => ReplyBody::Item(item),
                (Part::Progress(news), true) => ReplyBody::Progress(news),
            };
            self.outbox.send_part(encode(&ReplyLine { id, body })).await
        })
        .await;
        match outcome {
            Ok(result) => self.reply(id, ReplyBody::Result(&result)),
            Err(error) => {
                let error = match old {
                    Some(old) => old.error(error),
                    None => error,
                };
                self.reply(id, ReplyBody::Error(error.into()));
            }
        }
    }

    /// Beyond the old contract: ping and cancel.
    fn beyond(&self, request: &LineRequest) -> Option<Bytes> {
        let id = request.id.as_deref();
        match request.method.as_deref() {
            Some("ping") => {
                let pong = RawValue::from_string(r#"{"pong":true}"#.into()).ok()?;
                let body = ReplyBody::Result(&pong);
                Some(encode(&ReplyLine { id, body }))
            }
            Some("cancel") => {
                let key = request.params.as_ref().and_then(|params| {
                    let params: HashMap<String, Box<RawValue>> =
                        serde_json::from_str(params.get()).ok()?;
                    Some(params.get("id")?.get().to_owned())
                });
                if let Some(cancel) = key.and_then(|key| self.running().get(&key).cloned()) {
                    cancel.cancel();
                }
                None
            }
            other => {
                let name = other.unwrap_or_default();
                let error = Error::new(Code::UnknownOperation, format!("no method `{name}`"))
                    .hint("this contract has `ping` and `cancel`; everything else is a `command`");
                let body = ReplyBody::Error(error.into());
                Some(encode(&ReplyLine { id, body }))
            }
        }
    }

    fn reply(&self, id: Option<&RawValue>, body: ReplyBody<'_>) {
        self.outbox.send(encode(&ReplyLine { id, body }));
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message as a line.
pub(crate) fn encode(message: &impl serde::Serialize) -> Bytes {
    let mut line = BytesMut::new();
    write_line(&serde_json::to_vec(message).unwrap_or_default(), &mut line);
    line.freeze()
}
