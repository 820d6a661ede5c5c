//! Operations over HTTP.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use pillion_catalogue::{Caller, Code, Door, Error, HeldBytes, Part, SendBudget};
use pillion_protocol::caller::HEADER;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::MAX_BODY;
use super::access::Connection;
use super::refusal::{failure, json, no_text, refusal};
use crate::DoorState;
use crate::dispatch::Asked;
use crate::exposed;
use crate::intake::{Claim, too_much};

/// Events that may wait for a slow reader.
const EVENTS: usize = 16;
/// What of a large answer is handed over for writing at once.
const PIECE: usize = 64 * 1024;

/// `POST /v1/{operation}`, and `POST /{function}` for what is exposed.
pub(super) async fn call(
    State(state): State<DoorState>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    operation: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Ok(Path(operation)) = operation else {
        return failure(&no_text());
    };
    let asked = match read(&headers, body).await {
        Ok(asked) => asked,
        Err(refused) => return *refused,
    };
    let params = asked.params.as_deref();
    let streams = state
        .catalogue
        .get(&operation)
        .is_some_and(|definition| definition.wants_stream(params));
    // Whether a function gives its values one by one is known when it does; the caller says
    // how it wants them then.
    let wants = state.exposing(&operation).is_some() && reads_events(&headers);
    if streams || wants {
        stream(state, operation, asked, connection.budget, Frames::Parts)
    } else {
        answer(&state, &operation, asked, &connection.budget).await
    }
}

/// The parameters of a request, which are counted until it is answered.
pub(super) struct Parameters {
    params: Option<Box<RawValue>>,
    caller: Caller,
    _claim: Claim,
}

impl Parameters {
    pub(super) fn new(params: Option<Box<RawValue>>, caller: Caller, claim: Claim) -> Self {
        Self {
            params,
            caller,
            _claim: claim,
        }
    }

    pub(super) fn params(&self) -> Option<&RawValue> {
        self.params.as_deref()
    }
}

/// How parts of a stream become events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frames {
    /// `{item}`, `{progress}`, and at the end `{result}` or `{error}`.
    Parts,
    /// Each item as it is; an error is `{type: "error", message}`. While nothing comes, a
    /// comment tells that somebody is there.
    Items,
    /// The same, and at the end the result, which says that it is `complete`.
    ItemsAndResult,
}

/// What is said about a body that is JSON and no parameters.
pub(super) const NO_PARAMETERS: &str = "parameters are an object or an array";

/// Between two comments of a stream that is silent.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The parameters of a request, or what to say instead of an answer.
async fn read(headers: &HeaderMap, body: Body) -> Result<Parameters, Box<Response>> {
    let (body, claim) = collect(body).await?;
    let refused = |error: Error| Box::new(failure(&error));
    let caller = caller(headers).map_err(refused)?;
    let params = params(headers, &body).map_err(refused)?;
    Ok(Parameters::new(params, caller, claim))
}

/// What a header says about the caller.
pub(super) fn caller(headers: &HeaderMap) -> pillion_catalogue::Result<Caller> {
    let Some(header) = headers.get(HEADER) else {
        return Ok(Caller::default());
    };
    serde_json::from_slice(header.as_bytes()).map_err(|error| {
        let what = format!("the header `{HEADER}` cannot be read: {error}");
        Error::new(Code::InvalidRequest, what)
            .hint("it is a JSON object with `root`, `near`, `python`, `timeout_ms` and the like")
    })
}

/// A whole body, if there is room for it among those of others.
pub(crate) async fn collect(body: Body) -> Result<(Vec<u8>, Claim), Box<Response>> {
    let refused = |what: String, status| {
        let error = Error::new(Code::InvalidRequest, what);
        Box::new(refusal(&error, status))
    };
    let (mut whole, mut claim) = (Vec::new(), Claim::default());
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| refused(format!("the body broke off: {error}"), 400))?;
        if whole.len() + piece.len() > MAX_BODY {
            let what = format!("a body of more than {MAX_BODY} bytes");
            return Err(refused(what, 413));
        }
        if !claim.grow_to(whole.len() + piece.len()) {
            return Err(Box::new(failure(&too_much())));
        }
        whole.extend_from_slice(&piece);
    }
    Ok((whole, claim))
}

