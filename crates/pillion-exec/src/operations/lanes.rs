//! `exec.lanes`: what is promised on this machine, and what keeps it.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety};
use pillion_lanes::Lane;
use pillion_sandbox::{Enforcement, Guarantee, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ExecService;

/// Show what lanes guarantee on this machine, and by what it is enforced.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Lanes")]
#[serde(deny_unknown_fields)]
pub struct ShowLanes {}

/// What lanes are worth on this machine.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LanesReport {
    /// How strong the walls are: `L3` (namespaces), `L2` (Landlock and a filter), `L1` (limits).
    pub level: Level,
    /// Whether the lanes run here.
    pub lanes: Vec<LaneState>,
    /// Every promise, and what keeps it.
    pub guarantees: Vec<Guarantee>,
    /// Why there are no namespaces, where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_namespaces: Option<String>,
    /// Interpreters that wait, confined already.
    pub warm_slots: usize,
}

/// Whether a lane runs here.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LaneState {
    /// Its name.
    pub lane: String,
    /// It runs, unless a project's `pillion.toml` says otherwise.
    pub runs: bool,
}

impl Operation for ShowLanes {
    const NAME: &'static str = "exec.lanes";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.typed("lanes", 390);
    type Service = ExecService;
    type Output = LanesReport;

    fn text(result: &str) -> Option<String> {
        let report: LanesReport = serde_json::from_str(result).ok()?;
        Some(drawn(&report))
    }

    async fn run(self, cx: Context<ExecService>) -> Result<LanesReport> {
        let service = cx.service();
        let means = service.executor().means().await.clone();
        let runs = |lane: Lane| LaneState {
            lane: lane.name().to_owned(),
            runs: means.level >= lane.floor(&pillion_workspace::LaneConfig::default()),
        };
        Ok(LanesReport {
            level: means.level,
            lanes: [Lane::Expert, Lane::User].map(runs).into(),
            no_namespaces: means.namespaces.clone().err(),
            guarantees: Enforcement::of(means.clone()).guarantees,
            warm_slots: service.executor().warm_slots(),
        })
    }
}

fn drawn(report: &LanesReport) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let about = match report.level {
        Level::L3 => "namespaces, Landlock, system call filter",
        Level::L2 => "Landlock, system call filter",
        Level::L1 => "limits only",
    };
    let _ = writeln!(text, "level {:?}: {about}", report.level);
    for lane in &report.lanes {
        let state = if lane.runs { "runs" } else { "is refused" };
        let _ = writeln!(text, "the {} lane {state} here", lane.lane);
    }
    if let Some(why) = &report.no_namespaces {
        let _ = writeln!(text, "no namespaces: {why}");
    }
    for guarantee in &report.guarantees {
        let mark = if guarantee.holds { "yes" } else { "NO " };
        let _ = writeln!(
            text,
            "  {mark}  {}\n       by {}",
            guarantee.what, guarantee.by
        );
    }
    text
}
