//! `system.*`: what pillion says about itself. None of it touches a sidecar.

mod find;
mod operations;
mod reports;
mod subscribe;
mod text;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use pillion_catalogue::{Activity, Definition, DoorMode, Operations, Stats};
use pillion_code::CodeService;
use pillion_runtime::Dirs;
use pillion_supervisor::Supervisor;
use tokio_util::sync::CancellationToken;

pub use find::{Find, Found, FoundOperation};
pub use operations::{
    Acknowledged, Health, HealthReport, Ping, Pong, ShowVersion, Shutdown, Status, SystemStats,
    VersionReport,
};
pub use reports::{StatsReport, StatusReport};
pub use subscribe::{Subscribe, Subscribed};

/// Where an engine can be reached.
#[derive(Debug, Clone, Default)]
pub struct EngineAddress {
    /// The daemon's socket.
    pub socket: Option<PathBuf>,
    /// The daemon's log.
    pub log_file: Option<PathBuf>,
    /// The port of the HTTP door.
    pub port: Option<u16>,
    /// How that door is run.
    pub mode: DoorMode,
}

/// What whoever composes the services knows of all their operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownOperations {
    /// All of them.
    pub(crate) definitions: fn() -> Vec<Definition>,
    /// A hash over all of them and their schemas.
    pub(crate) contract: fn() -> &'static str,
}

/// Answers the `system.*` operations.
#[derive(Debug)]
pub struct SystemService {
    supervisor: Arc<Supervisor>,
    stats: Arc<Stats>,
    activity: Activity,
    shutdown: CancellationToken,
    place: EngineAddress,
    started: Instant,
    started_at: Timestamp,
    code: Arc<CodeService>,
    dirs: Dirs,
    known: KnownOperations,
}

impl SystemService {
    pub(crate) fn new(
        supervisor: Arc<Supervisor>,
        stats: Arc<Stats>,
        activity: Activity,
        shutdown: CancellationToken,
        place: EngineAddress,
        (code, dirs): (Arc<CodeService>, Dirs),
        known: KnownOperations,
    ) -> Self {
        let (started, started_at) = (Instant::now(), Timestamp::now());
        Self {
            supervisor,
            stats,
            activity,
            shutdown,
            place,
            started,
            started_at,
            code,
            dirs,
            known,
        }
    }
}

/// All operations of this service.
pub fn operations() -> Operations<SystemService> {
    Operations::default()
        .with::<Ping>()
        .with::<ShowVersion>()
        .with::<Health>()
        .with::<Status>()
        .with::<SystemStats>()
        .with::<Shutdown>()
        .with::<Subscribe>()
        .with::<Find>()
}
