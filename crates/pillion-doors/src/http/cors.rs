//! Pages of a desktop app that may ask: those that it opens from its own files, whose origin is
//! `null`, and those of its development server. A browser asks before it sends such a request
//! (a preflight), and shows a page the answer only if that names its origin.

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HeaderValue, ORIGIN, VARY,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};

/// The origins of pages that may ask.
const ORIGINS: [&str; 2] = ["null", "http://localhost:3000"];
/// What they may ask with.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, DELETE, OPTIONS");
const HEADERS: HeaderValue =
    HeaderValue::from_static("content-type, authorization, pillion-caller");
/// Seconds that a browser may remember the answer.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");
/// By this a browser says that a page of the internet asks for something on this machine. Pages
/// of a desktop app are on this machine themselves.
const FROM_ELSEWHERE: &str = "access-control-request-private-network";

/// Whether a page of this origin may ask.
pub(super) fn is_allowed(origin: &str) -> bool {
    ORIGINS.contains(&origin)
}

/// Whether it is a browser that asks before a page does.
pub(super) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Whether the page came from another machine.
pub(super) fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    headers.contains_key(FROM_ELSEWHERE)
}

/// What a browser is told that asks before a page does.
pub(super) fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
        (ACCESS_CONTROL_MAX_AGE, REMEMBERED),
    ];
    (StatusCode::OK, headers, Body::empty()).into_response()
}

/// Let the page that asked read the answer, if it may.
pub(super) fn show(response: &mut Response, origin: Option<&HeaderValue>) {
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    let allowed = origin.filter(|origin| origin.to_str().is_ok_and(is_allowed));
    if let Some(origin) = allowed {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pages_of_the_contract_are_shown_answers() {
        for (origin, shown) in [
            ("null", true),
            ("http://localhost:3000", true),
            ("http://localhost:3001", false),
            ("https://localhost:3000", false),
            ("http://127.0.0.1:3000", false),
            ("http://localhost:3000.evil.example", false),
            ("NULL", false),
        ] {
            let mut response = preflight();
            show(&mut response, Some(&HeaderValue::from_static(origin)));
            let named = response.headers().get(ACCESS_CONTROL_ALLOW_ORIGIN);
            assert_eq!(named.is_some(), shown, "{origin}");
            assert_eq!(response.headers()[VARY], "Origin");
        }
    }
}
