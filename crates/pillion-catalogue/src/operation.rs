//! What an operation is.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Context, Result};

/// What an operation may do, and so whether it may be repeated after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Safety {
    /// Changes nothing: repeated after a crash.
    Read,
    /// Changes files or state.
    Write,
    /// Runs code that may do anything.
    Execute,
}

/// When an operation sends items before its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// Never.
    Never,
    /// When its parameter `stream` is true.
    OnRequest,
    /// Always.
    Always,
}

/// One thing a caller can ask for. The fields of the type are the parameters, and the
/// first line of its documentation is the help on every door.
pub trait Operation:
    Serialize + DeserializeOwned + JsonSchema + clap::Args + Send + Sync + 'static
{
    /// Its name: `area.verb`.
    const NAME: &'static str;
    /// What it may do.
    const SAFETY: Safety;
    /// When it sends items before its result.
    const STREAMS: Streams = Streams::Never;
    /// Whether the command line fills in the caller's folder where no `root` is named.
    const LOCAL: bool = false;
    /// The service that answers it.
    type Service: Send + Sync + 'static;
    /// What it gives back.
    type Output: Serialize + JsonSchema + Send;

    /// Do it.
    fn run(self, cx: Context<Self::Service>) -> impl Future<Output = Result<Self::Output>> + Send;
}
