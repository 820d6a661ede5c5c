//! `pillion daemon`, `stop` and `restart`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pillion::system::{EngineAddress, Shutdown, Status, StatusReport};
use pillion::{Engine, EngineOptions, Error, Operation, Result};
use pillion_client::{Client, Code};
use pillion_doors::daemon::{BindError, BoundSocket};
use pillion_process::stat::Identity;

use super::{Global, backend, logging, output};

/// The command's name.
pub(crate) const NAME: &str = "daemon";
/// Exit code of a daemon that lost the race for the socket (EX_TEMPFAIL).
const LOST_THE_RACE: u8 = 75;
/// How long a stopped daemon may take to be gone.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// Run the daemon in the foreground.
#[derive(Debug, Args)]
pub(crate) struct Daemon {
    /// End after so many seconds without requests and sidecars.
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_timeout")]
    idle_timeout: Option<f64>,
    /// Never end by itself.
    #[arg(long)]
    no_timeout: bool,
}

impl Daemon {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        let signalled = pillion_doors::daemon::signalled();
        let bound = match BoundSocket::new(global.endpoint()) {
            Ok(bound) => bound,
            Err(error @ BindError::Taken(_)) => {
                output::note(&format!("error: {error}"));
                return Ok(ExitCode::from(LOST_THE_RACE));
            }
            Err(BindError::Other(error)) => return Err(*error),
        };
        let engine = Engine::new(EngineOptions {
            place: EngineAddress {
                socket: Some(bound.endpoint().socket.clone()),
                log_file: global.log_file.clone(),
                ..EngineAddress::default()
            },
            ..EngineOptions::default()
        });
        logging::publish_to(engine.events().clone());
        tracing::info!(
            pid = std::process::id(),
            version = pillion::VERSION,
            socket = %bound.endpoint().socket.display(),
            "listening"
        );
        let idle = self
            .idle_timeout
            .filter(|_| !self.no_timeout)
            .map(seconds)
            .transpose()?;
        let cause = bound.run(engine.door_state(), idle, signalled).await;
        engine.stop().await;
        tracing::info!(cause, "ended");
        Ok(ExitCode::SUCCESS)
    }
}

/// A span of time that somebody typed.
pub(crate) fn seconds(seconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        Error::new(
            Code::InvalidParams,
            format!("`{seconds}` is no number of seconds"),
        )
    })
}

/// `pillion stop`. Works for a daemon of any version.
pub(crate) async fn stop(global: &Global) -> Result<ExitCode> {
    let text = match stop_running(global).await? {
        Some(pid) => format!("stopped the daemon (pid {pid})"),
        None => "no daemon is running".to_owned(),
    };
    if global.json {
        output::say(&serde_json::json!({ "stopped": text.starts_with("stopped") }).to_string());
    } else {
        output::say(&text);
    }
    Ok(ExitCode::SUCCESS)
}

/// `pillion restart`.
pub(crate) async fn restart(global: &Global) -> Result<ExitCode> {
    stop_running(global).await?;
    let client = Client::connect_or_start(&backend::client_options(global)).await?;
    let status: StatusReport = client.call_as(Status::NAME, ()).await?;
    output::say(&format!(
        "the daemon runs (pid {}, version {})",
        status.pid, status.version
    ));
    Ok(ExitCode::SUCCESS)
}

/// Ask the running daemon to end and wait until it is gone. Gives its pid.
async fn stop_running(global: &Global) -> Result<Option<u32>> {
    let client = match Client::connect(&global.endpoint()).await {
        Ok(client) => client,
        Err(error) if error.code == Code::Unreachable => return Ok(None),
        Err(error) => return Err(error),
    };
    let status: serde_json::Value = client.call_as(Status::NAME, ()).await?;
    let pid = status["pid"]
        .as_u64()
        .and_then(|pid| u32::try_from(pid).ok())
        .unwrap_or(0);
    let identity = Identity::of(pid);
    client.call(Shutdown::NAME, ()).await?;
    let gone = async {
        while identity.is_some_and(|identity| identity.is_alive()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(STOP_TIMEOUT, gone)
        .await
        .map_err(|_| {
            Error::new(
                Code::Timeout,
                format!("the daemon (pid {pid}) was asked to end but still runs"),
            )
            .hint(format!("`kill -9 {pid}` ends it; its sidecars end with it"))
        })?;
    Ok(Some(pid))
}
