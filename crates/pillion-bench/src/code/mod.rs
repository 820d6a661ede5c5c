//! `pillion bench code`: questions about code, against Jedi and against plain Python.
//!
//! The tree is Django, or one of the user's ([`tree`]), and is copied into the stage: some
//! rows edit it. What is asked about is drawn from it with a fixed seed ([`sample`]), so
//! that two runs ask the same. Each row has a module named after its group.

mod cli;
mod edit;
mod jedi;
mod memory;
mod names;
mod questions;
mod sample;
mod search;
mod start;
pub(super) mod tree;
mod turns;

use std::path::{Path, PathBuf};

use clap::Args;
use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use pillion_runtime::Interpreter;
use pillion_terminal::tools;
use serde_json::{Value, json};

use super::Plan;
use super::report::Row;
use super::rounds::check;
use super::stage::{Server, Stage, cannot};
use super::wire::{Wire, request};
use sample::{Question, Questions, Wanted};

/// Groups of rows, as their names begin.
pub(super) const GROUPS: &[&str] = &[
    "defs", "hover", "refs", "cli", "edit", "start", "memory", "mixed", "symbols", "grep",
];

/// Measure questions about code against Jedi, on Django or on a tree of yours.
#[derive(Debug, Args)]
pub(crate) struct CodeBench {
    /// Ask about this tree instead of Django. It is copied, and stays as it is.
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
}

impl CodeBench {
    /// Measure; gives what was asked about, and the rows.
    pub(super) async fn measure(&self, stage: &Stage, plan: &Plan) -> Result<(String, Vec<Row>)> {
        let managed = tools::managed().await?;
        let tools = tools::ensure(&managed).await?;
        stage.share_tools(&managed).await?;
        let source = match &self.tree {
            Some(tree) => tree.canonicalize().map_err(|error| {
                let what = format!("cannot read `{}`: {error}", tree.display());
                Error::new(Code::NotFound, what)
            })?,
            None => tree::django(stage, managed.uv().as_deref()).await?,
        };
        plan.tell("reading the tree");
        let root = stage.path("tree");
        let index = tree::copy(&source, &root).await?;
        let set = Set {
            questions: Questions::draw(&index, &root, &Wanted::of(plan))?,
            files: index.len(),
            stage,
            plan,
            tools,
            root,
        };
        let rows = Box::pin(set.rows()).await?;
        plan.bar.finish_and_clear();
        Ok((set.subject(&source), rows))
    }
}

/// Everything that the rows need.
struct Set<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
    /// The Python that has Jedi.
    tools: Interpreter,
    /// The copy of the tree.
    root: PathBuf,
    files: usize,
    questions: Questions,
}

impl Set<'_> {
    async fn rows(&self) -> Result<Vec<Row>> {
        let plan = self.plan;
        let mut rows = Vec::new();
        if ["defs", "hover", "refs"].iter().any(|g| plan.wants_any(g)) {
            rows.extend(Box::pin(questions::rows(self)).await?);
        }
        if plan.wants_any("cli") {
            rows.extend(Box::pin(cli::rows(self)).await?);
        }
        if plan.wants_any("symbols") || plan.wants_any("grep") {
            rows.extend(Box::pin(search::rows(self)).await?);
        }
        if plan.wants_any("start") {
            rows.extend(Box::pin(start::rows(self)).await?);
        }
        if plan.wants_any("memory") || plan.wants_any("mixed") {
            rows.extend(Box::pin(memory::rows(self)).await?);
        }
        // Last: it changes the tree.
        if plan.wants_any("edit") {
            rows.extend(Box::pin(edit::rows(self)).await?);
        }
        Ok(rows)
    }

    fn subject(&self, source: &Path) -> String {
        let name = source.file_name().unwrap_or(source.as_os_str());
        let asked = &self.questions;
        format!(
            "{}: {} Python files; asked about {} definitions, {} hovers, {} references",
            name.to_string_lossy(),
            self.files,
            asked.defs.len(),
            asked.hover.len(),
            asked.refs.len(),
        )
    }

    /// A daemon that has answered some questions about the tree already.
    fn warm_daemon(&self, socket: &str) -> Result<(Server, Wire)> {
        let stage = self.stage;
        let daemon = stage.start(stage.daemon(socket).unguarded(), socket)?;
        let mut wire = daemon.wire()?;
        for question in &self.questions.warm_up {
            ask(&mut wire, &self.about("code.defs", question))?;
        }
        Ok((daemon, wire))
    }

    /// A question about a place, for the socket.
    fn about(&self, method: &str, question: &Question) -> Vec<u8> {
        request(method, &self.params(question))
    }

    fn params(&self, question: &Question) -> Value {
        let Question {
            file, line, col, ..
        } = question;
        json!({ "file": file, "line": line, "col": col, "root": self.root })
    }

    /// The Python that has Jedi, with caches of its own.
    fn jedi_python(&self) -> Launch {
        Launch::new(&self.tools.executable)
            .cwd(self.stage.path("home"))
            .env("XDG_CACHE_HOME", self.stage.path("jedi-cache"))
    }
}

/// Ask over a socket; gives the seconds it took. An error is no answer.
fn ask(wire: &mut Wire, message: &[u8]) -> Result<f64> {
    asked(wire, message).map(|(seconds, _)| seconds)
}

/// The same, with the answer.
pub(super) fn asked<'w>(wire: &'w mut Wire, message: &[u8]) -> Result<(f64, &'w [u8])> {
    let began = std::time::Instant::now();
    let answer = wire.ask(message).map_err(|error| cannot(&error))?;
    let took = began.elapsed().as_secs_f64();
    check(answer).map_err(|error| cannot(&error))?;
    Ok((took, answer))
}

/// Remove a folder of the stage, so that it is made anew.
pub(super) fn forget(stage: &Stage, folder: &str) -> Result<()> {
    match std::fs::remove_dir_all(stage.path(folder)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot(&error)),
        _ => Ok(()),
    }
}

/// Microseconds, as rows count.
pub(super) fn micros(seconds: &[f64]) -> Vec<f64> {
    seconds.iter().map(|seconds| seconds * 1e6).collect()
}
