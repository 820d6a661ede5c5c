//! What a desktop app says by variables when it starts pillion as its engine
//! (`pillion serve --desktop`). An empty variable counts as none.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use pillion::{Code, Error, Result};
use pillion_lanes::SessionsRoot;
use pillion_protocol::vars;
use pillion_runtime::{Dirs, bundle};

use super::caller::from_here;
use super::serving;

/// Where a folder of Python has its interpreter.
const INTERPRETERS: [&str; 4] = [
    "bin/python3",
    "bin/python",
    "install/bin/python3",
    "python/bin/python3",
];

/// Whether a command line asks for this mode.
pub(crate) fn is_meant(matches: &ArgMatches) -> bool {
    let chosen = matches.subcommand();
    chosen.is_some_and(|(name, chosen)| name == "serve" && chosen.get_flag("desktop"))
}

/// The address to listen on: the one that was typed, else that of `HOST`.
pub(crate) fn host(typed: Option<&str>) -> Result<Option<IpAddr>> {
    let said = said(vars::HOST);
    let Some(host) = typed.filter(|typed| !typed.is_empty()).or(said.as_deref()) else {
        return Ok(None);
    };
    address(host).map(Some)
}

fn address(host: &str) -> Result<IpAddr> {
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    host.parse().map_err(|_| {
        Error::new(
            Code::InvalidParams,
            format!("`{host}` is no address of this machine"),
        )
        .hint("name an address such as `127.0.0.1`, or `localhost`")
    })
}

/// The port or ports of `PORT`.
pub(crate) fn ports() -> Result<Option<RangeInclusive<u16>>> {
    let Some(text) = said(vars::PORT) else {
        return Ok(None);
    };
    serving::ports(&text).map(Some).map_err(|why| {
        Error::new(Code::InvalidParams, format!("`{}`: {why}", vars::PORT))
            .hint("set it to a number such as 8000, or leave it empty")
    })
}

/// The file that `LOG_FILE` names.
pub(crate) fn log_file() -> Option<PathBuf> {
    said(vars::LOG_FILE).map(|path| from_here(Path::new(&path)))
}

/// The Python below `PYTHON_RUNTIME_ROOT`, if there is one.
pub(crate) fn python() -> Option<PathBuf> {
    let root = from_here(Path::new(&said(vars::PYTHON_RUNTIME_ROOT)?));
    if bundle::is_runtime(&root) {
        // Whoever takes its Python looks whether it is whole.
        return Some(root);
    }
    let found = interpreter(&root);
    if found.is_none() {
        let root = root.display();
        tracing::warn!(%root, "there is no Python in `PYTHON_RUNTIME_ROOT`");
    }
    found
}

/// Where sessions are kept: the folder of `SESSIONS_DIR`, else one among pillion's own data. The
/// desktop makes sessions, so code runs in no other.
pub(crate) fn sessions() -> SessionsRoot {
    let root = match said(vars::SESSIONS_DIR) {
        Some(folder) => from_here(Path::new(&folder)),
        None => Dirs::from_env().usable_data().join("sessions"),
    };
    SessionsRoot {
        root,
        only_known: true,
    }
}

fn interpreter(root: &Path) -> Option<PathBuf> {
    let mut all = INTERPRETERS.iter().map(|name| root.join(name));
    all.find(|path| path.is_file())
}

fn said(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok()?;
    Some(value).filter(|value| !value.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_no_name_of_others() {
        assert!(address("localhost").unwrap().is_loopback());
        assert!(address("::1").unwrap().is_loopback());
        assert!(!address("0.0.0.0").unwrap().is_loopback());
        assert_eq!(
            address("example.org").unwrap_err().code,
            Code::InvalidParams
        );
    }

    #[test]
    fn a_python_is_found_where_distributions_have_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(interpreter(folder.path()), None);
        let python = folder.path().join("install/bin/python3");
        std::fs::create_dir_all(python.parent().unwrap()).unwrap();
        std::fs::write(&python, "").unwrap();
        assert_eq!(interpreter(folder.path()), Some(python));
    }
}
