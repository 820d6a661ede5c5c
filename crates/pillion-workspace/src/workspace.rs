//! A workspace: a root folder, its files and its clock.
//!
//! [`Workspace::synced`] is what every read begins with. It holds the one lock, takes a
//! quick look for news, and only if there is much of it hands the work to another thread.
//! Reads that come at the same time wait for each other's work and find little left to
//! do, but each looks for news after it came: that is the promise.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use pillion_catalogue::work;
use pillion_protocol::{Result, vars};

use crate::changes::{Changes, Log};
use crate::clock::Clock;
use crate::files::{Files, LeftOutPath};
use crate::options::WorkspaceOptions;
use crate::state::{Finding, Glance, WorkspaceState};
use crate::status::{ClockStatus, WatchMode};

/// A root folder, its files and its clock.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    state: Arc<tokio::sync::Mutex<WorkspaceState>>,
    status: Arc<Mutex<ClockStatus>>,
}

impl Workspace {
    /// The workspace at `root`, an absolute path without links. Nothing is read yet.
    pub fn new(root: PathBuf, options: WorkspaceOptions) -> Self {
        let variable = std::env::var_os(vars::PILLION_WATCH);
        let unwatched = options.unwatched(variable.as_deref());
        let state = WorkspaceState::new(root.clone(), options, unwatched);
        let status = ClockStatus {
            clock: state.known.clock,
            mode: None,
            why: None,
            files: 0,
            folders: 0,
            watches: 0,
            syncs: 0,
            last_sync_us: 0,
            changes: 0,
            skipped: 0,
        };
        Self {
            root,
            state: Arc::new(tokio::sync::Mutex::new(state)),
            status: Arc::new(Mutex::new(status)),
        }
    }

    /// The root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files as they are now: every write that returned before this call is in it.
    pub async fn synced(&self) -> Result<Snapshot> {
        let arrived = Instant::now();
        let mut state = self.state.clone().lock_owned().await;
        match state.glance(arrived)? {
            Glance::Current => Ok(self.report(&state, arrived)),
            Glance::News(news) => {
                // The lock goes along: who stops waiting leaves nothing half done.
                let scan = work(move |_| {
                    let done = state.work(news);
                    (state, done)
                });
                let (state, done) = scan.await?;
                done?;
                Ok(self.report(&state, arrived))
            }
        }
    }

    /// How the clock is doing.
    pub fn status(&self) -> ClockStatus {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.clone()
    }

    fn report(&self, state: &WorkspaceState, arrived: Instant) -> Snapshot {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.syncs += 1;
        let known = &state.known;
        let (mode, why, watches) = match &state.finding {
            Finding::Watching(watch) => (Some(WatchMode::Watching), None, watch.count()),
            Finding::Sweeping { why, .. } => (Some(WatchMode::Sweeping), Some(why), 0),
            Finding::Unknown => (None, None, 0),
        };
        if (status.mode, status.why.as_ref()) != (mode, why) {
            (status.mode, status.why) = (mode, why.cloned());
        }
        status.clock = known.clock;
        status.files = known.files.len();
        (status.folders, status.skipped) = (state.listed, state.skipped);
        status.watches = watches;
        status.changes = known.changes;
        status.last_sync_us = u64::try_from(arrived.elapsed().as_micros()).unwrap_or(u64::MAX);
        Snapshot {
            root: state.root.clone(),
            clock: known.clock,
            files: known.files.clone(),
            log: known.log.clone(),
            left_out: Arc::clone(&state.left_out),
        }
    }
}

/// The files of a workspace at one moment of its clock. A copy is cheap.
#[derive(Debug, Clone)]
pub struct Snapshot {
    root: Arc<Path>,
    clock: Clock,
    files: Files,
    log: Arc<Mutex<Log>>,
    left_out: Arc<[LeftOutPath]>,
}

impl Snapshot {
    /// The root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The moment.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The files.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// What is there and not ignored, and cannot be worked with: the first of it.
    pub fn left_out(&self) -> &[LeftOutPath] {
        &self.left_out
    }

    /// What is not as it was at an earlier moment. It knows less the longer the snapshot
    /// is kept: the log is bounded, and shared with later ones.
    pub fn changes_since(&self, clock: Option<Clock>) -> Changes {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.between(clock, self.clock)
    }
}
