//! Warm `py.call`s through each door, and through none.

use std::path::Path;

use pillion_catalogue::{Error, Result};
use pillion_engine::{Engine, EngineOptions};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::Plan;
use super::payload::Payload;
use super::report::{Budget, Row};
use super::rounds::{Duel, Subject};
use super::stage::{FUNCTION, Server, Stage, cannot};
use super::wire::{Wire, framed, posted};

const ASYNCIO: &str = "asyncio server";
const PIPE: &str = "bare pipe echo";
/// Modules of a project that is no toy.
const MODULES: usize = 300;

/// Rows of one door: each payload alone, then several callers.
struct Door<'a> {
    name: &'static str,
    what: &'static str,
    baseline: &'static str,
    plan: &'a Plan,
    /// For the smallest payload and one caller.
    budget: Option<Budget>,
    rows: Vec<Row>,
}

impl Door<'_> {
    /// Measure one payload with so many callers.
    async fn measure<'s>(
        &mut self,
        payload: &Payload,
        callers: usize,
        ours: impl FnOnce() -> Result<Subject<'s>>,
        baseline: impl FnOnce() -> Result<Subject<'s>>,
    ) -> Result<()> {
        let crowd = if callers > 1 {
            format!("/x{callers}")
        } else {
            String::new()
        };
        let name = format!("{}/{}{crowd}", self.name, payload.name.replace(' ', ""));
        if !self.plan.wants(&name) {
            return Ok(());
        }
        let mut what = format!("{}, {}", self.what, payload.name);
        if callers > 1 {
            what = format!("{what}, {callers} callers");
        }
        self.plan.tell(&what);
        let effort = self.plan.effort(payload.share).at_least(callers);
        let duel = Box::pin(Duel::fight(&mut ours()?, &mut baseline()?, effort)).await?;
        let mut row = Row::times(&name, &what, self.baseline, &duel);
        if let Some(budget) = self.budget.filter(|_| callers == 1 && payload.is_small()) {
            row = row.budget(budget);
        }
        self.rows.push(row);
        if callers > 1 {
            let (name, what) = (
                format!("{name}/rate"),
                format!("{what}, throughput (more is better)"),
            );
            self.rows
                .push(Row::rates(&name, &what, self.baseline, &duel));
        }
        Ok(())
    }
}

/// Through the daemon's socket.
pub(super) async fn socket(stage: &Stage, plan: &Plan) -> Result<Vec<Row>> {
    let daemon = stage.start(stage.daemon("d.sock"), "d.sock")?;
    let asyncio = stage.start(stage.asyncio("a.sock"), "a.sock")?;
    let mut door = Door {
        name: "socket",
        what: "socket",
        baseline: ASYNCIO,
        plan,
        budget: Some(Budget::Times(1.0)),
        rows: Vec::new(),
    };
    for payload in &plan.payloads {
        let message = rpc(&stage.root(), payload);
        for callers in plan.callers(payload) {
            let ours = || wires(&daemon, &message, callers);
            let theirs = || wires(&asyncio, &message, callers);
            Box::pin(door.measure(payload, callers, ours, theirs)).await?;
        }
    }
    let mut rows = door.rows;
    let name = format!("socket/100B/{MODULES}-modules");
    if let Some(payload) = plan.payloads.first().filter(|_| plan.wants(&name)) {
        let what = format!("socket, {}, {MODULES} modules imported", payload.name);
        plan.tell(&what);
        let message = rpc(&stage.wide_project(MODULES)?, payload);
        let mut ours = wires(&daemon, &message, 1)?;
        let mut theirs = wires(&asyncio, &message, 1)?;
        let duel = Box::pin(Duel::fight(&mut ours, &mut theirs, plan.effort(0.5))).await?;
        rows.push(Row::times(&name, &what, ASYNCIO, &duel));
    }
    daemon.stop().await;
    asyncio.stop().await;
    Ok(rows)
}

