//! `notebook.complete`, `inspect` and `variables`: what a kernel knows, and what the text of cells
//! tells where it does not.

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety};
use pillion_kernel::{Kernel, ReadyKernel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::pin::pin;
use std::time::Duration;

use crate::NotebookService;
use crate::typed_cells::Word;

/// Names that are told, at most.
const MOST_NAMES: usize = 1000;
/// How long what the text tells is waited for: if the kernel knows something, and if not.
const BRIEF: Duration = Duration::from_millis(20);
const PATIENT: Duration = Duration::from_secs(3);
/// Runs in the kernel and says, as JSON, what cells have defined. It leaves nothing behind.
const VARIABLES: &str = include_str!("variables.py");

/// Complete code at a position, with the names that live in the kernel.
///
/// Also while a cell runs. Names that no cell has run yet are read from the text of cells.
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
    /// Who knew something.
    #[serde(default)]
    pub sources: Vec<Knows>,
}

/// Who knows what a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Knows {
    /// The kernel, in which it lives.
    Kernel,
    /// The text of cells, read without running it.
    Text,
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
            sources: vec![Knows::Kernel],
        }
    }

    /// With the names that the text tells behind those that live.
    fn and(mut self, names: Vec<String>, code: &str, cursor: usize) -> Self {
        let word = Word::before(code, cursor);
        let part = |from: usize, to: usize| {
            let letters = code.chars().skip(from).take(to.saturating_sub(from));
            letters.collect::<String>()
        };
        let typed = part(word.start, cursor);
        if self.matches.is_empty() {
            (self.start, self.end) = (word.start, cursor);
            self.sources.clear();
        }
        // What the kernel replaces may begin before the word.
        let before = part(self.start, word.start);
        let fitting = names.into_iter().filter(|name| name.starts_with(&typed));
        let known = self.matches.len();
        for name in fitting {
            let name = format!("{before}{name}");
            if self.matches.len() < MOST_NAMES && !self.matches.contains(&name) {
                self.matches.push(name);
            }
        }
        if self.matches.len() > known {
            self.sources.push(Knows::Text);
        }
        self
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
        let service = cx.service();
        let kernel = service.known(self.session.as_deref())?;
        let cursor = cursor(self.cursor, &self.code);
        let live = async {
            let ready = running(&kernel).await?;
            let question = json!({ "code": self.code, "cursor_pos": cursor });
            let reply = kernel.ask(&ready, "complete_request", &question).await?;
            Ok(Completions::read(&reply, cursor))
        };
        let told = async {
            let typed = service.typed(&kernel, &self.code, cursor).await?;
            heed(service.reader().complete(typed).await)
        };
        let (live, told) = match Word::before(&self.code, cursor).is_member {
            // What lives says best what it has.
            true => match live.await {
                Ok(found) if !found.matches.is_empty() => return Ok(found),
                live => (live, within(PATIENT, told).await),
            },
            false => Box::pin(both(live, told)).await,
        };
        let known = match live {
            Ok(found) => found,
            // Somebody else knows.
            Err(_) if told.as_ref().is_some_and(|names| !names.is_empty()) => {
                Completions::default()
            }
            Err(error) => return Err(error),
        };
        Ok(known.and(told.unwrap_or_default(), &self.code, cursor))
    }
}

/// What lives, and what the text tells if that does not take long.
async fn both(
    live: impl Future<Output = Result<Completions>>,
    told: impl Future<Output = Option<Vec<String>>>,
) -> (Result<Completions>, Option<Vec<String>>) {
    let (mut live, mut told) = (pin!(live), pin!(told));
    tokio::select! {
        told = &mut told => (live.await, told),
        live = &mut live => {
            let knows = live.as_ref().is_ok_and(|found| !found.matches.is_empty());
            let most = if knows { BRIEF } else { PATIENT };
            let told = within(most, told).await;
            (live, told)
        }
    }
}

async fn within<T>(most: Duration, told: impl Future<Output = Option<T>>) -> Option<T> {
    tokio::time::timeout(most, told).await.ok().flatten()
}

/// What a reader said. Why it says nothing is for the log: the kernel is who is asked.
fn heed<T>(read: Result<T>) -> Option<T> {
    read.inspect_err(|error| tracing::debug!(error = error.message, "a cell was not read"))
        .ok()
}

/// Where something is asked about: the end, if nothing else is said.
fn cursor(said: Option<usize>, code: &str) -> usize {
    let end = code.chars().count();
    said.map_or(end, |cursor| cursor.min(end))
}

/// Tell about the name at a position: its signature and documentation, as the kernel knows it.
///
/// Also while a cell runs. A name that no cell has run yet is looked for in the text of cells.
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
    /// Who knew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Knows>,
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
        let service = cx.service();
        let kernel = service.known(self.session.as_deref())?;
        let cursor = cursor(self.cursor, &self.code);
        let live = self.live(&kernel, cursor).await;
        if live.as_ref().is_ok_and(|live| live.found) {
            return live;
        }
        let told = async {
            let typed = service.typed(&kernel, &self.code, cursor).await?;
            heed(service.reader().describe(typed).await).flatten()
        };
        match within(PATIENT, told).await {
            Some(text) => Ok(Inspected {
                found: true,
                data: json!({ "text/plain": text }),
                text,
                source: Some(Knows::Text),
            }),
            None => live,
        }
    }
}

impl Inspect {
    /// What the kernel knows.
    async fn live(&self, kernel: &Kernel, cursor: usize) -> Result<Inspected> {
        let ready = running(kernel).await?;
        let detail = u8::from(self.source);
        let question = json!({ "code": self.code, "cursor_pos": cursor, "detail_level": detail });
        let reply = kernel.ask(&ready, "inspect_request", &question).await?;
        let found = reply["found"].as_bool().unwrap_or_default();
        let data = reply["data"].clone();
        let text = data["text/plain"].as_str().unwrap_or_default();
        Ok(Inspected {
            found,
            text: crate::file::plain(text),
            data,
            source: found.then_some(Knows::Kernel),
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
        let kernel = cx.service().known(self.session.as_deref())?;
        let ready = running(&kernel).await?;
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

/// A kernel that runs.
async fn running(kernel: &Kernel) -> Result<ReadyKernel> {
    let ready = kernel.running().await;
    ready.ok_or_else(|| {
        Error::new(Code::NotFound, "the kernel of this session does not run")
            .hint("its next cell starts one")
    })
}
