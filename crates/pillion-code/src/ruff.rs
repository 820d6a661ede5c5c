//! ruff: lint rules, from the managed environment, under the project's own configuration.
//!
//! What that configuration says about rules counts; what it says about writing does not.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use serde::Deserialize;

use crate::operations::{Finding, Severity};
use crate::project::View;
use crate::tools;

/// Files that it is asked about at once: its answer has to fit, and so has its command.
const AT_ONCE: usize = 200;

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
pub(crate) fn command(program: &Path, root: &Path) -> Launch {
    Launch::new(program)
        .args(["check", "--no-cache", "--quiet", "--force-exclude"])
        .args(["--no-fix", "--no-fix-only", "--no-show-fixes"])
        .read_only([])
        .cwd(root)
}

/// What ruff finds in these files.
pub(crate) async fn check(
    view: &View,
    files: &[Arc<str>],
    timeout: Duration,
) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let mut todo: Vec<&[Arc<str>]> = files.chunks(AT_ONCE).rev().collect();
    while let Some(some) = todo.pop() {
        let (part, is_cut) = check_some(view, some, timeout).await?;
        if is_cut && some.len() > 1 {
            // It has more to say about so many files than is kept of it.
            let (first, second) = some.split_at(some.len() / 2);
            todo.extend([second, first]);
            continue;
        }
        if is_cut && let Some(last) = part.last() {
            let more = "ruff finds more in this file than is kept of its words";
            found.push(Finding {
                message: more.into(),
                code: None,
                ..last.clone()
            });
        }
        found.extend(part);
    }
    Ok(found)
}

/// What ruff finds, and whether it said more than is kept.
async fn check_some(
    view: &View,
    files: &[Arc<str>],
    timeout: Duration,
) -> Result<(Vec<Finding>, bool)> {
    let failed = |why: String| Error::new(Code::Crashed, format!("ruff did not answer: {why}"));
    let program = tools::ruff(view.project.engines().dirs()).await?;
    let launch = command(&program, view.root())
        .args(["--exit-zero", "--output-format", "json-lines", "--"])
        .args(files.iter().map(|file| &**file));
    let output = launch
        .output(timeout)
        .await
        .map_err(|error| failed(error.to_string()))?;
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
        let file = file.strip_prefix(view.root()).unwrap_or(file);
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
    Ok((found.collect(), output.is_cut))
}
