//! What git sees as changed.

use std::path::Path;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;

/// How long git may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Files below `root` that differ from the last commit, or are new; relative to `root`.
pub(crate) async fn changed(root: &Path) -> Result<Vec<String>> {
    let arguments = [
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
    ];
    let launch = Launch::new("git")
        .args(arguments)
        .args(["--", "."])
        .cwd(root)
        // A look must not write: it would compete with the user's own git for a lock.
        .env("GIT_OPTIONAL_LOCKS", "0");
    let output = run(launch).await?;
    let prefix = prefix(root).await?;
    let entries = output.split('\0').filter(|entry| entry.len() > 3);
    Ok(entries
        .filter(|entry| !entry[..2].contains('D'))
        .filter_map(|entry| entry[3..].strip_prefix(&prefix))
        .map(ToOwned::to_owned)
        .collect())
}

/// Where `root` is below the top of the repository; git names files from there.
async fn prefix(root: &Path) -> Result<String> {
    let launch = Launch::new("git")
        .args(["rev-parse", "--show-prefix"])
        .cwd(root);
    Ok(run(launch).await?.trim_end_matches('\n').to_owned())
}

async fn run(launch: Launch) -> Result<String> {
    let failed = |why: String| {
        Error::new(
            Code::InvalidParams,
            format!("git does not tell what changed: {why}"),
        )
        .hint("name a file or folder, or run it inside of a git repository")
    };
    let output = launch
        .output(PATIENCE)
        .await
        .map_err(|error| failed(error.to_string()))?;
    if !output.exit.success() {
        return Err(failed(output.stderr.trim().to_owned()));
    }
    Ok(output.stdout)
}
