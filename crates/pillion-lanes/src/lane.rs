//! The two lanes: what rules code runs under.

use std::path::PathBuf;
use std::time::Duration;

use pillion_sandbox::{Folder, Level, Limits, Policy};
use pillion_workspace::{LaneConfig, Lanes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::runtime::Runtime;

/// The most memory that a run can ask for, in megabytes.
pub const MOST_MEMORY_MB: u64 = 16_384;
/// The longest that a run can ask for.
pub const LONGEST: Duration = Duration::from_secs(3600);

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
            terminals: false,
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

#[cfg(test)]
mod tests {
    use super::*;
    use pillion_project::Stamps;

    fn runtime() -> Runtime {
        Runtime {
            executable: "/opt/python/bin/python".into(),
            worker: "/cache/worker".into(),
            view: vec!["/opt/python".into()],
            packages: Vec::new(),
            proof: Stamps::default(),
            is_foreign: false,
        }
    }

    #[test]
    fn the_expert_lane_stays_strict_whatever_its_configuration_says() {
        let config = LaneConfig {
            network: true,
            ..LaneConfig::default()
        };
        let policy = Lane::Expert.policy(&runtime(), &config, Limits::default(), None);
        assert!(!policy.network && !policy.programs && !policy.runs_own_files);
        assert_eq!(policy.folder, Folder::Throwaway);
        assert_eq!(
            policy.view,
            runtime().view,
            "it sees the runtime and no more"
        );
    }

    #[test]
    fn the_user_lane_has_programs_and_the_network_only_if_it_is_opened() {
        let kept = PathBuf::from("/data/session");
        for network in [false, true] {
            let config = LaneConfig {
                network,
                ..LaneConfig::default()
            };
            let folder = Some(kept.clone());
            let policy = Lane::User.policy(&runtime(), &config, Limits::default(), folder);
            assert!(policy.programs && policy.runs_own_files);
            assert_eq!(policy.network, network);
            assert_eq!(policy.folder, Folder::Kept(kept.clone()));
        }
    }

    #[test]
    fn no_lane_runs_without_walls_unless_its_owner_says_so() {
        let weaker = LaneConfig {
            allow_weaker: true,
            ..LaneConfig::default()
        };
        for lane in [Lane::Expert, Lane::User] {
            assert_eq!(lane.floor(&LaneConfig::default()), Level::L2);
            assert_eq!(lane.floor(&weaker), Level::L1);
        }
    }

    #[test]
    fn each_lane_has_its_own_part_of_the_configuration() {
        let mut lanes = Lanes::default();
        (lanes.expert.slots, lanes.user.slots) = (1, 2);
        assert_eq!(Lane::Expert.config(&lanes).slots, 1);
        assert_eq!(Lane::User.config(&lanes).slots, 2);
        for lane in [Lane::Expert, Lane::User] {
            let written = serde_json::to_value(lane).unwrap();
            assert_eq!(written, lane.name());
        }
    }

    #[test]
    fn limits_are_those_of_the_lane_in_the_units_of_the_kernel() {
        let config = LaneConfig {
            memory_mb: 100,
            processes: 7,
            open_files: 8,
            disk_mb: 3,
            disk_files: 9,
            ..LaneConfig::default()
        };
        let expected = Limits {
            memory: 100 * 1024 * 1024,
            processes: 7,
            cpu_s: 6,
            open_files: 8,
            disk: 3 * 1024 * 1024,
            disk_files: 9,
        };
        assert_eq!(limits(&config, None, 5.0), expected);
        let asked = limits(&config, Some(1), 5.0);
        assert_eq!(asked.memory, 1024 * 1024, "what a run asks for counts");
        // The clock ends a run first: processor time is there for what the clock does not see.
        for (seconds, cpu) in [(0.1, 2), (1.0, 2), (1.1, 3), (3600.0, 3601)] {
            assert_eq!(limits(&config, None, seconds).cpu_s, cpu, "{seconds}");
        }
    }
}
