//! Carrying out one request to run code: which lane, which walls, from where; then the run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error, Result};
use pillion_sandbox::walls::rlimits;
use pillion_sandbox::{Disk, Level, Limits, Outputs, TMP, WORK, Watch};
use pillion_workspace::LaneConfig;
use tokio_util::sync::CancellationToken;

use crate::body::{Body, Ends, Terms};
use crate::keeper::How;
use crate::lane::{self, Lane};
use crate::order::{FileIn, Order, Program};
use crate::outcome::Outcome;
use crate::reply::{FileOut, Limit, Reply, Used};
use crate::run::{self, Bounds, Finished, Listener};
use crate::runtime::{Runtime, Whereabouts};
use crate::{ExecService, environment, session, tools};

/// What is to be run, with everything checked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) lane: Lane,
    pub(crate) program: Program,
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) files: Vec<(String, Vec<u8>)>,
    pub(crate) outputs: Vec<String>,
    pub(crate) session: Option<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) memory_mb: Option<u64>,
    pub(crate) seed: Option<u64>,
    pub(crate) clock: Option<f64>,
    pub(crate) tools: tools::Tools,
    /// Never from a zygote.
    pub(crate) fresh: bool,
    pub(crate) whereabouts: Whereabouts,
}

/// The most memory that a run can ask for, in megabytes.
pub(crate) const MOST_MEMORY_MB: u64 = 16_384;
/// The longest that a run can ask for.
pub(crate) const LONGEST: Duration = Duration::from_secs(3600);
/// What all files that are brought back may hold.
const OUTPUT_BYTES: u64 = 16 << 20;
const OUTPUT_FILES: u32 = 64;
/// So many times more files than a folder in memory a folder on disk may hold.
const KEPT_FILES: u64 = 10;
/// The session of those that name none.
const NO_SESSION: &str = "default";

/// Run it; `listener` hears its output as it comes.
pub(crate) async fn perform(
    service: &Arc<ExecService>,
    request: Request,
    cancel: CancellationToken,
    listener: &mut impl Listener,
) -> Result<Reply> {
    let asked = Instant::now();
    let _lease = service.activity().lease();
    let project = service.project(request.whereabouts.clone()).await?;
    let config = request.lane.config(&project.config.lanes).clone();
    let runtime = project.runtime(service.dirs()).await?;
    let level = level(service, request.lane, &config).await?;
    let timeout = request
        .timeout
        .unwrap_or_else(|| Duration::from_secs_f64(config.timeout_s));
    let limits = lane::limits(&config, request.memory_mb, timeout.as_secs_f64());
    let bounds = Bounds {
        deadline: asked + timeout,
        output: config.output_kb << 10,
        cancel,
    };
    let turn = tokio::select! {
        turn = service.turn() => turn?,
        () = tokio::time::sleep_until(bounds.deadline.into()) => {
            return Err(Error::new(Code::Timeout, "it did not get its turn in time").hint("fewer runs at once, or a longer timeout"));
        }
        () = bounds.cancel.cancelled() => return Err(Error::new(Code::Cancelled, "it was cancelled before its turn")),
    };
    let place = Place::of(service, &request, level)?;
    let before = place.prepare().await?;
    let setting = Setting {
        runtime: &runtime,
        config: &config,
        limits,
        level,
        place: &place,
    };
    let started = start(service, &request, &setting).await;
    let (start, finished) = match started {
        Ok((body, ends, how)) => {
            tools::serve(&request.tools, ends.tools.as_ref());
            let finished = run::follow(body, ends, request.stdin.clone(), &bounds, listener).await;
            (how, finished.map_err(Error::internal)?)
        }
        Err(error) => ("none", not_started(&error)),
    };
    drop(turn);
    let artifacts = session::made(&before, place.listed().await);
    let mut reply = reply(finished, &setting, timeout);
    reply.artifacts = artifacts;
    reply.start = start.to_owned();
    reply.lane = request.lane.name().to_owned();
    reply.execution_time_ms = asked.elapsed().as_secs_f64() * 1e3;
    Ok(reply)
}

