//! Who is let in over HTTP.
//!
//! Everybody on this machine can connect to a loopback port: other users, and programs in a
//! lane with network. A connection is let in
//!
//! - by the kernel's word, if it shows that the other end is a process of our own user that
//!   nothing confines ([`peer`]): `curl` and clients that know of no token just work;
//! - by the token: `Authorization: Bearer`, or `token` as Jupyter's clients say it. It is
//!   random, new with every start, shown once, and kept in a file that only our user can read.
//!   Where a browser can send no header, which is when it opens a WebSocket, it may stand behind
//!   the path: `?token=`. Nobody writes addresses down here, and no page is shown under it;
//! - by a cookie, which a browser gets for a link that holds once and for a few minutes.
//!
//! With a token that somebody has chosen ([`Access::with_token`]) it is that token and nothing
//! else that counts: then connections may come from other machines.
//!
//! Everything else is 401, also where the kernel cannot tell. It is asked once for each
//! connection, with its first request that brings nothing else.
//!
//! A WebSocket is no ordinary request: browsers open one for any page without asking first. So
//! one that a page opens needs the token, unless the page is our own.

use std::collections::VecDeque;
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use pillion_catalogue::{Code, Error, Result, SendBudget, work};
use pillion_process::Secret;
use pillion_process::peer::{self, ConnectionEnd, ConnectionPeer};
use tokio::net::TcpStream;
use tokio::sync::{OnceCell, Semaphore};

use super::refusal::refusal;
use super::token_file::{TokenFile, random};
use super::websocket;

/// Where a link for browsers leads.
pub(super) const OPEN: &str = "/open";
/// Where it leads on to.
const HOME: &str = "/docs";
/// How long such a link holds.
const LINK_HOLDS: Duration = Duration::from_secs(600);
/// Links that wait to be used, and browsers that may come in; the oldest go first.
const LINKS: usize = 16;
const BROWSERS: usize = 64;
/// Processes that are looked at first, because they came before.
const LIKELY: usize = 8;
/// Questions to the kernel at the same time.
const LOOKS: usize = 4;

/// Who is let in.
#[derive(Debug)]
pub struct Access(Option<Guarded>);

#[derive(Debug)]
struct Guarded {
    port: u16,
    /// Gone with us, if it is ours.
    file: TokenFile,
    /// Nothing counts but the token.
    only_token: bool,
    links: Mutex<VecDeque<(Secret, Instant)>>,
    browsers: Mutex<VecDeque<Secret>>,
    likely: Mutex<VecDeque<u32>>,
    looks: Semaphore,
}

impl Access {
    /// Our user outside of lanes, and whoever has the token, which is written into `folder`.
    /// That is made if need be, and must be private.
    pub fn guarded(port: u16, folder: &Path) -> Result<Self> {
        let file = TokenFile::write(folder, port, random()?)?;
        Ok(Self::with(port, file, false))
    }

    /// Whoever has the token that this file holds, and nobody else.
    pub fn with_token(port: u16, file: &Path) -> Result<Self> {
        Ok(Self::with(port, TokenFile::read(file)?, true))
    }

    fn with(port: u16, file: TokenFile, only_token: bool) -> Self {
        Self(Some(Guarded {
            port,
            file,
            only_token,
            links: Mutex::default(),
            browsers: Mutex::default(),
            likely: Mutex::default(),
            looks: Semaphore::new(LOOKS),
        }))
    }

    /// Everybody who can reach the port.
    pub fn everybody() -> Self {
        Self(None)
    }

    /// The token and the file that holds it, if one is needed that nobody has chosen.
    pub fn token(&self) -> Option<(&str, &Path)> {
        let guarded = self.0.as_ref().filter(|guarded| !guarded.only_token)?;
        Some((guarded.file.token.expose(), &guarded.file.path))
    }

    /// A link that lets a browser in, once, if one is needed.
    pub fn link(&self) -> Result<Option<String>> {
        let guarded = self.0.as_ref().filter(|guarded| !guarded.only_token);
        guarded.map(Guarded::link).transpose()
    }

    /// Let a request pass, or say what to answer instead.
    pub(super) async fn check(
        &self,
        connection: &Connection,
        (method, uri, headers): (&Method, &Uri, &HeaderMap),
    ) -> std::result::Result<(), Box<Response>> {
        let Some(guarded) = &self.0 else {
            if websocket::is_wanted(headers) && !is_own_page(headers) {
                return Err(Box::new(unauthorized(
                    "pages of others open no WebSocket here",
                )));
            }
            connection.admitted.store(true, Ordering::Relaxed);
            return Ok(());
        };
        let opens = uri.path() == OPEN && method == Method::GET;
        if opens && let Some(once) = parameter(uri, "once=") {
            return Err(Box::new(guarded.open(once)));
        }
        match guarded.is_let_in(connection, uri, headers).await {
            true => {
                connection.admitted.store(true, Ordering::Relaxed);
                Ok(())
            }
            false => Err(Box::new(unauthorized(
                "this server answers its own user and who has its token",
            ))),
        }
    }
}

