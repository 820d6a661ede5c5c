//! Searching the whole tree: names of definitions, and text.

use std::time::Instant;

use pillion_catalogue::Result;
use serde_json::json;

use super::super::report::{Figure, Row, Unit};
use super::super::stage::{Stage, cannot};
use super::super::wire::{Wire, request};
use super::sample::Question;
use super::turns::turns;
use super::{Set, ask, micros};

const PROGRAM: &str = include_str!("grep_loop.py");
/// How often each is asked, for each time that Python is.
const TIMES: usize = 3;

pub(super) async fn rows(set: &Set<'_>) -> Result<Vec<Row>> {
    let (daemon, mut wire) = set.warm_daemon("s.sock")?;
    let mut rows = Vec::new();
    let wanted = &set.questions.refs;
    if set.plan.wants("symbols") {
        let what = "`symbols` by a part of a name";
        set.plan.tell(what);
        let mut seconds = Vec::new();
        for question in wanted {
            for _ in 0..TIMES {
                seconds.push(ask(&mut wire, &symbols(set, question))?);
            }
        }
        let figure = Figure::of(&micros(&seconds));
        rows.push(Row::new("symbols", what, Unit::Micros, figure));
    }
    if set.plan.wants("grep") {
        let what = "`grep` for a name";
        set.plan.tell(what);
        let script = set.stage.path("grep_loop.py");
        std::fs::write(&script, PROGRAM).map_err(|error| cannot(&error))?;
        let launch = set.stage.python().arg(script).arg(&set.root).unguarded();
        let (_python, mut python) = Stage::conversation(launch)?;
        // The first reads files that nobody has read for long.
        let few: Vec<_> = wanted
            .iter()
            .take(set.plan.samples(10, 2))
            .cloned()
            .collect();
        let mut ours = |some: &[Question]| {
            let times = some.iter().flat_map(|q| std::iter::repeat_n(q, TIMES));
            times.map(|q| ask(&mut wire, &grep(set, q))).collect()
        };
        let mut theirs = |some: &[Question]| {
            let each = some.iter().map(|q| by_python(&mut python, q));
            each.collect()
        };
        if let Some(first) = few.first() {
            theirs(std::slice::from_ref(first))?;
            ours(std::slice::from_ref(first))?;
        }
        let duel = turns(&few, 2, &mut ours, &mut theirs)?;
        rows.push(Row::times("grep", what, "Python `re`, warm", &duel));
    }
    drop(wire);
    daemon.stop().await;
    Ok(rows)
}

fn by_python(wire: &mut Wire, question: &Question) -> Result<f64> {
    let message = format!("{}\n", json!({ "pattern": question.name }));
    let asked = Instant::now();
    wire.ask(message.as_bytes())
        .map_err(|error| cannot(&error))?;
    Ok(asked.elapsed().as_secs_f64())
}

/// Definitions whose name contains the beginning of this one.
pub(super) fn symbols(set: &Set<'_>, question: &Question) -> Vec<u8> {
    let query: String = question.name.chars().take(6).collect();
    request("code.symbols", &json!({ "query": query, "root": set.root }))
}

/// Lines that contain this name.
pub(super) fn grep(set: &Set<'_>, question: &Question) -> Vec<u8> {
    let params = json!({ "pattern": question.name, "root": set.root });
    request("code.grep", &params)
}
