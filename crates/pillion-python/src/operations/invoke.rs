//! `py.invoke`: an exposed function by its name.

use std::path::PathBuf;

use pillion_catalogue::{Context, Error, Offer, Operation, Prints, Result, Safety, Scope, Streams};
use pillion_protocol::worker;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::WorkerRef;
use super::call::json;
use super::question::Question;
use crate::PythonService;

/// Call an exposed function by its name, with arguments that are checked.
///
/// The function is one that `py.expose` lists for the same modules. Its arguments are held
/// against its annotations: dates, enums and dataclasses are made from JSON, and what does
/// not fit is named.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Invoke {
    /// The function's name.
    pub name: String,
    /// Its arguments as JSON: an object for names, an array for places.
    #[arg(value_parser = json)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
    /// The modules that are exposed.
    #[arg(long = "module", required = true, value_name = "MODULE")]
    pub modules: Vec<String>,
    /// Send the values of a generator one by one, and progress.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// More folders to import from.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathBuf>,
}

/// What an exposed function gave back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Invoked {
    /// What it returned; the values of a generator, unless they were streamed.
    pub result: Box<RawValue>,
    /// Whether it was a generator or the like.
    pub streams: bool,
    /// Changes when the exposed functions do.
    pub version: String,
    /// The worker that ran it.
    pub worker: WorkerRef,
    /// Milliseconds that the worker took.
    pub elapsed_ms: f64,
}

impl Operation for Invoke {
    const NAME: &'static str = "py.invoke";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const STREAMS: Streams = Streams::OnRequest;
    const OFFER: Offer = Offer::PLAIN.prints(Prints::Result);
    type Service = PythonService;
    type Output = Invoked;

    async fn run(self, cx: Context<PythonService>) -> Result<Invoked> {
        let question = Question {
            modules: self.modules.clone(),
            path: self.path,
            is_safe: false,
            streams: self.stream,
        };
        let params = worker::WorkerInvoke {
            modules: self.modules,
            name: self.name,
            params: self.params,
            stream: self.stream,
        };
        let (_, answer) = question.ask(&cx, "invoke", &params).await?;
        let given: worker::WorkerInvoked<'_> =
            serde_json::from_str(answer.result.get()).map_err(Error::internal)?;
        Ok(Invoked {
            result: given.value.to_owned(),
            streams: given.streams,
            version: given.version,
            worker: WorkerRef::of(&answer),
            elapsed_ms: answer.took.as_secs_f64() * 1000.0,
        })
    }
}
