//! The requests of one connection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::future::join_all;
use pillion_catalogue::{Code, Door, Error, Part, Result};
use pillion_protocol::frame::{HEADER_ROOM, with_header};
use pillion_protocol::jsonrpc::{
    Id, Incoming, Notification, Progress, RpcCancel, RpcRequest, RpcResponse, VersionMarker,
    method, read,
};
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::DoorState;
use crate::dispatch::Asked;
use crate::exposed::answer;
use crate::intake::{Claim, too_much};
use crate::outbox::Outbox;

/// Requests of one connection that may wait or be worked on; one more is refused.
const IN_FLIGHT: u32 = 256;
/// Bytes of them.
const IN_FLIGHT_BYTES: u32 = 256 << 20;
/// Requests in one batch.
const MAX_BATCH: usize = 1_000;
/// Bytes of answers that wait for the others of their batch.
const BATCHED: usize = 64 << 20;

/// What is being worked on for one connection.
pub(super) struct Requests {
    state: DoorState,
    door: Door,
    outbox: Outbox,
    places: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    /// A child of this one per request: cancelling it cancels them all.
    all: CancellationToken,
    /// Bytes of answers that wait for the others of their batch.
    batched: AtomicUsize,
    running: Mutex<HashMap<Id, CancellationToken>>,
}

/// A request that has its place, and is known to cancels.
struct Accepted {
    request: RpcRequest,
    cancel: CancellationToken,
    _place: OwnedSemaphorePermit,
}

/// What is known about a message when it has been read.
enum Taken {
    /// To be done.
    Accepted(Accepted),
    /// Answered already.
    Answered(RpcResponse),
    /// Nothing is to be done or said.
    Nothing,
}

impl Requests {
    pub(super) fn new(state: DoorState, door: Door, outbox: Outbox) -> Self {
        Self {
            state,
            door,
            outbox,
            places: Arc::new(Semaphore::new(IN_FLIGHT as usize)),
            bytes: Arc::new(Semaphore::new(IN_FLIGHT_BYTES as usize)),
            all: CancellationToken::new(),
            batched: AtomicUsize::new(0),
            running: Mutex::default(),
        }
    }

    /// Nobody waits for any of them.
    pub(super) fn cancel_all(&self) {
        self.all.cancel();
    }

    /// Wait until all are answered.
    pub(super) async fn all_done(&self) {
        let _ = self.places.acquire_many(IN_FLIGHT).await;
    }

    /// Take a frame: a request, a notification or a batch. When this returns, a cancel finds
    /// what was in it. The future only waits for a peer that does not read its refusals.
    pub(super) fn take(
        self: &Arc<Self>,
        frame: &Bytes,
        claim: Claim,
    ) -> impl Future<Output = ()> + use<> {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let bytes = Arc::clone(&self.bytes).try_acquire_many_owned(length);
        let fits = bytes.is_ok();
        let mut refused = None;
        match read(frame) {
            Incoming::Single(request) => match self.one(request, fits) {
                Taken::Accepted(accepted) => {
                    let this = Arc::clone(self);
                    tokio::spawn(async move {
                        let _kept = (bytes, claim);
                        if let Some(response) = this.perform(accepted).await {
                            this.outbox.send(encode(&response));
                        }
                    });
                }
                Taken::Answered(response) => refused = Some(encode(&response)),
                Taken::Nothing => {}
            },
            Incoming::Batch(requests) if requests.len() > MAX_BATCH => {
                let what = format!("a batch of more than {MAX_BATCH} requests");
                let error = Error::new(Code::InvalidRequest, what);
                refused = Some(encode(&RpcResponse::new(Id::Null, Err(error))));
            }
            Incoming::Batch(requests) => {
                let all = requests.into_iter().map(|request| self.one(request, fits));
                let all: Vec<Taken> = all.collect();
                let this = Arc::clone(self);
                tokio::spawn(async move {
                    let _kept = (bytes, claim);
                    let all = all.into_iter().map(|taken| this.finish(taken));
                    let responses: Vec<_> = join_all(all).await.into_iter().flatten().collect();
                    // A batch of notifications has no answer at all.
                    if !responses.is_empty() {
                        this.outbox.send(encode(&responses));
                    }
                    let bytes = responses.iter().map(size).sum();
                    this.batched.fetch_sub(bytes, Ordering::Relaxed);
                });
            }
        }
        let outbox = refused.is_some().then(|| self.outbox.clone());
        async move {
            if let (Some(outbox), Some(refused)) = (outbox, refused) {
                outbox.refuse(refused).await;
            }
        }
    }

