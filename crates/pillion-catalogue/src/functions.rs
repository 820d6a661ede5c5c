//! Functions under names of their own, beside the operations: what doors need to know to offer
//! them. Which operations list and call them is known where they are.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{Caller, Error, Result, Safety};

/// A request that lists or calls functions.
#[derive(Debug)]
pub struct FunctionRequest {
    /// The operation.
    pub operation: &'static str,
    /// Its parameters.
    pub params: Box<RawValue>,
    /// On whose behalf.
    pub caller: Caller,
}

/// The way to some functions.
pub trait Functions: fmt::Debug + Send + Sync {
    /// Ask for what there is.
    fn list(&self) -> Result<FunctionRequest>;
    /// Ask for one of them. With `stream`, its values are to come one by one.
    fn call(&self, name: &str, params: Option<&RawValue>, stream: bool) -> Result<FunctionRequest>;
    /// What there is, by the answer.
    fn listing(&self, answer: &RawValue) -> Result<Listing>;
    /// What one gave, by the answer.
    fn given(&self, answer: &RawValue) -> Result<FunctionReply>;
}

/// What there is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Exposed")]
pub struct Listing {
    /// The functions.
    pub tools: Vec<ExposedFunction>,
    /// The modules' source files.
    pub files: Vec<PathBuf>,
    /// Modules that could not be imported.
    pub failed: Vec<Failed>,
    /// Changes when the tools do.
    pub version: String,
}

/// An exposed function.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tool")]
pub struct ExposedFunction {
    /// Its name; with that of its module where several have the same.
    pub name: String,
    /// Its name with that of its module, which means it too.
    pub qualified: String,
    /// The module it is in.
    pub module: String,
    /// Its name there.
    pub function: String,
    /// Its documentation, without what is said about parameters.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The schema of what it returns, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// Whether it is a generator, whose values can be streamed.
    pub streams: bool,
    /// What it may do: anything, unless it was marked to change nothing.
    pub safety: Safety,
}

/// A module that could not be imported.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Failed {
    /// Its name.
    pub module: String,
    /// Why.
    pub error: Error,
}

impl Listing {
    /// What there is, or why there is nothing.
    pub fn or_failure(mut self) -> Result<Self> {
        match self.failed.is_empty() || !self.tools.is_empty() {
            true => Ok(self),
            false => Err(self.failed.swap_remove(0).error),
        }
    }
}

/// What a function gave.
#[derive(Debug, Deserialize)]
pub struct FunctionReply {
    /// What it returned.
    pub result: Box<RawValue>,
    /// Whether it gave its values one by one.
    pub streams: bool,
    /// Which functions there were.
    pub version: String,
}
