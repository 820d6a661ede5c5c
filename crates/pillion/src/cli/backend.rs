//! Who answers the command line: the daemon, or an engine in this very process.

use std::time::Duration;

use pillion::{Caller, Door, Engine, EngineOptions, Error, Part, Request, Result};
use pillion_catalogue::FunctionRequest;
use pillion_client::{Client, Code, Options, WireEvent};
use pillion_runtime::Dirs;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::{Global, output};

/// The daemon has deadlines of its own; the client only has to outlast them.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(8 * 24 * 3600);

/// Who answers.
pub(crate) enum Backend {
    Daemon(Box<Client>),
    Embedded(Box<Engine>),
}

/// How the daemon is reached and started from here.
pub(crate) fn client_options(global: &Global) -> Options {
    let endpoint = global.endpoint();
    let mut options = Options::at(endpoint.clone())
        .timeout(CLIENT_TIMEOUT)
        .version(pillion::VERSION)
        .log_file(log_file(global));
    if let Ok(program) = std::env::current_exe() {
        options = options.program(program);
    }
    options
}

/// The log of the daemon at this endpoint.
pub(crate) fn log_file(global: &Global) -> std::path::PathBuf {
    if let Some(path) = &global.log_file {
        return path.clone();
    }
    let endpoint = global.endpoint();
    let name = endpoint
        .socket
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Dirs::from_env().usable_state().join(format!("{name}.log"))
}

impl Backend {
    /// The daemon, started if need be; an embedded engine where that was asked for, or
    /// where no daemon can be started.
    pub(crate) async fn open(global: &Global) -> Result<Self> {
        if global.no_daemon {
            return Ok(Self::embedded());
        }
        match Client::connect_or_start(&client_options(global)).await {
            Ok(client) => Ok(Self::Daemon(Box::new(client))),
            Err(error) if error.code == Code::StartFailed => {
                output::warn(&format!(
                    "no daemon can be started ({error}); working without one"
                ));
                Ok(Self::embedded())
            }
            Err(error) => Err(error),
        }
    }

    fn embedded() -> Self {
        Self::Embedded(Box::new(Engine::new(EngineOptions::default())))
    }

    /// Ask for an operation; `tell` gets items and progress as they come.
    pub(crate) async fn call(
        &self,
        caller: &Caller,
        operation: &str,
        params: &RawValue,
        streams: bool,
        mut tell: impl FnMut(Part),
    ) -> Result<Box<RawValue>> {
        match self {
            Self::Daemon(client) if streams => {
                let request = client.request_for(caller, operation, params);
                let mut stream = request.stream().await?;
                while let Some(event) = stream.next().await {
                    match event {
                        WireEvent::Item(item) => tell(Part::Item(item)),
                        WireEvent::Progress(progress) => tell(Part::Progress(progress)),
                    }
                }
                stream.finish().await
            }
            Self::Daemon(client) => {
                let request = client.request_for(caller, operation, params);
                request.send().await
            }
            Self::Embedded(engine) => {
                let (sender, mut parts) = mpsc::channel(16);
                let mut request = Request::new(Door::Cli);
                request.caller = caller.clone();
                let request = if streams {
                    request.parts(sender)
                } else {
                    request
                };
                let call = engine.call_raw(operation, Some(params), request);
                tokio::pin!(call);
                loop {
                    tokio::select! {
                        biased;
                        Some(part) = parts.recv() => tell(part),
                        outcome = &mut call => {
                            while let Ok(part) = parts.try_recv() {
                                tell(part);
                            }
                            return outcome;
                        }
                    }
                }
            }
        }
    }

    /// The same for functions under names of their own.
    pub(crate) async fn asking(
        &self,
        asking: FunctionRequest,
        streams: bool,
        tell: impl FnMut(Part),
    ) -> Result<Box<RawValue>> {
        let FunctionRequest {
            operation,
            params,
            caller,
        } = asking;
        self.call(&caller, operation, &params, streams, tell).await
    }

    /// Ask for an operation and decode its result.
    pub(crate) async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        operation: &str,
        params: serde_json::Value,
    ) -> Result<T> {
        self.ask_for(&Caller::default(), operation, params).await
    }

    /// The same, on somebody's behalf.
    pub(crate) async fn ask_for<T: serde::de::DeserializeOwned>(
        &self,
        caller: &Caller,
        operation: &str,
        params: serde_json::Value,
    ) -> Result<T> {
        let params = serde_json::value::to_raw_value(&params).map_err(Error::internal)?;
        let raw = self.call(caller, operation, &params, false, |_| {}).await?;
        serde_json::from_str(raw.get()).map_err(Error::internal)
    }

    /// Leave nothing behind that is ours alone.
    pub(crate) async fn close(self) {
        if let Self::Embedded(engine) = self {
            engine.stop().await;
        }
    }
}
