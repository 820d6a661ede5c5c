//! Carrying out one request to run code: which lane, which walls, from where; then the run.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error, Lease, Peer, Result};
use pillion_project::{Project, Whereabouts};
use pillion_sandbox::walls::rlimits;
use pillion_sandbox::{Disk, Level, Limits, Means, OutputsSpec, WORK, WatchedLimits};
use pillion_workspace::LaneConfig;
use tokio::sync::SemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::lane::{self, Lane};
use crate::process::{Ends, Process, Terms};
use crate::reply::Reply;
use crate::run::{self, Bounds, OutputListener};
use crate::run_folder::RunFolder;
use crate::run_setup::Setting;
use crate::runner_messages::{FileIn, Order, Program};
use crate::runtime::Runtime;
use crate::session::ProducedFile;
use crate::slot_pool::How;
use crate::tools::{self, ToolCalls};
use crate::{Executor, answer, environment, path_access, session};

/// What is to be run, with everything checked.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The rules it runs under.
    pub lane: Lane,
    /// What is run.
    pub program: Program,
    /// What it is called in tracebacks.
    pub name: String,
    /// Its command line.
    pub args: Vec<String>,
    /// What it reads from its standard input.
    pub stdin: Option<Vec<u8>>,
    /// Files that are put into its folder.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files of its folder that come back, by name or pattern.
    pub outputs: Vec<String>,
    /// The session whose folder it has, in the user lane.
    pub session: Option<String>,
    /// How long it may take, if not as long as its lane says.
    pub timeout: Option<Duration>,
    /// Megabytes of memory, if not as many as its lane says.
    pub memory_mb: Option<u64>,
    /// What `random` starts from.
    pub seed: Option<u64>,
    /// When the clock stands still, in seconds since 1970.
    pub clock: Option<f64>,
    /// What the host does for it.
    pub tools: tools::Tools,
    /// Never from a zygote.
    pub fresh: bool,
    /// The project whose `pillion.toml` and Python are used.
    pub whereabouts: Whereabouts,
    /// Who asked for it: functions that it calls get his variables.
    pub peer: Peer,
}

/// What all files that are brought back may hold.
const OUTPUT_BYTES: u64 = 16 << 20;
const OUTPUT_FILES: u32 = 64;
/// So many times more files than a folder in memory a folder on disk may hold.
const KEPT_FILES: u64 = 10;

/// A request that has its turn: everything about it is known, and nothing has been run.
#[derive(Debug)]
pub struct Admitted<'a> {
    executor: &'a Arc<Executor>,
    request: RunRequest,
    asked: Instant,
    project: Arc<Project>,
    config: LaneConfig,
    runtime: Runtime,
    level: Level,
    bounds: Bounds,
    timeout: Duration,
    turn: SemaphorePermit<'a>,
    _lease: Lease,
}

impl Executor {
    /// Find out what `request` needs and wait for its turn, unless it has one already. Its time
    /// runs from now on.
    pub async fn admit<'a>(
        self: &'a Arc<Self>,
        request: RunRequest,
        cancel: CancellationToken,
        turn: Option<SemaphorePermit<'a>>,
    ) -> Result<Admitted<'a>> {
        let asked = Instant::now();
        let lease = self.activity().lease();
        if let Some(session) = &request.session {
            self.check_session(session)?;
        }
        let Ground {
            project,
            config,
            runtime,
            level,
        } = tokio::select! {
            ground = self.ground(request.lane, request.whereabouts.clone()) => ground?,
            () = cancel.cancelled() => return Err(cancelled()),
        };
        let timeout = request
            .timeout
            .unwrap_or_else(|| Duration::from_secs_f64(config.timeout_s));
        let bounds = Bounds {
            deadline: asked + timeout,
            output: config.output_kb << 10,
            cancel,
        };
        let turn = match turn {
            Some(turn) => turn,
            None => self::turn(self, &bounds).await?,
        };
        Ok(Admitted {
            executor: self,
            request,
            asked,
            project,
            config,
            runtime,
            level,
            bounds,
            timeout,
            turn,
            _lease: lease,
        })
    }
}

