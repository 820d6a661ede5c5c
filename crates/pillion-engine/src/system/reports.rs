//! What `system.status` and `system.stats` answer.

use pillion_catalogue::OperationStats;
use pillion_code::CodeStatus;
use pillion_supervisor::WorkspaceStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::servers::Server;

/// Who runs, and for whom.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    /// pillion's process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// When it started, in UTC, as ISO 8601.
    pub started_at: String,
    /// Its socket, if it has one.
    pub socket: Option<String>,
    /// Its log, if it writes one.
    pub log_file: Option<String>,
    /// The port of its HTTP door, if it has one.
    pub port: Option<u16>,
    /// Whether nothing runs but this request.
    pub idle: bool,
    /// Seconds since the start.
    pub uptime_s: f64,
    /// Its resident memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The workspaces that were used.
    pub workspaces: Vec<WorkspaceStatus>,
    /// Clocks of the workspaces whose code was asked about.
    #[serde(default)]
    pub clocks: Vec<CodeStatus>,
    /// HTTP servers of this user that run now.
    #[serde(default)]
    pub servers: Vec<Server>,
}

/// Numbers since the start.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatsReport {
    /// Seconds since the start.
    pub uptime_s: f64,
    /// Requests and sidecars alive now.
    pub running: usize,
    /// Resident memory in bytes.
    pub memory_bytes: Option<u64>,
    /// By operation.
    pub operations: Vec<OperationStats>,
    /// Workspaces with their sidecars.
    pub workspaces: Vec<WorkspaceStatus>,
    /// Clocks of the workspaces whose code was asked about.
    #[serde(default)]
    pub clocks: Vec<CodeStatus>,
}
