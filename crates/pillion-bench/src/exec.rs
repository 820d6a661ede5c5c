//! `pillion bench exec`: code of others behind walls, against a plain `python -c` without any.

use std::fs;
use std::time::{Duration, Instant};

use clap::Args;
use pillion_catalogue::{Error, Result};
use pillion_process::stat::Identity;
use pillion_process::{Launch, StreamTarget, descendants};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::Plan;
use super::code::micros;
use super::report::{Budget, Figure, Row, Unit};
use super::rounds::check;
use super::stage::{Stage, cannot};
use super::wire::{Wire, posted, request};

/// Groups of rows, as their names begin.
pub(super) const GROUPS: &[&str] = &["first", "rate", "health", "memory"];

const BASELINE: &str = "python -c, no walls";
/// The program, for everybody.
const PROGRAM: &str = "print(1)";
/// Microseconds until the first output: from a slot, by fork, from nothing.
const FIRST: [f64; 3] = [3_000.0, 8_000.0, 20_000.0];
/// Runs at the same time, and how many in all.
const AT_ONCE: usize = 4;
const RUNS: usize = 200;
/// How many times as many runs as without walls.
const TIMES: f64 = 3.0;
/// Microseconds until `/health` answers while code runs.
const HEALTH: f64 = 5_000.0;
/// Slots that are weighed, and megabytes of all of them.
const SLOTS: usize = 8;
const MEMORY: f64 = 40.0;
/// How long slots may take to be ready.
const READY: Duration = Duration::from_secs(20);
/// Between two runs that each want a slot that waits.
const REFILL: Duration = Duration::from_millis(15);

/// Measure lanes against a plain Python without any walls.
#[derive(Debug, Args)]
pub(crate) struct ExecBench {}

impl ExecBench {
    /// Measure; gives what was run, and the rows.
    pub(super) async fn measure(&self, stage: &Stage, plan: &Plan) -> Result<(String, Vec<Row>)> {
        let mut rows = Vec::new();
        if plan.wants_any("first") {
            rows.extend(first(stage, plan).await?);
        }
        if plan.wants_any("rate") {
            rows.push(rate(stage, plan).await?);
        }
        if plan.wants_any("health") {
            rows.push(health(stage, plan).await?);
        }
        if plan.wants_any("memory") {
            rows.extend(memory(stage, plan).await?);
        }
        rows.retain(|row| plan.wants(&row.name));
        plan.bar.finish_and_clear();
        Ok((format!("`{PROGRAM}` in the expert lane"), rows))
    }
}

