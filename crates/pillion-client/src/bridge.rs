//! A facade for loops that must never wait: terminal and desktop user interfaces.

mod worker;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pillion_protocol::{Code, Error, Result};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::options::Options;

/// How many requests may be open at once: waiting, running, or answered and not polled.
const MAX_OPEN: usize = 64;
/// How many responses may wait to be polled. There is room for every request's last one.
const RESPONSES: usize = MAX_OPEN;
/// How long dropping a bridge may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// Names a request of a [`Bridge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(u64);

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A piece of news about a request.
#[derive(Debug)]
pub struct Response {
    /// Which request.
    pub id: RequestId,
    /// What there is to say.
    pub part: ResponsePart,
    /// How long after the request this was known, however late it was polled.
    pub elapsed: Duration,
}

/// What there is to say about a request. [`ResponsePart::Done`] is said once, and last.
#[derive(Debug)]
pub enum ResponsePart {
    /// The next item of a stream.
    Item(Box<RawValue>),
    /// How far the work is.
    Progress(Box<RawValue>),
    /// The outcome.
    Done(Result<Box<RawValue>>),
}

impl Response {
    /// Whether this is the last one for its request.
    pub fn is_done(&self) -> bool {
        matches!(self.part, ResponsePart::Done(_))
    }
}

/// What the worker is asked to do.
struct Command {
    id: RequestId,
    method: String,
    params: Box<RawValue>,
    stream: bool,
    cancel: CancellationToken,
    asked: Instant,
}

impl Command {
    fn response(&self, part: ResponsePart) -> Response {
        Response {
            id: self.id,
            part,
            elapsed: self.asked.elapsed(),
        }
    }
}

/// A non-blocking way to the daemon, for programs that draw frames.
///
/// No method waits. A thread of its own connects, starts the daemon if the options allow
/// it, sends and receives.
///
/// At most 64 requests are open at once; one more is refused with
/// [`busy`](Code::Busy). A request is open until its [`ResponsePart::Done`] was taken by
/// [`poll`](Self::poll), so a loop that never polls loses nothing and piles up nothing:
/// the worker waits with what it has, streams are held back at their source, and new
/// requests are refused.
///
/// Dropping the bridge cancels what is open and stops the daemon if, and only if, this
/// bridge started it. It takes at most 2 s.
///
/// ```no_run
/// use pillion_client::{Bridge, Options, ResponsePart};
///
/// let bridge = Bridge::start(Options::new());
/// let id = bridge.request("py.call", serde_json::json!({"function": "math:hypot", "params": [3, 4]}))?;
/// loop {
///     while let Some(response) = bridge.poll() {
///         if let ResponsePart::Done(outcome) = response.part {
///             println!("{}: {outcome:?}", response.id);
///         }
///     }
///     // draw a frame, handle keys
/// # break;
/// }
/// # Ok::<(), pillion_client::Error>(())
/// ```
pub struct Bridge {
    next_id: AtomicU64,
    commands: mpsc::Sender<Command>,
    responses: Mutex<mpsc::Receiver<Response>>,
    /// The open requests.
    open: Mutex<HashMap<RequestId, CancellationToken>>,
    stop: CancellationToken,
    /// The worker holds the other end until it is done.
    done: Mutex<std::sync::mpsc::Receiver<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Bridge {
    /// Start the bridge's thread. Connecting waits for the first request, and its failures
    /// come back as that request's error.
    pub fn start(options: Options) -> Self {
        let (commands, incoming) = mpsc::channel(MAX_OPEN);
        let (outgoing, responses) = mpsc::channel(RESPONSES);
        let (alive, done) = std::sync::mpsc::channel();
        let stop = CancellationToken::new();
        let work = worker::Worker {
            options,
            commands: incoming,
            responses: outgoing,
            stop: stop.clone(),
            limit: GOODBYE,
        };
        // Without a thread the queue has no other end, and every request says so.
        let thread = std::thread::Builder::new()
            .name("pillion-bridge".into())
            .spawn(move || {
                let _alive: std::sync::mpsc::Sender<()> = alive;
                work.run();
            })
            .ok();
        Self {
            next_id: AtomicU64::new(1),
            commands,
            responses: Mutex::new(responses),
            open: Mutex::new(HashMap::new()),
            stop,
            done: Mutex::new(done),
            thread,
        }
    }

    /// Ask for something. The answer comes through [`poll`](Self::poll).
    pub fn request(&self, method: &str, params: impl Serialize) -> Result<RequestId> {
        self.enqueue(method, &params, false)
    }

    /// Ask for something whose answer comes in parts.
    pub fn request_stream(&self, method: &str, params: impl Serialize) -> Result<RequestId> {
        self.enqueue(method, &params, true)
    }

    /// The next piece of news, if there is one.
    pub fn poll(&self) -> Option<Response> {
        let response = lock(&self.responses).try_recv().ok()?;
        if response.is_done() {
            lock(&self.open).remove(&response.id);
        }
        Some(response)
    }

    /// Stop working on a request. Its outcome still comes: [`cancelled`](Code::Cancelled),
    /// or what it was if it was faster.
    pub fn cancel(&self, id: RequestId) {
        if let Some(token) = lock(&self.open).get(&id) {
            token.cancel();
        }
    }

    /// How many requests are open.
    pub fn open_requests(&self) -> usize {
        lock(&self.open).len()
    }

    fn enqueue(&self, method: &str, params: &impl Serialize, stream: bool) -> Result<RequestId> {
        let params = serde_json::value::to_raw_value(params).map_err(|error| {
            let message = format!("the parameters of `{method}` are no JSON: {error}");
            Error::new(Code::InvalidParams, message)
        })?;
        let id = RequestId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let mut open = lock(&self.open);
        if open.len() >= MAX_OPEN {
            return Err(Error::new(
                Code::Busy,
                format!("{MAX_OPEN} requests are open on this bridge"),
            )
            .hint("poll their answers, or cancel some, and ask again"));
        }
        let cancel = CancellationToken::new();
        self.commands
            .try_send(Command {
                id,
                method: method.to_owned(),
                params,
                stream,
                cancel: cancel.clone(),
                asked: Instant::now(),
            })
            .map_err(|_| Error::internal("the bridge's thread is not running"))?;
        open.insert(id, cancel);
        Ok(id)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.stop.cancel();
        // The worker drops its end when it is done; a stuck one is left behind.
        let done = lock(&self.done).recv_timeout(GOODBYE);
        if done == Err(std::sync::mpsc::RecvTimeoutError::Disconnected)
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Bridge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bridge")
            .field("open_requests", &self.open_requests())
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
