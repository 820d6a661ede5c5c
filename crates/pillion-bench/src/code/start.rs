//! From nothing to the first answer: without an index on disk, and with one.

use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error, Result};
use serde_json::json;

use super::super::report::{Budget, Figure, Row, Unit};
use super::super::wire::request;
use super::jedi::{self, Jedi};
use super::{Set, ask, forget};

/// How long a daemon may take to write its index, once nothing changes any more.
const WRITTEN: Duration = Duration::from_secs(60);
const JEDI_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) async fn rows(set: &Set<'_>) -> Result<Vec<Row>> {
    let question = set.questions.defs.first();
    let question = question.ok_or_else(|| Error::internal("no questions"))?;
    let about = set.about("code.defs", question);
    let symbols = json!({ "query": question.name, "root": set.root });
    let symbols = request("code.symbols", &symbols);
    let (mut cold, mut indexed, mut index) = (Vec::new(), Vec::new(), Vec::new());
    let (mut jedi_cold, mut jedi_cached) = (Vec::new(), Vec::new());
    for _ in 0..set.plan.samples(5, 1) {
        set.plan.tell("first answer, no index");
        forget(set.stage, "home/cache/index")?;
        cold.push(started(set, &about, true).await?);
        set.plan.tell("first answer, with an index");
        indexed.push(started(set, &about, false).await?);
        index.push(started(set, &symbols, false).await?);
        set.plan.tell("first answer of Jedi");
        forget(set.stage, "jedi-cache")?;
        for times in [&mut jedi_cold, &mut jedi_cached] {
            let began = Instant::now();
            let mut jedi = Jedi::start(set)?;
            jedi.ask(set, "defs", question, JEDI_TIMEOUT)?;
            times.push(began.elapsed().as_secs_f64() * 1e6);
            jedi.stop().await;
        }
    }
    let row = |name, what, ours: &[f64]| Row::new(name, what, Unit::Micros, Figure::of(ours));
    let mut rows = vec![
        row(
            "start/cold",
            "first definition, daemon and index new",
            &cold,
        )
        .against(jedi::SERVER, Figure::of(&jedi_cold))
        .budget(Budget::Most(1_500_000.0)),
        row("start/indexed", "first definition, daemon new", &indexed)
            .against(jedi::SERVER, Figure::of(&jedi_cached)),
        row("start/index", "first `symbols`, daemon new", &index).budget(Budget::Most(300_000.0)),
    ];
    rows.retain(|row| set.plan.wants(&row.name));
    Ok(rows)
}

/// Microseconds from the start of a daemon to its first answer.
async fn started(set: &Set<'_>, message: &[u8], writes: bool) -> Result<f64> {
    let stage = set.stage;
    let began = Instant::now();
    let daemon = stage.start(stage.daemon("f.sock").unguarded(), "f.sock")?;
    let mut wire = daemon.wire()?;
    ask(&mut wire, message)?;
    let took = began.elapsed().as_secs_f64() * 1e6;
    if writes {
        await_index(set)?;
    }
    drop(wire);
    daemon.stop().await;
    // The next one must not be taken for it.
    let _ = std::fs::remove_file(stage.path("f.sock"));
    Ok(took)
}

fn await_index(set: &Set<'_>) -> Result<()> {
    let folder = set.stage.path("home/cache/index");
    let until = Instant::now() + WRITTEN;
    while Instant::now() < until {
        // Half-written ones have a name with a dot.
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        if names.any(|name| !name.contains('.')) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Error::new(
        Code::Timeout,
        "the daemon did not write its index",
    ))
}
