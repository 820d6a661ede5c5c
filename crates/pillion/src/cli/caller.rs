//! Who types: where they stand, and what flags and variables say about them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use pillion::{Caller, Code, Error, Result};
use pillion_protocol::vars;
use pillion_runtime::bundle::{self, BundleError};

/// The folder of a path that may be relative to here.
pub(crate) fn from_here(path: &Path) -> PathBuf {
    // Without the `.` that `--root .` leaves behind.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The runtime bundle that `--runtime` names.
static RUNTIME: OnceLock<PathBuf> = OnceLock::new();

/// Use the Python of the runtime bundle in this folder from now on, where no other is named.
pub(crate) fn use_runtime(folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    let folder = from_here(folder);
    if !bundle::is_runtime(&folder) {
        let message = format!("there is no runtime bundle in `{}`", folder.display());
        // One that is listed and is not there can be repaired.
        let hint = BundleError::NoBundle { root: folder }.hint();
        return Err(Error::new(Code::NotFound, message).hint(hint));
    }
    // Set once, when the command line is read.
    let _ = RUNTIME.set(folder);
    Ok(())
}

/// The Python that is named, else that of `--runtime`. Whoever asks for the Python of a bundle by
/// its folder is told if the bundle is damaged.
pub(crate) fn or_runtime(python: Option<PathBuf>) -> Option<PathBuf> {
    let named = python.filter(|python| !python.as_os_str().is_empty());
    named.or_else(|| RUNTIME.get().cloned())
}

/// The flags of commands that are no operations themselves.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CallerArgs {
    /// The project's folder; found from here if not given.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// The Python to use: a path, an environment's folder, or a version such as `3.12`.
    #[arg(long, env = vars::PILLION_PYTHON, hide_env_values = true, value_name = "PYTHON", value_parser = any())]
    python: Option<PathBuf>,
    #[arg(long, env = vars::VIRTUAL_ENV, hide_env_values = true, hide = true, value_parser = any())]
    virtual_env: Option<PathBuf>,
    #[arg(long, env = vars::CONDA_PREFIX, hide_env_values = true, hide = true, value_parser = any())]
    conda_prefix: Option<PathBuf>,
}

/// Also nothing: an empty variable is no mistake.
fn any() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

impl CallerArgs {
    /// The caller that these flags describe.
    pub(crate) fn caller(self) -> Result<Caller> {
        Ok(Caller {
            root: self.root,
            python: or_runtime(self.python),
            virtual_env: self.virtual_env,
            conda_prefix: self.conda_prefix,
            ..Caller::near(here()?)
        })
    }
}

/// What variables say about whoever started us, and where we were started.
pub(crate) fn surroundings() -> Caller {
    let of = |variable| {
        let value = std::env::var_os(variable);
        value.filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    Caller {
        near: here().ok(),
        python: or_runtime(of(vars::PILLION_PYTHON)),
        virtual_env: of(vars::VIRTUAL_ENV),
        conda_prefix: of(vars::CONDA_PREFIX),
        ..Caller::default()
    }
}

/// The same for those who come to us from elsewhere and say nothing of it: paths are ours.
pub(crate) fn absolute_surroundings() -> Caller {
    let ours = surroundings();
    // A bare name or a version is looked up.
    let python = ours.python.map(|python| match python.components().count() {
        1 => python,
        _ => from_here(&python),
    });
    Caller {
        near: None,
        python,
        virtual_env: ours.virtual_env.map(|folder| from_here(&folder)),
        conda_prefix: ours.conda_prefix.map(|folder| from_here(&folder)),
        ..ours
    }
}

/// The folder one is in.
pub(crate) fn here() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Error::new(
            Code::NotFound,
            format!("the current folder is gone: {error}"),
        )
        .hint("go to a folder that exists")
    })
}
