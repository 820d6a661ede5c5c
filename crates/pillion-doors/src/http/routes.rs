//! The paths that operations have beside `POST /v1/{operation}`: a table that is read from their
//! offers. What a path takes, how its errors look and how it streams is said there; here it is
//! done.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body as HttpBody, Bytes};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{
    ConnectInfo, DefaultBodyLimit, FromRequest, Multipart, Query, RawPathParams, Request, State,
};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pillion_catalogue::{
    AnswerForm, Body, Caller, Code, Definition, Door, Error, Errors, Method,
    Request as CatalogueRequest, Result, Route,
};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::access::Connection;
use super::calls::{self, Frames, Parameters};
use super::members::{self, Shape};
use super::refusal::{no_text, refusal};
use super::websocket;
use crate::DoorState;

/// Every path that a door serves, with the operation behind it.
pub(super) fn all(state: &DoorState) -> impl Iterator<Item = (&Definition, Route)> {
    state.catalogue.definitions().flat_map(|definition| {
        let routes = definition.offer.routes.iter();
        let served = routes.filter(|route| route.mode.is_served_by(state.mode));
        served.map(move |route| (definition, *route))
    })
}

/// A router with all of them.
pub(super) fn add(mut router: Router<DoorState>, state: &DoorState) -> Router<DoorState> {
    for (definition, route) in all(state) {
        router = router.route(route.path, handler(definition, route));
    }
    router
}

/// A request that wants to become a WebSocket, or does not.
type Upgrade = std::result::Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

/// The parts of a path that have names, if they are text.
type PathParts = std::result::Result<RawPathParams, RawPathParamsRejection>;

fn handler(definition: &Definition, route: Route) -> MethodRouter<DoorState> {
    let operation = definition.name;
    let shape = Arc::new(Shape::new(definition, route));
    if let AnswerForm::WebSocket(protocols) = route.answer {
        return talker(operation, protocols, route, shape);
    }
    let answer = async move |State(state): State<DoorState>,
                             ConnectInfo(connection): ConnectInfo<Connection>,
                             path: PathParts,
                             uri: Uri,
                             headers: HeaderMap,
                             body: HttpBody| {
        let path = match path {
            Ok(path) => path,
            Err(_) => return failure(&no_text(), &route),
        };
        let named = named(&path, &uri, route);
        let (body, claim) = match calls::collect(body).await {
            Ok(collected) => collected,
            Err(refused) => return *refused,
        };
        let read = async { read(&shape, route, &named?, &headers, body).await };
        let asked = match read.await {
            Ok((params, caller)) => Parameters::new(params, caller, claim),
            Err(error) => return failure(&error, &route),
        };
        // What cannot be read is told field by field, and before a stream begins.
        if route.errors == Errors::Detail
            && let Err(error) = state.catalogue.check(operation, asked.params())
        {
            return failure(&error, &route);
        }
        if let Err(error) = first(&state, &route, &path).await {
            return failure(&error, &route);
        }
        reply(state, connection, operation, route, asked).await
    };
    match route.method {
        Method::Get => get(answer),
        Method::Post => post(answer),
        Method::Put => put(answer),
        Method::Patch => patch(answer),
        Method::Delete => delete(answer),
    }
}

/// A path that becomes a WebSocket.
fn talker(
    operation: &'static str,
    protocols: &'static [&'static str],
    route: Route,
    shape: Arc<Shape>,
) -> MethodRouter<DoorState> {
    get(
        async move |State(state): State<DoorState>,
                    path: PathParts,
                    uri: Uri,
                    headers: HeaderMap,
                    upgrade: Upgrade| {
            let Ok(path) = path else {
                return failure(&no_text(), &route);
            };
            let Ok(upgrade) = upgrade else {
                let error = Error::new(Code::InvalidRequest, "this path is a WebSocket")
                    .hint("connect to it with a client that speaks WebSocket");
                return failure(&error, &route);
            };
            let params = named(&path, &uri, route).and_then(|named| shape.params(None, &named));
            let asked = params.and_then(|params| Ok((params, calls::caller(&headers)?)));
            let (params, caller) = match asked {
                Ok(asked) => asked,
                Err(error) => return failure(&error, &route),
            };
            let asked = websocket::WebSocketRequest {
                operation,
                protocols,
                params,
                caller,
            };
            websocket::open(state, upgrade, &headers, asked).await
        },
    )
}

/// Ask what is to be asked first.
async fn first(state: &DoorState, route: &Route, path: &RawPathParams) -> Result<()> {
    for first in route.first {
        let is_there = state.catalogue.get(first.operation).is_some();
        if !is_there || !first.mode.is_served_by(state.mode) {
            continue;
        }
        let parts = path.iter().filter(|(name, _)| first.parts.contains(name));
        let parts: serde_json::Map<String, serde_json::Value> = parts
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        let params = to_raw_value(&parts).map_err(Error::internal)?;
        let request = CatalogueRequest::new(Door::Http).root(state.root.clone());
        state
            .catalogue
            .call(first.operation, Some(&params), request)
            .await?;
    }
    Ok(())
}

/// The parameters that an address names: parts of its path, and what stands behind it.
fn named(path: &RawPathParams, uri: &Uri, route: Route) -> Result<Vec<(String, String)>> {
    let parts = path.iter();
    let parts = parts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut named: Vec<_> = parts.collect();
    if !route.query.is_empty() {
        let behind = Query::<Vec<(String, String)>>::try_from_uri(uri);
        let Query(behind) = behind.map_err(|_| {
            Error::new(Code::InvalidParams, "what stands behind `?` cannot be read")
        })?;
        let wanted = |(name, _): &(String, String)| route.query.contains(&name.as_str());
        named.extend(behind.into_iter().filter(wanted));
    }
    Ok(named)
}

