//! What checkers find wrong in a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The line of its end.
    pub end_line: u32,
    /// One past its last column.
    pub end_column: u32,
    /// How bad it is.
    pub severity: Severity,
    /// The rule.
    pub code: Option<String>,
    /// What is wrong.
    pub message: String,
    /// Who says so: `ty` or `ruff`, or `pillion` of a file that neither can read.
    pub source: String,
}

/// How bad something is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It does not work.
    Error,
    /// It may not work.
    Warning,
    /// It could be better.
    Info,
}
