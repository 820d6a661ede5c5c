//! Functions under names of their own, beside the operations: what doors need to know to offer
//! them. Which operations list and call them is known where they are.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{Caller, Error, Result, Safety};

/// A request that lists or calls functions.
#[derive(Debug)]
pub struct Asking {
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
    fn list(&self) -> Result<Asking>;
    /// Ask for one of them. With `stream`, its values are to come one by one.
    fn call(&self, name: &str, params: Option<&RawValue>, stream: bool) -> Result<Asking>;
    /// What there is, by the answer.
    fn listing(&self, answer: &RawValue) -> Result<Listing>;
    /// What one gave, by the answer.
    fn given(&self, answer: &RawValue) -> Result<Given>;
}

/// What there is.
#[derive(Debug, Deserialize)]
pub struct Listing {
    /// The functions.
    pub tools: Vec<Function>,
    /// The modules' source files.
    pub files: Vec<PathBuf>,
    /// Modules that could not be imported.
    pub failed: Vec<Failed>,
    /// Changes when the functions do.
    pub version: String,
}

/// An exposed function.
#[derive(Debug, Deserialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its name with that of its module.
    pub qualified: String,
    /// The module it is in.
    pub module: String,
    /// Its name there.
    pub function: String,
    /// Its documentation.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The schema of what it returns, if it says so.
    pub output_schema: Option<Map<String, Value>>,
    /// Whether it gives its values one by one.
    pub streams: bool,
    /// What it may do.
    pub safety: Safety,
}

/// A module that could not be imported.
#[derive(Debug, Deserialize)]
pub struct Failed {
    /// Its name.
    pub module: String,
    /// Why.
    pub error: Error,
}

/// What a function gave.
#[derive(Debug, Deserialize)]
pub struct Given {
    /// What it returned.
    pub result: Box<RawValue>,
    /// Whether it gave its values one by one.
    pub streams: bool,
    /// Which functions there were.
    pub version: String,
}
