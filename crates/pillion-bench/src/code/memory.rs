//! What a daemon and its engine weigh after questions of all sorts, and whether more
//! questions make them grow. Beside it: how many of those are answered quickly.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use pillion_catalogue::Result;
use pillion_process::stat;
use serde_json::json;

use super::super::report::{Budget, Figure, Row, Unit};
use super::super::stage::{Server, cannot};
use super::super::wire::request;
use super::jedi::Jedi;
use super::{Set, ask, search};

/// Questions of a mix.
const MIX: usize = 100;
/// Questions after that.
const MORE: usize = 1000;
/// Files of the generated project.
const FILES: usize = 100;
/// Quick enough not to be noticed.
const QUICK: f64 = 0.010;
/// How long everything is left alone before it is weighed.
const SETTLE: Duration = Duration::from_millis(500);
/// After so long Jedi is not waited for.
const JEDI_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) async fn rows(set: &Set<'_>) -> Result<Vec<Row>> {
    let plan = set.plan;
    let mut rows = Vec::new();
    let names = ["memory/tree", "memory/growth", "mixed/quick"];
    if names.iter().any(|name| plan.wants(name)) {
        rows.extend(Box::pin(tree(set)).await?);
    }
    if plan.wants("memory/small") {
        plan.tell("memory, small project");
        rows.push(small(set).await?);
    }
    rows.retain(|row| plan.wants(&row.name));
    Ok(rows)
}

async fn tree(set: &Set<'_>) -> Result<Vec<Row>> {
    set.plan.tell("memory, mixed questions");
    let (daemon, mut wire) = set.warm_daemon("m.sock")?;
    let mix = mix(set);
    for message in mix.iter().cycle().take(MIX) {
        ask(&mut wire, message)?;
    }
    let before = weigh(&daemon);
    let more = set.plan.samples(MORE, MIX);
    let mut quick = 0_usize;
    for message in mix.iter().cycle().take(more) {
        quick += usize::from(ask(&mut wire, message)? < QUICK);
    }
    let after = weigh(&daemon);
    drop(wire);
    daemon.stop().await;
    set.plan.tell("memory, Jedi");
    let mut jedi = Jedi::start(set)?;
    for question in set.questions.defs.iter().take(20) {
        jedi.ask(set, "defs", question, JEDI_TIMEOUT)?;
    }
    let theirs = Figure::single(jedi.megabytes(), 1);
    jedi.stop().await;
    let growth = if before > 0.0 {
        (after / before - 1.0) * 100.0
    } else {
        0.0
    };
    Ok(vec![
        Row::new(
            "memory/tree",
            "daemon and engine after 100 questions",
            Unit::Megabytes,
            Figure::single(before, 1),
        )
        .against("Jedi server after 20", theirs)
        .budget(Budget::Most(700.0)),
        Row::new(
            "memory/growth",
            &format!("growth over {more} more ({before:.0} to {after:.0} MB)"),
            Unit::Percent,
            Figure::single(growth, more),
        )
        .budget(Budget::Most(5.0)),
        Row::new(
            "mixed/quick",
            "of those, answered within 10 ms",
            Unit::Percent,
            Figure::single(quick as f64 * 100.0 / more as f64, more),
        )
        .budget(Budget::Least(90.0)),
    ])
}

/// Of 20 questions: 10 definitions, 5 hovers, 2 references, 2 symbols, 1 grep.
fn mix(set: &Set<'_>) -> Vec<Vec<u8>> {
    let asked = &set.questions;
    let (defs, hover) = (asked.defs.iter().cycle(), asked.hover.iter().cycle());
    let (mut defs, mut hover) = (defs, hover);
    let (mut refs, mut names) = (asked.refs.iter().cycle(), asked.refs.iter().cycle());
    let mut all = Vec::new();
    for n in 0..MIX {
        let message = match n % 20 {
            3 | 13 => refs.next().map(|q| set.about("code.refs", q)),
            7 | 17 => names.next().map(|q| search::symbols(set, q)),
            9 => names.next().map(|q| search::grep(set, q)),
            n if n % 4 == 0 => hover.next().map(|q| set.about("code.hover", q)),
            _ => defs.next().map(|q| set.about("code.defs", q)),
        };
        all.extend(message);
    }
    all
}

/// A project of a hundred files.
async fn small(set: &Set<'_>) -> Result<Row> {
    let stage = set.stage;
    let root = stage.path("small");
    generate(&root).map_err(|error| cannot(&error))?;
    let daemon = stage.start(stage.daemon("m2.sock").unguarded(), "m2.sock")?;
    let mut wire = daemon.wire()?;
    for n in 0..MIX {
        let file = format!("package/part{:03}.py", n % FILES);
        let method = ["code.defs", "code.hover", "code.refs"][n % 3];
        let params = json!({ "file": file, "line": 9, "col": 23, "root": root });
        ask(&mut wire, &request(method, &params))?;
    }
    let megabytes = weigh(&daemon);
    drop(wire);
    daemon.stop().await;
    let what = "daemon and engine, project of 100 files";
    let figure = Figure::single(megabytes, 1);
    Ok(Row::new("memory/small", what, Unit::Megabytes, figure).budget(Budget::Most(120.0)))
}

/// Modules that use one another.
fn generate(root: &Path) -> std::io::Result<()> {
    let package = root.join("package");
    fs::create_dir_all(&package)?;
    fs::write(package.join("__init__.py"), "")?;
    for n in 0..FILES {
        let before = n.saturating_sub(1);
        let mut text = format!("\"\"\"Part {n}.\"\"\"\n\n");
        if n > 0 {
            let _ = writeln!(
                text,
                "from package.part{before:03} import Part{before}, work{before}"
            );
        } else {
            text.push_str("Part0 = object\nwork0 = len\n");
        }
        let _ = write!(
            text,
            "\n\ndef use(values: list[str]) -> int:\n    count = 0\n    for value in values:\n\
             \x20       count += work{before}(value)\n    return count\n\n\n\
             class Part{n}:\n    def __init__(self, name: str) -> None:\n        self.name = name\n\n\
             \x20   def shout(self) -> str:\n        return self.name.upper()\n\n\n\
             def work{n}(value: str) -> int:\n    return len(Part{n}(value).shout())\n"
        );
        fs::write(package.join(format!("part{n:03}.py")), text)?;
    }
    Ok(())
}

/// Resident megabytes of a daemon and everything below it.
fn weigh(daemon: &Server) -> f64 {
    std::thread::sleep(SETTLE);
    daemon.pid().map_or(0, stat::resident_bytes_of_tree) as f64 / 1e6
}
