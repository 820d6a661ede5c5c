//! What engines depend on beside the files: the project's configuration and the Python.

use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::Caller;
use pillion_project::{Project, Proven};

/// Tells surroundings apart.
pub type SurroundingsId = u64;

/// What engines depend on beside the files of the workspace.
#[derive(Debug)]
pub struct Surroundings {
    /// Tells them apart from others of the same workspace.
    pub id: SurroundingsId,
    /// The project, with its configuration.
    pub project: Arc<Project>,
    /// The Python, or why there is none.
    pub python: Arc<Proven>,
}

/// What a caller says about Python; others may say other things about the same workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Pythons {
    /// The Python that the request names.
    pub named: Option<PathBuf>,
    /// The virtual environment that is active where the caller stands.
    pub virtual_env: Option<PathBuf>,
    /// The conda environment that is active there.
    pub conda_prefix: Option<PathBuf>,
}

impl Pythons {
    /// What this caller says.
    pub fn of(caller: &Caller) -> Self {
        Self {
            named: caller.python.clone(),
            virtual_env: caller.virtual_env.clone(),
            conda_prefix: caller.conda_prefix.clone(),
        }
    }
}
