//! The two lanes: what rules code runs under.

use std::path::PathBuf;

use pillion_sandbox::{Folder, Level, Limits, Policy};
use pillion_workspace::{LaneConfig, Lanes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::runtime::Runtime;

/// The rules that code runs under.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Strict: a folder that is thrown away, no network, only the tools it is given.
    Expert,
    /// A folder of its own that stays, and the system's programs.
    #[default]
    User,
}

impl Lane {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expert => "expert",
            Self::User => "user",
        }
    }

    /// What the project says about it.
    pub fn config(self, lanes: &Lanes) -> &LaneConfig {
        match self {
            Self::Expert => &lanes.expert,
            Self::User => &lanes.user,
        }
    }

    /// The least level at which code runs in it.
    pub fn floor(self, config: &LaneConfig) -> Level {
        match (config.allow_weaker, self) {
            (true, _) => Level::L1,
            (false, Self::Expert | Self::User) => Level::L2,
        }
    }

    /// The policy of a run.
    pub fn policy(
        self,
        runtime: &Runtime,
        config: &LaneConfig,
        limits: Limits,
        folder: Option<PathBuf>,
    ) -> Policy {
        Policy {
            view: runtime.view.clone(),
            programs: self == Self::User,
            folder: folder.map_or(Folder::Throwaway, Folder::Kept),
            runs_own_files: self == Self::User,
            network: self == Self::User && config.network,
            limits,
        }
    }
}

/// What a run may use up: the lane's, with what the caller wants less or more of.
pub fn limits(config: &LaneConfig, memory_mb: Option<u64>, timeout_s: f64) -> Limits {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a checked time is positive and small"
    )]
    let cpu_s = timeout_s.ceil() as u64 + 1;
    Limits {
        memory: memory_mb.unwrap_or(config.memory_mb) << 20,
        processes: config.processes,
        cpu_s,
        open_files: config.open_files,
        disk: config.disk_mb << 20,
        disk_files: config.disk_files,
    }
}
