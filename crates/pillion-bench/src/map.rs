//! `pillion bench map`: the map of Django, or of a tree of the user's: how long the first
//! answer takes, how long the next ones do, also after an edit, and what it all weighs.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use pillion_catalogue::{Code, Error, Result};
use pillion_process::stat;
use pillion_terminal::tools;
use serde_json::{Value, json};

use super::Plan;
use super::code::{asked, micros, tree};
use super::report::{Budget, Figure, Row, Unit};
use super::stage::{Server, Stage, cannot};
use super::wire::{Wire, request};

/// Groups of rows, as their names begin.
pub(super) const GROUPS: &[&str] = &["first", "again", "types", "edit", "memory"];

/// Microseconds that a question may take on a tree that did not change.
const AGAIN: f64 = 5_000.0;
/// The same after an edit.
const EDITED: f64 = 50_000.0;
/// Microseconds until the first answer.
const FIRST: f64 = 4_000_000.0;
/// Megabytes of the daemon, in which index and graph are.
const MEMORY: f64 = 150.0;
/// How long a daemon may take to write its sketches.
const WRITTEN: Duration = Duration::from_secs(60);
/// How long everything is left alone before it is weighed.
const SETTLE: Duration = Duration::from_millis(500);

/// Measure the map of Django, or of a tree of yours.
#[derive(Debug, Args)]
pub(crate) struct MapBench {
    /// Map this tree instead of Django. It is copied, and stays as it is.
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
}

impl MapBench {
    /// Measure; gives what was mapped, and the rows.
    pub(super) async fn measure(&self, stage: &Stage, plan: &Plan) -> Result<(String, Vec<Row>)> {
        let managed = tools::managed().await?;
        tools::ensure(&managed).await?;
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
        let files = tree::copy(&source, &root).await?.len();
        let mut rows = Box::pin(Trial { stage, plan, root }.rows()).await?;
        rows.retain(|row| plan.wants(&row.name));
        plan.bar.finish_and_clear();
        let name = source.file_name().unwrap_or(source.as_os_str());
        let subject = format!("{}: {files} Python files", name.to_string_lossy());
        Ok((subject, rows))
    }
}

struct Trial<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
    root: PathBuf,
}

/// A function, with the file it is in.
struct Target {
    file: String,
    function: String,
}

