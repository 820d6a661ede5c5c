//! What a program asks a server of functions about itself: whether it is there, who it is, what it
//! does, and that it ends. Other operations lead to any code, and are not here.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use pillion::system::{
    Acknowledged, Ping, Pong, ShowVersion, Shutdown, Status, StatusReport, VersionReport,
};
use pillion::{Catalogue, Definition, Error, Operation, Request, Result, VERSION};
use pillion_catalogue::Activity;
use pillion_doors::DoorState;
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;

/// The server that is asked about.
struct Server {
    socket: Option<String>,
    shutdown: CancellationToken,
    activity: Activity,
    started: Instant,
    started_at: Timestamp,
}

/// The state of a door that answers for itself, beside its functions.
pub(super) fn within(state: DoorState, socket: Option<&Path>) -> DoorState {
    let mut catalogue = Catalogue::default();
    let server = Arc::new(Server {
        socket: socket.map(|path| path.display().to_string()),
        shutdown: state.shutdown.clone(),
        activity: catalogue.activity().clone(),
        started: Instant::now(),
        started_at: Timestamp::now(),
    });
    let answer = move |definition: Definition, _: Box<RawValue>, request: Request| {
        let server = Arc::clone(&server);
        async move { server.answer(definition.name, &request) }
    };
    let all = [
        Definition::of::<Ping>(),
        Definition::of::<ShowVersion>(),
        Definition::of::<Status>(),
        Definition::of::<Shutdown>(),
    ];
    catalogue.relay(all, &Arc::new(answer));
    DoorState {
        catalogue: Arc::new(catalogue),
        ..state
    }
}

impl Server {
    fn answer(&self, operation: &str, request: &Request) -> Result<Box<RawValue>> {
        let answer = match operation {
            Ping::NAME => to_raw_value(&Pong {
                pong: true,
                timestamp: Timestamp::now().to_string(),
            }),
            ShowVersion::NAME => to_raw_value(&VersionReport {
                version: VERSION.into(),
                protocol: "json-rpc-2.0".into(),
                transport: request.door.transport().into(),
                contract: pillion::contract().into(),
            }),
            Status::NAME => to_raw_value(&self.status()),
            _ => {
                // What is being answered is still finished, this too.
                self.shutdown.cancel();
                to_raw_value(&Acknowledged::at(request.door))
            }
        };
        answer.map_err(Error::internal)
    }

    fn status(&self) -> StatusReport {
        let pid = std::process::id();
        StatusReport {
            pid,
            version: VERSION.into(),
            started_at: self.started_at.to_string(),
            socket: self.socket.clone(),
            log_file: None,
            port: None,
            // This request is one.
            idle: self.activity.running() <= 1,
            uptime_s: self.started.elapsed().as_secs_f64(),
            memory_bytes: pillion_process::stat::resident_bytes(pid),
            workspaces: Vec::new(),
            clocks: Vec::new(),
            servers: Vec::new(),
        }
    }
}
