//! Who may come in over HTTP.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, ORIGIN, TRANSFER_ENCODING,
};
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Json, Response};
use pillion_catalogue::{Code, DoorMode, Error};
use serde_json::json;

use super::access::{Access, Connection};
use super::cors;
use super::refusal::{Refused, refusal};

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

/// What a guard has to know.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) access: Arc<Access>,
    pub(super) mode: DoorMode,
}

/// Lets a request pass only if it can be understood in one way, was sent to this machine, not by
/// a foreign web page, and by somebody who may.
pub(super) async fn guard(
    State(post): State<Arc<Post>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
    next: Next,
) -> Response {
    let Post { access, mode } = &*post;
    if *mode != DoorMode::Desktop {
        // Clients of an older server read `detail`; on `/v1` the error object is that of every door.
        let is_own = request.uri().path().starts_with("/v1/");
        let response = passed(access, *mode, &connection, request, next).await;
        return match is_own {
            true => response,
            false => in_detail(response),
        };
    }
    let origin = request.headers().get(ORIGIN).cloned();
    let mut response = in_detail(passed(access, *mode, &connection, request, next).await);
    cors::show(&mut response, origin.as_ref());
    response
}

/// Errors of contracts say `detail`, whatever else they say.
fn in_detail(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let Some(Refused(error)) = parts.extensions.remove::<Refused>() else {
        return Response::from_parts(parts, body);
    };
    let mut told = serde_json::to_value(&error).unwrap_or_else(|_| json!({}));
    told["detail"] = error.message.into();
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.remove(CONTENT_TYPE);
    (parts.status, parts.headers, Json(told)).into_response()
}

async fn passed(
    access: &Access,
    mode: DoorMode,
    connection: &Connection,
    request: Request,
    next: Next,
) -> Response {
    if let Err(what) = is_clear(request.headers(), request.uri()) {
        let error = Error::new(Code::InvalidRequest, what)
            .hint("send each header once, and the host that the address names");
        return refusal(&error, 400);
    }
    if let Err(what) = is_local(request.headers(), mode, connection.local()) {
        let error = Error::new(Code::Unauthorized, what)
            .hint("pillion answers programs on this machine, not web pages of other origins");
        return refusal(&error, 403);
    }
    if mode == DoorMode::Desktop && cors::is_preflight(request.method(), request.headers()) {
        if cors::is_from_elsewhere(request.headers()) {
            let what = "a page of another machine may not call pillion";
            return refusal(&Error::new(Code::Unauthorized, what), 403);
        }
        // Browsers send no token with it, and learn nothing from it.
        return cors::preflight();
    }
    let asked = (request.method(), request.uri(), request.headers());
    match access.check(connection, asked).await {
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

/// Whether it was sent to this machine by its address, and not by a foreign web page. `local` is
/// the address that it came to: a name that leads there is not enough, since names are given by
/// others.
fn is_local(headers: &HeaderMap, mode: DoorMode, local: Option<IpAddr>) -> Result<(), String> {
    let text = |name: HeaderName| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or("?").to_owned())
    };
    let host = text(HOST).unwrap_or_default();
    let is_ours = || local.is_some_and(|local| address(&host) == Some(local));
    if !is_loopback(&host) && !is_ours() {
        return Err(format!("the host `{host}` is not this machine's loopback"));
    }
    match text(ORIGIN) {
        None => Ok(()),
        Some(origin) if mode == DoorMode::Desktop => match cors::is_allowed(&origin) {
            true => Ok(()),
            false => Err(format!("the origin `{origin}` may not call pillion")),
        },
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

/// `host:port` without its port.
fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !host.ends_with(':') => {
            host
        }
        _ => authority,
    }
}

/// The address that `host` or `host:port` is, if it is one and no name.
fn address(authority: &str) -> Option<IpAddr> {
    let host = without_port(authority);
    let inside = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let address: IpAddr = inside.unwrap_or(host).parse().ok()?;
    Some(address.to_canonical())
}

/// Whether `host` or `host:port` names loopback, and nothing but that.
fn is_loopback(authority: &str) -> bool {
    let host = without_port(authority);
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
    fn off_loopback_it_is_the_address_that_counts() {
        let (here, there) = ("192.168.1.7".parse().ok(), "10.0.0.1".parse().ok());
        let sent = |host: &str, origin: Option<&str>, mode, local: Option<IpAddr>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
            }
            is_local(&headers, mode, local).is_ok()
        };
        assert!(sent("192.168.1.7:8000", None, DoorMode::Desktop, here));
        assert!(!sent("192.168.1.7:8000", None, DoorMode::Desktop, there));
        assert!(!sent("evil.example:8000", None, DoorMode::Desktop, here));
        assert!(sent("localhost:8000", None, DoorMode::Desktop, here));
        for (origin, plain, desktop) in [
            ("null", false, true),
            ("http://localhost:3000", true, true),
            ("http://127.0.0.1:8000", true, false),
            ("http://evil.example", false, false),
        ] {
            let host = "127.0.0.1:8000";
            assert_eq!(
                sent(host, Some(origin), DoorMode::Plain, None),
                plain,
                "{origin}"
            );
            assert_eq!(
                sent(host, Some(origin), DoorMode::Desktop, None),
                desktop,
                "{origin}"
            );
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
