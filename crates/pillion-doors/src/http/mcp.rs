//! `/mcp` of the HTTP door: streamable HTTP, a session for each agent that wants one.
//!
//! A session sorts its answers by the ids of requests: a second request with the id of one in
//! flight would get the first one's answer, so it is refused before it comes there.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use pillion_catalogue::{Code, Error, SendBudget};
use pillion_protocol::jsonrpc::{Id, RpcResponse};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use super::MAX_BODY;
use super::calls::collect;
use super::refusal::refusal;
use crate::DoorState;
use crate::mcp::{Agent, McpSettings, Shared, exact_numbers};

/// Sessions that may be open at once; one that is idle for 5 minutes ends.
const MAX_SESSIONS: usize = 1_000;
/// The header that says which session a request belongs to.
const SESSION: &str = "mcp-session-id";

/// The route.
pub(crate) fn route(state: DoorState, settings: McpSettings) -> Router<DoorState> {
    // The door's guard has looked at both already; here nothing is left open either.
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(["localhost", "127.0.0.1", "::1"])
        .with_allowed_origins([
            "http://localhost:*",
            "http://127.0.0.1:*",
            "http://[::1]:*",
            "https://localhost:*",
            "https://127.0.0.1:*",
            "https://[::1]:*",
        ])
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(state.shutdown.child_token());
    // To describe all tools takes longer than to start; the first agent waits for it.
    let shared = LazyLock::new(move || Arc::new(Shared::new(state, settings)));
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(
        move || Ok(Agent::new(Arc::clone(&shared), SendBudget::new())),
        Arc::clone(&sessions),
        config,
    );
    Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(Arc::default(), one_by_one))
        .layer(from_fn_with_state(sessions, bounded))
}

/// No new session where there are too many.
async fn bounded(
    State(sessions): State<Arc<LocalSessionManager>>,
    request: Request,
    next: Next,
) -> Response {
    let opens = request.method() == Method::POST && !request.headers().contains_key(SESSION);
    if opens && sessions.sessions.read().await.len() >= MAX_SESSIONS {
        let error = Error::new(Code::Busy, "too many agents have sessions here")
            .hint("end some with `DELETE /mcp`, or wait: idle ones end after 5 minutes");
        return refusal(&error, error.code.http_status());
    }
    next.run(request).await
}

/// The requests in flight: sessions and ids.
#[derive(Debug, Default)]
struct InFlight(Mutex<HashSet<(String, Id)>>);

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, HashSet<(String, Id)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of them. Dropping it says that it is answered.
struct Flying {
    all: Arc<InFlight>,
    key: (String, Id),
}

impl Drop for Flying {
    fn drop(&mut self) {
        self.all.lock().remove(&self.key);
    }
}

/// Reads the message, if there is room for it, and lets it pass if its id is not in flight.
async fn one_by_one(State(all): State<Arc<InFlight>>, request: Request, next: Next) -> Response {
    let is_end = request.method() == Method::DELETE;
    if request.method() != Method::POST {
        let mut response = next.run(request).await;
        // The session is over, not on its way there.
        if is_end && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        return response;
    }
    let (head, body) = request.into_parts();
    let (body, _claim) = match collect(body).await {
        Ok(collected) => collected,
        Err(refused) => return *refused,
    };
    let session = head.headers.get(SESSION).and_then(|id| id.to_str().ok());
    let flying = match (session, id_of(&body)) {
        (Some(session), Some(id)) => {
            let key = (session.to_owned(), id);
            if !all.lock().insert(key.clone()) {
                return taken(key.1);
            }
            Some(Flying { all, key })
        }
        _ => None,
    };
    let body = exact_numbers::kept(&body).into_owned();
    let request = Request::from_parts(head, Body::from(body));
    let response = next.run(request).await;
    let Some(flying) = flying else {
        return response;
    };
    // It is in flight until its last byte.
    let (head, body) = response.into_parts();
    let body = body.into_data_stream().map(move |piece| {
        let _flying = &flying;
        piece
    });
    Response::from_parts(head, Body::from_stream(body))
}

/// The id of a request, if it is one.
fn id_of(body: &[u8]) -> Option<Id> {
    #[derive(serde::Deserialize)]
    struct WithId<'a> {
        id: Id,
        #[serde(rename = "method", borrow)]
        _method: &'a serde_json::value::RawValue,
    }
    serde_json::from_slice::<WithId<'_>>(body)
        .ok()
        .map(|request| request.id)
}

fn taken(id: Id) -> Response {
    let error = Error::new(
        Code::InvalidRequest,
        "another request with this id is being worked on",
    );
    let answer = serde_json::to_string(&RpcResponse::new(id, Err(error))).unwrap_or_default();
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::BAD_REQUEST, kind, answer).into_response()
}
