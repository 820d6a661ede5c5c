//! `/mcp` of the HTTP door: streamable HTTP, a session for each agent that wants one.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use pillion_catalogue::{Code, Error, Room};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use super::Settings;
use super::server::{Agent, Shared};
use crate::House;
use crate::http::{MAX_BODY, refusal};

/// Sessions that may be open at once; one that is idle for 5 minutes ends.
const MAX_SESSIONS: usize = 1_000;
/// The header that says which session a request belongs to.
const SESSION: &str = "mcp-session-id";

/// The route.
pub(crate) fn route(house: House, settings: Settings) -> Router<House> {
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
        .with_cancellation_token(house.shutdown.child_token());
    let shared = Arc::new(Shared::new(house, settings));
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(
        move || Ok(Agent::new(Arc::clone(&shared), Room::default())),
        Arc::clone(&sessions),
        config,
    );
    Router::new()
        .route_service("/mcp", service)
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
