//! ruff: lint rules, from the managed environment, under the project's own configuration.

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

/// What ruff finds in these files.
pub(crate) async fn check(
    view: &View,
    files: &[Arc<str>],
    timeout: Duration,
) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for some in files.chunks(AT_ONCE) {
        found.extend(check_some(view, some, timeout).await?);
    }
    Ok(found)
}

async fn check_some(view: &View, files: &[Arc<str>], timeout: Duration) -> Result<Vec<Finding>> {
    let failed = |why: String| Error::new(Code::Crashed, format!("ruff did not answer: {why}"));
    let program = tools::ruff(view.project.engines().dirs()).await?;
    let launch = Launch::new(program)
        // Its cache would be a folder in the user's project.
        .args([
            "check",
            "--no-cache",
            "--exit-zero",
            "--force-exclude",
            "--quiet",
        ])
        .args(["--output-format", "json-lines", "--"])
        .args(files.iter().map(|file| &**file))
        .cwd(view.root());
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
        let file = std::path::Path::new(&raw.filename);
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
    Ok(found.collect())
}
