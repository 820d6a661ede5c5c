//! `pillion bench`: pillion against its baselines, in one run.
//!
//! Every number has its baseline beside it, measured in turns on the same machine at the
//! same time (`rounds`), by the same client code (`wire`), with the same Python. It
//! all happens in a folder of its own (`stage`): the user's daemon is neither used nor
//! disturbed. Budgets are shown; only `--strict` makes them count.
//!
//! It is a crate of its own, which `pillion` has behind its feature `bench`: a checkout builds
//! it, packages do not.

mod archives;
mod code;
mod command_line;
mod daemon;
mod doors;
mod exec;
mod impact;
mod machine;
mod map;
mod notebook;
mod payload;
mod plot;
mod refactor;
mod report;
mod right;
mod rounds;
mod session;
mod soak;
mod stage;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use pillion_catalogue::{Code, Error, Result};
use pillion_terminal::{Spinner, output};

use machine::Machine;
use payload::Payload;
use report::{Report, Tail};
use rounds::Effort;
use stage::Stage;

/// Callers where there are many.
const CALLERS: usize = 16;
/// Calls of each side for a row with the smallest payload.
const CALLS: usize = 4000;
/// Turns that each side takes.
const ROUNDS: usize = 20;

/// Groups of rows, as their names begin.
const GROUPS: &[&str] = &["socket", "embedded", "stdio", "http", "cli", "daemon"];

/// Measure pillion against its baselines, in one run.
///
/// It is there in a checkout only: what is shipped is built without it.
#[derive(Debug, Args)]
pub struct Bench {
    #[command(subcommand)]
    what: Option<What>,
    /// Measure little: a few seconds, to see that everything works.
    #[arg(long, global = true)]
    quick: bool,
    /// Only rows whose name contains this, such as `cli`, `100B/x16` or, of `code`, `refs/warm`.
    #[arg(long, value_name = "NAME", global = true)]
    only: Option<String>,
    /// Calls of each side per row; large payloads get a share of it.
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    calls: Option<usize>,
    /// Also draw the result.
    #[arg(long, value_name = "FILE.svg", global = true)]
    plot: Option<PathBuf>,
    /// Instead: make a million calls (or N) through one daemon, and see whether it grows.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000000")]
    soak: Option<u64>,
    /// Exit with 1 if a budget is not kept.
    #[arg(long, global = true)]
    strict: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Measure questions about code against Jedi, on Django or on a tree of yours.
    Code(code::CodeBench),
    /// Measure refactorings of Django against Rope.
    Refactor(refactor::RefactorBench),
    /// Refactor real projects at random, and run their own tests after each change.
    Right(right::RightBench),
    /// Measure the map of Django, or of a tree of yours.
    Map(map::MapBench),
    /// Break functions of real projects, and see whether the tests that fail were foretold.
    Impact(impact::ImpactBench),
    /// Measure lanes against a plain Python without any walls.
    Exec(exec::ExecBench),
    /// Measure cells on kernels against `jupyter_client` without any walls.
    Notebook(notebook::NotebookBench),
    /// Measure turns of sessions beside their model, and what sessions weigh.
    Session(session::SessionBench),
}

impl Bench {
    /// Measure what was asked for, and show it: as a table, or as JSON.
    pub async fn run(self, json: bool) -> Result<ExitCode> {
        if self.what.is_some() && (self.calls.is_some() || self.soak.is_some()) {
            let what = "`--calls` and `--soak` are for `pillion bench` alone";
            return Err(Error::new(Code::InvalidParams, what));
        }
        let stage = Stage::new().await?;
        let report = Box::pin(self.report(&stage)).await?;
        if report.rows.is_empty() {
            let only = self.only.unwrap_or_default();
            let hint = match self.what {
                None => "`pillion bench --quick --json` shows all names",
                Some(What::Code(_)) => "`pillion bench code --quick --json` shows all names",
                Some(What::Refactor(_)) => {
                    "`pillion bench refactor --quick --json` shows all names"
                }
                Some(What::Right(_)) => "`pillion bench right --quick --json` shows all names",
                Some(What::Map(_)) => "`pillion bench map --quick --json` shows all names",
                Some(What::Impact(_)) => "the names are `recall/NAME` and `selected/NAME`",
                Some(What::Exec(_)) => "`pillion bench exec --quick --json` shows all names",
                Some(What::Notebook(_)) => {
                    "`pillion bench notebook --quick --json` shows all names"
                }
                Some(What::Session(_)) => "`pillion bench session --quick --json` shows all names",
            };
            let what = format!("no row is called `{only}`");
            return Err(Error::new(Code::NotFound, what).hint(hint));
        }
        report.show(json);
        if let Some(path) = &self.plot {
            std::fs::write(path, plot::draw(&report)).map_err(|error| {
                Error::new(
                    Code::NotFound,
                    format!("cannot write `{}`: {error}", path.display()),
                )
            })?;
            output::note(&format!("drew `{}`", path.display()));
        }
        let failed = self.strict && !report.all_met();
        Ok(ExitCode::from(u8::from(failed)))
    }

