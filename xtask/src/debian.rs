//! Packages of Debian and its children, where this tool may install them.

use crate::error::Result;
use crate::run::{Output, Run, is_root};

/// Seconds after which a package that does not come is given up: nobody waits long for what can be
/// done without.
const LIMIT: &str = "120";
/// Seconds that a server may say nothing.
const SILENCE: &str = "Acquire::http::Timeout=20";

/// Whether the package could be installed: only root can, and only where there is `apt-get`.
pub(crate) fn install(package: &str) -> Result<bool> {
    let is_here = apt_get(&["--version"]).is_ok_and(|output| output.ended_well());
    if !is_here || !is_root() {
        return Ok(false);
    }
    println!("installing the Debian package {package}");
    let install = ["install", "-y", "--no-install-recommends", package];
    if apt_get(&install)?.ended_well() {
        return Ok(true);
    }
    // Most often the list of packages is missing or old.
    Ok(apt_get(&["update"])?.ended_well() && apt_get(&install)?.ended_well())
}

fn apt_get(args: &[&str]) -> Result<Output> {
    Run::new("timeout")
        .args([LIMIT, "apt-get", "-qq", "-o", SILENCE])
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
}
