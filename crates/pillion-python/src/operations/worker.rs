//! A worker, as answers name it.

use pillion_supervisor::CallAnswer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A worker, as an answer names it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRef {
    /// Which process of the worker: 1 for the first, one more after each restart.
    pub generation: u64,
    /// Its process id.
    pub pid: Option<u32>,
}

impl WorkerRef {
    /// The worker that answered.
    pub(super) fn of(answer: &CallAnswer) -> Self {
        Self {
            generation: answer.generation,
            pid: answer.pid,
        }
    }
}
