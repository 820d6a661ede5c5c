//! ruff: lint rules, from the managed environment, under the project's own configuration.
//!
//! What that configuration says about rules counts; what it says about writing does not.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::{Exit, Launch};
use pillion_runtime::Dirs;
use pillion_workspace::Snapshot;
use serde::Deserialize;

use crate::finding::{Finding, Severity};
use crate::tools;

/// Files that it is asked about at once: its answer has to fit, and so has its command.
const AT_ONCE: usize = 200;

/// How a program in Rust ends after a panic.
const PANICKED: i32 = 101;

#[derive(Deserialize)]
struct Raw {
    filename: String,
    code: Option<String>,
    message: String,
    location: Place,
    end_location: Place,
}

#[derive(Deserialize)]
struct Place {
    row: u32,
    column: u32,
}

/// `ruff check`, about to be asked something in `root`: it writes nothing, neither fixes nor
/// a cache, though the project says so.
pub fn command(program: &Path, root: &Path) -> Launch {
    Launch::new(program)
        .args(["check", "--no-cache", "--quiet", "--force-exclude"])
        .args(["--no-fix", "--no-fix-only", "--no-show-fixes"])
        .read_only([])
        .cwd(root)
}

/// What ruff finds in these files.
pub async fn check(
    dirs: &Dirs,
    snapshot: &Snapshot,
    root: &Path,
    files: &[Arc<str>],
    timeout: Duration,
) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let mut todo: Vec<&[Arc<str>]> = files.chunks(AT_ONCE).rev().collect();
    while let Some(some) = todo.pop() {
        let said = check_some(dirs, snapshot, root, some, timeout).await?;
        if said.wants.is_some() && some.len() > 1 {
            // Which of them it is, or all that it has to say, fewer at once will tell.
            let (first, second) = some.split_at(some.len() / 2);
            todo.extend([second, first]);
            continue;
        }
        if let (Some(wants), [file]) = (said.wants, some) {
            found.push(Finding {
                file: file.to_string(),
                line: 1,
                column: 1,
                end_line: 1,
                end_column: 1,
                severity: Severity::Error,
                code: None,
                message: wants.into(),
                source: "ruff".into(),
            });
        }
        found.extend(said.found);
    }
    Ok(found)
}

/// What ruff says.
struct Said {
    found: Vec<Finding>,
    /// What is wrong with that, if it is not all.
    wants: Option<&'static str>,
}

/// What ruff finds.
async fn check_some(
    dirs: &Dirs,
    snapshot: &Snapshot,
    root: &Path,
    files: &[Arc<str>],
    timeout: Duration,
) -> Result<Said> {
    let failed = |why: String| Error::new(Code::Crashed, format!("ruff did not answer: {why}"));
    let program = tools::ruff(dirs).await?;
    // Where the project says nothing, what its user says elsewhere does not count either, and
    // only what is certainly wrong is told: style is the project's own affair.
    let rules: &[&str] = match has_rules(snapshot, root) {
        true => &[],
        false => &["--isolated", "--select", "E9,F"],
    };
    let launch = command(&program, root)
        .args(rules)
        .args(["--exit-zero", "--output-format", "json-lines", "--"])
        .args(files.iter().map(|file| &**file));
    let output = launch
        .output(timeout)
        .await
        .map_err(|error| failed(error.to_string()))?;
    if fell_over(output.exit) {
        return Ok(Said {
            found: Vec::new(),
            wants: Some("ruff falls over this file"),
        });
    }
    if !output.exit.success() {
        let why = output
            .stderr
            .lines()
            .last()
            .unwrap_or("it failed")
            .to_owned();
        return Err(failed(why).hint("check the project's ruff configuration"));
    }
    let lines = output.stdout.lines();
    // The last line of an answer that is too long is cut off.
    let raw = lines.filter_map(|line| serde_json::from_str::<Raw>(line).ok());
    let found = raw.map(|raw| {
        let file = Path::new(&raw.filename);
        let file = file.strip_prefix(root).unwrap_or(file);
        Finding {
            file: file.to_string_lossy().into_owned(),
            line: raw.location.row,
            column: raw.location.column,
            end_line: raw.end_location.row,
            end_column: raw.end_location.column,
            severity: match raw.code.as_deref() {
                None | Some("invalid-syntax") => Severity::Error,
                Some(_) => Severity::Warning,
            },
            code: raw.code,
            message: raw.message,
            source: "ruff".into(),
        }
    });
    let cut = "ruff finds more in this file than is kept of its words";
    Ok(Said {
        found: found.collect(),
        wants: output.is_cut.then_some(cut),
    })
}

/// Whether the project, or a folder around it, configures ruff.
fn has_rules(snapshot: &Snapshot, root: &Path) -> bool {
    let says = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.contains("[tool.ruff")
    };
    let is_rule = |folder: &Path| {
        ["ruff.toml", ".ruff.toml"]
            .iter()
            .any(|name| folder.join(name).is_file())
            || says(&folder.join("pyproject.toml"))
    };
    let files = snapshot.files();
    let below = files.iter().any(|file| match file.path.rsplit('/').next() {
        Some("ruff.toml" | ".ruff.toml") => true,
        Some("pyproject.toml") => says(&root.join(&*file.path)),
        _ => false,
    });
    below || root.ancestors().any(is_rule)
}

/// Whether it ended by itself without having its say: its stack was too short for a file.
pub fn fell_over(exit: Exit) -> bool {
    exit.signal.is_some() || exit.code == Some(PANICKED)
}
