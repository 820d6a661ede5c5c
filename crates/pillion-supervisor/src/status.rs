//! What people see of sidecars.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hdrhistogram::Histogram;
use pillion_protocol::worker::SourceFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sources::Sources;
use crate::{SidecarKind, SidecarState};

/// One sidecar at a glance.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SidecarStatus {
    /// Its name.
    pub name: String,
    /// Which kind it is.
    pub kind: SidecarKind,
    /// Where it is in its life.
    pub state: SidecarState,
    /// Which process of it runs, or ran last; 0 before the first.
    pub generation: u64,
    /// The process id, if one runs.
    pub pid: Option<u32>,
    /// The interpreter's version, if it said so.
    pub python: Option<String>,
    /// Resident memory in bytes, if a process runs.
    pub memory_bytes: Option<u64>,
    /// Calls answered so far.
    pub requests: u64,
    /// Calls waiting or running.
    pub pending: usize,
    /// Processes that ended although nobody asked them to.
    pub crashes: u64,
    /// Seconds since it last answered a ping during work, if it does not answer now.
    pub unresponsive_s: Option<f64>,
    /// Median time of a call in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
}

/// A workspace and its sidecars.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceStatus {
    /// Its folder.
    pub root: String,
    /// The process that serves it.
    pub pid: u32,
    /// When it was first used, in seconds since 1970.
    pub started: f64,
    /// When it was last used, in seconds since 1970.
    pub last_activity: f64,
    /// Its sidecars.
    pub sidecars: Vec<SidecarStatus>,
}

/// What an actor shows to others while it works.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) generation: AtomicU64,
    pub(crate) pid: AtomicU32,
    pub(crate) load: AtomicUsize,
    pub(crate) crashes: AtomicU64,
    /// Calls that the process has been given.
    pub(crate) served: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: SidecarState,
    python: Option<String>,
    sources: Sources,
    unanswered_ping: Option<Instant>,
    micros: Option<Histogram<u64>>,
    used: SystemTime,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self {
            generation: AtomicU64::new(0),
            pid: AtomicU32::new(0),
            load: AtomicUsize::new(0),
            crashes: AtomicU64::new(0),
            served: AtomicU64::new(0),
            inner: Mutex::new(Inner {
                state: SidecarState::Idle,
                python: None,
                sources: Sources::default(),
                unanswered_ping: None,
                micros: Histogram::new_with_bounds(1, 3_600_000_000, 2).ok(),
                used: SystemTime::now(),
            }),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> SidecarState {
        self.inner().state
    }

    pub(crate) fn set_state(&self, state: SidecarState) {
        self.inner().state = state;
    }

    pub(crate) fn born(&self, pid: Option<u32>, python: Option<String>) {
        self.pid.store(pid.unwrap_or(0), Ordering::Relaxed);
        self.inner().python = python;
    }

    pub(crate) fn died(&self) {
        self.pid.store(0, Ordering::Relaxed);
        self.served.store(0, Ordering::Relaxed);
        let mut inner = self.inner();
        inner.sources = Sources::default();
        inner.unanswered_ping = None;
    }

    pub(crate) fn answered(&self, took: Duration) {
        let mut inner = self.inner();
        inner.used = SystemTime::now();
        if let Some(micros) = &mut inner.micros {
            micros.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1));
        }
    }

    pub(crate) fn ping_sent(&self, now: Instant) {
        self.inner().unanswered_ping.get_or_insert(now);
    }

    pub(crate) fn ping_answered(&self) {
        self.inner().unanswered_ping = None;
    }

    pub(crate) fn add_files(&self, files: Vec<SourceFile>) {
        self.inner().sources.add(files);
    }

    /// The first source file that is not as it was when the process imported it.
    pub(crate) fn changed_file(&self) -> Option<String> {
        self.inner().sources.changed()
    }

    pub(crate) fn used(&self) -> SystemTime {
        self.inner().used
    }

    pub(crate) fn status(&self, name: &str, kind: SidecarKind) -> SidecarStatus {
        let pid = Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid != 0);
        let inner = self.inner();
        let quantile = |q| {
            inner
                .micros
                .as_ref()
                .map_or(0.0, |m| m.value_at_quantile(q) as f64 / 1000.0)
        };
        SidecarStatus {
            name: name.to_owned(),
            kind,
            state: inner.state,
            generation: self.generation.load(Ordering::Relaxed),
            pid,
            python: inner.python.clone(),
            memory_bytes: pid.and_then(pillion_process::stat::resident_bytes),
            requests: inner.micros.as_ref().map_or(0, Histogram::len),
            pending: self.load.load(Ordering::Relaxed),
            crashes: self.crashes.load(Ordering::Relaxed),
            unresponsive_s: inner
                .unanswered_ping
                .map(|sent| sent.elapsed().as_secs_f64())
                .filter(|seconds| *seconds > 1.0),
            p50_ms: quantile(0.5),
            p99_ms: quantile(0.99),
        }
    }
}
