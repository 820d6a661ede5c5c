//! `pillion bench refactor`: refactorings of Django, against Rope on the same tree.
//!
//! Every change is asked for and thrown away. What pillion remembers of an answer is worth
//! nothing here: a file beside is rewritten before each question, so that the clock ticks.

mod rope;
mod tasks;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use pillion_catalogue::{Error, Result};
use pillion_process::stat;
use pillion_runtime::Interpreter;
use pillion_terminal::tools;
use serde_json::Value;

use super::Plan;
use super::code::{asked, forget, tree};
use super::report::{Budget, Figure, Row, Unit};
use super::stage::{Server, Stage, cannot};
use super::wire::Wire;
use rope::Rope;
use tasks::{Task, Tasks};

/// Groups of rows, as their names begin.
pub(super) const GROUPS: &[&str] = &["rename", "extract", "organize", "memory"];

const ROPE: &str = "Rope, plain process";
const ROPE_ONCE: &str = "Rope, once";
/// How long everything is left alone before it is weighed.
const SETTLE: Duration = Duration::from_millis(500);

/// Measure refactorings of Django against Rope.
#[derive(Debug, Args)]
pub(crate) struct RefactorBench {
    /// Do not let Rope rename: it reads all files, and takes a minute.
    #[arg(long)]
    no_rope: bool,
}

impl RefactorBench {
    /// Measure; gives what was changed, and the rows.
    pub(super) async fn measure(&self, stage: &Stage, plan: &Plan) -> Result<(String, Vec<Row>)> {
        let managed = tools::managed().await?;
        let tools = tools::ensure(&managed).await?;
        stage.share_tools(&managed).await?;
        let source = tree::django(stage, managed.uv().as_deref()).await?;
        plan.tell("reading the tree");
        let root = stage.path("tree");
        let index = tree::copy(&source, &root).await?;
        let mut set = Set {
            tasks: Tasks::find(&root)?,
            stage,
            plan,
            tools,
            root,
            ticks: 0,
            subject: format!("Django 5.2: {} Python files", index.len()),
        };
        let rope_renames = !self.no_rope && !plan.quick;
        let rows = Box::pin(set.rows(rope_renames)).await?;
        plan.bar.finish_and_clear();
        Ok((set.subject, rows))
    }
}

/// Everything that the rows need.
struct Set<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
    /// The Python that has Rope.
    tools: Interpreter,
    /// The copy of the tree.
    root: PathBuf,
    tasks: Tasks,
    /// How often the clock was made to tick.
    ticks: usize,
    subject: String,
}

