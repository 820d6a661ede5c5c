//! Where a caller stands.

use std::path::PathBuf;

use pillion_catalogue::{Context, Result};

/// What a caller says about where its work should be done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Whereabouts {
    /// A folder of the project.
    pub root: PathBuf,
    /// The interpreter the caller named.
    pub python: Option<PathBuf>,
    /// The caller's virtual environment.
    pub virtual_env: Option<PathBuf>,
    /// The caller's conda environment.
    pub conda_prefix: Option<PathBuf>,
}

impl Whereabouts {
    /// What is said about the caller of this request.
    ///
    /// # Errors
    /// If nobody says which folder the caller stands in.
    pub fn of_caller<S>(cx: &Context<S>) -> Result<Self> {
        let caller = cx.caller();
        Ok(Self {
            root: cx.folder()?,
            python: caller.python.clone(),
            virtual_env: caller.virtual_env.clone(),
            conda_prefix: caller.conda_prefix.clone(),
        })
    }
}
