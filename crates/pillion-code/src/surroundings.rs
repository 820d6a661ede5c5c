//! What engines depend on beside the files: the project's configuration and the Python.

use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::Caller;
use pillion_project::{Project, Proven};

/// Tells surroundings apart.
pub(crate) type Id = u64;

/// What engines depend on beside the files of the workspace.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) id: Id,
    pub(crate) project: Arc<Project>,
    pub(crate) python: Arc<Proven>,
}

/// What a caller says about Python; others may say other things about the same workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pythons {
    pub(crate) named: Option<PathBuf>,
    pub(crate) virtual_env: Option<PathBuf>,
    pub(crate) conda_prefix: Option<PathBuf>,
}

impl Pythons {
    pub(crate) fn of(caller: &Caller) -> Self {
        Self {
            named: caller.python.clone(),
            virtual_env: caller.virtual_env.clone(),
            conda_prefix: caller.conda_prefix.clone(),
        }
    }
}
