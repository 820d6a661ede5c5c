//! The requests of one connection.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::future::join_all;
use pillion_catalogue::{Code, Door, Error, Part};
use pillion_protocol::jsonrpc::{
    Cancel, Id, Incoming, Notification, Progress, Request, Response, Version, method, read,
};
use serde_json::value::to_raw_value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::encode;
use crate::House;
use crate::dispatch::Asked;
use crate::exposed::answer;

/// Requests in one batch.
const MAX_BATCH: usize = 1_000;

/// What is being worked on for one connection.
pub(super) struct Requests {
    house: House,
    door: Door,
    /// A child of this one per request: cancelling it cancels them all.
    all: CancellationToken,
    running: Mutex<HashMap<Id, CancellationToken>>,
}

impl Requests {
    pub(super) fn new(house: House, door: Door) -> Self {
        Self {
            house,
            door,
            all: CancellationToken::new(),
            running: Mutex::default(),
        }
    }

    /// Nobody waits for any of them.
    pub(super) fn cancel_all(&self) {
        self.all.cancel();
    }

    /// Handle one frame: a request, a notification or a batch.
    pub(super) async fn handle(&self, frame: &[u8], answers: &mpsc::Sender<Bytes>) {
        match read(frame) {
            Incoming::Single(request) => {
                if let Some(response) = self.one(request, answers).await {
                    let _ = answers.send(encode(&response)).await;
                }
            }
            Incoming::Batch(requests) if requests.len() > MAX_BATCH => {
                let error = Error::new(
                    Code::InvalidRequest,
                    format!("a batch of more than {MAX_BATCH} requests"),
                );
                let _ = answers
                    .send(encode(&Response::new(Id::Null, Err(error))))
                    .await;
            }
            Incoming::Batch(requests) => {
                let all = requests
                    .into_iter()
                    .map(|request| self.one(request, answers));
                let responses: Vec<_> = join_all(all).await.into_iter().flatten().collect();
                // A batch of notifications has no answer at all.
                if !responses.is_empty() {
                    let _ = answers.send(encode(&responses)).await;
                }
            }
        }
    }

    async fn one(
        &self,
        request: Result<Request, (Id, Error)>,
        answers: &mpsc::Sender<Bytes>,
    ) -> Option<Response> {
        let request = match request {
            Ok(request) => request,
            Err((id, error)) => return Some(Response::new(id, Err(error))),
        };
        if request.method == method::CANCEL {
            self.cancel(&request);
            return request.id.map(|id| Response::new(id, Ok(null())));
        }
        let cancel = self.all.child_token();
        let asked = Asked {
            door: self.door,
            operation: &request.method,
            params: request.params.as_deref(),
            root: None,
            cancel: cancel.clone(),
        };
        let Some(id) = request.id else {
            // A notification: done, but never answered.
            let _ = answer(&self.house, asked, true, |_| async { true }).await;
            return None;
        };
        self.running().insert(id.clone(), cancel);
        let outcome = answer(&self.house, asked, true, |part| {
            let frame = progress(&id, part);
            async { answers.send(frame).await.is_ok() }
        })
        .await;
        self.running().remove(&id);
        Some(Response::new(id, outcome))
    }

    fn cancel(&self, request: &Request) {
        let wanted = request
            .params
            .as_ref()
            .and_then(|params| serde_json::from_str::<Cancel>(params.get()).ok());
        if let Some(cancel) = wanted.and_then(|cancel| self.running().get(&cancel.id).cloned()) {
            cancel.cancel();
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        version: Version,
        method: method::PROGRESS.into(),
        params,
    })
}

fn null() -> Box<serde_json::value::RawValue> {
    Box::default()
}
