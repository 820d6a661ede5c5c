//! Tables of small programs, each with what must come of a refactoring: everything is changed,
//! something is listed, or the whole is refused. Every program is run before and after.
//!
//! A row is one text. `# file: NAME` begins a file, and what stands before the first is
//! `main.py`, which is run. `<|>` marks the place that is asked about.

mod held;
mod known;
mod rename;
mod signature;
mod texts;

use std::fs;
use std::path::Path;

use pillion_testing::project::{TestProject, bare, files_below, find};
use pillion_testing::{CommandOutput, TestContext};
use serde_json::{Value, json};

/// What must come of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Verdict {
    /// The program prints the same, and nothing is left alone.
    Changed,
    /// These places are named, as `file:line`. With all of them changed as well, the program
    /// prints the same.
    Listed(&'static [&'static str]),
    /// The same, but nobody could change these places by renaming.
    Told(&'static [&'static str]),
    /// Nothing is changed, and the error says this or names this place.
    Refused(&'static str),
}

/// A row of a table.
pub(crate) struct Idiom {
    /// What it is about.
    pub(crate) what: &'static str,
    pub(crate) program: &'static str,
    /// The operation, without `code.`.
    pub(crate) operation: &'static str,
    /// What it is asked besides the place.
    pub(crate) params: Value,
    /// What makes it change what it otherwise lists.
    pub(crate) all: Value,
    pub(crate) verdict: Verdict,
}

/// Check all rows of a table, in one workspace; tells of every row that fails.
pub(crate) fn check(table: Vec<Idiom>) {
    let mut project = TestProject::new(bare());
    let only = std::env::var("PILLION_IDIOM").unwrap_or_default();
    let mut wrong = Vec::new();
    for row in table.iter().filter(|row| row.what.contains(&only)) {
        if let Err(why) = one(&mut project, row) {
            wrong.push(format!("--- {} ({:?}):\n{why}", row.what, row.verdict));
        }
    }
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} rows:\n{}", wrong.join("\n"));
}

fn one(project: &mut TestProject, row: &Idiom) -> Result<(), String> {
    let before = lay_out(project.root(), row.program);
    let place = before.iter().find_map(|(file, text)| {
        let (line, col) = text.contains("<|>").then(|| mark(text))?;
        Some(json!({ "file": file, "line": line, "col": col }))
    });
    let printed = run(&project.context)?;
    let mut params = place.unwrap_or_else(|| json!({}));
    merge(&mut params, &row.params);
    let shown = project.try_ask(row.operation, params.clone());
    let shown = match (shown, row.verdict) {
        (Ok(shown), Verdict::Refused(_)) => return Err(format!("it was not refused: {shown:#}")),
        (Ok(shown), _) => shown,
        (Err(error), Verdict::Refused(why)) => {
            let told = error.to_string();
            let has = told.contains(why) || places(&error).iter().any(|place| place == why);
            return has.then_some(()).ok_or(format!("{error:#}"));
        }
        (Err(error), _) => return Err(format!("it was refused: {error:#}")),
    };
    let left = places(&shown["possible"]);
    let expected: Vec<&str> = match row.verdict {
        Verdict::Listed(places) | Verdict::Told(places) => places.to_vec(),
        _ => Vec::new(),
    };
    if left != expected {
        return Err(format!("left alone {left:?}: {shown:#}"));
    }
    if matches!(row.verdict, Verdict::Listed(_)) {
        merge(&mut params, &row.all);
    }
    params["apply"] = json!(true);
    let applied = project.try_ask(row.operation, params);
    let applied = applied.map_err(|error| format!("{error:#}"))?;
    if !matches!(row.verdict, Verdict::Told(_)) {
        let now = run(&project.context)?;
        if now != printed {
            return Err(format!(
                "{printed:?} became {now:?}: {:#}",
                applied["patches"]
            ));
        }
    }
    if applied["edits"] == json!(0) {
        return Err(format!("nothing was changed: {applied:#}"));
    }
    let undone = project.try_ask("undo", json!({}));
    undone.map_err(|error| format!("{error:#}"))?;
    let same = before.iter().all(|(file, text)| {
        let now = fs::read_to_string(project.root().join(file)).unwrap_or_default();
        now == text.replace("<|>", "")
    });
    same.then_some(()).ok_or("undo did not restore it".into())
}

/// Write the files of a program in the place of all others; gives them back with their marks.
fn lay_out(root: &Path, program: &str) -> Vec<(String, String)> {
    for file in files_below(root) {
        fs::remove_file(root.join(file)).unwrap();
    }
    let mut files = vec![("main.py".to_owned(), String::new())];
    for line in program.lines() {
        match line.strip_prefix("# file: ") {
            Some(name) => files.push((name.trim().to_owned(), String::new())),
            None => {
                let (_, text) = files.last_mut().unwrap();
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    files.retain(|(_, text)| !text.is_empty());
    for (name, text) in &files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("<|>", "")).unwrap();
    }
    files
}

/// Where the mark of a text stands, from 1.
fn mark(text: &str) -> (u32, u32) {
    find(&text.replacen("<|>", "\u{1}", 1), "|\u{1}")
}

fn run(context: &TestContext) -> Result<String, String> {
    let mut python = context.command("python3");
    python.args(["-B", "main.py"]);
    let output = CommandOutput::of(python);
    match output.code {
        Some(0) => Ok(output.stdout),
        _ => Err(format!("{output}")),
    }
}

/// Every `file:line` that a value names, in its order.
fn places(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let own = (value["file"].as_str(), value["line"].as_u64());
    if let (Some(file), Some(line)) = own {
        found.push(format!("{file}:{line}"));
    }
    match value {
        Value::Array(all) => found.extend(all.iter().flat_map(places)),
        Value::Object(all) => found.extend(all.values().flat_map(places)),
        _ => {}
    }
    found
}

fn merge(into: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten() {
        into[name] = value.clone();
    }
}