    async fn report(&self, stage: &Stage) -> Result<Report> {
        let mut report = Report {
            machine: Machine::new(&stage.interpreter),
            rows: Vec::new(),
            soak: None,
            subject: None,
            tail: Tail::P99,
        };
        match (&self.what, self.soak) {
            (Some(What::Code(bench)), _) => {
                let plan = self.plan(code::GROUPS);
                let (subject, rows) = Box::pin(bench.measure(stage, &plan)).await?;
                report.subject = Some(subject);
                report.rows = rows;
                report.tail = Tail::P90;
            }
            (Some(What::Refactor(bench)), _) => {
                let plan = self.plan(refactor::GROUPS);
                let (subject, rows) = Box::pin(bench.measure(stage, &plan)).await?;
                report.subject = Some(subject);
                report.rows = rows;
            }
            (Some(What::Right(bench)), _) => {
                let plan = self.plan(right::GROUPS);
                let (subject, rows) = Box::pin(bench.measure(stage, &plan)).await?;
                report.subject = Some(subject);
                report.rows = rows;
            }
            (Some(What::Map(bench)), _) => {
                let plan = self.plan(map::GROUPS);
                let (subject, rows) = Box::pin(bench.measure(stage, &plan)).await?;
                report.subject = Some(subject);
                report.rows = rows;
                report.tail = Tail::P90;
            }
            (Some(What::Impact(bench)), _) => {
                let plan = self.plan(impact::GROUPS);
                let (subject, rows) = Box::pin(bench.measure(stage, &plan)).await?;
                report.subject = Some(subject);
                report.rows = rows;
            }
            (Some(What::Exec(bench)), _) => {
                let plan = self.plan(exec::GROUPS);
                let (subject, rows) = Box::pin(bench.measure(stage, &plan)).await?;
                report.subject = Some(subject);
                report.rows = rows;
            }
            (Some(What::Notebook(bench)), _) => {
                let plan = self.plan(notebook::GROUPS);
                let (subject, rows) = Box::pin(bench.measure(stage, &plan)).await?;
                report.subject = Some(subject);
                report.rows = rows;
            }
            (Some(What::Session(bench)), _) => {
                let plan = self.plan(session::GROUPS);
                let (subject, rows) = Box::pin(bench.measure(stage, &plan)).await?;
                report.subject = Some(subject);
                report.rows = rows;
            }
            (None, Some(calls)) => {
                let (soak, rows) = soak::soak(stage, calls.max(1))?;
                report.rows = rows;
                report.soak = Some(soak);
            }
            (None, None) => report.rows = Box::pin(rows(stage, &self.plan(GROUPS))).await?,
        }
        Ok(report)
    }

    fn plan(&self, groups: &'static [&'static str]) -> Plan {
        let bar = Spinner::start().0;
        Plan {
            calls: self.calls.unwrap_or(if self.quick { 20 } else { CALLS }),
            rounds: if self.quick { 1 } else { ROUNDS },
            quick: self.quick,
            only: self.only.clone(),
            groups,
            payloads: Payload::all(),
            bar,
        }
    }
}

/// Every row that is wanted.
async fn rows(stage: &Stage, plan: &Plan) -> Result<Vec<report::Row>> {
    let mut rows = Vec::new();
    if plan.wants_any("socket") {
        rows.extend(Box::pin(doors::socket(stage, plan)).await?);
    }
    if plan.wants_any("embedded") {
        rows.extend(Box::pin(doors::embedded(stage, plan)).await?);
    }
    if plan.wants_any("stdio") {
        rows.extend(Box::pin(doors::stdio(stage, plan)).await?);
    }
    if plan.wants_any("http") {
        rows.extend(Box::pin(doors::http(stage, plan)).await?);
    }
    if plan.wants_any("cli") {
        rows.extend(Box::pin(command_line::cli(stage, plan)).await?);
    }
    if plan.wants_any("daemon") {
        rows.extend(Box::pin(daemon::life(stage, plan)).await?);
    }
    plan.bar.finish_and_clear();
    Ok(rows)
}

/// What is to be measured, and how thoroughly.
struct Plan {
    calls: usize,
    rounds: usize,
    quick: bool,
    only: Option<String>,
    groups: &'static [&'static str],
    payloads: Vec<Payload>,
    bar: ProgressBar,
}

impl Plan {
    /// Whether the row of this name is wanted.
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(&**only))
    }

    /// Whether a row of this group may be wanted.
    fn wants_any(&self, group: &str) -> bool {
        self.only.as_ref().is_none_or(|only| {
            let named = self.groups.iter().any(|word| only.contains(word));
            !named || only.contains(group)
        })
    }

    /// How many callers a payload is measured with.
    fn callers(&self, payload: &Payload) -> Vec<usize> {
        if payload.share < 0.1 {
            return vec![1];
        }
        vec![1, CALLERS]
    }

    /// How often a call is made that is due this share of all.
    fn effort(&self, share: f64) -> Effort {
        let calls = (self.calls as f64 * share) as usize;
        Effort {
            rounds: self.rounds,
            calls: calls.div_ceil(self.rounds).max(2),
        }
    }

    /// How often whole programs are run.
    fn programs(&self) -> Effort {
        Effort {
            rounds: if self.quick { 1 } else { 15 },
            calls: 4,
        }
    }

    /// How often something slow is done.
    fn samples(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Say what is being measured.
    fn tell(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }
}
