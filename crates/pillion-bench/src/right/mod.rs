//! `pillion bench right`: random refactorings of real projects, each followed by the
//! project's own tests.
//!
//! What counts is whether a program still does what it did. Every change is carried out, the
//! tests that passed before are run, and the change is taken back, which must restore every
//! byte. A change after which tests fail is *listed* if its answer named places or warnings,
//! and *silent* if it did not: of these there should be none.

mod projects;
mod tasks;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use pillion_catalogue::{Code, Error, Result};
use pillion_terminal::{output, tools};
use serde_json::{Value, json};

use super::Plan;
use super::report::{Budget, Figure, Row, Unit};
use super::stage::{Stage, cannot};
use super::wire::{Wire, request};
use projects::{PROJECTS, Project};
use tasks::{Random, Task};

/// Groups of rows, as their names begin.
pub(super) const GROUPS: &[&str] = &["right"];

/// How often a test that failed is run without the change, to see whether it always passes.
const AGAIN: usize = 3;

/// Refactor real projects at random, and run their own tests after each change.
#[derive(Debug, Args)]
pub(crate) struct RightBench {
    /// How many refactorings, of all projects together.
    #[arg(long, value_name = "N", default_value_t = 500)]
    count: usize,
    /// Only this project: `flask`, `click`, `jinja2` or `sqlparse`.
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only refactorings of this kind, such as `move` or `rename parameter`.
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Where the random choice begins: the same number, the same refactorings.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write what became of each refactoring here, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// What became of a refactoring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// Carried out, and the tests pass.
    Applied,
    /// Not carried out, with a reason.
    Refused,
    /// Tests fail, and a place or a warning was named.
    FailedListed,
    /// Tests fail, and nothing was said.
    FailedSilent,
    /// pillion itself failed.
    Broken,
    /// Taking it back did not restore every byte.
    NotUndone,
}

impl Fate {
    const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Applied, "applied", "carried out, and the tests pass"),
        (Self::Refused, "refused", "not carried out, with a reason"),
        (
            Self::FailedListed,
            "failed-listed",
            "tests fail, and places were named",
        ),
        (
            Self::FailedSilent,
            "failed-silent",
            "tests fail, and nothing was said",
        ),
        (Self::Broken, "broken", "pillion itself failed"),
        (
            Self::NotUndone,
            "not-undone",
            "taking it back left something",
        ),
    ];

    fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(fate, ..)| *fate == self);
        found.map_or("", |(_, name, _)| name)
    }
}

impl RightBench {
    /// Refactor; gives what was refactored, and the rows.
    pub(super) async fn measure(&self, stage: &Stage, plan: &Plan) -> Result<(String, Vec<Row>)> {
        let managed = tools::managed().await?;
        tools::ensure(&managed).await?;
        stage.share_tools(&managed).await?;
        let wanted: Vec<&Project> = PROJECTS
            .iter()
            .filter(|p| self.project.as_ref().is_none_or(|name| name == p.name))
            .collect();
        if wanted.is_empty() {
            let names: Vec<&str> = PROJECTS.iter().map(|project| project.name).collect();
            let what = format!("no project `{}`", self.project.as_deref().unwrap_or(""));
            return Err(
                Error::new(Code::InvalidParams, what).hint(format!("one of: {}", names.join(", ")))
            );
        }
        plan.tell("setting up the projects' Python");
        let python = projects::environment(stage, managed.uv().as_deref()).await?;
        let mut all: BTreeMap<Fate, usize> = BTreeMap::new();
        let mut subject = Vec::new();
        let count = if plan.quick { 4 } else { self.count };
        let most = count.div_ceil(wanted.len());
        let mut left = count;
        for project in wanted {
            let some = most.min(left);
            left -= some;
            let mut bench = Tree::open(stage, plan, project, &python).await?;
            subject.push(format!("{} ({} tests)", project.package, bench.passed));
            for (fate, count) in bench.refactor(self, some).await? {
                *all.entry(fate).or_default() += count;
            }
        }
        plan.bar.finish_and_clear();
        let total: usize = all.values().sum();
        let rows = Fate::ALL.iter().map(|(fate, name, what)| {
            let count = all.get(fate).copied().unwrap_or(0);
            let figure = Figure::single(count as f64, total);
            let row = Row::new(&format!("right/{name}"), what, Unit::Count, figure);
            match fate {
                Fate::Applied | Fate::Refused | Fate::FailedListed => row,
                _ => row.budget(Budget::Most(0.0)),
            }
        });
        Ok((subject.join(", "), rows.collect()))
    }
}

/// A refactoring that was tried.
struct Done {
    fate: Fate,
    /// What there is to say about it.
    told: Value,
    /// The tests that failed.
    failed: Vec<String>,
}

