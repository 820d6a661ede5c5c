//! The short ones.

use std::time::Duration;

use jiff::Timestamp;
use pillion_catalogue::{Context, Door, DoorMode, Method, Offer, Operation, Result, Route, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reports::{StatsReport, StatusReport};
use super::{SystemService, text};
use crate::VERSION;
use crate::servers;

/// Answer at once, without touching any sidecar.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Ping {}

/// An answer to a ping.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pong {
    /// Always true.
    pub pong: bool,
    /// Now, in UTC, as ISO 8601.
    pub timestamp: String,
}

impl Operation for Ping {
    const NAME: &'static str = "system.ping";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.typed("ping", 450).no_tool();
    type Service = SystemService;
    type Output = Pong;

    async fn run(self, _: Context<SystemService>) -> Result<Pong> {
        Ok(Pong {
            pong: true,
            timestamp: Timestamp::now().to_string(),
        })
    }
}

/// Tell the version and what it speaks.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Version")]
#[serde(deny_unknown_fields)]
pub struct ShowVersion {}

/// Who answers, and how.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct VersionReport {
    /// pillion's version.
    pub version: String,
    /// The protocol.
    pub protocol: String,
    /// The door this came through.
    pub transport: String,
    /// A hash over all operations and their schemas.
    pub contract: String,
}

impl Operation for ShowVersion {
    const NAME: &'static str = "system.version";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.no_tool();
    type Service = SystemService;
    type Output = VersionReport;

    async fn run(self, cx: Context<SystemService>) -> Result<VersionReport> {
        Ok(VersionReport {
            version: VERSION.into(),
            protocol: "json-rpc-2.0".into(),
            transport: cx.request().door.transport().into(),
            contract: (cx.service().known.contract)().into(),
        })
    }
}

/// Tell whether pillion is well, in a few words.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Health {}

/// How long it waits at most for changes of files to be looked at.
const FOLLOWING: Duration = Duration::from_millis(200);

/// That it is well.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct HealthReport {
    /// `ok`; for a desktop app, `healthy`.
    pub status: String,
    /// The default root, if there is one.
    pub workspace: Option<String>,
    /// Seconds since the start.
    pub uptime: f64,
    /// Requests answered so far, without those for this.
    pub requests: u64,
    /// Files about which answers of engines are kept.
    pub cache_size: usize,
    /// How often a change of files made kept answers worthless.
    pub cache_invalidations: u64,
}

impl Operation for Health {
    const NAME: &'static str = "system.health";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN
        .no_tool()
        .routes(&[Route::older(Method::Get, "/health").frozen()]);
    type Service = SystemService;
    type Output = HealthReport;

    async fn run(self, cx: Context<SystemService>) -> Result<HealthReport> {
        let service = cx.service();
        // What changed since the last question counts, too.
        service.code.follow(FOLLOWING).await;
        let cache = service.code.cache();
        let stats = service.stats.snapshot();
        let others = stats.iter().filter(|one| one.operation != Self::NAME);
        Ok(HealthReport {
            status: match service.place.mode {
                DoorMode::Desktop => "healthy".into(),
                _ => "ok".into(),
            },
            workspace: cx
                .request()
                .root
                .as_ref()
                .map(|root| root.display().to_string()),
            uptime: service.started.elapsed().as_secs_f64(),
            requests: others.map(|one| one.requests).sum(),
            cache_size: cache.files,
            cache_invalidations: cache.invalidations,
        })
    }
}

/// Show the daemon, its workspaces and their sidecars.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Status {}

impl Operation for Status {
    const NAME: &'static str = "system.status";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.typed("status", 400);
    type Service = SystemService;
    type Output = StatusReport;

    fn text(result: &str) -> Option<String> {
        let report: StatusReport = serde_json::from_str(result).ok()?;
        Some(text::status(&report))
    }

    async fn run(self, cx: Context<SystemService>) -> Result<StatusReport> {
        let service = cx.service();
        let workspaces = service.supervisor.workspaces();
        let working = workspaces
            .iter()
            .flat_map(|w| &w.sidecars)
            .any(|s| s.pending > 0);
        // Warm sidecars are leases too, but they wait for work like everything idle.
        let sidecars = workspaces
            .iter()
            .flat_map(|w| &w.sidecars)
            .filter(|s| s.pid.is_some());
        let requests = service.activity.running().saturating_sub(sidecars.count());
        Ok(StatusReport {
            pid: std::process::id(),
            version: VERSION.into(),
            started_at: service.started_at.to_string(),
            socket: service
                .place
                .socket
                .as_ref()
                .map(|path| path.display().to_string()),
            log_file: service
                .place
                .log_file
                .as_ref()
                .map(|path| path.display().to_string()),
            port: service.place.port,
            idle: !working && requests <= 1,
            uptime_s: service.started.elapsed().as_secs_f64(),
            memory_bytes: pillion_process::stat::resident_bytes(std::process::id()),
            workspaces,
            clocks: service.code.status(),
            servers: servers::running(&service.dirs),
        })
    }
}

/// Count requests and their times by operation.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct SystemStats {}

impl Operation for SystemStats {
    const NAME: &'static str = "system.stats";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN
        .typed("stats", 430)
        .no_tool()
        .routes(&[Route::older(Method::Get, "/stats")]);
    type Service = SystemService;
    type Output = StatsReport;

    fn text(result: &str) -> Option<String> {
        let report: StatsReport = serde_json::from_str(result).ok()?;
        Some(text::stats(&report))
    }

    async fn run(self, cx: Context<SystemService>) -> Result<StatsReport> {
        let service = cx.service();
        Ok(StatsReport {
            uptime_s: service.started.elapsed().as_secs_f64(),
            running: service.activity.running(),
            memory_bytes: pillion_process::stat::resident_bytes(std::process::id()),
            operations: service.stats.snapshot(),
            workspaces: service.supervisor.workspaces(),
            clocks: service.code.status(),
        })
    }
}

/// End pillion: requests finish, sidecars stop.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Shutdown {}

/// That it will end.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Acknowledged {
    /// Always true.
    pub acknowledged: bool,
    /// `shutting_down`, over HTTP: older clients read it there, and on the socket there is
    /// nothing but the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl Acknowledged {
    /// What is answered at a door.
    pub fn at(door: Door) -> Self {
        Self {
            acknowledged: true,
            status: (door == Door::Http).then(|| "shutting_down".to_owned()),
        }
    }
}

impl Operation for Shutdown {
    const NAME: &'static str = "system.shutdown";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN
        .no_tool()
        .routes(&[Route::older(Method::Post, "/shutdown")]);
    type Service = SystemService;
    type Output = Acknowledged;

    async fn run(self, cx: Context<SystemService>) -> Result<Acknowledged> {
        // The doors finish what they are answering, so this answer still gets out.
        cx.service().shutdown.cancel();
        Ok(Acknowledged::at(cx.request().door))
    }
}
