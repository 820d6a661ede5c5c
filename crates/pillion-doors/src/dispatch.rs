//! One request through the catalogue, with its parts on the way: what all doors share.

use std::future::Future;

use pillion_catalogue::{Caller, Code, Door, Error, Part, Request, Result, SendBudget};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::DoorState;

/// Parts that may wait for a slow reader; then their maker waits.
const PARTS: usize = 16;

/// A request as a door decoded it.
pub(crate) struct Asked<'a> {
    pub(crate) door: Door,
    pub(crate) operation: &'a str,
    pub(crate) params: Option<&'a RawValue>,
    /// What is said about the caller.
    pub(crate) caller: Caller,
    pub(crate) cancel: CancellationToken,
    /// Where the answer will wait for its reader.
    pub(crate) budget: SendBudget,
}

/// Answer a request; `tell` gets every part, in order and before the outcome.
pub(crate) async fn dispatch<F>(
    state: &DoorState,
    asked: Asked<'_>,
    mut tell: impl FnMut(Part) -> F,
) -> Result<Box<RawValue>>
where
    F: Future<Output = bool>,
{
    let Asked {
        door,
        operation,
        params,
        caller,
        cancel,
        budget,
    } = asked;
    // A caller that does not read what it asked for before gets nothing more done.
    tokio::select! {
        () = budget.free() => {}
        () = cancel.cancelled() => {
            return Err(Error::new(Code::Cancelled, "the request was cancelled"));
        }
    }
    let mut request = Request::new(door).root(state.root.clone());
    request.cancel = cancel;
    request.caller = caller;
    request.surroundings = state.surroundings.clone();
    request.peer = state.peer.clone();
    request.budget = budget;
    let definition = state.catalogue.get(operation);
    if !definition.is_some_and(|definition| definition.wants_stream(params)) {
        return state.catalogue.call(operation, params, request).await;
    }
    let (sender, mut parts) = mpsc::channel(PARTS);
    let cancel = request.cancel.clone();
    let call = state
        .catalogue
        .call(operation, params, request.parts(sender));
    tokio::pin!(call);
    loop {
        tokio::select! {
            biased;
            Some(part) = parts.recv() => {
                if !tell(part).await {
                    // Nobody reads any more.
                    cancel.cancel();
                    parts.close();
                }
            }
            outcome = &mut call => {
                while let Ok(part) = parts.try_recv() {
                    tell(part).await;
                }
                return outcome;
            }
        }
    }
}