impl Admitted<'_> {
    /// What is to be run.
    pub fn request(&self) -> &RunRequest {
        &self.request
    }

    /// Run it; `listener` hears its output as it comes. Says how it ended, and which tools it
    /// asked for.
    pub async fn run(self, listener: &mut impl OutputListener) -> Result<(Reply, ToolCalls)> {
        let Self {
            executor,
            request,
            project,
            config,
            runtime,
            level,
            bounds,
            ..
        } = self;
        let mut place = RunFolder::new(
            &executor.sessions(),
            request.lane,
            request.session.as_deref(),
            level,
        )?;
        let before = place.prepare().await?;
        let setting = Setting {
            root: &project.root,
            runtime: &runtime,
            limits: lane::limits(&config, request.memory_mb, self.timeout.as_secs_f64()),
            config: &config,
            level,
            place: &place,
            before: &before,
        };
        let started = tokio::select! {
            started = start(executor, &request, &setting) => started,
            // Nothing has been run. A zygote that starts goes on to, for the next caller.
            () = tokio::time::sleep_until(bounds.deadline.into()) => Err(io::ErrorKind::TimedOut.into()),
            () = bounds.cancel.cancelled() => return Err(cancelled()),
        };
        let mut calls = ToolCalls::default();
        let (start, finished) = match started {
            Ok((process, mut ends, how)) => {
                let behalf = tools::Behalf {
                    host: executor.host(),
                    whereabouts: request.whereabouts.clone(),
                    peer: request.peer.clone(),
                    deadline: bounds.deadline,
                };
                let serving = tools::serve(&request.tools, ends.tools.take(), behalf);
                let serving = serving.map_err(Error::internal)?;
                let finished = run::follow(process, ends, request.stdin.clone(), &bounds, listener);
                let finished = finished.await.map_err(Error::internal)?;
                calls = serving.map(|serving| serving.calls()).unwrap_or_default();
                (how, finished)
            }
            Err(error) => ("none", answer::not_started(&error)),
        };
        drop(self.turn);
        let mut reply = answer::reply(finished, &setting, self.timeout);
        reply.artifacts = place.made(before).await;
        // What was handed over and is as long as it was is none of its own.
        let is_given = |made: &ProducedFile| {
            let mut given = request.files.iter();
            given.any(|(name, bytes)| *name == made.name && bytes.len() as u64 == made.size_bytes)
        };
        reply.artifacts.retain(|made| !is_given(made));
        reply.start = start.to_owned();
        reply.lane = request.lane.name().to_owned();
        reply.execution_time_ms = self.asked.elapsed().as_secs_f64() * 1e3;
        Ok((reply, calls))
    }
}

/// What code in a lane needs, found out: nothing has been run.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The project that it is of.
    pub project: Arc<Project>,
    /// What that says about the lane.
    pub config: LaneConfig,
    /// The Python.
    pub runtime: Runtime,
    /// The walls there are.
    pub level: Level,
}

impl Executor {
    /// What code in `lane` needs, for a project.
    pub async fn ground(&self, lane: Lane, whereabouts: Whereabouts) -> Result<Ground> {
        let project = self.project(whereabouts).await?;
        let config = lane.config(&project.config.lanes).clone();
        let runtime = Runtime::of_project(&project, self.dirs()).await?;
        let level = level(self.means().await, lane, &config)?;
        path_access::open(self.dirs(), level);
        Ok(Ground {
            project,
            config,
            runtime,
            level,
        })
    }
}

async fn turn<'a>(executor: &'a Executor, bounds: &Bounds) -> Result<SemaphorePermit<'a>> {
    tokio::select! {
        biased;
        // Who is late and finds a free place runs, and is told by its own time how it went.
        turn = executor.turn() => turn,
        () = tokio::time::sleep_until(bounds.deadline.into()) => {
            let late = Error::new(Code::Timeout, "it did not get its turn in time");
            Err(late.hint("fewer runs at once, or a longer timeout"))
        }
        () = bounds.cancel.cancelled() => Err(cancelled()),
    }
}

fn cancelled() -> Error {
    Error::new(Code::Cancelled, "it was cancelled before it began")
}

/// The level for this lane on a machine with these means, or why it does not run there.
fn level(means: &Means, lane: Lane, config: &LaneConfig) -> Result<Level> {
    if means.level >= lane.floor(config) {
        return Ok(means.level);
    }
    let why = means.namespaces.as_ref().err().map_or("", String::as_str);
    let name = lane.name();
    let message = format!("the {name} lane cannot be enforced on this machine ({why})");
    let hint = format!(
        "`pillion lanes` shows what is missing; `allow_weaker = true` under `[lanes.{name}]` in \
         `pillion.toml` runs it all the same"
    );
    Err(Error::new(Code::StartFailed, message).hint(hint))
}

