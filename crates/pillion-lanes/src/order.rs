//! What a runner is told, and what it says at the end.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pillion_catalogue::{Code, Error, Result};
use pillion_sandbox::walls::rlimits::Rlimit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What is run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Source text.
    Code(String),
    /// A file of the folder, by its name there.
    File(String),
    /// A module, as `python -m` runs it.
    Module(String),
    /// A function, called once.
    #[serde(untagged)]
    Function {
        /// As `module:name`.
        function: String,
        /// What it is called with.
        arguments: Option<Box<RawValue>>,
    },
}

/// A file that goes along.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FileIn {
    pub(crate) name: String,
    pub(crate) size: u64,
}

/// What a runner is told.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Order {
    pub(crate) program: Program,
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) path: Vec<PathBuf>,
    pub(crate) files: Vec<FileIn>,
    pub(crate) rlimits: Vec<Rlimit>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) seed: Option<u64>,
    pub(crate) clock: Option<f64>,
    pub(crate) tools: bool,
    pub(crate) tool_names: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) descriptors: Option<BTreeMap<String, i32>>,
}

/// What a runner says at the end.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Ended {
    pub(crate) value: Option<Box<RawValue>>,
    pub(crate) repr: Option<String>,
    pub(crate) exception: Option<Exception>,
}

/// An exception that nobody caught.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Exception {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    #[serde(default)]
    pub message: String,
    /// The limit behind it: `memory`, `disk` or `processes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

/// Whether a name stays inside of the folder it is meant in.
pub fn check_name(name: &str) -> Result<()> {
    let parts: Vec<&str> = name.split('/').collect();
    let fits = !name.is_empty()
        && name.len() <= 255
        && !name.contains(['\0', '\\'])
        && parts.iter().all(|part| !["", ".", ".."].contains(part));
    fits.then_some(()).ok_or_else(|| {
        Error::new(
            Code::InvalidParams,
            format!("`{name}` is no name of a file in the folder"),
        )
        .hint("names are relative, without `..`, for example `data/sales.csv`")
    })
}
