//! `pillion expose`: the functions of Python modules as tools, methods, routes and commands.
//!
//! A relay to the daemon like `pillion mcp`, so that many of them share one warm Python. The
//! doors it opens lead to the exposed functions and to nothing else.

mod command;
mod control;
mod table;

use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use pillion::{Caller, Catalogue, Door, Error, Result};
use pillion_catalogue::{DoorMode, Functions, Listing};
use pillion_doors::daemon::{self, BindError, BoundSocket};
use pillion_doors::mcp::{self as agents, McpSettings};
use pillion_doors::{DoorState, Exposed, http, rpc};
use pillion_protocol::endpoint::Endpoint;
use pillion_python::ExposedModules;
use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::caller::CallerArgs;
use super::caller::from_here;
use super::daemon::seconds;
use super::relay::{self, Relay};
use super::serving::{AccessArgs, ports, until_signal};
use super::{Global, output, streams};

/// Expose functions of Python modules as tools, methods, routes and commands.
///
/// Without a way to be served, agents are served on standard input and output; on a
/// terminal, what there is to call is shown instead.
#[derive(Debug, Args)]
#[command(after_help = "Call a function from the command line with `--`:\n  \
    pillion expose shop.stock -- find --name apple\n  \
    pillion expose shop.stock -- find --help")]
pub(crate) struct Expose {
    /// The modules, such as `pkg.mod`.
    #[arg(required = true, value_name = "MODULE")]
    modules: Vec<String>,
    #[command(flatten)]
    caller: CallerArgs,
    /// More folders to import from.
    #[arg(long, value_name = "DIR")]
    path: Vec<PathBuf>,
    /// Seconds that a call may take; 60 unless `pillion.toml` says otherwise.
    #[arg(long, value_name = "S", conflicts_with = "timeout_ms")]
    timeout: Option<f64>,
    /// The older way to say it.
    #[arg(long, value_name = "MS", hide = true)]
    timeout_ms: Option<u64>,
    #[command(flatten)]
    way: Way,
    /// With `--unix`: end after so many seconds without calls.
    #[arg(long, value_name = "SECONDS")]
    idle_timeout: Option<f64>,
    #[command(flatten)]
    access: AccessArgs,
    /// Call this function, with its arguments as flags.
    #[arg(last = true, value_name = "FUNCTION")]
    call: Vec<String>,
}

/// How the functions are served.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct Way {
    /// Show what there is to call.
    #[arg(long)]
    list: bool,
    /// Serve agents on standard input and output.
    #[arg(long)]
    mcp: bool,
    /// Serve JSON-RPC on standard input and output.
    #[arg(long)]
    rpc: bool,
    /// Serve JSON-RPC on a Unix socket at this path.
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,
    /// Serve HTTP on this machine; the port, or a range of which the first free one is taken.
    #[arg(long, value_name = "PORT", value_parser = ports)]
    http: Option<RangeInclusive<u16>>,
}

impl Expose {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode> {
        let functions = self.modules()?;
        if !self.call.is_empty() {
            let backend = Backend::open(global).await?;
            let called = command::run(&backend, &functions, self.call, global).await;
            backend.close().await;
            return called;
        }
        let serves = self.way.mcp || self.way.rpc || self.way.unix.is_some();
        let asks = self.way.list || std::io::stdin().is_terminal() || global.json;
        if asks && !serves && self.way.http.is_none() {
            let backend = Backend::open(global).await?;
            let listed = list(&backend, &functions).await;
            backend.close().await;
            return Ok(table::show(&listed?, &self.modules, global.json));
        }
        let relay = Arc::new(Relay::new(global.clone()));
        let idle = self.idle_timeout.map(seconds).transpose()?;
        if idle.is_some() && self.way.unix.is_none() {
            let what = "`--idle-timeout` goes with `--unix`; the others end with who started them";
            return Err(Error::new(pillion::Code::InvalidParams, what));
        }
        let served = serve(self.way, &self.access, idle, only(&relay, functions)).await;
        relay.close().await;
        served
    }

