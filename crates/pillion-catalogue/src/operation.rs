//! What an operation is.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Context, Offer, Result};

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

/// What an operation is about, and so what it wants to know about its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Nothing of the caller's.
    Nothing,
    /// A folder, as it is.
    Folder,
    /// A project: its folder and its Python.
    Project,
}

/// A picture that is a part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerPicture {
    /// Its media type, such as `image/png`.
    pub mime: String,
    /// Its bytes in base64.
    pub base64: String,
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
    /// What it is about. What it wants to know about its caller for that is no parameter of
    /// its own: it is a part of the request ([`Context::caller`]).
    const SCOPE: Scope = Scope::Nothing;
    /// Whether it can write its answer as text, where the caller's `format` asks for it.
    const FORMATS: bool = false;
    /// How doors offer it beside its name.
    const OFFER: Offer = Offer::PLAIN;
    /// The service that answers it.
    type Service: Send + Sync + 'static;
    /// What it gives back.
    type Output: Serialize + JsonSchema + Send;

    /// A result, given as JSON, as people and models read it; `None` if JSON is best.
    fn text(_result: &str) -> Option<String> {
        None
    }

    /// The pictures of a result, given as JSON, and the result without them: for doors that can
    /// show pictures. `None` if it never has any.
    fn pictures(_result: &str) -> Option<(String, Vec<AnswerPicture>)> {
        None
    }

    /// Whether a result, given as JSON, is a failure to whoever reads the command's exit code.
    fn is_failure(_result: &str) -> bool {
        false
    }

    /// What a command line means by it; `json` says that a program reads what is printed.
    #[must_use]
    fn typed(self, _json: bool) -> Self {
        self
    }

    /// What the command line prints for a program, if that is not the answer itself.
    fn printed(&self, _result: &str) -> Option<String> {
        None
    }

    /// Answer a request for the operation.
    fn run(self, cx: Context<Self::Service>) -> impl Future<Output = Result<Self::Output>> + Send;
}
