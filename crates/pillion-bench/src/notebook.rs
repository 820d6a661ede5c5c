//! `pillion bench notebook`: cells on kernels behind walls, against `jupyter_client` without any.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use pillion_catalogue::{Error, Result};
use pillion_runtime::{Dirs, Managed};
use pillion_terminal::tools;
use serde_json::{Value, json};

use super::Plan;
use super::code::micros;
use super::exec::proportional;
use super::report::{Budget, Figure, Row, Unit};
use super::rounds::check;
use super::stage::{Stage, cannot};
use super::wire::{Wire, request};

/// Groups of rows, as their names begin.
pub(super) const GROUPS: &[&str] = &["start", "cell", "complete", "memory", "growth"];

const BASELINE: &str = "jupyter_client, no walls";
const CELL: &str = "1 + 1";
/// Microseconds until the first cell of a session is done that found a kernel waiting.
const SPARE: f64 = 20_000.0;
/// How many times what `jupyter_client` takes: a kernel from nothing, and a cell.
const COLD: f64 = 1.0;
const ROUND: f64 = 0.9;
/// Microseconds for names behind a dot.
const COMPLETE: f64 = 10_000.0;
/// Megabytes of a kernel that waits.
const MEMORY: f64 = 60.0;
/// Megabytes that a daemon may grow by over so many cells.
const CELLS: usize = 1000;
const GROWTH: f64 = 4.0;
/// How long a kernel may take until it waits.
const READY: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_millis(20);

/// Measure cells against `jupyter_client`.
#[derive(Debug, Args)]
pub(crate) struct NotebookBench {}

/// Both sides.
struct Sides<'a> {
    plan: &'a Plan,
    wire: Wire,
    baseline: Wire,
    root: PathBuf,
    /// A project that keeps no kernel in reserve.
    cold: PathBuf,
    pid: Option<u32>,
    sessions: usize,
}

impl NotebookBench {
    /// Measure; gives what was run, and the rows.
    pub(super) async fn measure(&self, stage: &Stage, plan: &Plan) -> Result<(String, Vec<Row>)> {
        let managed = Managed::for_kernels(&Dirs::from_env(), &stage.interpreter);
        let packages = tools::ensure(&managed).await?.site_packages;
        let own = Managed::for_kernels(&stage.dirs(), &stage.interpreter);
        Stage::share(&managed, &own)?;
        let path = std::env::join_paths(packages).map_err(Error::internal)?;
        let launch = stage.python().arg(stage.path("notebook_client.py"));
        let launch = launch.env("PYTHONPATH", path);
        let (_child, baseline) = Stage::conversation(launch)?;
        let daemon = stage.start(stage.daemon("n.sock").unguarded(), "n.sock")?;
        let mut sides = Sides {
            plan,
            wire: daemon.wire()?,
            baseline,
            root: stage.root(),
            cold: project(stage)?,
            pid: daemon.pid(),
            sessions: 0,
        };
        let mut rows = Vec::new();
        if plan.wants_any("start") {
            rows.extend(sides.start()?);
        }
        sides.cell("shared", CELL)?;
        sides.baseline(&json!({"do": "start"}))?;
        if plan.wants_any("cell") {
            rows.push(sides.round()?);
        }
        if plan.wants_any("complete") {
            rows.push(sides.complete()?);
        }
        if plan.wants_any("memory") {
            rows.extend(sides.memory()?);
        }
        if plan.wants_any("growth") {
            rows.extend(sides.growth()?);
        }
        daemon.stop().await;
        rows.retain(|row| plan.wants(&row.name));
        plan.bar.finish_and_clear();
        Ok((format!("`{CELL}` on ipykernel"), rows))
    }
}

/// A project whose sessions find no kernel that waits.
fn project(stage: &Stage) -> Result<PathBuf> {
    let root = stage.project("cold")?;
    let path = root.join("pillion.toml");
    let config = fs::read_to_string(&path).map_err(|error| cannot(&error))?;
    let config = format!("{config}[notebook]\nspare = false\n");
    fs::write(path, config).map_err(|error| cannot(&error))?;
    stage.trust(&root)?;
    Ok(root)
}

