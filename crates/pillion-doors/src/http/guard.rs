//! Who may come in over HTTP.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, ORIGIN, TRANSFER_ENCODING,
};
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::Response;
use pillion_catalogue::{Code, Error};

use super::access::{Access, Connection};
use super::calls::refusal;

/// Headers that mean one thing: said twice, two readers could mean different things. Lengths
/// that contradict each other do not even come here.
const ONCE: [HeaderName; 6] = [
    HOST,
    ORIGIN,
    CONTENT_TYPE,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    AUTHORIZATION,
];

/// Lets a request pass only if it can be understood in one way, was sent to loopback, not by
/// a foreign web page, and by somebody who may.
pub(super) async fn guard(
    State(access): State<Arc<Access>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(what) = is_clear(request.headers(), request.uri()) {
        let error = Error::new(Code::InvalidRequest, what)
            .hint("send each header once, and the host that the address names");
        return refusal(&error, 400);
    }
    if let Err(what) = is_local(request.headers()) {
        let error = Error::new(Code::Unauthorized, what)
            .hint("pillion answers programs on this machine, not web pages of other origins");
        return refusal(&error, 403);
    }
    let asked = (request.method(), request.uri(), request.headers());
    match access.check(&connection, asked).await {
        Ok(()) => next.run(request).await,
        Err(response) => *response,
    }
}

/// Whether a request says one thing only.
fn is_clear(headers: &HeaderMap, uri: &Uri) -> Result<(), String> {
    for name in &ONCE {
        if headers.get_all(name).iter().count() > 1 {
            return Err(format!("more than one `{name}` header"));
        }
    }
    let Some(host) = headers.get(HOST) else {
        return Err("no `host` header".into());
    };
    match uri.authority() {
        Some(authority) if authority.as_str().as_bytes() != host.as_bytes() => Err(format!(
            "the request is for `{authority}`, and its `host` is another"
        )),
        _ => Ok(()),
    }
}

/// Whether it was sent to loopback, and not by a foreign web page.
fn is_local(headers: &HeaderMap) -> Result<(), String> {
    let text = |name: HeaderName| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or("?").to_owned())
    };
    let host = text(HOST).unwrap_or_default();
    if !is_loopback(&host) {
        return Err(format!("the host `{host}` is not this machine's loopback"));
    }
    match text(ORIGIN) {
        None => Ok(()),
        Some(origin) => {
            let authority = origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"));
            if authority.is_some_and(is_loopback) {
                Ok(())
            } else {
                Err(format!("the origin `{origin}` may not call pillion"))
            }
        }
    }
}

/// Whether `host` or `host:port` names loopback, and nothing but that.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !host.ends_with(':') => {
            host
        }
        _ => authority,
    };
    host.eq_ignore_ascii_case("localhost") || host == "127.0.0.1" || host == "[::1]"
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_request_says_one_thing_only() {
        let said = |headers: &[(&'static str, &'static str)], uri: &str| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, HeaderValue::from_static(value));
            }
            is_clear(&map, &uri.parse().unwrap()).is_ok()
        };
        let host = ("host", "localhost:1");
        assert!(said(&[host], "/x") && said(&[host], "http://localhost:1/x"));
        assert!(!said(&[], "/x") && !said(&[host, host], "/x"));
        assert!(!said(&[host], "http://evil.example/x"));
        for name in ["origin", "content-type", "content-length", "authorization"] {
            assert!(said(&[host, (name, "1")], "/x"), "{name}");
            assert!(!said(&[host, (name, "1"), (name, "1")], "/x"), "{name}");
        }
    }

    #[test]
    fn only_loopback_is_loopback() {
        for good in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:5000",
            "[::1]:9",
            "[::1]",
        ] {
            assert!(is_loopback(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil:80",
            "0.0.0.0",
            "::1:80x",
            "10.0.0.1",
        ] {
            assert!(!is_loopback(bad), "{bad}");
        }
    }
}
