//! Why and how a process ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// By itself, although nobody asked it to, or by a signal from outside.
    Crash,
    /// It did not get ready, or did not stop a cancelled call.
    Hang,
    /// It used more memory than it may.
    Memory,
    /// What it wrote could not be understood any more.
    Broken,
    /// It was not used for a while.
    Idle,
    /// A source file changed.
    Retired,
    /// Somebody asked for a fresh one.
    Restart,
    /// Somebody asked it to end.
    Stop,
}

/// How a process ended that somebody held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Why.
    pub cause: Cause,
    /// What the system said.
    pub exit: String,
    /// The limit that it was killed for passing: `memory`, `processes` or `disk`.
    pub limit: Option<String>,
}
