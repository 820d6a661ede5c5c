//! The line-JSON contract on standard input and output: what old hosts speak to a
//! persistent child, served by pillion itself. [`OldCommand`] knows the commands that they
//! ask for.

mod old;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use pillion_catalogue::{Code, Door, Error, Part};
use pillion_protocol::frame::{Lines, write_line};
use pillion_protocol::line::{self, PROTOCOL, Ready, Reply, ReplyBody, Request};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use old::OldCommand;

use crate::House;
use crate::dispatch::{Asked, dispatch};

/// Requests worked on at once; then reading pauses.
const IN_FLIGHT: usize = 64;
/// Lines that may wait for a slow reader.
const ANSWERS: usize = 64;

/// Serve the contract until the input ends; what was read is still answered.
pub async fn serve(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    house: House,
    version: &str,
) {
    let (answers, queue) = mpsc::channel(ANSWERS);
    let writing = tokio::spawn(write_lines(output, queue));
    let ready = Ready {
        status: "ready".into(),
        protocol: Some(PROTOCOL),
        version: Some(version.to_owned()),
        pid: Some(std::process::id()),
        ..Ready::default()
    };
    let _ = answers.send(encode(&ready)).await;
    let desk = Arc::new(Desk {
        house,
        answers,
        running: Mutex::default(),
    });
    let slots = Arc::new(Semaphore::new(IN_FLIGHT));
    let open = TaskTracker::new();
    let mut lines = FramedRead::with_capacity(input, Lines::default(), 64 * 1024);
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            break;
        };
        let line = tokio::select! {
            line = lines.next() => line,
            () = desk.answers.closed() => break,
            () = desk.house.shutdown.cancelled() => break,
        };
        match line {
            Some(Ok(line)) => {
                let desk = Arc::clone(&desk);
                open.spawn(async move {
                    desk.handle(&line).await;
                    drop(slot);
                });
            }
            Some(Err(error)) => {
                let error = Error::new(Code::InvalidRequest, error.to_string());
                desk.reply(None, ReplyBody::Error(error.into())).await;
                break;
            }
            None => break,
        }
    }
    open.close();
    open.wait().await;
    drop(desk);
    let _ = writing.await;
}

/// What is being worked on.
struct Desk {
    house: House,
    answers: mpsc::Sender<Bytes>,
    /// By the text of their id.
    running: Mutex<HashMap<String, CancellationToken>>,
}

impl Desk {
    async fn handle(&self, line: &[u8]) {
        match line::read(line) {
            Ok(request) if request.method.is_some() => self.beyond(request).await,
            Ok(request) => self.command(request).await,
            Err((id, error)) => {
                self.reply(id.as_deref(), ReplyBody::Error(error.into()))
                    .await;
            }
        }
    }

    /// The old form: a command with its project and arguments.
    async fn command(&self, request: Request) {
        let command = request.command.as_deref().unwrap_or_default();
        let id = request.id.as_deref();
        let old = OldCommand::find(command);
        let operation = old.map_or(command, |old| old.operation);
        if self.house.catalogue.get(operation).is_none() {
            // A result, kept for old hosts.
            let unknown = serde_json::json!({
                "error": "UnknownCommand",
                "message": format!("Unknown command: {command}"),
            });
            if let Ok(unknown) = serde_json::value::to_raw_value(&unknown) {
                self.reply(id, ReplyBody::Result(&unknown)).await;
            }
            return;
        }
        let params = match old.map(|old| old.params(request.args.as_deref())) {
            None => request.args,
            Some(Ok(params)) => Some(params),
            Some(Err(error)) => return self.reply(id, ReplyBody::Error(error.into())).await,
        };
        let cancel = CancellationToken::new();
        let key = id.map(|id| id.get().to_owned());
        if let Some(key) = &key {
            self.running().insert(key.clone(), cancel.clone());
        }
        let asked = Asked {
            door: Door::Stdio,
            operation,
            params: params.as_deref(),
            root: request
                .project
                .filter(|project| !project.is_empty())
                .map(PathBuf::from),
            cancel,
        };
        let wanted = request.progress;
        let outcome = dispatch(&self.house, asked, |part| async move {
            match (&part, wanted) {
                (_, false) => {}
                (Part::Item(item), true) => self.reply(id, ReplyBody::Item(item)).await,
                (Part::Progress(news), true) => self.reply(id, ReplyBody::Progress(news)).await,
            }
            !self.answers.is_closed()
        })
        .await;
        if let Some(key) = &key {
            self.running().remove(key);
        }
        match outcome {
            Ok(result) => self.reply(id, ReplyBody::Result(&result)).await,
            Err(error) => {
                let error = match old {
                    Some(old) => old.error(error),
                    None => error,
                };
                self.reply(id, ReplyBody::Error(error.into())).await;
            }
        }
    }

    /// Beyond the old contract: ping and cancel.
    async fn beyond(&self, request: Request) {
        let id = request.id.as_deref();
        match request.method.as_deref() {
            Some("ping") => {
                if let Ok(pong) = RawValue::from_string(r#"{"pong":true}"#.into()) {
                    self.reply(id, ReplyBody::Result(&pong)).await;
                }
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
            }
            other => {
                let name = other.unwrap_or_default();
                let error = Error::new(Code::UnknownOperation, format!("no method `{name}`"))
                    .hint("this contract has `ping` and `cancel`; everything else is a `command`");
                self.reply(id, ReplyBody::Error(error.into())).await;
            }
        }
    }

    async fn reply(&self, id: Option<&RawValue>, body: ReplyBody<'_>) {
        let _ = self.answers.send(encode(&Reply { id, body })).await;
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