/// Anything else.
pub(super) async fn no_route(uri: Uri) -> Response {
    let error = Error::new(
        Code::NotFound,
        format!("there is nothing at `{}`", uri.path()),
    )
    .hint("`GET /docs` shows what there is; operations are at `POST /v1/{operation}`");
    refusal(&error, 404)
}

/// A page that is there, asked for in another way.
pub(super) async fn no_method(method: Method, uri: Uri) -> Response {
    let error = Error::new(
        Code::InvalidRequest,
        format!("`{}` does not answer {method}", uri.path()),
    )
    .hint("operations are at `POST /v1/{operation}`; `GET /docs` shows what there is");
    refusal(&error, 405)
}

async fn answer(
    state: &DoorState,
    operation: &str,
    asked: Parameters,
    budget: &SendBudget,
) -> Response {
    let answered = answered(state, operation, asked, budget).await;
    answered.unwrap_or_else(|error| failure(&error))
}

/// The answer as JSON.
pub(super) async fn answered(
    state: &DoorState,
    operation: &str,
    asked: Parameters,
    budget: &SendBudget,
) -> pillion_catalogue::Result<Response> {
    // Dropped with this future when the caller hangs up, which cancels the call.
    let cancel = CancellationToken::new();
    let _gone = cancel.clone().drop_guard();
    let asked = Asked {
        door: Door::Http,
        operation,
        params: asked.params.as_deref(),
        caller: asked.caller,
        cancel,
        budget: budget.clone(),
    };
    let result = exposed::answer(state, asked, false, |_| async { true }).await?;
    let text: String = Box::<str>::from(result).into();
    let (length, held) = (text.len(), budget.hold(text.len()));
    let mut response = json(StatusCode::OK, in_pieces(text.into(), held));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, length.into());
    Ok(response)
}

/// A body that counts as waiting until it is all but written.
fn in_pieces(text: Bytes, held: HeldBytes) -> Body {
    if text.len() <= PIECE {
        return text.into();
    }
    let pieces = futures::stream::unfold((text, held), |(mut text, held)| async move {
        let piece = text.split_to(text.len().min(PIECE));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (text, held)))
    });
    Body::from_stream(pieces)
}

/// The items of an operation as events. One that is refused before its first item, because
/// something else is going on or because of its parameters, is refused by this error.
pub(super) async fn items(
    state: DoorState,
    operation: String,
    asked: Parameters,
    budget: SendBudget,
    frames: Frames,
) -> pillion_catalogue::Result<Response> {
    let (begun, beginning) = oneshot::channel();
    let response = stream_from(state, operation, asked, budget, frames, Some(begun));
    // One that is silent for so long has begun.
    match tokio::time::timeout(HEARTBEAT, beginning).await {
        Ok(Ok(error)) => Err(error),
        _ => Ok(response),
    }
}

/// Items and progress as they come, then the result, as server-sent events.
pub(super) fn stream(
    state: DoorState,
    operation: String,
    asked: Parameters,
    budget: SendBudget,
    frames: Frames,
) -> Response {
    stream_from(state, operation, asked, budget, frames, None)
}

