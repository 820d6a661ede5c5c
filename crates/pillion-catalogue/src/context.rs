//! What an operation knows about the request it answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{Caller, Code, Duplex, Error, Peer, Result, SendBudget};

/// The way in that a request took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// JSON-RPC on a Unix socket.
    Socket,
    /// JSON-RPC on standard input and output.
    RpcStdio,
    /// Line JSON on standard input and output.
    Stdio,
    /// HTTP.
    Http,
    /// The Model Context Protocol, on any transport.
    Mcp,
    /// The command line, on an embedded engine.
    Cli,
    /// Rust code that embeds the engine.
    Embedded,
}

impl Door {
    /// Its name for `transport` fields and logs.
    pub fn transport(self) -> &'static str {
        match self {
            Self::Socket => "unix-socket",
            Self::RpcStdio | Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Mcp => "mcp",
            Self::Cli => "cli",
            Self::Embedded => "embedded",
        }
    }
}

/// What a caller gets before the result.
#[derive(Debug)]
pub enum Part {
    /// The next item of a stream.
    Item(Box<RawValue>),
    /// How far the work is.
    Progress(Box<RawValue>),
}

/// A request as the doors describe it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Which way it came.
    pub door: Door,
    /// What is said about the caller. An operation finds it complete, with absolute paths.
    pub caller: Caller,
    /// The process that asks.
    pub peer: Peer,
    /// The folder that stands for `root` where the parameters name none.
    pub root: Option<PathBuf>,
    /// The Python and the environments that stand for the caller's where none is named.
    pub surroundings: Caller,
    /// When an answer is of no use any more.
    pub deadline: Option<Instant>,
    /// How long the caller waits; the catalogue reads it from what is said.
    pub timeout: Option<Duration>,
    /// The caller has given up.
    pub cancel: CancellationToken,
    /// Where items and progress go; nobody wants them if there is none.
    pub parts: Option<mpsc::Sender<Part>>,
    /// Where the answer will wait for its reader.
    pub budget: SendBudget,
    /// A conversation in frames that the caller offers.
    pub duplex: Option<Duplex>,
}

impl Request {
    /// A request from `door` with nothing special about it.
    pub fn new(door: Door) -> Self {
        Self {
            door,
            caller: Caller::default(),
            peer: Peer::default(),
            root: None,
            surroundings: Caller::default(),
            deadline: None,
            timeout: None,
            cancel: CancellationToken::new(),
            parts: None,
            budget: SendBudget::default(),
            duplex: None,
        }
    }

    /// Items and progress go to `parts`.
    #[must_use]
    pub fn parts(mut self, parts: mpsc::Sender<Part>) -> Self {
        self.parts = Some(parts);
        self
    }

    /// The folder that stands for `root` where the parameters name none.
    #[must_use]
    pub fn root(mut self, root: Option<PathBuf>) -> Self {
        self.root = root;
        self
    }
}

/// What a running operation has at hand: its service and its request.
#[derive(Debug)]
pub struct Context<S> {
    service: Arc<S>,
    request: Request,
}

impl<S> Context<S> {
    pub(crate) fn new(service: Arc<S>, request: Request) -> Self {
        Self { service, request }
    }

    /// The service that answers.
    pub fn service(&self) -> &Arc<S> {
        &self.service
    }

    /// The request that is answered.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// What is said about the caller: complete, with absolute paths.
    pub fn caller(&self) -> &Caller {
        &self.request.caller
    }

    /// A folder of the project that is meant: the one that was named, else where the caller
    /// stands, else our own.
    pub fn folder(&self) -> Result<PathBuf> {
        let Caller { root, near, .. } = self.caller();
        match root.as_ref().or(near.as_ref()) {
            Some(folder) => Ok(folder.clone()),
            None => self.request.from_here(Path::new(".")),
        }
    }

    /// Send an item to the caller; waits while the caller is slow.
    pub async fn emit(&self, item: &(impl Serialize + Sync)) -> Result<()> {
        let Some(parts) = &self.request.parts else {
            return Ok(());
        };
        let item = to_raw_value(item).map_err(Error::internal)?;
        let gone = |_| Error::new(Code::Cancelled, "the caller went away");
        parts.send(Part::Item(item)).await.map_err(gone)
    }
}
