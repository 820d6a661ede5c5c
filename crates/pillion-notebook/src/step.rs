//! A run of a whole notebook, cell by cell, as its caller is told.

use pillion_lanes::RunOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cell of a run, as it begins and as it ends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its number in the notebook, from 0.
    pub cell: usize,
    /// Its id.
    pub id: String,
    /// Its place among those that are run, from 1.
    pub position: usize,
    /// How many are run.
    pub of: usize,
    /// What it does.
    pub state: StepState,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// What a cell of a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It begins.
    Started,
    /// It has ended.
    Ended,
}
