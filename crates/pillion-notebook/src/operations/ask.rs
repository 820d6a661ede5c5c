//! `notebook.complete`, `inspect` and `variables`: what a kernel knows.

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety};
use pillion_kernel::{Kernel, Ready};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::NotebookService;

/// Names that are told, at most.
const MOST_NAMES: usize = 1000;
/// Runs in the kernel and says, as JSON, what cells have defined. It leaves nothing behind.
const VARIABLES: &str = include_str!("variables.py");

/// Complete code at a position, with the names that live in the kernel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// The code.
    pub code: String,
    /// Where, in characters from its beginning; without it, its end.
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<usize>,
    /// The session; without a name it is the one of runs that name none.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What could stand there.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Completions {
    /// What could stand instead of the text from `start` to `end`.
    pub matches: Vec<String>,
    /// Where that text begins, in characters.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl Completions {
    /// What a kernel's reply says, to code whose cursor was there.
    pub(crate) fn read(reply: &Value, cursor: usize) -> Self {
        let number = |key: &str| reply[key].as_u64().and_then(|n| usize::try_from(n).ok());
        let matches = reply["matches"].as_array().into_iter().flatten();
        Self {
            matches: matches
                .filter_map(|found| found.as_str().map(ToOwned::to_owned))
                .take(MOST_NAMES)
                .collect(),
            start: number("cursor_start").unwrap_or(cursor),
            end: number("cursor_end").unwrap_or(cursor),
        }
    }
}

impl Operation for Complete {
    const NAME: &'static str = "notebook.complete";
    const SAFETY: Safety = Safety::Execute;
    const OFFER: Offer = Offer::PLAIN;
    type Service = NotebookService;
    type Output = Completions;

    fn text(result: &str) -> Option<String> {
        let found: Completions = serde_json::from_str(result).ok()?;
        Some(found.matches.join("\n"))
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<Completions> {
        let (kernel, ready) = running(&cx, self.session.as_deref()).await?;
        let cursor = self.cursor.unwrap_or_else(|| self.code.chars().count());
        let question = json!({ "code": self.code, "cursor_pos": cursor });
        let reply = kernel.ask(&ready, "complete_request", &question).await?;
        Ok(Completions::read(&reply, cursor))
    }
}

/// Tell about the name at a position: its signature and documentation, as the kernel knows it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Inspect {
    /// The code.
    pub code: String,
    /// Where, in characters from its beginning; without it, its end.
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<usize>,
    /// With its source.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source: bool,
    /// The session; without a name it is the one of runs that name none.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What is known about a name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Inspected {
    /// Whether there is something by that name.
    pub found: bool,
    /// By media type.
    pub data: Value,
    /// As plain text.
    pub text: String,
}

impl Operation for Inspect {
    const NAME: &'static str = "notebook.inspect";
    const SAFETY: Safety = Safety::Execute;
    const OFFER: Offer = Offer::PLAIN;
    type Service = NotebookService;
    type Output = Inspected;

    fn text(result: &str) -> Option<String> {
        let found: Inspected = serde_json::from_str(result).ok()?;
        Some(match found.found {
            true => found.text,
            false => "nothing by that name".to_owned(),
        })
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<Inspected> {
        let (kernel, ready) = running(&cx, self.session.as_deref()).await?;
        let cursor = self.cursor.unwrap_or_else(|| self.code.chars().count());
        let detail = u8::from(self.source);
        let question = json!({ "code": self.code, "cursor_pos": cursor, "detail_level": detail });
        let reply = kernel.ask(&ready, "inspect_request", &question).await?;
        let data = reply["data"].clone();
        let text = data["text/plain"].as_str().unwrap_or_default();
        Ok(Inspected {
            found: reply["found"].as_bool().unwrap_or_default(),
            text: crate::file::plain(text),
            data,
        })
    }
}

/// Tell what cells of a session have defined: names, types, shapes, and how they look.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Variables {
    /// The session; without a name it is the one of runs that name none.
    #[arg(value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What lives in a kernel.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct VariablesReport {
    /// In the order of their definition.
    pub variables: Vec<Variable>,
    /// So many more there are.
    #[serde(default)]
    pub left_out: usize,
}

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The name of its class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// How large it is, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
    /// Its length, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// How it looks, cut short.
    pub repr: String,
}

impl Operation for Variables {
    const NAME: &'static str = "notebook.variables";
    const SAFETY: Safety = Safety::Execute;
    const OFFER: Offer = Offer::PLAIN;
    type Service = NotebookService;
    type Output = VariablesReport;

    fn text(result: &str) -> Option<String> {
        let report: VariablesReport = serde_json::from_str(result).ok()?;
        let lines = report.variables.iter().map(|variable| {
            let shape = variable.shape.as_ref().map(|shape| format!(" {shape:?}"));
            let shape = shape.unwrap_or_default();
            format!(
                "{}: {}{shape} = {}",
                variable.name, variable.type_name, variable.repr
            )
        });
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<VariablesReport> {
        let (kernel, ready) = running(&cx, self.session.as_deref()).await?;
        let unknown = || {
            let what = format!("a kernel `{}` does not tell its variables", kernel.name());
            Error::new(Code::Unsupported, what).hint("they are known of Python kernels only")
        };
        if kernel.source().is_none() {
            return Err(unknown());
        }
        let shown = kernel.ask_by_code(&ready, VARIABLES).await?;
        let found = shown.map(|heard| heard.content()["data"]["application/json"].take());
        let report = found.and_then(|found| serde_json::from_value(found).ok());
        report.ok_or_else(unknown)
    }
}

/// The kernel of a session that runs.
async fn running(
    cx: &Context<NotebookService>,
    session: Option<&str>,
) -> Result<(Arc<Kernel>, Ready)> {
    let kernel = cx.service().known(session)?;
    match kernel.running().await {
        Some(ready) => Ok((kernel, ready)),
        None => Err(
            Error::new(Code::NotFound, "the kernel of this session does not run")
                .hint("its next cell starts one"),
        ),
    }
}