/// A project that is refactored.
struct Tree<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
    project: &'a Project,
    python: &'a Path,
    root: PathBuf,
    /// Tests that did not pass before anything was changed.
    failing: Vec<String>,
    passed: usize,
    /// Every file as it was.
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl<'a> Tree<'a> {
    async fn open(
        stage: &'a Stage,
        plan: &'a Plan,
        project: &'a Project,
        python: &'a Path,
    ) -> Result<Self> {
        let source = project.fetched(python, |what| plan.tell(what)).await?;
        let root = stage.path(project.name);
        projects::copy(&source, &root)?;
        let config = format!("[python]\ninterpreter = {}\n", json!(python));
        fs::write(root.join("pillion.toml"), config).map_err(|error| cannot(&error))?;
        stage.trust(&root)?;
        plan.tell(&format!("{}: its tests, before", project.name));
        let before = project.tests(python, &root, &[], false).await?;
        if before.passed == 0 {
            let what = format!("no test of {} passes: {}", project.package, before.said);
            return Err(Error::new(Code::Conflict, what));
        }
        let files = projects::files(&root)?;
        Ok(Self {
            stage,
            plan,
            project,
            python,
            root,
            failing: before.failed,
            passed: before.passed,
            files,
        })
    }

    async fn refactor(
        &mut self,
        bench: &RightBench,
        count: usize,
    ) -> Result<BTreeMap<Fate, usize>> {
        let mut random = Random::new(bench.seed, self.project.name);
        let targets = tasks::find(self.python, &self.root, self.project.source).await?;
        let tasks = tasks::choose(targets, bench.kind.as_deref(), count, &mut random);
        let socket = format!("{}.sock", self.project.name);
        let daemon = self.stage.start(self.stage.daemon(&socket), &socket)?;
        let mut wire = daemon.wire()?;
        let mut fates = BTreeMap::new();
        for (at, task) in tasks.iter().enumerate() {
            self.plan.tell(&format!(
                "{} {}/{}: {} `{}`",
                self.project.name,
                at + 1,
                tasks.len(),
                task.kind,
                task.name
            ));
            let mut done = self.one(&mut wire, task).await?;
            while self.is_flaky(&done).await? {
                done = self.one(&mut wire, task).await?;
            }
            let (fate, told) = (done.fate, done.told);
            *fates.entry(fate).or_default() += 1;
            self.record(bench, task, fate, &told)?;
        }
        drop(wire);
        daemon.stop().await;
        Ok(fates)
    }

    /// Whether a test that failed after a change fails, now and then, without it: it is not
    /// asked any more.
    async fn is_flaky(&mut self, done: &Done) -> Result<bool> {
        for name in &done.failed {
            for _ in 0..AGAIN {
                let alone = std::slice::from_ref(name);
                let again = self
                    .project
                    .run(self.python, &self.root, alone, &[], true)
                    .await?;
                if !again.is_green && again.failed.contains(name) {
                    self.failing.push(name.clone());
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// One refactoring, its tests, and back again.
    async fn one(&self, wire: &mut Wire, task: &Task) -> Result<Done> {
        let mut params = task.params.clone();
        params["root"] = json!(self.root);
        params["apply"] = json!(true);
        let operation = format!("code.{}", task.operation);
        let answer = ask(wire, &operation, &params)?;
        let Some(result) = answer.get("result") else {
            let error = &answer["error"]["data"];
            let known = ["conflict", "invalid_params", "not_found", "parse_error"];
            let is_refused = known.iter().any(|code| error["code"] == *code);
            let fate = if is_refused {
                Fate::Refused
            } else {
                Fate::Broken
            };
            return Ok(Done {
                fate,
                told: json!({ "error": answer["error"]["message"] }),
                failed: Vec::new(),
            });
        };
        let after = self
            .project
            .tests(self.python, &self.root, &self.failing, true)
            .await?;
        let listed = listed(result);
        let mut told = json!({ "listed": listed, "patches": result["patches"] });
        let mut fate = match (after.is_green, listed.is_empty()) {
            (true, _) => Fate::Applied,
            (false, false) => Fate::FailedListed,
            (false, true) => Fate::FailedSilent,
        };
        if !after.is_green {
            told["said"] = json!(after.said);
        }
        let undo = ask(wire, "code.undo", &json!({ "root": self.root }))?;
        let left = projects::differences(&self.root, &self.files)?;
        if undo.get("error").is_some() || !left.is_empty() {
            told["left"] = json!({ "undo": undo["error"], "files": left });
            fate = Fate::NotUndone;
            projects::restore(&self.root, &self.files)?;
        }
        Ok(Done {
            fate,
            told,
            failed: after.failed,
        })
    }

    /// Say what went wrong, and write it down if that is wanted.
    fn record(&self, bench: &RightBench, task: &Task, fate: Fate, told: &Value) -> Result<()> {
        let place = format!("{}:{}", task.params["file"], task.line());
        let is_wrong = !matches!(fate, Fate::Applied | Fate::Refused);
        if is_wrong {
            self.plan.bar.suspend(|| {
                output::note(&format!(
                    "{}: {} {} `{}` at {place}: {}",
                    fate.name(),
                    self.project.name,
                    task.kind,
                    task.name,
                    told["said"].as_str().unwrap_or_default()
                ));
            });
        }
        let Some(path) = &bench.log else {
            return Ok(());
        };
        let line = json!({
            "project": self.project.name,
            "fate": fate.name(),
            "kind": task.kind,
            "name": task.name,
            "params": task.params,
            "told": if is_wrong { told.clone() } else { json!(told["error"]) },
        });
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| writeln!(file, "{line}"))
            .map_err(|error| cannot(&error))
    }
}

fn ask(wire: &mut Wire, method: &str, params: &Value) -> Result<Value> {
    let answer = wire
        .ask(&request(method, params))
        .map_err(|error| cannot(&error))?;
    serde_json::from_slice(answer).map_err(Error::internal)
}

/// Places and warnings that an answer named, but for comments and documents: tests do not read
/// them.
fn listed(result: &Value) -> Vec<String> {
    let ignored = ["in a comment", "in a document"];
    let places = result["possible"].as_array().into_iter().flatten();
    let places = places.filter(|place| !ignored.iter().any(|why| place["why"] == *why));
    let places = places.map(|p| format!("{}:{} {}", p["file"], p["line"], p["why"]));
    let warnings = result["warnings"].as_array().into_iter().flatten();
    places.chain(warnings.map(ToString::to_string)).collect()
}
