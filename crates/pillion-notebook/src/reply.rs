//! How a cell ended, as its caller is told.

use pillion_lanes::RunOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a cell ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CellReply {
    /// Whether it ended without an error.
    pub success: bool,
    /// What it printed.
    pub stdout: String,
    /// What it printed to standard error.
    pub stderr: String,
    /// Its last expression as text, if it has a value.
    pub result_repr: Option<String>,
    /// How long it took.
    pub execution_time_ms: f64,
    /// Its number among the cells of its kernel.
    pub execution_count: Option<u64>,
    /// Its outputs, as notebook files have them.
    pub outputs: Vec<Value>,
    /// How it ended, in one word.
    pub outcome: RunOutcome,
    /// The exception that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CellError>,
    /// Some of its output is missing, because it was too much.
    pub truncated: bool,
    /// The session.
    pub session: String,
    /// The caller's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_id: Option<String>,
    /// Texts for a pager, such as what `?name` tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<String>,
    /// What happened to its kernel: it is a new one, or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// An exception.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CellError {
    /// The name of its class.
    pub ename: String,
    /// What it says.
    pub evalue: String,
}

/// The word for how something ended.
pub(crate) fn word(outcome: RunOutcome) -> String {
    let word = serde_json::to_value(outcome).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}