impl Trial<'_> {
    async fn rows(&self) -> Result<Vec<Row>> {
        self.plan.tell("first graph, nothing on disk");
        let (daemon, mut wire) = self.start()?;
        let idle = weigh(&daemon);
        let (first, _) = asked(&mut wire, &self.question("call_graph", json!({})))?;
        let targets = self.targets(&mut wire)?;
        let mut rows = self.again(&mut wire)?;
        let memory = weigh(&daemon);
        // From here on ty runs, too.
        rows.extend(self.impacts(&mut wire, &targets)?);
        rows.extend(self.edited(&mut wire, &targets)?);
        self.await_sketches()?;
        drop(wire);
        daemon.stop().await;
        let _ = fs::remove_file(self.stage.path("map.sock"));
        self.plan.tell("first graph, sketches on disk");
        let (daemon, mut wire) = self.start()?;
        let (kept, _) = asked(&mut wire, &self.question("call_graph", json!({})))?;
        drop(wire);
        daemon.stop().await;
        let once = |name: &str, what: &str, seconds: f64| {
            Row::new(name, what, Unit::Micros, Figure::single(seconds * 1e6, 1))
                .budget(Budget::Most(FIRST))
        };
        rows.insert(0, once("first/new", "first graph, nothing on disk", first));
        rows.insert(1, once("first/kept", "first graph of another daemon", kept));
        let what = format!("daemon with index and graph (idle: {idle:.0} MB)");
        let figure = Figure::single(memory, 1);
        let row = Row::new("memory/graph", &what, Unit::Megabytes, figure);
        rows.push(row.budget(Budget::Most(MEMORY)));
        Ok(rows)
    }

    fn start(&self) -> Result<(Server, Wire)> {
        let stage = self.stage;
        let daemon = stage.start(stage.daemon("map.sock").unguarded(), "map.sock")?;
        let wire = daemon.wire()?;
        Ok((daemon, wire))
    }

    fn question(&self, verb: &str, mut params: Value) -> Vec<u8> {
        params["project"] = json!(self.root);
        request(&format!("map.{verb}"), &params)
    }

    /// Functions from the most called one downwards.
    fn targets(&self, wire: &mut Wire) -> Result<Vec<Target>> {
        let all = json!({"max_edges": 100_000, "resolved_only": true});
        let (_, answer) = asked(wire, &self.question("call_graph", all))?;
        let answer: Value = serde_json::from_slice(answer).map_err(Error::internal)?;
        let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
        for edge in answer["result"]["edges"].as_array().into_iter().flatten() {
            if let (Some(file), Some(function)) = (edge[2].as_str(), edge[3].as_str()) {
                *counts.entry((file, function)).or_default() += 1;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let target = |((file, function), _): &((&str, &str), usize)| Target {
            file: (*file).to_owned(),
            function: (*function).to_owned(),
        };
        // Some that many call, and some that few do.
        let step = (counts.len() / 20).max(1);
        let targets: Vec<Target> = counts.iter().step_by(step).map(target).collect();
        if targets.is_empty() {
            return Err(Error::new(Code::NotFound, "nothing is called in this tree")
                .hint("name a tree with Python code"));
        }
        Ok(targets)
    }

    /// Who is affected: by the graph alone, then with what ty knows, new and asked again.
    fn impacts(&self, wire: &mut Wire, targets: &[Target]) -> Result<Vec<Row>> {
        self.plan.tell("who is affected");
        let mut ask = |types: bool, times: usize| -> Result<Vec<f64>> {
            let all = targets.iter().cycle().take(times);
            all.map(|target| Ok(asked(wire, &self.impact(target, types))?.0))
                .collect()
        };
        let times = self.plan.samples(100, 3).max(targets.len());
        let graph = ask(false, times)?;
        let new = ask(true, targets.len())?;
        let again = ask(true, times)?;
        let slowest = new.iter().copied().fold(0.0, f64::max);
        let what = format!("`impact`, ty is asked (at most {slowest:.1} s)");
        let figure = Figure::of(&micros(&new));
        Ok(vec![
            row("again/impact", "`impact`, unchanged tree", &again, AGAIN),
            row("again/graph", "the same without types", &graph, AGAIN),
            Row::new("types/new", &what, Unit::Micros, figure),
        ])
    }

    /// Every other question, asked again.
    fn again(&self, wire: &mut Wire) -> Result<Vec<Row>> {
        let questions = [
            ("call_graph", json!({})),
            ("structure", json!({})),
            ("dead_code", json!({})),
            ("architecture", json!({})),
            ("references", json!({"max_files": 50})),
        ];
        let times = self.plan.samples(50, 3);
        let mut rows = Vec::new();
        self.plan.tell("questions, asked again");
        for (verb, params) in questions {
            let message = self.question(verb, params);
            asked(wire, &message)?;
            let mut seconds = Vec::new();
            for _ in 0..times {
                seconds.push(asked(wire, &message)?.0);
            }
            let what = format!("`{verb}`, unchanged tree");
            rows.push(row(&format!("again/{verb}"), &what, &seconds, AGAIN));
        }
        Ok(rows)
    }

    fn impact(&self, target: &Target, types: bool) -> Vec<u8> {
        let name = format!("{}:{}", target.file, target.function);
        self.question("impact", json!({"target": name, "types": types}))
    }

    /// A question after an edit of the file that most others call.
    fn edited(&self, wire: &mut Wire, targets: &[Target]) -> Result<Vec<Row>> {
        self.plan.tell("edit, then ask");
        let Some(target) = targets.first() else {
            return Ok(Vec::new());
        };
        let path = self.root.join(&target.file);
        let text = fs::read_to_string(&path).map_err(|error| cannot(&error))?;
        let times = self.plan.samples(30, 3);
        let mut ask = |types: bool, more: &dyn Fn(usize) -> String| -> Result<Vec<f64>> {
            let message = self.impact(target, types);
            let mut seconds = Vec::new();
            // The first one makes what the others change.
            for n in 0..=times {
                write(&path, &format!("{text}{}", more(n)))?;
                seconds.push(asked(wire, &message)?.0);
            }
            Ok(seconds.split_off(1))
        };
        let body = |n: usize| format!("\n\ndef _bench():\n    return {n}\n");
        let head = |n: usize| format!("\n\ndef _bench{n}():\n    return 1\n");
        let method = |n: usize| format!("\n\nclass Bench:\n    def bench{n}(self): pass\n");
        let rows = [
            (
                "edit/body",
                "edit a function, ask `impact`",
                ask(true, &body)?,
            ),
            (
                "edit/head",
                "add a function, ask `impact`",
                ask(true, &head)?,
            ),
            (
                "edit/method",
                "add a method, ask `impact`",
                ask(true, &method)?,
            ),
            ("edit/graph", "edit, ask without types", ask(false, &body)?),
        ];
        write(&path, &text)?;
        let rows = rows.iter();
        Ok(rows
            .map(|(name, what, seconds)| row(name, what, seconds, EDITED))
            .collect())
    }

    fn await_sketches(&self) -> Result<()> {
        let folder = self.stage.path("home/cache/map");
        let until = Instant::now() + WRITTEN;
        while Instant::now() < until {
            // Half-written ones have a name with a dot.
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            if names.any(|name| !name.contains('.')) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Error::new(
            Code::Timeout,
            "the daemon did not write its sketches",
        ))
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| cannot(&error))
}

fn row(name: &str, what: &str, seconds: &[f64], budget: f64) -> Row {
    let figure = Figure::of(&micros(seconds));
    Row::new(name, what, Unit::Micros, figure).budget(Budget::Most(budget))
}

/// Resident megabytes of a daemon.
fn weigh(daemon: &Server) -> f64 {
    std::thread::sleep(SETTLE);
    daemon.pid().map_or(0, stat::resident_bytes_of_tree) as f64 / 1e6
}
