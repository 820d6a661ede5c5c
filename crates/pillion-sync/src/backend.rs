//! A backend: where it is, and the addresses of what is delivered to it.

use std::fmt::Write;
use std::net::IpAddr;

use pillion_process::Secret;
use pillion_store::{DeliveryKind, MAX_NAME_BYTES};
use reqwest::header::HeaderValue;
use reqwest::{Method, Url};

use crate::SyncError;

/// The longest address of a backend.
const MAX_URL_BYTES: usize = 2048;

/// The longest token.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Where the deliveries of a session go.
#[derive(Debug, Clone)]
pub struct Backend {
    /// Its address, `http` or `https`, with or without a path.
    pub url: String,
    /// The bearer token. It stays in memory.
    pub token: Option<Secret>,
    /// The chapter that the session is made in, should the backend not know the session. It
    /// is one part of the path: a `/` in it is encoded.
    pub chapter: String,
    /// The course that the backend is told when the session is made.
    pub course_id: Option<String>,
}

impl Backend {
    /// Whether deliveries can be sent there, as far as one can see without trying.
    pub fn check(&self) -> Result<(), SyncError> {
        BackendTarget::new(self).map(drop)
    }
}

/// A backend that was looked at.
#[derive(Debug)]
pub(crate) struct BackendTarget {
    /// Without a `/` at its end.
    base: String,
    /// On this machine and without TLS: reached without proxies and certificates.
    pub(crate) is_local: bool,
    token: Option<Secret>,
    chapter: String,
    course_id: Option<String>,
}

impl BackendTarget {
    pub(crate) fn new(backend: &Backend) -> Result<Self, SyncError> {
        let url = address(&backend.url)?;
        let target = Self {
            base: url.as_str().trim_end_matches('/').to_owned(),
            is_local: url.scheme() == "http" && is_loopback(&url),
            token: backend.token.clone(),
            chapter: name("the chapter", &backend.chapter)?.to_owned(),
            course_id: backend.course_id.clone(),
        };
        target.authorization()?;
        Ok(target)
    }

    /// Whoever names the same backend again and no token means the one that is known. Another
    /// backend never gets it.
    pub(crate) fn keep_token_of(&mut self, before: &Self) {
        if self.token.is_none() && self.base == before.base {
            self.token.clone_from(&before.token);
        }
    }