    /// The functions that are meant.
    fn modules(&self) -> Result<ExposedModules> {
        let path = self.path.iter().map(std::path::absolute);
        let path = path.collect::<Result<Vec<_>, _>>();
        let caller = Caller {
            timeout_ms: self.timeout_ms.or_else(|| {
                let seconds = self.timeout.filter(|seconds| *seconds > 0.0);
                seconds.map(|seconds| (seconds * 1000.0).ceil() as u64)
            }),
            ..self.caller.clone().caller()?
        };
        Ok(ExposedModules {
            modules: self.modules.clone(),
            path: path.map_err(Error::internal)?,
            caller,
        })
    }
}

/// What there is to call.
async fn list(backend: &Backend, functions: &ExposedModules) -> Result<Listing> {
    let answer = backend.asking(functions.list()?, false, |_| {}).await?;
    let listing: Listing = serde_json::from_str(answer.get()).map_err(Error::internal)?;
    listing.or_failure()
}

/// The same for `pillion mcp --expose`.
pub(crate) fn beside(state: DoorState, modules: &[String], caller: &Caller) -> DoorState {
    if modules.is_empty() {
        return state;
    }
    let functions = ExposedModules {
        modules: modules.to_vec(),
        path: Vec::new(),
        caller: caller.clone(),
    };
    let exposed = Exposed::new(state.clone(), Arc::new(functions));
    DoorState {
        exposed: Some(Arc::new(exposed)),
        ..state
    }
}

/// The state of a door with the exposed functions and no operations: whoever may call one may not
/// therefore run any code.
fn only(relay: &Arc<Relay>, functions: ExposedModules) -> DoorState {
    let behind = relay::state(relay, None);
    DoorState {
        catalogue: Arc::new(Catalogue::default()),
        shutdown: CancellationToken::new(),
        root: None,
        surroundings: Caller::default(),
        peer: pillion_catalogue::Peer::default(),
        exposed: Some(Arc::new(Exposed::new(behind, Arc::new(functions)))),
        mode: DoorMode::Plain,
        event_types: &[],
    }
}

async fn serve(
    way: Way,
    access: &AccessArgs,
    idle: Option<Duration>,
    state: DoorState,
) -> Result<ExitCode> {
    let shutdown = state.shutdown.clone();
    if let Some(ports) = way.http {
        let signalled = daemon::signalled();
        let listener = http::listen(ports).await?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let access = access.open(address.port())?;
        output::say(&format!("listening on http://{address}"));
        let serving = http::serve(listener, state, McpSettings::default(), access);
        tokio::pin!(serving);
        tokio::select! {
            outcome = &mut serving => outcome.map_err(Error::internal)?,
            cause = signalled => {
                tracing::info!(cause, "ending");
                shutdown.cancel();
                // What is being answered may finish, but not for ever.
                let _ = tokio::time::timeout(daemon::DRAIN, serving).await;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = way.unix {
        let signalled = daemon::signalled();
        let uid = pillion_process::effective_uid();
        let path = from_here(&path);
        let endpoint = Endpoint::resolve(Some(&path), None, |_| None, uid);
        let bound = BoundSocket::new(endpoint).map_err(|error| match error {
            BindError::Other(error) => *error,
            taken @ BindError::Taken(_) => Error::new(pillion::Code::Conflict, taken.to_string())
                .hint("name another path, or end what listens there"),
        })?;
        output::say(&format!("listening on {}", path.display()));
        let state = control::within(state, Some(&path));
        bound.run(state, idle, signalled).await;
        return Ok(ExitCode::SUCCESS);
    }
    let (input, output) = streams::standard();
    if way.rpc {
        let state = control::within(state, None);
        let serving = rpc::serve(input, output, state, Door::RpcStdio, || false);
        until_signal(&shutdown, serving).await;
    } else {
        let serving = agents::serve(
            input,
            output,
            state,
            McpSettings::default(),
            streams::unread,
        );
        until_signal(&shutdown, Box::pin(serving)).await;
    }
    Ok(ExitCode::SUCCESS)
}