async fn start(
    executor: &Arc<Executor>,
    request: &RunRequest,
    setting: &Setting<'_>,
) -> io::Result<(Process, Ends, &'static str)> {
    let (lane, place) = (request.lane, setting.place);
    let policy = lane.policy(
        setting.runtime,
        setting.config,
        setting.limits,
        place.folder.clone(),
    );
    let terms = Terms {
        watch: WatchedLimits {
            memory: Some(setting.limits.memory),
            processes: Some(setting.limits.processes),
            disk: place
                .folder
                .as_ref()
                .map(|_| disk(&setting.limits, &place.seen, setting.before, policy.network)),
        },
        outputs: OutputsSpec {
            names: request.outputs.clone(),
            bytes: OUTPUT_BYTES,
            files: OUTPUT_FILES,
        },
    };
    let order = order(request, setting);
    let files: Vec<Vec<u8>> = request
        .files
        .iter()
        .map(|(_, contents)| contents.clone())
        .collect();
    let files = Arc::new(files);
    let with_input = request.stdin.is_some();
    if setting.level == Level::L3 && !request.fresh && !setting.runtime.is_foreign {
        let slot_pool = executor.slot_pool(setting.root, lane, setting.runtime, setting.config);
        match slot_pool.slot(place.part.as_deref()).await {
            Ok((slot, how)) => {
                let files = Arc::clone(&files);
                match Process::in_slot(slot, &order, files, with_input, &terms).await {
                    Ok((process, ends)) => {
                        let how = if how == How::Warm { "slot" } else { "fork" };
                        return Ok((process, ends, how));
                    }
                    // It died before it had its whole order, so nothing has been run.
                    Err(error) => tracing::debug!(%error, "a slot is gone"),
                }
            }
            Err(error) => tracing::debug!(%error, "no slot: starting an interpreter"),
        }
    }
    if place.seen != Path::new(WORK) {
        std::fs::create_dir_all(&place.tmp)?;
        session::survey(&place.tmp, session::Purpose::Run)?;
    }
    let runtime = setting.runtime;
    path_access::open(executor.dirs(), setting.level);
    path_access::check(
        setting.level,
        &[&place.seen, &runtime.worker, &runtime.executable],
    )?;
    let fixed_hashes = lane == Lane::Expert;
    let walls = (setting.runtime, policy, setting.level);
    let (process, ends) =
        Process::spawn(walls, order, files, (with_input, fixed_hashes), &terms).await?;
    Ok((process, ends, "spawn"))
}

/// What the folder at `seen` may hold: whatever it holds already is no reason to end code that
/// cleans up.
pub fn disk(limits: &Limits, seen: &Path, before: &session::Survey, network: bool) -> Disk {
    let names = limits.disk_files.saturating_mul(KEPT_FILES);
    let names = names.min(session::MOST_NAMES);
    Disk {
        path: seen.to_owned(),
        bytes: limits.disk.max(before.bytes),
        files: names.max(before.names),
        used: before.bytes,
        named: before.names,
        left: before.left,
        // The filter lets it only there.
        sends: network,
    }
}

fn order(request: &RunRequest, setting: &Setting<'_>) -> Order {
    let place = setting.place;
    let mut path = vec![place.seen.clone()];
    path.extend(setting.runtime.packages.iter().cloned());
    Order {
        program: request.program.clone(),
        name: request.name.clone(),
        args: request.args.clone(),
        folder: place.seen.clone(),
        path,
        files: request
            .files
            .iter()
            .map(|(name, contents)| FileIn {
                name: name.clone(),
                size: contents.len() as u64,
            })
            .collect(),
        rlimits: rlimits::numbers(&setting.limits)
            .into_iter()
            .filter(|_| setting.level == Level::L3)
            .collect(),
        env: environment::at(&place.seen, &place.tmp),
        seed: request.seed,
        clock: request.clock,
        tools: !request.tools.is_empty(),
        tool_names: request.tools.names(),
        descriptors: None,
    }
}

#[cfg(test)]
#[path = "perform_tests.rs"]
mod tests;
