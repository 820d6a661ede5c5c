//! Starting the daemon: under a lock, detached, and only done when it answers.

use std::path::PathBuf;
use std::time::Duration;

use pillion_process::{Exit, Launch, LaunchError, StreamTarget};
use pillion_protocol::{Code, Error, Result, vars};
use serde_json::json;
use tokio::time::Instant;

use super::Reached;
use super::daemon_log::DaemonLog;
use super::launched::Launched;
use super::start_lock::StartLock;
use crate::connect::answering;
use crate::no_connection::NoConnection;
use crate::options::Options;
use crate::polling::Pauses;

/// The exit code of a daemon that found another one in its place.
const LOST_RACE: i32 = 75;
/// How long an unused daemon lives on, unless the options say otherwise.
const IDLE: Duration = Duration::from_secs(300);

/// Start a daemon, unless somebody else does meanwhile.
pub(crate) async fn start(options: &Options) -> Result<Reached> {
    let lock = StartLock::open(&options.endpoint)?;
    // The holder gives up after its own start timeout, and then it is our turn.
    let deadline = Instant::now() + options.start_timeout + Duration::from_secs(1);
    let mut pauses = Pauses::default();
    loop {
        let locked = lock.try_take()?;
        // Also with the lock: somebody may have started one while we waited for it.
        match answering(&options.endpoint, deadline).await {
            Ok(connection) => return Ok((connection, None)),
            Err(NoConnection::Absent) if locked => break,
            Err(NoConnection::Absent) => {}
            Err(error) => return Err(error.into_error(&options.endpoint)),
        }
        if Instant::now() >= deadline {
            return Err(Error::new(
                Code::StartFailed,
                "another program is starting the daemon, and has not finished",
            )
            .hint(format!(
                "it holds `{}`; try again, or choose another daemon with `--instance`",
                options.endpoint.start_lock().display()
            )));
        }
        pauses.next().await;
    }
    launch_and_wait(options).await
}

/// Start the program, and wait until it answers a ping.
async fn launch_and_wait(options: &Options) -> Result<Reached> {
    let deadline = Instant::now() + options.start_timeout;
    let log = open_log(options);
    let mut launched = Some(launch(options, log.as_ref())?);
    let mut pauses = Pauses::default();
    let mut retry = Retry::default();
    loop {
        match answering(&options.endpoint, deadline).await {
            Ok(connection) => {
                let ours = launched.map(Launched::keep);
                let ours = ours.and_then(|mut l| l.listens(&connection).then_some(l));
                return Ok((connection, ours));
            }
            Err(NoConnection::Wrong(error)) => return Err(error),
            Err(NoConnection::Absent | NoConnection::Silent) => {}
        }
        if let Some(exit) = launched.as_mut().and_then(Launched::ended) {
            if exit.code != Some(LOST_RACE) {
                return Err(exited(options, exit, log.as_ref()));
            }
            launched = None;
            retry.set();
        }
        if Instant::now() >= deadline {
            return Err(too_slow(options, log.as_ref()));
        }
        // The daemon that it lost against may have been on its way out.
        if launched.is_none() && retry.is_due() {
            launched = Some(launch(options, log.as_ref())?);
        }
        pauses.next().await;
    }
}

fn launch(options: &Options, log: Option<&DaemonLog>) -> Result<Launched> {
    let program = daemon_program(options);
    let socket = std::path::absolute(&options.endpoint.socket)
        .unwrap_or_else(|_| options.endpoint.socket.clone());
    let stderr = log
        .and_then(|log| log.file.try_clone().ok())
        .map_or(StreamTarget::Null, StreamTarget::File);
    let mut daemon = Launch::new(program)
        .arg("daemon")
        .arg("--socket")
        .arg(socket)
        // Not the caller's folder, which the daemon would keep in use.
        .cwd(options.endpoint.dir())
        .stderr(stderr);
    daemon = match options.idle_timeout.unwrap_or(Some(IDLE)) {
        Some(idle) => daemon.arg("--idle-timeout").arg(seconds(idle)),
        None => daemon.arg("--no-timeout"),
    };
    // A log file that could not be opened here could not be opened there either.
    if let (Some(wanted), Some(log)) = (&options.log_file, log)
        && std::path::absolute(wanted).is_ok_and(|wanted| wanted == log.path)
    {
        daemon = daemon.arg("--log-file").arg(&log.path);
    }
    let child = daemon.detach().map_err(|error| {
        let hint = match error {
            LaunchError::NotFound(_) => {
                "install pillion, or set `PILLION_BIN` to the path of its program"
            }
            _ => "check that the program may be run by you",
        };
        Error::new(
            Code::StartFailed,
            format!("no daemon could be started: {error}"),
        )
        .hint(hint)
    })?;
    Ok(Launched::new(child))
}

/// The program that is started as daemon.
fn daemon_program(options: &Options) -> PathBuf {
    let from_env = || std::env::var_os(vars::PILLION_BIN).filter(|value| !value.is_empty());
    let program = options
        .program
        .clone()
        .or_else(|| from_env().map(PathBuf::from))
        .unwrap_or_else(|| "pillion".into());
    // A bare name is looked up on PATH; a path must not depend on the daemon's folder.
    if program.components().count() > 1 {
        std::path::absolute(&program).unwrap_or(program)
    } else {
        program
    }
}

fn open_log(options: &Options) -> Option<DaemonLog> {
    let mut beside = options.endpoint.socket.clone().into_os_string();
    beside.push(".log");
    let beside = PathBuf::from(beside);
    DaemonLog::open(options.log_file.as_deref().into_iter().chain([&*beside]))
}

fn seconds(duration: Duration) -> String {
    duration.as_secs_f64().to_string()
}

fn exited(options: &Options, exit: Exit, log: Option<&DaemonLog>) -> Error {
    failed(
        options,
        &format!("it {exit} before it answered"),
        log,
        Some(exit),
    )
}

fn too_slow(options: &Options, log: Option<&DaemonLog>) -> Error {
    let limit = options.start_timeout.as_secs_f64();
    failed(
        options,
        &format!("it did not answer within {limit} s"),
        log,
        None,
    )
}

fn failed(options: &Options, what: &str, log: Option<&DaemonLog>, exit: Option<Exit>) -> Error {
    let words = log.map(DaemonLog::tail).unwrap_or_default();
    let mut message = format!("the daemon could not be started: {what}");
    if !words.is_empty() {
        message.push_str("; its last words:\n");
        message.push_str(&words);
    }
    let hint = match log {
        Some(log) if !words.is_empty() => format!("its log is `{}`", log.path.display()),
        _ => format!(
            "run `{} daemon` in a terminal to see why",
            daemon_program(options).display()
        ),
    };
    Error::new(Code::StartFailed, message)
        .hint(hint)
        .data(json!({
            "program": daemon_program(options),
            "exit_code": exit.and_then(|e| e.code),
            "signal": exit.and_then(|e| e.signal),
            "log": words,
            "log_file": log.map(|l| &l.path),
        }))
}

/// When to start the program again after it lost a race.
struct Retry {
    at: Instant,
    wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            at: Instant::now(),
            wait: Duration::from_millis(100),
        }
    }
}

impl Retry {
    fn set(&mut self) {
        self.at = Instant::now() + self.wait;
        self.wait = (self.wait * 2).min(Duration::from_secs(1));
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.at
    }
}
