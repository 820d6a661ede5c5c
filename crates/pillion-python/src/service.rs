//! The service behind the operations: projects, and the pools that work for them.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use pillion_catalogue::{Peer, Result};
use pillion_process::environment::{self, Variables};
use pillion_project::{Project, Projects, Whereabouts};
use pillion_supervisor::{Pool, Supervisor};

use crate::project::{self, PythonProject};
use crate::{foreign, worker};

/// The variables of this process.
fn own() -> &'static environment::Map {
    static OWN: LazyLock<environment::Map> = LazyLock::new(environment::own);
    &OWN
}

/// Tells variables apart without holding their values.
fn fingerprint(variables: &Variables) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    variables.hash(&mut hasher);
    hasher.finish()
}

/// Answers calls into Python modules and foreign sidecars.
#[derive(Debug)]
pub struct PythonService {
    supervisor: Arc<Supervisor>,
    projects: Arc<Projects>,
}

impl PythonService {
    /// A service whose sidecars are kept by `supervisor`. Those of a project that changed end
    /// when they are done, whoever saw it.
    pub fn new(supervisor: Arc<Supervisor>, projects: Arc<Projects>) -> Self {
        let keeper = Arc::clone(&supervisor);
        projects.on_leaving(move |project| {
            keeper.retire(Some(&project.root));
        });
        Self {
            supervisor,
            projects,
        }
    }

    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// The project at `whereabouts` with its Python, as it is now.
    pub(crate) async fn project(&self, whereabouts: Whereabouts) -> Result<Arc<PythonProject>> {
        let project = self.projects.open(whereabouts).await?;
        PythonProject::new(project).await.map(Arc::new)
    }

    /// The project at `whereabouts`, if it may start its foreign sidecar `name`. Nobody asks
    /// for its Python.
    pub(crate) async fn project_of(
        &self,
        whereabouts: Whereabouts,
        name: &str,
    ) -> Result<Arc<Project>> {
        let project = self.projects.open(whereabouts).await?;
        project::demand_sidecar(&project, name)?;
        project::demand(&project)?;
        Ok(project)
    }

    /// The workers of a project that import from `path` as well. Another path makes other
    /// workers: what is imported from one folder must not answer for another.
    /// Neither must what has one value of a variable that the project asks for.
    pub(crate) fn workers(
        &self,
        project: &Arc<PythonProject>,
        path: &[PathBuf],
        peer: &Peer,
    ) -> Result<Arc<Pool>> {
        use std::fmt::Write;
        let (caller, own) = (peer.variables(), own());
        let Project { root, config, .. } = &*project.common;
        let pass = &config.python.pass_env;
        let mut path: Vec<PathBuf> = path.iter().map(|p| root.join(p)).collect();
        path.retain(|dir| *dir != *root && *dir != root.join("src"));
        let mut key = format!(
            "worker\0{}\0{}\0{:x}",
            root.display(),
            project.interpreter()?.display(),
            fingerprint(&Variables::telling(caller, own, pass)),
        );
        for dir in &path {
            let _ = write!(key, "\0{}", dir.display());
        }
        let size = config.python.workers;
        Ok(self.supervisor.pool(&key, size, || {
            let variables = Variables::for_worker(caller, own, pass);
            worker::spec(project, path, variables, self.projects.dirs())
        }))
    }

    /// A foreign sidecar of a project.
    pub(crate) fn foreign(&self, project: &Project, name: &str, peer: &Peer) -> Result<Arc<Pool>> {
        let made = foreign::find(project, name)?;
        let (caller, own) = (peer.variables(), own());
        let key = format!(
            "foreign\0{}\0{name}\0{:x}",
            project.root.display(),
            fingerprint(&Variables::telling(caller, own, &made.pass_env)),
        );
        Ok(self.supervisor.pool(&key, 1, || {
            let variables = Variables::for_worker(caller, own, &made.pass_env);
            foreign::spec(project, name, made, variables)
        }))
    }
}
