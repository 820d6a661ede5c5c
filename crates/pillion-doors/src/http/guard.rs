//! Who may come in over HTTP.

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use pillion_catalogue::{Code, Error};

use super::calls::refusal;

/// Lets a request pass only if it was sent to loopback, and not by a foreign web page.
pub(super) async fn local_only(request: Request, next: Next) -> Response {
    match check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(what) => {
            let error = Error::new(Code::Unauthorized, what)
                .hint("pillion answers programs on this machine, not web pages of other origins");
            refusal(&error, 403)
        }
    }
}

fn check(headers: &HeaderMap) -> Result<(), String> {
    let text = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or("?").to_owned())
    };
    let host = text(header::HOST).unwrap_or_default();
    if !is_loopback(&host) {
        return Err(format!("the host `{host}` is not this machine's loopback"));
    }
    match text(header::ORIGIN) {
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
