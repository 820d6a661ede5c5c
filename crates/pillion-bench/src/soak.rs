//! Many calls through one daemon: does anything grow?

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use pillion_catalogue::{Error, Result};
use pillion_process::stat::resident_bytes;
use serde_json::Value;

use super::command_line::plain;
use super::payload::Payload;
use super::report::{Budget, Figure, Row, Soak, Unit};
use super::stage::{Server, Stage, cannot};
use super::wire::Wire;

/// Callers side by side.
const CALLERS: u64 = 4;
/// How often memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Caches and allocators fill up during the first calls; what comes after is a leak.
const WARM_UP: u64 = 100_000;
/// One call in so many carries the middle payload.
const LARGER_EVERY: u64 = 50;

/// What is looked at in the end.
fn rows(soak: &Soak) -> Vec<Row> {
    let row = |name, what, pick: fn(&(u64, f64, f64)) -> f64| {
        let settled: Vec<_> = soak
            .samples
            .iter()
            .filter(|sample| sample.0 >= soak.warm_up)
            .map(pick)
            .collect();
        let (first, last) = (settled.first(), settled.last());
        let growth = match (first, last) {
            (Some(first), Some(last)) if *first > 0.0 => (last / first - 1.0) * 100.0,
            _ => 0.0,
        };
        let figure = Figure::single(growth, settled.len());
        let before = soak.samples.first().map_or(0.0, pick);
        let what = format!(
            "soak, {what} ({before:.1} MB at first, {:.1} warm, {:.1} at last)",
            first.copied().unwrap_or(0.0),
            last.copied().unwrap_or(0.0)
        );
        Row::new(name, &what, Unit::Percent, figure).budget(Budget::Most(5.0))
    };
    vec![
        row("soak/daemon", "growth of the daemon", |s| s.1),
        row("soak/worker", "growth of the worker", |s| s.2),
    ]
}

/// Make so many calls.
pub(super) fn soak(stage: &Stage, calls: u64) -> Result<(Soak, Vec<Row>)> {
    let daemon = stage.start(stage.daemon("d.sock"), "d.sock")?;
    let messages: Vec<_> = Payload::all()
        .iter()
        .take(2)
        .map(|payload| super::doors::rpc(&stage.root(), payload))
        .collect();
    let mut wire = daemon.wire()?;
    let warm = messages.first().map(Vec::as_slice).unwrap_or_default();
    wire.ask(warm).map_err(|error| cannot(&error))?;
    let processes = processes(&mut wire)?;
    let bar = bar(calls);
    let (done, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut samples = Vec::new();
    let began = Instant::now();
    let mut look = |done: u64| {
        let megabytes = |pid| resident_bytes(pid).unwrap_or(0) as f64 / 1e6;
        samples.push((done, megabytes(processes.0), megabytes(processes.1)));
    };
    std::thread::scope(|scope| -> Result<()> {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| scope.spawn(|| caller(&daemon, &messages, calls, &done, &failed)))
            .collect();
        while callers.iter().any(|caller| !caller.is_finished()) {
            look(done.load(Ordering::Relaxed));
            bar.set_position(done.load(Ordering::Relaxed));
            std::thread::sleep(LOOK_EVERY);
        }
        for caller in callers {
            caller
                .join()
                .map_err(|_| Error::internal("a caller panicked"))??;
        }
        Ok(())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    look(calls);
    bar.finish_and_clear();
    let soak = Soak {
        calls,
        seconds,
        calls_per_second: calls as f64 / seconds,
        warm_up: WARM_UP.min(calls / 4),
        samples,
    };
    let rows = rows(&soak);
    Ok((soak, rows))
}

fn caller(
    daemon: &Server,
    messages: &[Vec<u8>],
    calls: u64,
    done: &AtomicU64,
    failed: &AtomicBool,
) -> Result<()> {
    let work = || -> Result<()> {
        let mut wire = daemon.wire()?;
        while !failed.load(Ordering::Relaxed) {
            let number = done.fetch_add(1, Ordering::Relaxed);
            if number >= calls {
                break;
            }
            let larger = usize::from(number.is_multiple_of(LARGER_EVERY));
            let message = messages.get(larger).map(Vec::as_slice).unwrap_or_default();
            let answer = wire.ask(message).map_err(|error| cannot(&error))?;
            super::rounds::check(answer).map_err(|error| cannot(&error))?;
        }
        Ok(())
    };
    let outcome = work();
    // Nobody goes on for an hour after one has failed.
    failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
    outcome
}

/// The daemon's process and its worker's, as it tells them.
fn processes(wire: &mut Wire) -> Result<(u32, u32)> {
    let answer = wire
        .ask(&plain("system.status"))
        .map_err(|error| cannot(&error))?;
    let status: Value = serde_json::from_slice(answer).map_err(Error::internal)?;
    let status = &status["result"];
    let pid = |value: &Value| value.as_u64().and_then(|pid| u32::try_from(pid).ok());
    let worker = pid(&status["workspaces"][0]["sidecars"][0]["pid"]);
    pid(&status["pid"])
        .zip(worker)
        .ok_or_else(|| Error::internal("the daemon does not tell its processes"))
}

fn bar(calls: u64) -> ProgressBar {
    let bar = ProgressBar::new(calls);
    if let Ok(style) = ProgressStyle::with_template(
        "{bar:30} {human_pos} of {human_len} calls, {per_sec}, {eta} to go",
    ) {
        bar.set_style(style);
    }
    bar
}