/// Where a run has its folder.
#[derive(Debug)]
struct Place {
    /// On this machine; `None` if it is only in memory.
    folder: Option<PathBuf>,
    /// Its name below the folder of all sessions.
    part: Option<PathBuf>,
    /// It goes away with this.
    throwaway: bool,
    /// As the program sees it.
    seen: PathBuf,
    tmp: PathBuf,
}

impl Place {
    fn of(service: &ExecService, request: &Request, level: Level) -> Result<Self> {
        let boxed = level == Level::L3;
        let kept = request.lane == Lane::User;
        if !kept && boxed {
            return Ok(Self {
                folder: None,
                part: None,
                throwaway: true,
                seen: WORK.into(),
                tmp: TMP.into(),
            });
        }
        let name = match kept {
            true => request
                .session
                .clone()
                .unwrap_or_else(|| NO_SESSION.to_owned()),
            false => session::name_of_run(),
        };
        let folder = session::folder(&service.sessions(), &name)?;
        let (seen, tmp) = match boxed {
            true => (WORK.into(), TMP.into()),
            false => (folder.clone(), folder.join(".tmp")),
        };
        Ok(Self {
            folder: Some(folder),
            part: boxed.then(|| name.into()),
            throwaway: !kept,
            seen,
            tmp,
        })
    }

    /// The folder, if it stays.
    fn kept(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| !self.throwaway)
    }

    /// Make the folder belong to whoever runs code; says what is in it. It may be much, and
    /// must not hold up anybody else.
    async fn prepare(&self) -> Result<Vec<session::Listed>> {
        let Some(folder) = self.folder.clone() else {
            return Ok(Vec::new());
        };
        let name = folder.display().to_string();
        let given = move || session::give_to_stranger(&folder);
        let given = tokio::task::spawn_blocking(given).await;
        given.map_err(Error::internal)?.map_err(|error| {
            let message = format!("cannot prepare `{name}`: {error}");
            Error::new(Code::StartFailed, message)
        })?;
        Ok(self.listed().await)
    }

    /// What is in the folder, if it stays.
    async fn listed(&self) -> Vec<session::Listed> {
        let Some(folder) = self.kept().map(Path::to_owned) else {
            return Vec::new();
        };
        let listed = tokio::task::spawn_blocking(move || session::listed(&folder)).await;
        listed.unwrap_or_default()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take().filter(|_| self.throwaway) {
            // It may hold much, and nobody should wait for it.
            tokio::task::spawn_blocking(move || session::remove(&folder));
        }
    }
}

/// What a run is made of, besides the request.
struct Setting<'a> {
    runtime: &'a Runtime,
    config: &'a LaneConfig,
    limits: Limits,
    level: Level,
    place: &'a Place,
}