/// From the request to the first output.
async fn first(stage: &Stage, plan: &Plan) -> Result<Vec<Row>> {
    let daemon = stage.start(stage.daemon("x.sock"), "x.sock")?;
    let mut wire = daemon.wire()?;
    let warm = project(stage, "warm", AT_ONCE)?;
    let bare = project(stage, "bare", 0)?;
    let kinds = [
        (
            "first/slot",
            "first output, slot that waits",
            json!({ "root": warm }),
            "slot",
        ),
        (
            "first/fork",
            "first output, forked for it",
            json!({ "root": bare }),
            "fork",
        ),
        (
            "first/cold",
            "first output, new interpreter",
            json!({ "root": warm, "fresh": true }),
            "spawn",
        ),
    ];
    let mut rows = Vec::new();
    for ((name, what, params, start), budget) in kinds.into_iter().zip(FIRST) {
        plan.tell(what);
        let message = order(&params, true);
        for _ in 0..3 {
            first_output(&mut wire, &message)?;
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..plan.samples(100, 3) {
            tokio::time::sleep(REFILL).await;
            let (seconds, came) = first_output(&mut wire, &message)?;
            // A slot that was not ready yet is a fork, and counts as one.
            if came == start {
                ours.push(seconds);
            }
            theirs.push(plain(stage).await?);
        }
        let row = Row::new(name, what, Unit::Micros, Figure::of(&micros(&ours)));
        let row = row.against(BASELINE, Figure::of(&micros(&theirs)));
        rows.push(row.budget(Budget::Most(budget)));
    }
    daemon.stop().await;
    Ok(rows)
}

/// Many runs, several at once.
async fn rate(stage: &Stage, plan: &Plan) -> Result<Row> {
    plan.tell("many runs");
    let daemon = stage.start(stage.daemon("r.sock"), "r.sock")?;
    let root = project(stage, "warm", AT_ONCE)?;
    let message = order(&json!({ "root": root }), false);
    ask(&mut daemon.wire()?, &message)?;
    let runs = plan.samples(RUNS, 8);
    let rounds = plan.samples(5, 1);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let began = Instant::now();
        std::thread::scope(|scope| -> Result<()> {
            let callers: Vec<_> = (0..AT_ONCE)
                .map(|_| {
                    scope.spawn(|| -> Result<()> {
                        let mut wire = daemon.wire()?;
                        (0..runs / AT_ONCE).try_for_each(|_| ask(&mut wire, &message).map(drop))
                    })
                })
                .collect();
            callers.into_iter().try_for_each(|caller| {
                caller
                    .join()
                    .unwrap_or_else(|_| Err(Error::internal("a caller panicked")))
            })
        })?;
        ours.push(runs as f64 / began.elapsed().as_secs_f64());
        let began = Instant::now();
        let one = || async {
            for _ in 0..runs / AT_ONCE {
                plain(stage).await?;
            }
            Ok::<_, Error>(())
        };
        tokio::try_join!(one(), one(), one(), one())?;
        theirs.push(runs as f64 / began.elapsed().as_secs_f64());
    }
    daemon.stop().await;
    let what = format!("{runs} runs, {AT_ONCE} at once (more is better)");
    let row = Row::new("rate/x4", &what, Unit::Rate, Figure::of(&ours));
    let row = row.against(BASELINE, Figure::of(&theirs));
    Ok(row.budget(Budget::TimesMore(TIMES)))
}

/// How soon `/health` answers while code runs.
async fn health(stage: &Stage, plan: &Plan) -> Result<Row> {
    plan.tell("health while code runs");
    let (_server, port) = stage.serve().await?;
    let root = project(stage, "warm", AT_ONCE)?;
    let params = json!({ "code": PROGRAM, "lane": "expert", "root": root });
    let message = posted("/v1/exec.run", &params.to_string());
    let http = || Wire::http(port).map_err(|error| cannot(&error));
    ask(&mut http()?, &message)?;
    let runs = plan.samples(RUNS, 8);
    let question = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    let seconds = std::thread::scope(|scope| -> Result<Vec<f64>> {
        let callers: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut wire = http()?;
                    (0..runs / AT_ONCE).try_for_each(|_| ask(&mut wire, &message).map(drop))
                })
            })
            .collect();
        let mut wire = http()?;
        let mut seconds = Vec::new();
        while callers.iter().any(|caller| !caller.is_finished()) {
            let began = Instant::now();
            wire.ask(question).map_err(|error| cannot(&error))?;
            seconds.push(began.elapsed().as_secs_f64());
            std::thread::sleep(Duration::from_millis(1));
        }
        for caller in callers {
            caller
                .join()
                .unwrap_or_else(|_| Err(Error::internal("a caller panicked")))?;
        }
        Ok(seconds)
    })?;
    let what = format!("`/health` while {AT_ONCE} programs run");
    let row = Row::new(
        "health/running",
        &what,
        Unit::Micros,
        Figure::of(&micros(&seconds)),
    );
    Ok(row.budget(Budget::P99(HEALTH)))
}

