//! What a sidecar is made of and what it may use.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pillion_process::Launch;
use pillion_protocol::{Result, frame};
use pillion_sandbox::Confine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dialect, Opening};

/// Which kind of child it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub enum SidecarKind {
    /// Python running pillion's worker package.
    Worker,
    /// A program of the user's that speaks the line-JSON contract.
    Foreign,
    /// A language server.
    Engine,
    /// A Python behind walls, from which runs of code are forked.
    Zygote,
    /// A Jupyter kernel behind walls.
    Kernel,
}

/// What a sidecar may use.
#[derive(Debug, Clone)]
pub struct SidecarLimits {
    /// From start to hello.
    pub hello: Duration,
    /// How long a cancelled call may take to end before the process is killed. A language
    /// server that says anything in that time is not stuck, and only the call is given up.
    pub grace: Duration,
    /// How long a process may take to end after its input was closed.
    pub close: Duration,
    /// Calls that may wait.
    pub queue: usize,
    /// Calls in the hands of the process at once.
    pub in_flight: usize,
    /// Bytes of one frame.
    pub frame: usize,
    /// Resident bytes at which it is asked to drop caches. Language servers know no such
    /// request: for them it is only noted in the log.
    pub memory_soft: Option<u64>,
    /// Resident bytes at which it is restarted.
    pub memory_hard: Option<u64>,
    /// Time without a call after which it ends.
    pub idle: Option<Duration>,
    /// Calls after which a fresh process takes its place.
    pub calls: Option<u64>,
}

impl Default for SidecarLimits {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(20),
            grace: Duration::from_secs(1),
            close: Duration::from_secs(2),
            queue: 256,
            in_flight: 1,
            frame: frame::MAX_LINE,
            memory_soft: None,
            memory_hard: None,
            idle: Some(Duration::from_secs(30 * 60)),
            calls: None,
        }
    }
}

/// How a child starts.
#[derive(Debug)]
pub enum StartMode {
    /// As any program.
    Plain(Box<Launch>),
    /// Behind walls.
    Confined {
        /// The program and its walls. Its standard streams are the supervisor's.
        confine: Box<Confine>,
        /// Our end of a socket that it keeps, for whoever holds it.
        channel: UnixStream,
    },
}

impl From<Launch> for StartMode {
    fn from(launch: Launch) -> Self {
        Self::Plain(Box::new(launch))
    }
}

/// What a sidecar is made of.
#[derive(Clone)]
pub struct SidecarSpec {
    /// Its name in status, events and logs.
    pub name: String,
    /// Which kind of child it is.
    pub kind: SidecarKind,
    /// The workspace it belongs to.
    pub workspace: PathBuf,
    /// How to talk to it.
    pub dialect: Dialect,
    /// What it may use.
    pub limits: SidecarLimits,
    /// How to start it.
    pub launch: Arc<dyn Fn() -> Result<StartMode> + Send + Sync>,
    /// How a conversation with it begins; only language servers have one.
    pub opening: Option<Arc<dyn Opening>>,
}

impl std::fmt::Debug for SidecarSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spec")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish()
    }
}
