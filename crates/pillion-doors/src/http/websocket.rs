//! Conversations by WebSocket, for operations whose path says that they talk.
//!
//! The operation is asked first: what it refuses is an ordinary error, and only a conversation
//! that it opens becomes a WebSocket. From then on frames go to and fro as they are, a few at a
//! time: who is slow makes the other side wait, and a caller that takes nothing at all is given
//! up as on every connection (`connections`). The end of the operation is the end of the conversation.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use bytes::Bytes;
use pillion_catalogue::{Caller, Code, Door, Duplex, DuplexEnds, Error, Frame, Request, Result};
use serde_json::value::RawValue;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::refusal::refusal;
use crate::DoorState;
use crate::intake::{Claim, too_much};

/// Bytes of one message of a caller.
const MAX_MESSAGE: usize = 16 << 20;
/// Bytes that wait to be written, beside the frame at hand.
const WRITE_BUFFER: usize = 64 * 1024;
/// How often a caller is asked whether it is there, and how many times it may say nothing.
const PING: Duration = Duration::from_secs(30);
const SILENT: u32 = 3;
/// How long an operation may take to end when its caller is gone.
const ENDING: Duration = Duration::from_secs(5);
/// Bytes that the reason of an end may have.
const REASON: usize = 120;

type Answer = JoinHandle<Result<Box<RawValue>>>;

/// What an operation is asked for.
pub(super) struct WebSocketRequest {
    pub(super) operation: &'static str,
    pub(super) protocols: &'static [&'static str],
    pub(super) params: Option<Box<RawValue>>,
    pub(super) caller: Caller,
}

/// Whether a request wants to become a WebSocket.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let upgrade = headers
        .get(header::UPGRADE)
        .and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"))
}

/// Ask an operation for a conversation.
pub(super) async fn open(
    state: DoorState,
    upgrade: WebSocketUpgrade,
    headers: &HeaderMap,
    asked: WebSocketRequest,
) -> Response {
    let protocol = agreed(asked.protocols, headers);
    let (duplex, opening) = Duplex::offer(protocol);
    let mut request = Request::new(Door::Http).root(state.root.clone());
    request.caller = asked.caller;
    request.surroundings = state.surroundings.clone();
    request.peer = state.peer.clone();
    request.duplex = Some(duplex);
    // Whatever becomes of the connection, the operation does not go on without it.
    let gone = request.cancel.clone().drop_guard();
    let shutdown = state.shutdown.clone();
    let (operation, params) = (asked.operation, asked.params);
    let answer: Answer = tokio::spawn(async move {
        let params = params.as_deref();
        state.catalogue.call(operation, params, request).await
    });
    let Ok(ends) = opening.await else {
        let error = match answer.await {
            Ok(Err(error)) => error,
            Ok(Ok(_)) => Error::internal("it did not duplex"),
            Err(error) => Error::internal(error),
        };
        return refusal(&error, error.code.http_status());
    };
    upgrade
        .protocols(protocol)
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE)
        .write_buffer_size(WRITE_BUFFER)
        .on_upgrade(async move |socket| {
            carry(socket, ends, answer, shutdown).await;
            drop(gone);
        })
}

/// The first protocol of ours that the caller knows, too.
fn agreed(ours: &'static [&'static str], headers: &HeaderMap) -> Option<&'static str> {
    let all = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let theirs: Vec<&str> = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    ours.iter().copied().find(|ours| theirs.contains(ours))
}

/// Carry frames until one side ends.
async fn carry(
    mut socket: WebSocket,
    ends: DuplexEnds,
    answer: Answer,
    shutdown: CancellationToken,
) {
    let DuplexEnds {
        mut incoming,
        outgoing,
    } = ends;
    let mut ping = tokio::time::interval(PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut silent = 0;
    // What was said, and is not taken yet; until then nothing more is read.
    let mut held: Option<(Frame, Claim)> = None;
    let end = loop {
        tokio::select! {
            place = outgoing.reserve(), if held.is_some() => {
                // An operation that takes nothing is about to say how it ended.
                if let (Ok(place), Some((frame, _claim))) = (place, held.take()) {
                    place.send(frame);
                }
            }
            message = socket.recv(), if held.is_none() => {
                silent = 0;
                match message {
                    Some(Ok(message)) => match frame(message) {
                        Some(frame) => {
                            let mut claim = Claim::default();
                            if !claim.grow_to(length(&frame)) {
                                break Some(Err(too_much()));
                            }
                            held = Some((frame, claim));
                        }
                        None => continue,
                    },
                    Some(Err(error)) => {
                        tracing::debug!(%error, "a conversation broke off");
                        break None;
                    }
                    None => break None,
                }
            }
            frame = incoming.recv() => match frame {
                Some(frame) => if socket.send(message(frame)).await.is_err() {
                    break None;
                },
                None => break Some(Ok(())),
            },
            _ = ping.tick() => {
                silent += 1;
                if silent > SILENT || socket.send(Message::Ping(Bytes::new())).await.is_err() {
                    break None;
                }
            }
            () = shutdown.cancelled() => {
                break Some(Err(Error::new(Code::ShuttingDown, "pillion is shutting down")));
            }
        }
    };
    // The operation hears that nobody is there any more, and ends by itself.
    drop((outgoing, incoming));
    let answer = tokio::time::timeout(ENDING, answer).await;
    let said = match end {
        None => return,
        Some(Err(error)) => Err(error),
        Some(Ok(())) => match answer {
            Ok(Ok(answer)) => answer.map(|_| ()),
            Ok(Err(error)) => Err(Error::internal(error)),
            Err(_) => Ok(()),
        },
    };
    let _ = socket.send(Message::Close(Some(farewell(&said)))).await;
}

fn frame(message: Message) -> Option<Frame> {
    match message {
        Message::Text(text) => Some(Frame::Text(text.as_str().to_owned())),
        Message::Binary(bytes) => Some(Frame::Binary(bytes)),
        // Pings are answered already, and after a close nothing more comes.
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) => None,
    }
}

fn message(frame: Frame) -> Message {
    match frame {
        Frame::Text(text) => Message::Text(text.into()),
        Frame::Binary(bytes) => Message::Binary(bytes),
    }
}

fn length(frame: &Frame) -> usize {
    match frame {
        Frame::Text(text) => text.len(),
        Frame::Binary(bytes) => bytes.len(),
    }
}

/// How the end is told.
fn farewell(said: &Result<()>) -> CloseFrame {
    let Err(error) = said else {
        return CloseFrame {
            code: close_code::NORMAL,
            reason: "".into(),
        };
    };
    let code = match error.code {
        Code::Busy => close_code::AGAIN,
        Code::ShuttingDown => close_code::AWAY,
        Code::InvalidParams | Code::InvalidRequest => close_code::POLICY,
        _ => close_code::ERROR,
    };
    let mut reason = error.message.clone();
    while reason.len() > REASON {
        reason.pop();
    }
    CloseFrame {
        code,
        reason: reason.into(),
    }
}