impl Guarded {
    async fn is_let_in(&self, connection: &Connection, uri: &Uri, headers: &HeaderMap) -> bool {
        let is_talk = websocket::is_wanted(headers);
        let behind = parameter(uri, "token=").filter(|_| is_talk);
        let mut given = bearer(headers).into_iter().chain(behind);
        if given.any(|token| self.file.token.is(token)) {
            return true;
        }
        if self.only_token || (is_talk && !is_own_page(headers)) {
            return false;
        }
        let browser = self.is_browser(headers);
        let peer = *connection.peer.get_or_init(|| self.look(connection)).await;
        match peer {
            ConnectionPeer::Ours { .. } => true,
            // A cookie goes to every port of this machine: what another user got to see of
            // it does not help them.
            ConnectionPeer::OtherUser => false,
            ConnectionPeer::Unknown => browser,
        }
    }

    /// Ask the kernel who is at the other end.
    async fn look(&self, connection: &Connection) -> ConnectionPeer {
        let (Some(end), Ok(_place)) = (connection.end, self.looks.acquire().await) else {
            return ConnectionPeer::Unknown;
        };
        let likely: Vec<u32> = lock(&self.likely).iter().copied().collect();
        let looked = work(move |_| peer::of(&end, &likely)).await;
        let peer = looked.unwrap_or(ConnectionPeer::Unknown);
        if let ConnectionPeer::Ours { pid } = peer {
            let mut likely = lock(&self.likely);
            likely.retain(|known| *known != pid);
            likely.push_front(pid);
            likely.truncate(LIKELY);
        }
        peer
    }

    fn link(&self) -> Result<String> {
        let once = random()?;
        let link = format!(
            "http://127.0.0.1:{}{OPEN}?once={}",
            self.port,
            once.expose()
        );
        let mut links = lock(&self.links);
        links.push_front((once, Instant::now() + LINK_HOLDS));
        links.truncate(LINKS);
        Ok(link)
    }

    /// A browser comes by a link: it gets its cookie, and the link is used up.
    fn open(&self, once: &str) -> Response {
        let mut links = lock(&self.links);
        let now = Instant::now();
        links.retain(|(_, until)| *until > now);
        let Some(at) = links.iter().position(|(link, _)| link.is(once)) else {
            return unauthorized("this link was used already, or is too old");
        };
        links.remove(at);
        drop(links);
        let browser = match random() {
            Ok(browser) => browser,
            Err(error) => return refusal(&error, error.code.http_status()),
        };
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict",
            self.cookie_name(),
            browser.expose()
        );
        let mut browsers = lock(&self.browsers);
        browsers.push_front(browser);
        browsers.truncate(BROWSERS);
        let mut response = StatusCode::SEE_OTHER.into_response();
        let headers = response.headers_mut();
        headers.insert(header::LOCATION, HeaderValue::from_static(HOME));
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            headers.insert(header::SET_COOKIE, cookie);
        }
        no_traces(headers);
        response
    }

    /// Cookies know no ports, so their names do.
    fn cookie_name(&self) -> String {
        format!("pillion-{}", self.port)
    }

    fn is_browser(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        let all = headers.get_all(header::COOKIE).iter();
        let mut given = all
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter(|(given, _)| *given == name);
        let browsers = lock(&self.browsers);
        given.any(|(_, value)| browsers.iter().any(|browser| browser.is(value)))
    }
}

/// `POST /open`: a new link, for who is let in.
pub(super) async fn new_link(access: &Access) -> Response {
    let mut response = match access.link() {
        Ok(url) => axum::Json(serde_json::json!({ "url": url })).into_response(),
        Err(error) => refusal(&error, error.code.http_status()),
    };
    no_traces(response.headers_mut());
    response
}

/// What stands behind the path under `name=`: the secret of a link, or the token.
fn parameter<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let query = uri.query()?;
    query.split('&').find_map(|pair| pair.strip_prefix(name))
}

/// Whether no page asks, or one that came from here.
fn is_own_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(&header::HOST);
    match headers.contains_key(header::ORIGIN) {
        false => true,
        true => {
            let origin = text(&header::ORIGIN);
            let page = origin.and_then(|origin| origin.strip_prefix("http://"));
            page.is_some() && page == host
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    let is_known = ["bearer", "token"].map(|known| scheme.eq_ignore_ascii_case(known));
    is_known.contains(&true).then(|| token.trim())
}

fn unauthorized(what: &str) -> Response {
    let error = Error::new(Code::Unauthorized, what).hint(
        "send `Authorization: Bearer TOKEN`: `pillion serve` and `expose --http` show the token \
         and the file that keeps it when they start. A browser comes in by the link shown there, \
         or by a new one from `POST /open`",
    );
    let mut response = refusal(&error, error.code.http_status());
    let headers = response.headers_mut();
    headers.insert(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer realm=\"pillion\""),
    );
    // What follows on this connection would be refused as well, and is not read.
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    no_traces(headers);
    response
}