/// Through the standard streams of `pillion stdio`.
pub(super) async fn stdio(stage: &Stage, plan: &Plan) -> Result<Vec<Row>> {
    let mut door = Door {
        name: "stdio",
        what: "stdio",
        baseline: PIPE,
        plan,
        budget: None,
        rows: Vec::new(),
    };
    let root = stage.root();
    for payload in &plan.payloads {
        let ours = |id: usize| {
            let args = args(payload);
            let project = json!(root);
            format!(r#"{{"id":{id},"command":"py.call","project":{project},"args":{args}}}"#)
        };
        for callers in plan.callers(payload) {
            // Larger ones could fill both pipes, and then nobody moves any more.
            if callers > 1 && !payload.is_small() {
                continue;
            }
            let (_server, mut wire) = Stage::conversation(stage.pillion().arg("stdio"))?;
            wire.receive().map_err(|error| cannot(&error))?; // the ready line
            let (_echo, bare) = Stage::conversation(stage.baseline("pipe_echo.py"))?;
            let ours = || Ok(lines(wire, callers, ours));
            let theirs = || Ok(lines(bare, callers, |id| echo_request(payload, id)));
            Box::pin(door.measure(payload, callers, ours, theirs)).await?;
        }
    }
    Ok(door.rows)
}

/// Through HTTP.
pub(super) async fn http(stage: &Stage, plan: &Plan) -> Result<Vec<Row>> {
    // Dropping it ends it.
    let (_server, port) = stage.serve().await?;
    let asyncio = stage.start(stage.asyncio("a.sock"), "a.sock")?;
    let mut door = Door {
        name: "http",
        what: "HTTP",
        baseline: ASYNCIO,
        plan,
        budget: None,
        rows: Vec::new(),
    };
    for payload in &plan.payloads {
        let message = posted("/v1/py.call", &params(&stage.root(), payload));
        let theirs = rpc(&stage.root(), payload);
        for callers in plan.callers(payload) {
            let ours = || {
                subject(&message, callers, || {
                    Wire::http(port).map_err(|error| cannot(&error))
                })
            };
            let theirs = || wires(&asyncio, &theirs, callers);
            Box::pin(door.measure(payload, callers, ours, theirs)).await?;
        }
    }
    let rows = door.rows;
    asyncio.stop().await;
    Ok(rows)
}

/// From an engine in this process.
pub(super) async fn embedded(stage: &Stage, plan: &Plan) -> Result<Vec<Row>> {
    let engine = Engine::new(EngineOptions {
        dirs: Some(stage.dirs()),
        root: Some(stage.root()),
        ..EngineOptions::default()
    });
    let mut door = Door {
        name: "embedded",
        what: "embedded engine",
        baseline: PIPE,
        plan,
        budget: Some(Budget::Times(2.0)),
        rows: Vec::new(),
    };
    for payload in &plan.payloads {
        let params =
            RawValue::from_string(params(&stage.root(), payload)).map_err(Error::internal)?;
        for callers in plan.callers(payload) {
            if callers > 1 && !payload.is_small() {
                continue;
            }
            let (_echo, bare) = Stage::conversation(stage.baseline("pipe_echo.py"))?;
            let ours = || Ok(Subject::Engine(&engine, params.clone(), callers));
            let theirs = || Ok(lines(bare, callers, |id| echo_request(payload, id)));
            Box::pin(door.measure(payload, callers, ours, theirs)).await?;
        }
    }
    let rows = door.rows;
    engine.stop().await;
    Ok(rows)
}

/// The arguments of a `py.call` as JSON, without a root.
fn args(payload: &Payload) -> String {
    format!(r#"{{"function":"{FUNCTION}","params":[{}]}}"#, payload.json)
}

/// The arguments of a `py.call`, with the root as real callers send it.
pub(super) fn params(root: &Path, payload: &Payload) -> String {
    let root = to_raw_value(root).unwrap_or_default();
    format!(
        r#"{{"function":"{FUNCTION}","params":[{}],"root":{root}}}"#,
        payload.json
    )
}

/// A `py.call` for the socket. The asyncio server gets the very same bytes.
pub(super) fn rpc(root: &Path, payload: &Payload) -> Vec<u8> {
    let params = params(root, payload);
    framed(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"py.call","params":{params}}}"#
    ))
}

fn echo_request(payload: &Payload, id: usize) -> String {
    format!(r#"{{"id":{id},"params":[{}]}}"#, payload.json)
}

fn wires<'a>(server: &Server, message: &[u8], callers: usize) -> Result<Subject<'a>> {
    subject(message, callers, || server.wire())
}

/// So many callers, each on a connection of its own.
fn subject<'a>(
    message: &[u8],
    callers: usize,
    connect: impl Fn() -> Result<Wire>,
) -> Result<Subject<'a>> {
    if callers == 1 {
        return Ok(Subject::One(connect()?, message.to_vec()));
    }
    let all: Result<_> = (0..callers)
        .map(|_| Ok((connect()?, message.to_vec())))
        .collect();
    Ok(Subject::Crowd(all?))
}

/// So many requests under way on one pair of pipes.
fn lines<'a>(wire: Wire, callers: usize, request: impl Fn(usize) -> String) -> Subject<'a> {
    let mut messages: Vec<_> = (1..=callers)
        .map(|id| format!("{}\n", request(id)).into_bytes())
        .collect();
    match messages.pop() {
        Some(only) if messages.is_empty() => Subject::One(wire, only),
        last => {
            messages.extend(last);
            Subject::Window(wire, messages)
        }
    }
}
