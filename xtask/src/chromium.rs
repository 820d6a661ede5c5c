//! The browser that the tests open JupyterLab in: the machine's own Chromium, which
//! `target/dev-chromium` leads to.

use std::path::{Path, PathBuf};

use crate::debian;
use crate::error::{Error, Result};
use crate::repository::Repository;

/// What it may be called on PATH.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
/// Debian's package of it.
const PACKAGE: &str = "chromium";

/// Find it, or install it where that can be done. Without it the tests that need a browser say
/// that they are left out.
pub(crate) fn set_up(repository: &Repository) -> Result<()> {
    let place = repository.root.join("target/dev-chromium");
    let found = match find() {
        None if debian::install(PACKAGE)? => find(),
        found => found,
    };
    match &found {
        Some(program) => println!("found {}", program.display()),
        None => println!(
            "there is no Chromium on PATH, so tests in a browser are left out; on Debian `sudo apt-get install {PACKAGE}` installs it"
        ),
    }
    lead(&place, found.as_deref()).map_err(|error| Error::file(&place, &error))
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file())
}

/// Make `place` lead there, or nowhere.
#[cfg(unix)]
fn lead(place: &Path, program: Option<&Path>) -> std::io::Result<()> {
    match std::fs::remove_file(place) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match program {
        Some(program) => std::os::unix::fs::symlink(program, place),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
fn lead(_: &Path, _: Option<&Path>) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_place_leads_to_what_was_found_last_or_nowhere() {
        let place = std::env::temp_dir().join(format!("xtask-chromium-{}", std::process::id()));
        for program in [None, Some("/usr/bin/a"), Some("/usr/bin/b"), None] {
            let program = program.map(Path::new);
            lead(&place, program).unwrap();
            assert_eq!(place.read_link().ok().as_deref(), program);
        }
    }
}
