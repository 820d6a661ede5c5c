//! `pillion notebook run FILE...`: notebooks, several at once, and a table at the end.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgMatches};
use comfy_table::CellAlignment;
use futures::StreamExt as _;
use pillion::{Arguments, Caller, Code, Definition, Error, Operation, Part, Result};
use pillion_catalogue::text::table;
use pillion_notebook::operations::{RunNotebook, RunReport, Step, StepState};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::backend::Backend;
use super::{Global, output};

/// The most notebooks at once.
const MOST_AT_ONCE: u64 = 64;
/// Characters of what went wrong in the table.
const SHORT: usize = 60;

/// The notebooks that a command line names.
pub(crate) struct Notebooks {
    files: Vec<PathBuf>,
    jobs: Option<usize>,
}

/// The operation's own command, for several files.
pub(super) fn with_files(command: clap::Command) -> clap::Command {
    command
        .mut_arg("path", |arg| {
            arg.num_args(1..)
                .help("The notebooks; several are run at once, each on a kernel of its own")
        })
        .mut_arg("output", |arg| {
            arg.help("Write to this file, or into this folder, and leave the notebooks as they are")
        })
        .arg(
            Arg::new("jobs")
                .long("jobs")
                .short('j')
                .value_name("N")
                .value_parser(clap::value_parser!(u64).range(1..=MOST_AT_ONCE))
                .help("How many at once; as many as there are processors if not given"),
        )
}

impl Notebooks {
    /// What a command line says, if it is about this operation.
    pub(super) fn read(definition: &Definition, matches: &ArgMatches) -> Option<Self> {
        if definition.name != RunNotebook::NAME {
            return None;
        }
        let files = matches.get_many::<PathBuf>("path");
        let jobs = matches.get_one::<u64>("jobs");
        Some(Self {
            files: files.into_iter().flatten().cloned().collect(),
            jobs: jobs.and_then(|jobs| usize::try_from(*jobs).ok()),
        })
    }

    /// Run them, and show what comes of it.
    pub(super) async fn run(self, arguments: Arguments, global: &Global) -> Result<ExitCode> {
        let Arguments { params, caller, .. } = arguments;
        let params: Map<String, Value> =
            serde_json::from_str(params.get()).map_err(Error::internal)?;
        let tasks = self.tasks(&params)?;
        let at_once = match params.get("session") {
            // They share a kernel, which runs one cell after the other.
            Some(_) => 1,
            None => self.jobs.unwrap_or_else(processors),
        };
        let backend = Backend::open(global).await?;
        let is_one = tasks.len() == 1;
        let runs = tasks.iter().map(|task| {
            let name = (!is_one).then_some(task.name.as_str());
            one(&backend, &caller, &task.params, name, !global.json)
        });
        let runs = futures::stream::iter(runs).buffered(at_once);
        let results = tokio::select! {
            results = runs.collect::<Vec<_>>() => Ok(results),
            // Dropping the calls cancels them, here and in the daemon.
            _ = tokio::signal::ctrl_c() => Err(Error::new(Code::Cancelled, "interrupted")),
        };
        backend.close().await;
        let mut results = results?;
        let failed = results.iter().any(|result| match result {
            Ok(result) => RunNotebook::is_failure(result.get()),
            Err(_) => true,
        });
        if is_one && let Some(result) = results.pop() {
            show_one(&result?, global.json);
        } else {
            show_all(&tasks, &results, global.json);
        }
        Ok(match failed {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        })
    }

    /// The parameters for each of them.
    fn tasks(&self, params: &Map<String, Value>) -> Result<Vec<Task>> {
        let output = params.get("output").and_then(Value::as_str).map(Path::new);
        let is_folder = self.files.len() > 1 || output.is_some_and(Path::is_dir);
        let mut places = HashSet::new();
        let mut tasks = Vec::new();
        for file in &self.files {
            let mut params = params.clone();
            params.insert("path".into(), json!(file));
            if let Some(output) = output.filter(|_| is_folder) {
                let place = output.join(file.file_name().unwrap_or_default());
                if !places.insert(place.clone()) {
                    let what = format!("two notebooks would be written to `{}`", place.display());
                    return Err(Error::new(Code::InvalidParams, what)
                        .hint("write them into folders of their own, one after the other"));
                }
                params.insert("output".into(), json!(place));
            }
            tasks.push(Task {
                name: shortest(file),
                params: to_raw_value(&params).map_err(Error::internal)?,
            });
        }
        if let Some(output) = output.filter(|_| self.files.len() > 1) {
            std::fs::create_dir_all(output).map_err(|error| {
                let what = format!("cannot make the folder `{}`: {error}", output.display());
                Error::new(Code::WriteFailed, what)
            })?;
        }
        Ok(tasks)
    }
}