impl Set<'_> {
    async fn rows(&mut self, rope_renames: bool) -> Result<Vec<Row>> {
        let plan = self.plan;
        let mut rows = Vec::new();
        if plan.wants_any("rename") {
            rows.extend(Box::pin(self.renames(rope_renames)).await?);
        }
        let others = ["extract", "organize", "memory"];
        if others.iter().any(|group| plan.wants_any(group)) {
            rows.extend(Box::pin(self.others()).await?);
        }
        rows.retain(|row| plan.wants(&row.name));
        Ok(rows)
    }

    /// A daemon that knows the tree, and has renamed something else.
    fn warm_daemon(&mut self, socket: &str) -> Result<(Server, Wire)> {
        let daemon = self
            .stage
            .start(self.stage.daemon(socket).unguarded(), socket)?;
        let mut wire = daemon.wire()?;
        let other = self.tasks.other.clone();
        self.ask(&mut wire, &other)?;
        Ok((daemon, wire))
    }

    /// Ask for a change, after the clock ticked; gives seconds and answer.
    fn ask(&mut self, wire: &mut Wire, task: &Task) -> Result<(f64, Value)> {
        self.ticks += 1;
        let text = format!("TICK = {}\n", self.ticks);
        let beside = self.root.join("pillion_bench_tick.py");
        std::fs::write(beside, text).map_err(|error| cannot(&error))?;
        let (took, answer) = asked(wire, &task.message(&self.root))?;
        let answer: Value = serde_json::from_slice(answer).map_err(Error::internal)?;
        if answer["result"]["edits"] == 0 {
            let what = format!("nothing to do for `{}`", task.method);
            return Err(Error::internal(what));
        }
        Ok((took, answer))
    }

    async fn renames(&mut self, with_rope: bool) -> Result<Vec<Row>> {
        let task = self.tasks.rename.clone();
        let mut cold = Vec::new();
        for _ in 0..self.plan.samples(3, 1) {
            self.plan.tell("rename, daemon and index new");
            forget(self.stage, "home/cache/index")?;
            let began = Instant::now();
            let daemon = self
                .stage
                .start(self.stage.daemon("c.sock").unguarded(), "c.sock")?;
            let mut wire = daemon.wire()?;
            self.ask(&mut wire, &task)?;
            cold.push(began.elapsed().as_secs_f64() * 1e6);
            drop(wire);
            daemon.stop().await;
            // The next one must not be taken for it.
            let _ = std::fs::remove_file(self.stage.path("c.sock"));
        }
        self.plan.tell("rename, warm");
        let (daemon, mut wire) = self.warm_daemon("w.sock")?;
        let mut warm = Vec::new();
        let mut size = (0, 0);
        for _ in 0..self.plan.samples(10, 2) {
            let (took, answer) = self.ask(&mut wire, &task)?;
            warm.push(took * 1e6);
            let files = answer["result"]["files"].as_array().map_or(0, Vec::len);
            size = (answer["result"]["edits"].as_u64().unwrap_or(0), files);
        }
        drop(wire);
        daemon.stop().await;
        let (edits, files) = size;
        self.subject += &format!(
            "; `{}` renamed: {edits} places in {files} files",
            task.shown
        );
        let row = |name, what, ours: &[f64], most| {
            let row = Row::new(name, what, Unit::Micros, Figure::of(ours));
            (row, Budget::Most(most))
        };
        let mut rows = vec![
            row("rename/warm", "rename a method, warm", &warm, 1_500_000.0),
            row(
                "rename/cold",
                "rename a method, daemon and index new",
                &cold,
                4_000_000.0,
            ),
        ];
        if with_rope {
            self.plan.tell("rename by Rope, once");
            let began = Instant::now();
            let mut rope = Rope::start(self)?;
            let (took, files) = rope.ask(&task)?;
            let whole = began.elapsed().as_secs_f64();
            rope.stop().await;
            self.subject += &format!(" (by Rope in {files})");
            let times = [took, whole].map(|seconds| Figure::single(seconds * 1e6, 1));
            rows = rows
                .into_iter()
                .zip(times)
                .map(|((row, budget), theirs)| (row.against(ROPE_ONCE, theirs), budget))
                .collect();
        }
        let with_budget = rows.into_iter().map(|(row, budget)| row.budget(budget));
        Ok(with_budget.collect())
    }

    async fn others(&mut self) -> Result<Vec<Row>> {
        let (daemon, mut wire) = self.warm_daemon("o.sock")?;
        let mut rope = Rope::start(self)?;
        let tasks = [
            ("extract/variable", self.tasks.variable.clone(), 100_000.0),
            ("extract/method", self.tasks.method.clone(), 100_000.0),
            ("organize/file", self.tasks.organize.clone(), 30_000.0),
        ];
        let mut rows = Vec::new();
        for (name, task, most) in tasks {
            self.plan.tell(task.shown);
            // The first one of a sort starts what is needed for it.
            self.ask(&mut wire, &task)?;
            rope.ask(&task)?;
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..self.plan.samples(30, 3) {
                ours.push(self.ask(&mut wire, &task)?.0 * 1e6);
                theirs.push(rope.ask(&task)?.0 * 1e6);
            }
            let row = Row::new(name, task.shown, Unit::Micros, Figure::of(&ours));
            let row = row.against(ROPE, Figure::of(&theirs));
            rows.push(row.budget(Budget::Most(most)));
        }
        rope.stop().await;
        let rename = self.tasks.rename.clone();
        self.ask(&mut wire, &rename)?;
        std::thread::sleep(SETTLE);
        let of = |weigh: fn(u32) -> u64| daemon.pid().map_or(0, weigh);
        let own = of(|pid| stat::resident_bytes(pid).unwrap_or(0));
        let below = of(stat::resident_bytes_of_tree).saturating_sub(own);
        let what = "all sidecars of the workspace after these";
        let figure = Figure::single(below as f64 / 1e6, 1);
        let row = Row::new("memory/sidecars", what, Unit::Megabytes, figure);
        rows.push(row.budget(Budget::Most(500.0)));
        drop(wire);
        daemon.stop().await;
        Ok(rows)
    }
}