impl Sides<'_> {
    /// From the request to the end of the first cell: of a session that finds a kernel, and of
    /// one that does not.
    fn start(&mut self) -> Result<Vec<Row>> {
        self.plan.tell("kernels that start");
        let (mut cold, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.plan.samples(8, 1) {
            let session = self.new_session();
            let cell = json!({"session": session, "code": CELL, "root": self.cold});
            cold.push(self.timed("notebook.run_cell", &cell)?);
            self.ask("notebook.shutdown", &json!({ "session": session }))?;
            theirs.push(self.baseline(&json!({"do": "start"}))?);
        }
        let what = "the first cell, kernel from nothing";
        let row = Row::new("start/cold", what, Unit::Micros, Figure::of(&micros(&cold)));
        let row = row.against(BASELINE, Figure::of(&micros(&theirs)));
        let cold = row.budget(Budget::Times(COLD));

        self.plan.tell("kernels that wait");
        self.cell("shared", CELL)?;
        let mut warm = Vec::new();
        for _ in 0..self.plan.samples(15, 2) {
            self.wait_for_spare()?;
            let session = self.new_session();
            warm.push(self.cell(&session, CELL)?);
            self.ask("notebook.shutdown", &json!({ "session": session }))?;
        }
        let what = "the first cell, kernel that waits";
        let row = Row::new(
            "start/spare",
            what,
            Unit::Micros,
            Figure::of(&micros(&warm)),
        );
        let row = row.against(BASELINE, Figure::of(&micros(&theirs)));
        Ok(vec![row.budget(Budget::Most(SPARE)), cold])
    }

    /// One cell after the other.
    fn round(&mut self) -> Result<Row> {
        self.plan.tell("cells");
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.plan.samples(20, 2) {
            for _ in 0..self.plan.samples(20, 4) {
                ours.push(self.cell("shared", CELL)?);
            }
            for _ in 0..self.plan.samples(20, 4) {
                theirs.push(self.baseline(&json!({"do": "cell", "code": CELL}))?);
            }
        }
        let row = Row::new(
            "cell/round",
            "a cell",
            Unit::Micros,
            Figure::of(&micros(&ours)),
        );
        let row = row.against(BASELINE, Figure::of(&micros(&theirs)));
        Ok(row.budget(Budget::Times(ROUND)))
    }

    fn complete(&mut self) -> Result<Row> {
        self.plan.tell("completion");
        let code = "import json; loaded = json";
        self.cell("shared", code)?;
        self.baseline(&json!({"do": "cell", "code": code}))?;
        let params = json!({"session": "shared", "code": "loaded."});
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.plan.samples(100, 4) {
            ours.push(self.timed("notebook.complete", &params)?);
            theirs.push(self.baseline(&json!({"do": "complete", "code": "loaded."}))?);
        }
        let what = "names behind a dot";
        let row = Row::new(
            "complete/live",
            what,
            Unit::Micros,
            Figure::of(&micros(&ours)),
        );
        let row = row.against(BASELINE, Figure::of(&micros(&theirs)));
        Ok(row.budget(Budget::Most(COMPLETE)))
    }

    /// What a kernel that waits weighs.
    fn memory(&mut self) -> Result<Option<Row>> {
        self.plan.tell("memory");
        self.wait_for_spare()?;
        let status = self.ask("system.status", &json!({}))?;
        let workspaces = status["result"]["workspaces"].as_array().cloned();
        let sidecars = workspaces.unwrap_or_default().into_iter();
        let sidecars =
            sidecars.flat_map(|one| one["sidecars"].as_array().cloned().unwrap_or_default());
        let mut spare = sidecars.filter(|sidecar| sidecar["name"] == "kernel-spare");
        let pid = spare.next().and_then(|spare| spare["pid"].as_u64());
        let pid = pid.and_then(|pid| u32::try_from(pid).ok());
        Ok(pid.and_then(proportional).map(|weight| {
            let figure = Figure::single(weight, 1);
            let what = "a kernel that waits";
            let row = Row::new("memory/spare", what, Unit::Megabytes, figure);
            row.budget(Budget::Most(MEMORY))
        }))
    }

    /// What a daemon has more after many cells.
    fn growth(&mut self) -> Result<Option<Row>> {
        let cells = self.plan.samples(CELLS, 20);
        self.plan.tell(&format!("{cells} cells"));
        let weight = |pid: Option<u32>| pid.and_then(proportional);
        for _ in 0..self.plan.samples(100, 2) {
            self.cell("shared", CELL)?;
        }
        let before = weight(self.pid);
        for _ in 0..cells {
            self.cell("shared", CELL)?;
        }
        let (Some(before), Some(after)) = (before, weight(self.pid)) else {
            return Ok(None);
        };
        let figure = Figure::single((after - before).max(0.0), 1);
        let what = format!("the daemon grew, over {cells} cells");
        let row = Row::new("growth/daemon", &what, Unit::Megabytes, figure);
        Ok(Some(row.budget(Budget::Most(GROWTH))))
    }

    fn new_session(&mut self) -> String {
        self.sessions += 1;
        format!("bench-{}", self.sessions)
    }

    fn wait_for_spare(&mut self) -> Result<()> {
        let until = Instant::now() + READY;
        while self.ask("notebook.status", &json!({}))?["result"]["spares"] != 1 {
            if Instant::now() > until {
                return Err(Error::internal("no kernel waits"));
            }
            std::thread::sleep(AGAIN);
        }
        Ok(())
    }

    fn cell(&mut self, session: &str, code: &str) -> Result<f64> {
        let params = json!({ "session": session, "code": code, "root": self.root });
        self.timed("notebook.run_cell", &params)
    }

    fn timed(&mut self, operation: &str, params: &Value) -> Result<f64> {
        let began = Instant::now();
        self.ask(operation, params)?;
        Ok(began.elapsed().as_secs_f64())
    }

    fn ask(&mut self, operation: &str, params: &Value) -> Result<Value> {
        let answer = self.wire.ask(&request(operation, params));
        let answer = answer.map_err(|error| cannot(&error))?;
        check(answer).map_err(|error| cannot(&error))?;
        serde_json::from_slice(answer).map_err(Error::internal)
    }

    fn baseline(&mut self, order: &Value) -> Result<f64> {
        let line = format!("{order}\n");
        let answer = self.baseline.ask(line.as_bytes());
        let answer: Value = serde_json::from_slice(answer.map_err(|error| cannot(&error))?)
            .map_err(Error::internal)?;
        let seconds = answer["seconds"].as_f64();
        seconds.ok_or_else(|| Error::internal(format!("jupyter_client said `{answer}`")))
    }
}