/// One notebook to be run.
struct Task {
    name: String,
    params: Box<RawValue>,
}

/// Run one of them, and tell of its cells.
async fn one(
    backend: &Backend,
    caller: &Caller,
    params: &RawValue,
    name: Option<&str>,
    stream: bool,
) -> Result<Box<RawValue>> {
    let tell = |part: Part| {
        let Part::Item(item) = part else {
            return;
        };
        if let Ok(step) = serde_json::from_str::<Step>(item.get()) {
            tell_step(&step, name);
        }
    };
    backend
        .call(caller, RunNotebook::NAME, params, stream, tell)
        .await
}

/// A line for a cell that has ended.
fn tell_step(step: &Step, name: Option<&str>) {
    if step.state != StepState::Ended {
        return;
    }
    let name = name.map(|name| format!("{name}  ")).unwrap_or_default();
    let Step {
        position, of, cell, ..
    } = step;
    let outcome = word(&json!(step.outcome));
    let seconds = step.seconds.unwrap_or_default();
    output::note(&format!(
        "{name}[{position}/{of}] cell {cell}: {outcome}, {seconds:.2} s"
    ));
}

fn show_one(result: &RawValue, json: bool) {
    match RunNotebook::text(result.get()).filter(|_| !json) {
        Some(text) => output::say(&text),
        None => output::say_json(result.get()),
    }
}

fn show_all(tasks: &[Task], results: &[Result<Box<RawValue>>], json: bool) {
    if json {
        let all: Vec<Value> = tasks.iter().zip(results).map(as_json).collect();
        return output::say_json(&json!({ "notebooks": all }).to_string());
    }
    let mut rows = table(["notebook", "outcome", "cells", "seconds", "what"]);
    if let Some(what) = rows.column_mut(4) {
        what.set_cell_alignment(CellAlignment::Left);
    }
    for (task, result) in tasks.iter().zip(results) {
        let report = result
            .as_ref()
            .ok()
            .and_then(|result| serde_json::from_str::<RunReport>(result.get()).ok());
        let Some(report) = report else {
            let error = result.as_ref().err();
            let code = error.map_or("error", |error| error.code.as_str());
            let message = error.map_or("", |error| error.message.as_str());
            rows.add_row([task.name.as_str(), code, "-", "-", &short(message)]);
            continue;
        };
        if !report.success
            && let Ok(result) = result
            && let Some(text) = RunNotebook::text(result.get())
        {
            output::note(&format!("\n{}\n{text}", task.name));
        }
        let what = report.failed.first().map(|failed| {
            let ename = failed.ename.as_deref().unwrap_or_default();
            let evalue = failed.evalue.as_deref().unwrap_or_default();
            match ename.is_empty() {
                true => format!("cell {}", failed.cell),
                false => format!("cell {}: {ename}: {evalue}", failed.cell),
            }
        });
        rows.add_row([
            task.name.clone(),
            word(&json!(report.outcome)),
            format!("{}/{}", report.ran, report.cells),
            format!("{:.1}", report.seconds),
            short(&what.or(report.notice).unwrap_or_default()),
        ]);
    }
    let lines = rows.to_string();
    let lines: Vec<&str> = lines.lines().map(str::trim_end).collect();
    output::say(&lines.join("\n"));
}

fn as_json((task, result): (&Task, &Result<Box<RawValue>>)) -> Value {
    match result {
        Ok(result) => serde_json::from_str(result.get()).unwrap_or_default(),
        Err(error) => {
            let params: Value = serde_json::from_str(task.params.get()).unwrap_or_default();
            json!({ "success": false, "path": params["path"], "error": error })
        }
    }
}

fn word(outcome: &Value) -> String {
    outcome.as_str().unwrap_or("-").to_owned()
}

/// The first line, if need be only its begin.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.chars().count() > SHORT {
        true => line.chars().take(SHORT).chain(['…']).collect(),
        false => line.to_owned(),
    }
}

/// A path from the folder one is in, if it is below.
fn shortest(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let short = path.strip_prefix(here).unwrap_or(path);
    short.display().to_string()
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