/// What slots that wait weigh.
async fn memory(stage: &Stage, plan: &Plan) -> Result<Option<Row>> {
    plan.tell("slots that wait");
    let daemon = stage.start(stage.daemon("w.sock").unguarded(), "w.sock")?;
    let mut wire = daemon.wire()?;
    let root = project(stage, "eight", SLOTS)?;
    ask(&mut wire, &order(&json!({ "root": root }), false))?;
    let until = Instant::now() + READY;
    loop {
        let lanes = ask(&mut wire, &request("exec.lanes", &json!({})))?;
        if lanes["result"]["warm_slots"].as_u64() >= Some(SLOTS as u64) {
            break;
        }
        if Instant::now() > until {
            return Err(Error::internal("the slots are not ready"));
        }
        tokio::time::sleep(REFILL).await;
    }
    let below = daemon.pid().map(descendants).unwrap_or_default();
    let mut below: Vec<Identity> = below.into_iter().filter_map(Identity::of).collect();
    below.sort_by_key(|process| process.start);
    // A box, its init and the zygote come first; slots are forked from that.
    let slots = below.iter().skip(3);
    let weights: Option<Vec<f64>> = slots.map(|slot| proportional(slot.pid)).collect();
    daemon.stop().await;
    // An init lets nobody but root look into it.
    Ok(weights.map(|weights| {
        let what = format!("{SLOTS} slots that wait, besides their zygote");
        let figure = Figure::single(weights.iter().sum(), 1);
        let row = Row::new("memory/slots", &what, Unit::Megabytes, figure);
        row.budget(Budget::Most(MEMORY))
    }))
}

/// Megabytes of a process, its share of what several have.
pub(super) fn proportional(pid: u32) -> Option<f64> {
    let sums = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kb: f64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kb / 1000.0)
}

/// A project with so many slots.
fn project(stage: &Stage, name: &str, slots: usize) -> Result<std::path::PathBuf> {
    let root = stage.project(name)?;
    let path = root.join("pillion.toml");
    let config = fs::read_to_string(&path).map_err(|error| cannot(&error))?;
    let config = format!("{config}[lanes.expert]\nslots = {slots}\n");
    fs::write(path, config).map_err(|error| cannot(&error))?;
    stage.trust(&root)?;
    Ok(root)
}

fn order(params: &Value, stream: bool) -> Vec<u8> {
    let mut all = json!({ "code": PROGRAM, "lane": "expert", "stream": stream });
    if let (Some(all), Some(params)) = (all.as_object_mut(), params.as_object()) {
        all.extend(params.clone());
    }
    request("exec.run", &all)
}

fn ask(wire: &mut Wire, message: &[u8]) -> Result<Value> {
    let answer = wire.ask(message).map_err(|error| cannot(&error))?;
    check(answer).map_err(|error| cannot(&error))?;
    serde_json::from_slice(answer).map_err(Error::internal)
}

/// Run it; gives the seconds until its first output, and where it came from.
fn first_output(wire: &mut Wire, message: &[u8]) -> Result<(f64, String)> {
    let began = Instant::now();
    wire.ask(message).map_err(|error| cannot(&error))?;
    let took = began.elapsed().as_secs_f64();
    loop {
        let answer = wire.receive().map_err(|error| cannot(&error))?;
        let answer: Value = serde_json::from_slice(answer).map_err(Error::internal)?;
        if let Some(start) = answer["result"]["start"].as_str() {
            return Ok((took, start.to_owned()));
        }
        if let Some(error) = answer.get("error") {
            return Err(Error::internal(format!("the run failed: {error}")));
        }
    }
}

/// The same program without walls; gives the seconds until its first output.
async fn plain(stage: &Stage) -> Result<f64> {
    let began = Instant::now();
    let launch = Launch::new(&stage.interpreter.executable).unguarded();
    let launch = launch.args(["-c", PROGRAM]).stdout(StreamTarget::Piped);
    let mut running = launch.spawn().map_err(Error::internal)?;
    let mut byte = [0];
    if let Some(mut stdout) = running.take_stdout() {
        stdout
            .read_exact(&mut byte)
            .await
            .map_err(|error| cannot(&error))?;
    }
    let took = began.elapsed().as_secs_f64();
    running.wait().await;
    Ok(took)
}
