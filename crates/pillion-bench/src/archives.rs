//! Real projects as their pinned source archives have them, fetched once into pillion's cache.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_process::Launch;
use pillion_runtime::Dirs;

use super::stage::cannot;

/// How long fetching may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Unpacks an archive of known content without running anything of it.
const FETCH: &str = include_str!("archives.py");

/// The folder of what is in the archive of `name==version`. It is fetched by this Python, which
/// has pip, unless it is there; then `tell` hears of it.
pub(super) async fn source(
    python: Launch,
    package: &str,
    sha256: &str,
    tell: impl FnOnce(&str),
) -> Result<PathBuf> {
    let kept = cache()?.join(package.replace("==", "-"));
    if !kept.is_dir() {
        tell(&format!("fetching {package}"));
        let fetch = python.args(["-c", FETCH, package, sha256]);
        run(fetch.arg(&kept), package).await?;
    }
    Ok(kept)
}

/// Where benches keep what they have fetched and built.
pub(super) fn cache() -> Result<PathBuf> {
    let cache = Dirs::from_env()
        .writable_cache()
        .map_err(|error| Error::new(Code::InternalError, error.to_string()).hint(error.hint()))?;
    let folder = cache.join("bench");
    fs::create_dir_all(&folder).map_err(|error| cannot(&error))?;
    Ok(folder)
}

/// Run what fetches something.
pub(super) async fn run(launch: Launch, what: &str) -> Result<()> {
    let failed = |why: &str| Error::new(Code::StartFailed, format!("cannot fetch {what}: {why}"));
    let output = launch.output(FETCH_TIMEOUT).await;
    let output = output.map_err(|error| failed(&error.to_string()))?;
    match output.exit.success() {
        true => Ok(()),
        false => Err(failed(output.stderr.trim())),
    }
}
