//! `pillion serve`, `stdio` and `rpc`: the engine embedded, owned by whoever started us.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use pillion::servers::Registration;
use pillion::system::EngineAddress;
use pillion::{Code, Door, Engine, EngineOptions, Error, Request, Result};
use pillion_catalogue::DoorMode;
use pillion_doors::{DoorState, daemon, http, rpc, stdio};
use pillion_lanes::SessionsRoot;
use pillion_runtime::Dirs;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

use super::caller::absolute_surroundings;
use super::caller::from_here;
use super::serving::{AccessArgs, ports, until_signal};
use super::{Global, desktop, logging, mcp, output, streams};

/// The port, unless one is named.
const PORT: u16 = 8000;

/// Serve HTTP on this machine, on an engine of its own.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The port, or a range of which the first free one is taken; 0 is any. 8000 if not given.
    #[arg(long, value_parser = ports)]
    port: Option<RangeInclusive<u16>>,
    /// Be the engine of a desktop app: its routes, its pages, and the variables it sets.
    #[arg(long)]
    desktop: bool,
    /// The address to listen on, 127.0.0.1 if not given. Others are for whoever has a token.
    #[arg(long, value_name = "ADDRESS", requires = "desktop")]
    host: Option<String>,
    /// The folder for requests that name none.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    access: AccessArgs,
    /// Let in who has the token that this file holds, and nobody else.
    #[arg(
        long,
        value_name = "FILE",
        requires = "desktop",
        conflicts_with = "no_token"
    )]
    token_file: Option<PathBuf>,
}

impl Serve {
    pub(crate) async fn run(self, _: &Global) -> Result<ExitCode> {
        let signalled = daemon::signalled();
        let agents = mcp::settings(None);
        let Listening {
            listener,
            address,
            access,
        } = self.listen().await?;
        let place = EngineAddress {
            port: Some(address.port()),
            mode: match self.desktop {
                true => DoorMode::Desktop,
                false => DoorMode::Plain,
            },
            ..EngineAddress::default()
        };
        let sessions = self.desktop.then(desktop::sessions);
        let engine = engine(self.root.as_deref(), place, sessions);
        output::say(&format!("listening on http://{address}"));
        // Without the file it still serves; nobody finds it by itself, though.
        let root = self.root.as_deref().map(from_here);
        let stats = Arc::clone(engine.catalogue().stats());
        let registration =
            Registration::new(&Dirs::from_env(), root.as_deref(), address.port(), stats);
        if let Err(error) = &registration {
            tracing::warn!(%error, "no connection file");
        }
        let shutdown = engine.door_state().shutdown;
        let mut surroundings = absolute_surroundings();
        if self.desktop && surroundings.names_no_python() {
            surroundings.python = desktop::python();
        }
        let state = DoorState {
            surroundings,
            ..engine.door_state()
        };
        let serving = http::serve(listener, state, agents, access);
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
        engine.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

/// A port that is listened on, and who is let in there.
struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    access: http::Access,
}

impl Serve {
    async fn listen(&self) -> Result<Listening> {
        let ports = self.port.clone();
        let (host, ports) = match self.desktop {
            false => (None, ports),
            true => (
                desktop::host(self.host.as_deref())?,
                ports.map_or_else(desktop::ports, |ports| Ok(Some(ports)))?,
            ),
        };
        let host = host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        if !host.is_loopback() && self.token_file.is_none() {
            let what =
                format!("`{host}` can be reached from other machines, and there is no token");
            return Err(Error::new(Code::InvalidParams, what)
                .hint("keep a token in a file of your own, and name it: `--token-file FILE`"));
        }
        let listener = http::listen_at(host, ports.unwrap_or(PORT..=PORT)).await?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let access = match &self.token_file {
            Some(file) => http::Access::with_token(address.port(), &from_here(file))?,
            None => self.access.open(address.port())?,
        };
        Ok(Listening {
            listener,
            address,
            access,
        })
    }
}

/// Serve the line-JSON contract on standard input and output, or do one command.
#[derive(Debug, Args)]
pub(crate) struct Stdio {
    /// Do this one command, print its result and end.
    #[arg(long, value_name = "NAME")]
    command: Option<String>,
    /// The folder that the command is about.
    #[arg(long, value_name = "PATH", requires = "command")]
    project: Option<PathBuf>,
    /// Arguments of the command: a JSON object.
    #[arg(long, value_name = "JSON", requires = "command")]
    args: Option<String>,
}

impl Stdio {
    pub(crate) async fn run(self, _: &Global) -> Result<ExitCode> {
        let engine = engine(None, EngineAddress::default(), None);
        let code = match &self.command {
            Some(command) => self.one(&engine, command).await,
            None => {
                let (input, output) = streams::standard();
                until_signal(
                    &engine.door_state().shutdown,
                    stdio::serve(input, output, engine.door_state(), pillion::VERSION),
                )
                .await;
                ExitCode::SUCCESS
            }
        };
        engine.stop().await;
        Ok(code)
    }