/// Nothing with a secret in it, or about one, is kept or told to others.
fn no_traces(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
}

/// A connection, and what is known about its other end.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    end: Option<ConnectionEnd>,
    peer: Arc<OnceCell<ConnectionPeer>>,
    /// A request of it was let in.
    pub(super) admitted: Arc<AtomicBool>,
    /// Where its answers wait.
    pub(super) budget: SendBudget,
}

impl Connection {
    /// The address that the other end has connected to.
    pub(super) fn local(&self) -> Option<IpAddr> {
        self.end.map(|end| end.local.ip().to_canonical())
    }

    pub(super) fn of(stream: &TcpStream) -> Self {
        let end = || -> std::io::Result<ConnectionEnd> {
            let file = File::from(stream.as_fd().try_clone_to_owned()?);
            Ok(ConnectionEnd {
                inode: file.metadata()?.ino(),
                local: stream.local_addr()?,
                remote: stream.peer_addr()?,
            })
        };
        Self {
            end: end().ok(),
            peer: Arc::default(),
            admitted: Arc::default(),
            budget: SendBudget::new(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_websocket_is_opened_by_programs_and_by_our_own_pages() {
        let opens = |origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("127.0.0.1:7"));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            is_own_page(&headers)
        };
        assert!(opens(None) && opens(Some("http://127.0.0.1:7")));
        for other in [
            "http://127.0.0.1:8",
            "http://localhost:7",
            "null",
            "https://127.0.0.1:7",
        ] {
            assert!(!opens(Some(other)), "{other}");
        }
    }

    #[tokio::test]
    async fn a_token_behind_the_path_counts_for_websockets_only() {
        let folder = tempfile::tempdir().unwrap();
        let access = Access::guarded(7, &folder.path().join("pillion")).unwrap();
        let token = access.token().unwrap().0.to_owned();
        let guarded = access.0.as_ref().unwrap();
        let nobody = Connection {
            end: None,
            peer: Arc::default(),
            admitted: Arc::default(),
            budget: SendBudget::new(),
        };
        let let_in = async |query: &str, headers: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, HeaderValue::from_str(value).unwrap());
            }
            let uri: Uri = format!("/x{query}").parse().unwrap();
            guarded.is_let_in(&nobody, &uri, &map).await
        };
        let (query, talks) = (format!("?a=1&token={token}"), ("upgrade", "websocket"));
        let page = ("origin", "http://localhost:8888");
        assert!(let_in(&query, &[talks]).await && let_in(&query, &[talks, page]).await);
        assert!(!let_in(&query, &[]).await && !let_in("?token=no", &[talks]).await);
        let given = format!("token {token}");
        assert!(let_in("", &[("authorization", &given)]).await);
        assert!(!let_in("", &[]).await);
    }

    #[tokio::test]
    async fn a_token_that_was_chosen_is_all_that_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let write = |text: &str, mode| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        };
        for (text, mode) in [("secret\n", 0o644), ("\n", 0o600), ("two words", 0o600)] {
            write(text, mode);
            let error = Access::with_token(7, &file).unwrap_err();
            assert_eq!(error.code, Code::InvalidParams, "{text:?} {mode:o}");
            assert!(!error.message.contains("secret"));
        }
        write("secret\n", 0o600);
        let access = Access::with_token(7, &file).unwrap();
        assert!(access.token().is_none() && access.link().unwrap().is_none());
        let guarded = access.0.as_ref().unwrap();
        // The kernel would say that this one is ours.
        let ours = Connection {
            end: None,
            peer: Arc::new(OnceCell::from(ConnectionPeer::Ours { pid: 1 })),
            admitted: Arc::default(),
            budget: SendBudget::new(),
        };
        let uri: Uri = "/x".parse().unwrap();
        let mut headers = HeaderMap::new();
        assert!(!guarded.is_let_in(&ours, &uri, &headers).await);
        let given = HeaderValue::from_static("Bearer secret");
        headers.insert(header::AUTHORIZATION, given);
        assert!(guarded.is_let_in(&ours, &uri, &headers).await);
        drop(access);
        assert!(file.exists(), "it is not ours");
    }

    #[test]
    fn a_token_is_kept_privately_and_goes_with_its_server() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("pillion");
        let access = Access::guarded(7, &folder).unwrap();
        let (token, file) = access.token().unwrap();
        assert_eq!(fs::read_to_string(file).unwrap().trim(), token);
        assert_eq!(token.len(), 64);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(file), mode(&folder)), (0o600, 0o700));
        assert!(!format!("{access:?}").contains(token));
        let (first, file) = (token.to_owned(), file.to_owned());
        let second = Access::guarded(7, &folder).unwrap();
        assert_ne!(second.token().unwrap().0, first, "new with every start");
        drop(access);
        assert!(file.exists(), "it is another's now");
        drop(second);
        assert!(!file.exists());
    }
}
