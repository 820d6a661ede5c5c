//! A backend that answers as a test wants, and remembers what it was asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use tokio::sync::watch;

/// A request, as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Method and path.
    pub(crate) route: String,
    pub(crate) token: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) body: String,
}

/// What the backend answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reply {
    Status(u16),
    With(u16, &'static str, &'static str),
    /// Answers 200 when the gate is open.
    Gate,
}

type Script = Box<dyn FnMut(&Seen) -> Reply + Send>;

#[derive(Default)]
struct Log {
    seen: Vec<Seen>,
    under_way: BTreeMap<String, usize>,
    most: usize,
    most_of_one: usize,
}

struct Shared {
    script: Mutex<Script>,
    log: Mutex<Log>,
    gate: watch::Sender<bool>,
}

/// The backend. It ends with the runtime of its test.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

impl Server {
    /// A backend that takes everything.
    pub(crate) async fn start() -> Self {
        Self::answering(|_| Reply::Status(200)).await
    }

    pub(crate) async fn answering(script: impl FnMut(&Seen) -> Reply + Send + 'static) -> Self {
        let shared = Arc::new(Shared {
            script: Mutex::new(Box::new(script)),
            log: Mutex::default(),
            gate: watch::Sender::new(false),
        });
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, shared }
    }

    /// From now on it answers so.
    pub(crate) fn answer(&self, script: impl FnMut(&Seen) -> Reply + Send + 'static) {
        *self.shared.script.lock().unwrap() = Box::new(script);
    }

    pub(crate) fn open_gate(&self) {
        self.shared.gate.send_replace(true);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.log.lock().unwrap().seen.clone()
    }

    /// The keys of all requests, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.seen()
            .into_iter()
            .filter_map(|seen| seen.key)
            .collect()
    }

    pub(crate) fn under_way(&self) -> usize {
        self.shared.log.lock().unwrap().under_way.values().sum()
    }

    /// The most requests at a time, of all sessions and of a single one.
    pub(crate) fn most(&self) -> (usize, usize) {
        let log = self.shared.log.lock().unwrap();
        (log.most, log.most_of_one)
    }
}

/// Counts a request for as long as it is under way, also if its client goes.
struct UnderWay {
    shared: Arc<Shared>,
    route: String,
}

impl UnderWay {
    fn new(shared: &Arc<Shared>, seen: &Seen) -> Self {
        let mut log = shared.log.lock().unwrap();
        log.seen.push(seen.clone());
        let of_one = log.under_way.entry(seen.route.clone()).or_default();
        *of_one += 1;
        let of_one = *of_one;
        log.most_of_one = log.most_of_one.max(of_one);
        log.most = log.most.max(log.under_way.values().sum());
        Self {
            shared: Arc::clone(shared),
            route: seen.route.clone(),
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut log = self.shared.log.lock().unwrap();
        if let Some(count) = log.under_way.get_mut(&self.route) {
            *count -= 1;
        }
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response<Body> {
    let header = |name| {
        let value = headers.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    let seen = Seen {
        route: format!("{method} {uri}"),
        token: header("authorization"),
        key: header("idempotency-key"),
        body,
    };
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    let _under_way = UnderWay::new(&shared, &seen);
    let reply = (shared.script.lock().unwrap())(&seen);
    let response = Response::builder();
    let response = match reply {
        Reply::Status(status) => response.status(status),
        Reply::With(status, name, value) => response.status(status).header(name, value),
        Reply::Gate => {
            let mut gate = shared.gate.subscribe();
            gate.wait_for(|open| *open).await.unwrap();
            response
        }
    };
    response.body(Body::from("{}")).unwrap()
}
