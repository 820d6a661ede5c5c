//! HTTP: `POST /v1/{operation}`, SSE for streams, `/mcp` for agents, and pages about it all.
//! Functions that are exposed have routes of their own: `POST /{function}`. Operations that talk
//! have paths that become WebSockets.
//!
//! Local HTTP is hostile territory: every web page, every user and every program on this
//! machine can send requests to a loopback port. `guard` lets in only requests whose `Host` is
//! loopback and whose `Origin`, if there is one, is too; bodies must say that they are JSON,
//! which a page cannot do across origins without asking first. `access` decides who may ask at
//! all, and `connections` how long a connection may take up its place. As the engine of a desktop app
//! (`Mode::Desktop`) pillion has the paths of its contract, and lets in its pages (`cors`).

mod access;
mod calls;
mod components;
mod connections;
mod contract;
mod cors;
mod docs_page;
mod guard;
mod mcp;
mod members;
mod metrics;
mod openapi;
mod refusal;
mod routes;
#[cfg(test)]
mod routes_tests;
mod token_file;
mod websocket;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{Html, IntoResponse, Json, Redirect, Response};
use axum::routing::{get, post};
use pillion_catalogue::{Code, Door, Error, Result};
use tokio::net::TcpListener;

use crate::DoorState;
use crate::mcp::McpSettings;
use refusal::refusal;

pub use access::Access;

/// Bytes of a request's body.
const MAX_BODY: usize = pillion_protocol::frame::MAX_BODY;

/// Listen on the first free port of a range, by binding it. Loopback only.
pub async fn listen(ports: RangeInclusive<u16>) -> Result<TcpListener> {
    listen_at(IpAddr::V4(Ipv4Addr::LOCALHOST), ports).await
}

/// The same at an address of this machine. Off loopback, [`Access::with_token`] is called for.
pub async fn listen_at(host: IpAddr, ports: RangeInclusive<u16>) -> Result<TcpListener> {
    let mut last = None;
    for port in ports.clone() {
        let address = SocketAddr::new(host, port);
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map_or_else(|| "the range is empty".into(), |error| error.to_string());
    let (first, end) = (ports.start(), ports.end());
    Err(Error::new(
        Code::Conflict,
        format!("cannot listen on port {first}-{end}: {why}"),
    )
    .hint("name another port, or a range such as `--port 5000-5999`"))
}

/// Serve until pillion ends; what is being answered then is finished.
pub async fn serve(
    listener: TcpListener,
    state: DoorState,
    agents: McpSettings,
    access: Access,
) -> std::io::Result<()> {
    let ended = state.shutdown.clone().cancelled_owned();
    let router = router(state, agents, Arc::new(access));
    let service = router.into_make_service_with_connect_info::<access::Connection>();
    axum::serve(connections::LimitedListener::new(listener), service)
        .with_graceful_shutdown(ended)
        .await
}

fn router(state: DoorState, agents: McpSettings, access: Arc<Access>) -> Router {
    let links = Arc::clone(&access);
    let mut router = Router::new()
        .merge(mcp::route(state.clone(), agents))
        .route("/v1/{operation}", post(calls::call))
        .route("/metrics", get(metrics::metrics))
        .route("/openapi.json", get(openapi_json))
        .route("/docs", get(docs))
        .route("/", get(home))
        .route(contract::PATH, get(contract_json))
        .route(
            access::OPEN,
            post(async move || access::new_link(&links).await),
        );
    if state.exposed.is_some() {
        router = router.route("/{function}", post(calls::call));
    }
    router = routes::add(router, &state);
    let post = guard::Post {
        access,
        mode: state.mode,
    };
    router
        .fallback(calls::no_route)
        .method_not_allowed_fallback(calls::no_method)
        .layer(axum::middleware::from_fn_with_state(
            Arc::new(post),
            guard::guard,
        ))
        .with_state(state)
}

async fn contract_json(State(state): State<DoorState>) -> Response {
    Json(contract::Contract::of(&state)).into_response()
}

async fn openapi_json(State(state): State<DoorState>) -> Response {
    let mut document = openapi::document(&state);
    if let Some(exposed) = &state.exposed {
        match exposed.list(Door::Http).await {
            Ok(listing) => openapi::add_functions(&mut document, &listing),
            Err(error) => return refusal(&error, error.code.http_status()),
        }
    }
    Json(document).into_response()
}

/// Where one is: for browsers the page about it all, for programs a few words.
async fn home(State(state): State<DoorState>, headers: HeaderMap) -> Response {
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    match accepts.is_some_and(|accept| accept.contains("text/html")) {
        true => Redirect::to("/docs").into_response(),
        false => Json(docs_page::home(&state)).into_response(),
    }
}

async fn docs(State(state): State<DoorState>) -> Response {
    let Some(exposed) = &state.exposed else {
        return Html(docs_page::page(&state)).into_response();
    };
    match exposed.list(Door::Http).await {
        Ok(listing) => Html(docs_page::functions(&listing)).into_response(),
        Err(error) => refusal(&error, error.code.http_status()),
    }
}
