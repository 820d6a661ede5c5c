//! The daemon itself: what it weighs, how fast it is there, how fast it recovers.

use std::path::Path;
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error, Result};
use pillion_process::stat::resident_bytes;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::json;

use super::Plan;
use super::command_line::plain;
use super::report::{Budget, Figure, Row, Unit};
use super::stage::{FUNCTION, Stage, cannot};
use super::wire::{Wire, request};

/// How long a server is left alone before it is weighed.
const SETTLE: Duration = Duration::from_millis(300);
/// How long a worker may take to end when asked to.
const GONE: Duration = Duration::from_secs(5);

/// All rows about the daemon.
pub(super) async fn life(stage: &Stage, plan: &Plan) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    if plan.wants("daemon/memory") {
        plan.tell("daemon, memory");
        rows.push(memory(stage).await?);
    }
    if plan.wants("daemon/start") {
        plan.tell("daemon, start");
        rows.push(start(stage, plan.samples(20, 3)).await?);
    }
    if plan.wants("daemon/recovery") {
        plan.tell("worker, recovery");
        rows.extend(recovery(stage, plan.samples(30, 2)).await?);
    }
    Ok(rows)
}

/// Resident memory after the first answer, before any sidecar.
async fn memory(stage: &Stage) -> Result<Row> {
    let mut weights = Vec::new();
    for launch in [stage.daemon("m.sock"), stage.asyncio("m2.sock")] {
        let socket = if weights.is_empty() {
            "m.sock"
        } else {
            "m2.sock"
        };
        let server = stage.start(launch.unguarded(), socket)?;
        server
            .wire()?
            .ask(&plain("system.ping"))
            .map_err(|error| cannot(&error))?;
        std::thread::sleep(SETTLE);
        let bytes = server.pid().and_then(resident_bytes).unwrap_or(0);
        weights.push(Figure::of(&[bytes as f64 / 1e6]));
        server.stop().await;
    }
    let [ours, theirs] = weights[..] else {
        return Err(Error::internal("two servers were weighed"));
    };
    Ok(Row::new(
        "daemon/memory",
        "daemon, idle, resident",
        Unit::Megabytes,
        ours,
    )
    .against("asyncio server", theirs)
    .budget(Budget::Most(20.0)))
}

/// From nothing to the first answer.
async fn start(stage: &Stage, samples: usize) -> Result<Row> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for n in 0..samples {
        let (daemon, asyncio) = (format!("s{n}.sock"), format!("s{n}a.sock"));
        ours.push(started(stage, stage.daemon(&daemon), &daemon).await?);
        theirs.push(started(stage, stage.asyncio(&asyncio), &asyncio).await?);
    }
    Ok(Row::new(
        "daemon/start",
        "daemon, start to first ping",
        Unit::Micros,
        Figure::of(&ours),
    )
    .against("asyncio server", Figure::of(&theirs))
    .budget(Budget::Most(30_000.0)))
}

async fn started(stage: &Stage, launch: pillion_process::Launch, name: &str) -> Result<f64> {
    let began = Instant::now();
    let server = stage.start(launch.unguarded(), name)?;
    let mut wire = server.wire()?;
    // The asyncio server knows no such method, and an error is an answer as well.
    wire.ask(&plain("system.ping"))
        .map_err(|error| cannot(&error))?;
    let took = began.elapsed().as_secs_f64() * 1e6;
    drop(wire);
    server.stop().await;
    Ok(took)
}

/// A worker is killed: how long until the next answer, beside a start in peace?
async fn recovery(stage: &Stage, samples: usize) -> Result<Vec<Row>> {
    let daemon = stage.start(stage.daemon("r.sock"), "r.sock")?;
    let mut wire = daemon.wire()?;
    let (mut first, mut cold, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..=samples {
        // A project each: a third death within ten seconds would open the breaker.
        let root = stage.project(&format!("recovery{n}"))?;
        let (opened, _) = call(&mut wire, &root)?;
        retire(&mut wire, &root)?;
        let (started, pid) = call(&mut wire, &root)?;
        kill(pid)?;
        let (recovered, _) = call(&mut wire, &root)?;
        // The first one also unpacks the worker package and compiles it.
        if n > 0 {
            first.push(opened);
            cold.push(started);
            after.push(recovered);
        }
        retire(&mut wire, &root)?;
    }
    drop(wire);
    daemon.stop().await;
    let cold = Figure::of(&cold);
    Ok(vec![
        Row::new(
            "daemon/recovery",
            "answer after kill -9 of the worker",
            Unit::Micros,
            Figure::of(&after),
        )
        .against("worker start", cold)
        .budget(Budget::Over(10_000.0)),
        Row::new(
            "daemon/recovery/first",
            "first call of a new project",
            Unit::Micros,
            Figure::of(&first),
        )
        .against("worker start", cold),
    ])
}

#[derive(Deserialize)]
struct Answer {
    result: Called,
}

#[derive(Deserialize)]
struct Called {
    worker: Worker,
}

#[derive(Deserialize)]
struct Worker {
    pid: Option<i32>,
}

/// One call; gives the microseconds it took and the process that answered.
fn call(wire: &mut Wire, root: &Path) -> Result<(f64, i32)> {
    let params = json!({ "function": FUNCTION, "params": [1], "root": root, "idempotent": true });
    let message = request("py.call", &params);
    let asked = Instant::now();
    let answer = wire.ask(&message).map_err(|error| cannot(&error))?;
    let took = asked.elapsed().as_secs_f64() * 1e6;
    let pid = serde_json::from_slice::<Answer>(answer)
        .ok()
        .and_then(|answer| answer.result.worker.pid);
    let pid = pid.ok_or_else(|| {
        let text = String::from_utf8_lossy(answer).into_owned();
        Error::internal(format!("a call failed: {text}"))
    })?;
    Ok((took, pid))
}

/// End the worker of a project in peace, and wait until it is gone.
fn retire(wire: &mut Wire, root: &Path) -> Result<()> {
    let ask = |wire: &mut Wire, message: &[u8]| -> Result<String> {
        let answer = wire.ask(message).map_err(|error| cannot(&error))?;
        Ok(String::from_utf8_lossy(answer).into_owned())
    };
    ask(wire, &request("py.restart", &json!({ "root": root })))?;
    let until = Instant::now() + GONE;
    while Instant::now() < until {
        let workers: serde_json::Value =
            serde_json::from_str(&ask(wire, &plain("py.workers"))?).map_err(Error::internal)?;
        let ended = workers["result"]["workspaces"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|workspace| Path::new(workspace["root"].as_str().unwrap_or("")) == root)
            .all(|workspace| workspace["sidecars"][0]["state"] == "idle");
        if ended {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Err(Error::new(
        Code::Timeout,
        "a worker did not end when asked to",
    ))
}

fn kill(pid: i32) -> Result<()> {
    let pid = Pid::from_raw(pid).ok_or_else(|| Error::internal("no process"))?;
    kill_process(pid, Signal::KILL).map_err(Error::internal)
}