    /// What becomes of one message. Cancels are carried out, however much is being done.
    fn one(&self, request: Result<RpcRequest, (Id, Error)>, fits: bool) -> Taken {
        let request = match request {
            Ok(request) => request,
            Err((id, error)) => return Taken::Answered(RpcResponse::new(id, Err(error))),
        };
        if request.method == method::CANCEL {
            self.cancel(&request);
            return match request.id {
                Some(id) => Taken::Answered(RpcResponse::new(id, Ok(null()))),
                None => Taken::Nothing,
            };
        }
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = match place {
            Ok(place) if fits => place,
            refused => {
                let error = match refused {
                    Ok(_) => too_much(),
                    Err(_) => busy(),
                };
                let Some(id) = request.id else {
                    tracing::warn!(
                        method = request.method,
                        "a notification is dropped: {error}"
                    );
                    return Taken::Nothing;
                };
                return Taken::Answered(RpcResponse::new(id, Err(error)));
            }
        };
        let cancel = self.all.child_token();
        // Null is nobody's id: it can neither be told apart nor be cancelled.
        if let Some(id) = request.id.as_ref().filter(|id| **id != Id::Null) {
            let mut running = self.running();
            if running.contains_key(id) {
                let error = Error::new(
                    Code::InvalidRequest,
                    "another request with this id is being worked on",
                )
                .hint("give each request an id of its own");
                return Taken::Answered(RpcResponse::new(id.clone(), Err(error)));
            }
            running.insert(id.clone(), cancel.clone());
        }
        Taken::Accepted(Accepted {
            request,
            cancel,
            _place: place,
        })
    }

    /// The answer to one request of a batch. It waits for the others, where nobody can read it
    /// yet: those that do not fit are told so.
    async fn finish(&self, taken: Taken) -> Option<RpcResponse> {
        let response = match taken {
            Taken::Accepted(accepted) => self.perform(accepted).await?,
            Taken::Answered(response) => response,
            Taken::Nothing => return None,
        };
        let bytes = size(&response);
        if self.batched.fetch_add(bytes, Ordering::Relaxed) + bytes <= BATCHED {
            return Some(response);
        }
        self.batched.fetch_sub(bytes, Ordering::Relaxed);
        let error = Error::new(
            Code::ResponseTooLarge,
            "the answers of this batch are too large together",
        )
        .hint("send the requests one by one, or fewer in a batch");
        Some(RpcResponse::new(response.id, Err(error)))
    }

    async fn perform(&self, accepted: Accepted) -> Option<RpcResponse> {
        let Accepted {
            request, cancel, ..
        } = &accepted;
        let asked = Asked {
            door: self.door,
            operation: &request.method,
            params: request.params.as_deref(),
            caller: request.caller.as_deref().cloned().unwrap_or_default(),
            cancel: cancel.clone(),
            budget: self.outbox.budget().clone(),
        };
        let Some(id) = &request.id else {
            // A notification: done, but never answered.
            let _ = answer(&self.state, asked, true, |_| async { true }).await;
            return None;
        };
        let outcome = answer(&self.state, asked, true, |part| {
            let frame = progress(id, part);
            async { self.outbox.send_part(frame).await }
        })
        .await;
        self.running().remove(id);
        Some(RpcResponse::new(id.clone(), outcome))
    }

    fn cancel(&self, request: &RpcRequest) {
        let wanted = request
            .params
            .as_ref()
            .and_then(|params| serde_json::from_str::<RpcCancel>(params.get()).ok());
        if let Some(cancel) = wanted.and_then(|cancel| self.running().get(&cancel.id).cloned()) {
            cancel.cancel();
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of a result.
fn size(response: &RpcResponse) -> usize {
    response
        .result
        .as_ref()
        .map_or(0, |result| result.get().len())
}

fn busy() -> Error {
    Error::new(
        Code::Busy,
        format!("{IN_FLIGHT} requests of this connection are being worked on"),
    )
    .hint("wait for an answer before the next request, or open another connection")
}

fn progress(id: &Id, part: Part) -> Bytes {
    let (item, progress) = match part {
        Part::Item(item) => (Some(item), None),
        Part::Progress(progress) => (None, Some(progress)),
    };
    let params = to_raw_value(&Progress {
        id: id.clone(),
        item,
        progress,
    })
    .unwrap_or_else(|_| null());
    encode(&Notification {
        version: VersionMarker,
        method: method::PROGRESS.into(),
        params,
    })
}

fn null() -> Box<RawValue> {
    Box::default()
}

/// A message as a frame.
pub(super) fn encode(message: &impl serde::Serialize) -> Bytes {
    let mut frame = vec![b' '; HEADER_ROOM];
    if serde_json::to_writer(&mut frame, message).is_err() {
        // Text, numbers and what was JSON before always become JSON.
        frame.truncate(HEADER_ROOM);
        frame.extend_from_slice(b"null");
    }
    with_header(frame)
}
