//! Who types: where they stand, and what flags and variables say about them.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use pillion::{Caller, Error, Result};
use pillion_protocol::vars;

use super::operations::from_here;

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
    /// What they say.
    pub(crate) fn caller(self) -> Result<Caller> {
        Ok(Caller {
            root: self.root,
            python: self.python,
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
        python: of(vars::PILLION_PYTHON),
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
            pillion::Code::NotFound,
            format!("the current folder is gone: {error}"),
        )
        .hint("go to a folder that exists")
    })
}
