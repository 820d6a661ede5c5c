//! A project as calls see it: with the Python that they run in.

use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::Result;
use pillion_project::{Project, Proven, Walls};
use pillion_runtime::discovery::Choice;

/// A project whose Python was looked for.
#[derive(Debug)]
pub(crate) struct PythonProject {
    pub(crate) common: Arc<Project>,
    python: Arc<Proven>,
}

impl PythonProject {
    /// Look for its Python, if the project may have what it asks for.
    pub(crate) async fn new(common: Arc<Project>) -> Result<Self> {
        demand(&common)?;
        // A call runs this Python with all rights anyway: that is what is asked for.
        let python = common.python(Walls::None).await;
        Ok(Self { common, python })
    }

    /// The interpreter for its workers, and why it was chosen.
    pub(crate) fn python(&self) -> Result<&Choice> {
        self.python.choice()
    }

    /// The interpreter's executable.
    pub(crate) fn interpreter(&self) -> Result<&Path> {
        Ok(&self.python()?.interpreter.executable)
    }
}

/// Refuse what its workers would get, unless the folder is trusted.
pub(crate) fn demand(project: &Project) -> Result<()> {
    let python = &project.config.python;
    project.demand(&python.demands(project.is_python_named()))
}

/// Refuse a foreign sidecar of the folder, unless it is trusted.
pub(crate) fn demand_sidecar(project: &Project, name: &str) -> Result<()> {
    match project.config.sidecar.contains_key(name) {
        true => project.demand(&[format!("sidecar.{name}")]),
        false => Ok(()),
    }
}
