//! Something that the format does not allow.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that the format does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The cell, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<usize>,
    /// Where it is, such as `$.cells[3].outputs[0].name`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// Whether a repair puts it right.
    pub repairable: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