    /// The one-shot form of the contract, with its own shape of errors.
    async fn one(&self, engine: &Engine, command: &str) -> ExitCode {
        let failed = |name: &str, message: &str| {
            output::note(&json!({ "error": name, "message": message }).to_string());
        };
        let args = match self
            .args
            .as_deref()
            .map(serde_json::from_str::<Box<RawValue>>)
        {
            None => None,
            Some(Ok(args)) if args.get().starts_with('{') => Some(args),
            _ => {
                failed("InvalidArgs", "`--args` must be a JSON object");
                return ExitCode::from(1);
            }
        };
        let request = Request::new(Door::Stdio).root(self.project.as_deref().map(from_here));
        let old = stdio::OldOperation::find(engine.catalogue(), command);
        if old.is_some() && self.project.is_none() {
            failed("Usage", "`--command` needs `--project PATH`");
            return ExitCode::from(2);
        }
        let outcome = match old.map(|old| (old.params(args.as_deref()), old)) {
            None => engine.call_raw(command, args.as_deref(), request).await,
            Some((Err(error), _)) => Err(error),
            Some((Ok(params), old)) => engine
                .call_raw(old.operation, Some(&params), request)
                .await
                .map_err(|error| old.error(error)),
        };
        match outcome {
            Ok(result) => {
                output::say(result.get());
                ExitCode::SUCCESS
            }
            // A result, as it is to a host that stays.
            Err(error) if error.code == Code::UnknownOperation => {
                let message = format!("Unknown command: {command}");
                let unknown = json!({ "error": "UnknownCommand", "message": message });
                output::say(&unknown.to_string());
                ExitCode::SUCCESS
            }
            Err(error) => {
                let name = error.exception_type().unwrap_or(error.code.as_str());
                failed(name, &error.message);
                ExitCode::from(1)
            }
        }
    }
}

/// Serve JSON-RPC on standard input and output.
#[derive(Debug, Args)]
pub(crate) struct Rpc {
    /// The only way there is, said aloud.
    #[arg(long, required = true)]
    stdio: bool,
    /// The folder for requests that name none.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

impl Rpc {
    pub(crate) async fn run(self, _: &Global) -> Result<ExitCode> {
        let engine = engine(self.root.as_deref(), EngineAddress::default(), None);
        let (input, output) = streams::standard();
        // A pipe whose reader is gone is seen by the writer.
        let serving = rpc::serve(input, output, engine.door_state(), Door::RpcStdio, || false);
        until_signal(&engine.door_state().shutdown, serving).await;
        engine.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

fn engine(root: Option<&Path>, place: EngineAddress, sessions: Option<SessionsRoot>) -> Engine {
    let engine = Engine::new(EngineOptions {
        root: root.map(from_here),
        place,
        sessions,
        ..EngineOptions::default()
    });
    logging::publish_to(engine.events().clone());
    engine
}
