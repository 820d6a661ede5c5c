//! Who calls functions on behalf of a program: this crate has no Python workers of its own.

use std::fmt::Debug;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Instant;

use pillion_catalogue::Result;
use serde_json::value::RawValue;

/// A function's return value, when it comes.
pub type Returned = Pin<Box<dyn Future<Output = Result<Box<RawValue>>> + Send>>;

/// ToolCalls functions of the project. Dropping what it gives cancels the call.
pub trait Host: Debug + Send + Sync {
    /// Call a function that the owner of a run named.
    fn call(&self, call: FunctionCall) -> Returned;
}

/// A function that is to be called.
#[derive(Debug)]
pub struct FunctionCall {
    /// `module:name`.
    pub function: String,
    /// An object for keywords, an array for positions.
    pub arguments: Option<Box<RawValue>>,
    /// The project that it belongs to.
    pub root: PathBuf,
    /// The interpreter that the run's owner named.
    pub python: Option<PathBuf>,
    /// The owner's virtual environment.
    pub virtual_env: Option<PathBuf>,
    /// The owner's conda environment.
    pub conda_prefix: Option<PathBuf>,
    /// Who asked for the run.
    pub peer: pillion_catalogue::Peer,
    /// When an answer is of no use any more.
    pub deadline: Instant,
}