    /// The header with the token, which no `Debug` shows.
    pub(crate) fn authorization(&self) -> Result<Option<HeaderValue>, SyncError> {
        let Some(token) = &self.token else {
            return Ok(None);
        };
        if token.expose().len() > MAX_TOKEN_BYTES {
            return Err(SyncError::Token);
        }
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        let mut value =
            HeaderValue::from_str(bearer.expose()).map_err(|_invalid| SyncError::Token)?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// How and where a delivery of this kind goes.
    pub(crate) fn route(&self, session: &str, kind: DeliveryKind) -> (Method, String) {
        let (method, last) = match kind {
            DeliveryKind::Turn => (Method::POST, "turns"),
            DeliveryKind::Memory => (Method::PUT, "memory"),
            DeliveryKind::Report => (Method::PUT, "report"),
        };
        let session = encoded(session);
        (
            method,
            format!("{}/v1/sessions/{session}/{last}", self.base),
        )
    }

    /// Where sessions of the chapter are made, and what is said there.
    pub(crate) fn creation(&self, session: &str) -> (String, String) {
        let chapter = encoded(&self.chapter);
        let body = serde_json::json!({ "course_id": self.course_id, "session_id": session });
        let url = format!("{}/v1/chapters/{chapter}/sessions", self.base);
        (url, body.to_string())
    }
}

/// What the backend knows a delivery by.
pub(crate) fn key(session: &str, kind: DeliveryKind, number: u32) -> String {
    format!("{}:{kind}:{number}", encoded(session))
}

/// A name that can be a part of a path.
pub(crate) fn name<'a>(what: &'static str, text: &'a str) -> Result<&'a str, SyncError> {
    let fits = !text.is_empty() && text.len() <= MAX_NAME_BYTES;
    // As parts of a path, these two mean another one.
    if !fits || text == "." || text == ".." {
        let limit = MAX_NAME_BYTES;
        return Err(SyncError::Name { what, limit });
    }
    Ok(text)
}

fn address(text: &str) -> Result<Url, SyncError> {
    let refuse = |why| Err(SyncError::Url { why });
    if text.len() > MAX_URL_BYTES {
        return refuse("is too long");
    }
    let Ok(url) = Url::parse(text) else {
        return refuse("is not a URL");
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refuse("has to begin with `http://` or `https://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("must not contain a user or a password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("must not contain `?` or `#`");
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || ip.is_some_and(|ip| ip.is_loopback())
}

/// A text as one part of a path, and as a part of a header.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => {
                // Writing to a text cannot fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(url: &str) -> Backend {
        Backend {
            url: url.into(),
            token: Some(Secret::new("key-123".into())),
            chapter: "first".into(),
            course_id: Some("rust".into()),
        }
    }

    fn target(url: &str) -> BackendTarget {
        BackendTarget::new(&backend(url)).unwrap()
    }

    #[test]
    fn a_path_is_kept_and_parts_are_encoded() {
        for url in ["https://b.example/api", "https://b.example/api/"] {
            let (method, url) = target(url).route("a/ü", DeliveryKind::Turn);
            assert_eq!(method, Method::POST);
            assert_eq!(url, "https://b.example/api/v1/sessions/a%2F%C3%BC/turns");
        }
        let (method, url) = target("http://b.example").route("s", DeliveryKind::Report);
        assert_eq!(method, Method::PUT);
        assert_eq!(url, "http://b.example/v1/sessions/s/report");
        let (url, body) = target("http://b.example").creation("s");
        assert_eq!(url, "http://b.example/v1/chapters/first/sessions");
        assert_eq!(body, r#"{"course_id":"rust","session_id":"s"}"#);
        assert_eq!(key("a:b", DeliveryKind::Memory, 7), "a%3Ab:memory:7");
    }

    #[test]
    fn other_addresses_are_refused_without_being_repeated() {
        let long = format!("http://b.example/{}", "x".repeat(MAX_URL_BYTES));
        for url in [
            "",
            "b.example",
            "file:///etc/passwd",
            "ftp://b.example",
            "http://user:hunter2@b.example",
            "http://b.example?key=hunter2",
            "http://b.example#hunter2",
            "http://",
            &long,
        ] {
            let error = backend(url).check().unwrap_err();
            assert!(matches!(error, SyncError::Url { .. }), "{url}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert!(error.hint().contains("https://"));
        }
    }

    #[test]
    fn names_that_mean_another_path_are_refused() {
        for chapter in ["", ".", "..", &"x".repeat(MAX_NAME_BYTES + 1)] {
            let backend = Backend {
                chapter: chapter.into(),
                ..backend("http://b.example")
            };
            assert!(matches!(backend.check(), Err(SyncError::Name { .. })));
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        let shown = target("http://b.example");
        let header = shown.authorization().unwrap().unwrap();
        assert_eq!(header.to_str().unwrap(), "Bearer key-123");
        let debug = format!("{shown:?} {header:?} {:?}", backend("http://b.example"));
        assert!(!debug.contains("key-123"), "{debug}");
        let broken = Backend {
            token: Some(Secret::new("key-123\r\nx: y".into())),
            ..backend("http://b.example")
        };
        let error = broken.check().unwrap_err();
        assert!(!error.to_string().contains("key-123"), "{error}");
    }

    #[test]
    fn only_what_is_on_this_machine_without_tls_is_local() {
        for url in ["http://127.0.0.1:1", "http://localhost", "http://[::1]:80"] {
            assert!(target(url).is_local, "{url}");
        }
        for url in ["https://127.0.0.1", "http://b.example", "http://10.0.0.1"] {
            assert!(!target(url).is_local, "{url}");
        }
    }
}