/// The level for this lane on this machine, or why it does not run here.
async fn level(service: &ExecService, lane: Lane, config: &LaneConfig) -> Result<Level> {
    let means = service.means().await;
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
    service: &Arc<ExecService>,
    request: &Request,
    setting: &Setting<'_>,
) -> std::io::Result<(Body, Ends, &'static str)> {
    let (lane, place) = (request.lane, setting.place);
    let policy = lane.policy(
        setting.runtime,
        setting.config,
        setting.limits,
        place.folder.clone(),
    );
    let terms = Terms {
        watch: Watch {
            memory: Some(setting.limits.memory),
            processes: Some(setting.limits.processes),
            disk: place.folder.as_ref().map(|_| Disk {
                path: place.seen.clone(),
                bytes: setting.limits.disk,
                files: setting.limits.disk_files.saturating_mul(KEPT_FILES),
            }),
        },
        outputs: Outputs {
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
    if setting.level == Level::L3 && !request.fresh {
        let config = setting.config;
        // Slots are confined ahead by the most that any run may have; each lowers its own.
        let ahead = lane::limits(config, Some(MOST_MEMORY_MB), LONGEST.as_secs_f64());
        let standard = lane.policy(setting.runtime, config, ahead, None);
        let keeper = service.keeper(
            lane,
            setting.runtime,
            &standard,
            (&config.imports, config.slots),
        );
        match keeper.slot(place.part.as_deref()).await {
            Ok((slot, how)) => {
                let files = Arc::clone(&files);
                match Body::in_slot(slot, &order, files, with_input, &terms).await {
                    Ok((body, ends)) => {
                        let how = if how == How::Warm { "slot" } else { "fork" };
                        return Ok((body, ends, how));
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
        session::give_to_stranger(&place.tmp)?;
    }
    let fixed_hashes = lane == Lane::Expert;
    let walls = (setting.runtime, policy, setting.level);
    let (body, ends) = Body::spawn(walls, order, files, (with_input, fixed_hashes), &terms).await?;
    Ok((body, ends, "spawn"))
}

fn order(request: &Request, setting: &Setting<'_>) -> Order {
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

/// A run that never began.
fn not_started(error: &std::io::Error) -> Finished {
    Finished {
        outcome: Outcome::StartFailed,
        returncode: -3,
        stdout: String::new(),
        stderr: format!("{error}\n"),
        truncated: false,
        said: None,
        outputs: Vec::new(),
        ended: None,
    }
}

fn reply(finished: Finished, setting: &Setting<'_>, timeout: Duration) -> Reply {
    let said = finished.said.unwrap_or_default();
    let ended = finished.ended.unwrap_or_default();
    let names = said.outputs.into_iter().map(|file| file.name);
    Reply {
        success: finished.outcome == Outcome::Ok,
        stdout: finished.stdout,
        stderr: finished.stderr,
        returncode: finished.returncode,
        execution_time_ms: 0.0,
        cancelled: finished.outcome == Outcome::Cancelled,
        outcome: finished.outcome,
        limits: limits(setting, timeout),
        truncated: finished.truncated,
        lane: String::new(),
        level: format!("{:?}", setting.level),
        start: String::new(),
        value: ended.value,
        value_repr: ended.repr,
        exception: ended.exception,
        outputs: names
            .zip(finished.outputs)
            .map(|(name, contents)| FileOut::new(name, contents))
            .collect(),
        outputs_left_out: said.outputs_left_out,
        artifacts: Vec::new(),
        used: Used {
            cpu_ms: said.cpu_ms,
            peak_bytes: said.peak_bytes,
            processes: said.processes,
        },
    }
}

#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
fn limits(setting: &Setting<'_>, timeout: Duration) -> Vec<Limit> {
    let Setting {
        limits,
        config,
        level,
        ..
    } = setting;
    let watched = match level {
        Level::L3 => "a watching init",
        Level::L1 | Level::L2 => "a watching box",
    };
    let in_memory = setting.place.folder.is_none();
    let limit = |what: &str, value: f64, by: String| Limit {
        what: what.to_owned(),
        value,
        by,
    };
    let mut all = vec![
        limit(
            "time",
            timeout.as_secs_f64(),
            "the daemon's clock; RLIMIT_CPU".into(),
        ),
        limit(
            "memory",
            limits.memory as f64,
            format!("RLIMIT_DATA; {watched}"),
        ),
        limit(
            "processes",
            f64::from(limits.processes),
            format!("RLIMIT_NPROC; {watched}"),
        ),
        limit(
            "open_files",
            limits.open_files as f64,
            "RLIMIT_NOFILE".into(),
        ),
        limit(
            "disk",
            limits.disk as f64,
            match in_memory {
                true => "a file system of that size".into(),
                false => format!("RLIMIT_FSIZE; {watched}"),
            },
        ),
        limit(
            "output",
            (config.output_kb << 10) as f64,
            "the daemon stops reading".into(),
        ),
    ];
    if !config.network {
        let by = match level {
            Level::L3 => "an empty network namespace; system call filter",
            Level::L2 => "system call filter; Landlock",
            Level::L1 => return all,
        };
        all.push(limit("network", 0.0, by.into()));
    }
    all
}