async fn reply(
    state: DoorState,
    connection: Connection,
    operation: &'static str,
    route: Route,
    asked: Parameters,
) -> Response {
    let definition = state.catalogue.get(operation);
    let streams = definition.is_some_and(|d| d.wants_stream(asked.params()));
    match (route.answer, streams) {
        (answer @ (AnswerForm::Events | AnswerForm::EventsAndResult), _) => {
            let operation = operation.to_owned();
            let frames = match answer {
                AnswerForm::EventsAndResult => Frames::ItemsAndResult,
                _ => Frames::Items,
            };
            let begun = calls::items(state, operation, asked, connection.budget, frames);
            begun.await.unwrap_or_else(|error| failure(&error, &route))
        }
        (_, true) => {
            let operation = operation.to_owned();
            calls::stream(state, operation, asked, connection.budget, Frames::Parts)
        }
        (answer, false) => {
            let answered = calls::answered(&state, operation, asked, &connection.budget).await;
            match (answered, answer) {
                (Ok(_), AnswerForm::Nothing) => StatusCode::NO_CONTENT.into_response(),
                (Ok(mut response), AnswerForm::Created) => {
                    *response.status_mut() = StatusCode::CREATED;
                    response
                }
                (Ok(response), _) => response,
                (Err(error), _) => failure(&error, &route),
            }
        }
    }
}

/// The parameters: those of the body, and the parts of the path.
async fn read(
    shape: &Shape,
    route: Route,
    path: &[(String, String)],
    headers: &HeaderMap,
    body: Vec<u8>,
) -> Result<(Option<Box<RawValue>>, Caller)> {
    let params = match route.body {
        // What other servers do with a body that means nothing.
        Body::Json if !route.has_body() => None,
        Body::Json => calls::params(headers, &body).map_err(|mut error| {
            // Where fields are told of, the body itself is one.
            if route.errors == Errors::Detail && error.message == calls::NO_PARAMETERS {
                error.code = Code::InvalidParams;
            }
            error
        })?,
        Body::Files(field) => Some(files(headers, body.into(), field).await?),
    };
    Ok((shape.params(params, path)?, calls::caller(headers)?))
}

/// The files of a form as the parameter `files`.
async fn files(headers: &HeaderMap, body: Bytes, field: &str) -> Result<Box<RawValue>> {
    let wrong = |what: String| {
        Error::new(Code::InvalidParams, what).hint(format!(
            "send a form (`multipart/form-data`) with files named `{field}`"
        ))
    };
    let mut request = Request::new(HttpBody::from(body));
    *request.headers_mut() = headers.clone();
    // How long a body may be was looked at when it was read.
    DefaultBodyLimit::disable().apply(&mut request);
    let form = Multipart::from_request(request, &()).await;
    let mut form = form.map_err(|error| wrong(error.body_text()))?;
    let mut files = Vec::new();
    loop {
        let part = form.next_field().await;
        let Some(part) = part.map_err(|error| wrong(error.body_text()))? else {
            break;
        };
        if part.name() != Some(field) {
            continue;
        }
        let name = part.file_name().map(ToOwned::to_owned);
        let name = name.ok_or_else(|| wrong("a file without a name".to_owned()))?;
        let bytes = part
            .bytes()
            .await
            .map_err(|error| wrong(error.body_text()))?;
        files.push(json!({ "name": name, "base64": BASE64_STANDARD.encode(bytes) }));
    }
    to_raw_value(&json!({ "files": files })).map_err(Error::internal)
}

/// An error in the form of its path.
fn failure(error: &Error, route: &Route) -> Response {
    let status = error.code.http_status();
    match route.errors {
        Errors::Plain => refusal(error, status),
        Errors::NotFoundIs400 if status == 404 => refusal(error, 400),
        Errors::NotFoundIs400 => refusal(error, status),
        Errors::Detail => detail(error, status, route),
    }
}

fn detail(error: &Error, status: u16, route: &Route) -> Response {
    let (status, body) = match error.code {
        Code::InvalidParams | Code::InvalidJson => {
            let faults = members::faults(error, route);
            (422, json!({ "detail": faults }))
        }
        _ => {
            let (code, recoverable) = (error.code.as_str(), error.recoverable);
            let mut body =
                json!({ "detail": error.message, "code": code, "recoverable": recoverable });
            if let Some(hint) = &error.hint {
                body["hint"] = hint.as_str().into();
            }
            (status, body)
        }
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, axum::Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[tokio::test]
    async fn errors_have_the_form_of_their_path() {
        let shown = async |error: Error, errors| {
            let route = Route {
                errors,
                ..Route::new(Method::Get, "/x")
            };
            let response = failure(&error, &route);
            let status = response.status().as_u16();
            let body = axum::body::to_bytes(response.into_body(), 10_000)
                .await
                .unwrap();
            (status, serde_json::from_slice::<Value>(&body).unwrap())
        };
        let gone = || Error::new(Code::NotFound, "no such thing");
        assert_eq!(shown(gone(), Errors::Plain).await.0, 404);
        assert_eq!(shown(gone(), Errors::NotFoundIs400).await.0, 400);
        let (status, body) = shown(gone(), Errors::Detail).await;
        assert_eq!((status, &body["detail"]), (404, &json!("no such thing")));
        assert_eq!(body["code"], "not_found");
        let (status, body) = shown(Error::new(Code::InvalidParams, "x"), Errors::Detail).await;
        assert_eq!((status, &body["detail"][0]["msg"]), (422, &json!("x")));
        let bad_name = Error::new(Code::InvalidRequest, "`..` is no name of a file");
        let (status, body) = shown(bad_name, Errors::Detail).await;
        assert_eq!((status, &body["code"]), (400, &json!("invalid_request")));
    }
}
