//! Errors as answers over HTTP.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pillion_catalogue::{Code, Error};

pub(super) fn failure(error: &Error) -> Response {
    refusal(error, error.code.http_status())
}

/// An error with a status of its own.
pub(super) fn refusal(error: &Error, status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let text = serde_json::to_string(error).unwrap_or_default();
    let mut response = json(status, text.into());
    response.extensions_mut().insert(Refused(error.clone()));
    response
}

/// Of a response: the error that it tells of. In desktop mode it is told once more.
#[derive(Debug, Clone)]
pub(super) struct Refused(pub(super) Error);

pub(super) fn json(status: StatusCode, text: Body) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], text).into_response()
}

/// The address has a part that is no text.
pub(super) fn no_text() -> Error {
    Error::new(Code::InvalidRequest, "the address is not UTF-8")
        .hint("write names in it as UTF-8, then with percent signs")
}
