//! Messages between pillion and its Python workers, beyond the line contract.
//! `docs/reference/worker-protocol.md` is their description for people.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A request to a worker.
#[derive(Debug, Serialize)]
pub struct WorkerRequest<'a, P> {
    /// Comes back with the answer; absent in cancel and trim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// What is asked for.
    pub method: &'a str,
    /// With what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<P>,
    /// Whether progress lines are wanted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
}

/// Parameters of `call`.
#[derive(Debug, Clone, Serialize)]
pub struct WorkerCall {
    /// `module:name`.
    pub function: String,
    /// An object for keywords, an array for positions, nothing for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
    /// Send the values of a generator one by one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Tell what it prints, as progress.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prints: bool,
}

/// Parameters of `invoke`: an exposed function by its name, with arguments that are checked.
#[derive(Debug, Clone, Serialize)]
pub struct WorkerInvoke {
    /// The modules whose functions are exposed.
    pub modules: Vec<String>,
    /// The function's name among them.
    pub name: String,
    /// An object for names, an array for places, nothing for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
    /// Send the values of a generator one by one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
}

/// Result of `invoke`.
#[derive(Debug, Deserialize)]
pub struct WorkerInvoked<'a> {
    /// What the function returned; the values of a generator, unless they were streamed.
    #[serde(borrow)]
    pub value: &'a RawValue,
    /// Whether it was a generator or the like.
    pub streams: bool,
    /// Changes when the exposed functions do.
    pub version: String,
}

/// A source file as it was when a worker imported it: its path and its proof. All zeros
/// stand for a file that was looked for and not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile(
    /// Path.
    pub String,
    /// Device.
    pub u64,
    /// Inode.
    pub u64,
    /// Size in bytes.
    pub u64,
    /// Time of the last change of content, in nanoseconds.
    pub i128,
    /// Time of the last change of anything, in nanoseconds.
    pub i128,
);