/// The same; `begun` is dropped with the first event, and hears why there is none.
fn stream_from(
    state: DoorState,
    operation: String,
    asked: Parameters,
    budget: SendBudget,
    frames: Frames,
    begun: Option<oneshot::Sender<Error>>,
) -> Response {
    let (events, queue) = mpsc::channel::<(String, HeldBytes)>(EVENTS);
    tokio::spawn(async move {
        let begun = Mutex::new(begun);
        let begin = || begun.lock().unwrap_or_else(PoisonError::into_inner).take();
        let asked = Asked {
            door: Door::Http,
            operation: &operation,
            params: asked.params.as_deref(),
            caller: asked.caller,
            cancel: CancellationToken::new(),
            budget: budget.clone(),
        };
        let call = exposed::answer(&state, asked, true, |part| {
            drop(begin());
            let event = match (&part, frames) {
                (Part::Item(item), Frames::Parts) => event("item", item.get()),
                (Part::Progress(news), Frames::Parts) => event("progress", news.get()),
                (Part::Item(item), Frames::ItemsAndResult) => typed("output", item.get()),
                (Part::Item(item), _) => frame(item.get()),
                (Part::Progress(_), _) => String::new(),
            };
            async {
                if event.is_empty() {
                    return !events.is_closed();
                }
                budget.free().await;
                let held = budget.hold(event.len());
                events.send((event, held)).await.is_ok()
            }
        });
        let last = tokio::select! {
            outcome = call => match (outcome, frames) {
                (Ok(result), Frames::Parts) => event("result", result.get()),
                // The last item said how it ended.
                (Ok(_), Frames::Items) => return,
                (Ok(result), Frames::ItemsAndResult) => typed("complete", result.get()),
                (Err(error), frames) => match begin().filter(|_| is_refusal(&error)) {
                    Some(refused) => {
                        let _ = refused.send(error);
                        return;
                    }
                    None => failed(&error, frames),
                },
            },
            // The caller hung up: dropping the call cancels it.
            () = events.closed() => return,
            () = state.shutdown.cancelled() => {
                failed(&Error::new(Code::ShuttingDown, "pillion is shutting down"), frames)
            }
        };
        let held = budget.hold(last.len());
        let _ = events.send((last, held)).await;
    });
    let bytes = futures::stream::unfold(queue, move |mut queue| async move {
        let next = match frames {
            Frames::Parts => queue.recv().await,
            Frames::Items | Frames::ItemsAndResult => {
                match tokio::time::timeout(HEARTBEAT, queue.recv()).await {
                    Ok(next) => next,
                    Err(_) => return Some((Ok(": \n\n".to_owned()), queue)),
                }
            }
        };
        next.map(|(event, _held)| (Ok::<_, Infallible>(event), queue))
    });
    let mut response = Body::from_stream(bytes.boxed()).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies that collect answers before they pass them on let this one through.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Whether an operation did not even begin.
fn is_refusal(error: &Error) -> bool {
    matches!(error.code, Code::Conflict | Code::InvalidParams)
}

/// Whether the caller asks for server-sent events.
fn reads_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|a| a.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

/// One event with a name.
fn event(name: &str, json: &str) -> String {
    frame(&format!("{{\"{name}\":{json}}}"))
}

/// One event. JSON has no line breaks of its own but for white space, and most has none at all:
/// a look at the bytes finds that out much faster than replacing letter by letter does.
fn frame(json: &str) -> String {
    let breaks = [b'\n', b'\r'];
    match breaks.iter().any(|byte| json.as_bytes().contains(byte)) {
        true => format!("data: {}\n\n", json.replace(['\n', '\r'], " ")),
        false => format!("data: {json}\n\n"),
    }
}

/// One event, which says what it is: its type is the first thing that it says, or this.
fn typed(kind: &str, json: &str) -> String {
    let kind = format!("\"type\":\"{kind}\"");
    match json.strip_prefix('{') {
        Some(members) if members.starts_with("\"type\":") => frame(json),
        Some("}") => frame(&format!("{{{kind}}}")),
        Some(members) => frame(&format!("{{{kind},{members}")),
        None => frame(&format!("{{{kind},\"value\":{json}}}")),
    }
}

fn failed(error: &Error, frames: Frames) -> String {
    match frames {
        Frames::Parts => event("error", &serde_json::to_string(error).unwrap_or_default()),
        Frames::Items | Frames::ItemsAndResult => {
            let said = serde_json::json!({ "type": "error", "message": error.message });
            frame(&said.to_string())
        }
    }
}

/// The body as parameters: JSON that says so.
pub(super) fn params(headers: &HeaderMap, body: &[u8]) -> Result<Option<Box<RawValue>>, Error> {
    if body.is_empty() {
        return Ok(None);
    }
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(
            Error::new(Code::InvalidRequest, format!("a body of type `{kind}`"))
                .hint("send `Content-Type: application/json`"),
        );
    }
    let raw: Box<RawValue> = serde_json::from_slice(body)
        .map_err(|error| Error::new(Code::InvalidJson, format!("the body is not JSON: {error}")))?;
    match raw.get().as_bytes().first() {
        Some(b'{' | b'[' | b'n') => Ok(Some(raw)),
        _ => Err(Error::new(Code::InvalidRequest, NO_PARAMETERS)),
    }
}
