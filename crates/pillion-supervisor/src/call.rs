//! A call on its way to a sidecar, and its answer.

use std::borrow::Cow;
use std::time::Duration;

use pillion_catalogue::{Part, SendBudget};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

/// What to ask a sidecar.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The method or command.
    pub method: Cow<'static, str>,
    /// Its parameters.
    pub params: Option<Box<RawValue>>,
    /// The `project` of the old contract.
    pub project: String,
}

impl Ask {
    /// Of a hold, which asks for nothing but the process.
    pub(crate) fn nothing() -> Self {
        Self {
            method: Cow::Borrowed(""),
            params: None,
            project: String::new(),
        }
    }
}

/// A call: what to ask and under which rules.
#[derive(Debug)]
pub struct CallRequest {
    /// What to ask.
    pub ask: Ask,
    /// Whether it may be asked again after a crash.
    pub safe: bool,
    /// How long it may take, from now, with waiting and starting.
    pub timeout: Duration,
    /// Where items and progress go; slow readers slow the sidecar down.
    pub parts: Option<mpsc::Sender<Part>>,
    /// Where the answer will wait; the call begins only while there is room.
    pub budget: SendBudget,
}

/// An answer and where it came from.
#[derive(Debug)]
pub struct CallAnswer {
    /// What the sidecar gave back.
    pub result: Box<RawValue>,
    /// Which process of this sidecar answered: 1 for the first, and so on.
    pub generation: u64,
    /// Its process id.
    pub pid: Option<u32>,
    /// How long the process worked on it.
    pub took: Duration,
}
