//! `system.*`: what pillion says about itself. None of it touches a sidecar.

mod find;
mod operations;
mod subscribe;
mod text;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use jiff::Timestamp;
use pillion_catalogue::{Activity, Mode, Operations, Stats};
use pillion_code::CodeService;
use pillion_runtime::Dirs;
use pillion_supervisor::Supervisor;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

pub use find::{Find, Found, FoundOperation};
pub use operations::{
    Acknowledged, Health, HealthReport, Ping, Pong, Shutdown, StatsReport, Status, StatusReport,
    SystemStats, Version, VersionReport,
};
pub use subscribe::{Subscribe, Subscribed};

/// Where an engine can be reached.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The daemon's socket.
    pub socket: Option<PathBuf>,
    /// The daemon's log.
    pub log_file: Option<PathBuf>,
    /// The port of the HTTP door.
    pub port: Option<u16>,
    /// How that door is run.
    pub mode: Mode,
}

/// Answers the `system.*` operations.
#[derive(Debug)]
pub struct SystemService {
    supervisor: Arc<Supervisor>,
    stats: Arc<Stats>,
    activity: Activity,
    shutdown: CancellationToken,
    place: Place,
    started: Instant,
    started_at: Timestamp,
    code: Arc<CodeService>,
    dirs: Dirs,
}

impl SystemService {
    pub(crate) fn new(
        supervisor: Arc<Supervisor>,
        stats: Arc<Stats>,
        activity: Activity,
        shutdown: CancellationToken,
        place: Place,
        (code, dirs): (Arc<CodeService>, Dirs),
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
        }
    }
}

/// All operations of this service.
pub fn operations() -> Operations<SystemService> {
    Operations::default()
        .with::<Ping>()
        .with::<Version>()
        .with::<Health>()
        .with::<Status>()
        .with::<SystemStats>()
        .with::<Shutdown>()
        .with::<Subscribe>()
        .with::<Find>()
}

/// A hash over all operations and their schemas: two pillions with the same one understand
/// each other in full.
pub fn contract() -> &'static str {
    static CONTRACT: OnceLock<String> = OnceLock::new();
    CONTRACT.get_or_init(|| {
        let mut hash = Sha256::new();
        for definition in crate::definitions() {
            hash.update(definition.name);
            hash.update(definition.params_schema().to_value().to_string());
            hash.update(definition.output_schema().to_value().to_string());
        }
        hash.finalize()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    })
}
