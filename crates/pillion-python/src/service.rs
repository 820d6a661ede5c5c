//! The service behind the operations: projects, and the pools that work for them.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use pillion_catalogue::{Peer, Result};
use pillion_process::environment::{self, Variables};
use pillion_runtime::Dirs;
use pillion_supervisor::{Pool, Supervisor};

use crate::project::{self, Project, Whereabouts};
use crate::{foreign, worker};

/// Projects that are remembered; a forgotten one is looked at again.
const MAX_PROJECTS: usize = 256;

/// One project, opened by the first caller while the others wait for it.
type Slot = Arc<tokio::sync::Mutex<Option<Arc<Project>>>>;

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
    dirs: Dirs,
    projects: Mutex<HashMap<Whereabouts, Slot>>,
}

impl PythonService {
    /// A service whose sidecars are kept by `supervisor`.
    pub fn new(supervisor: Arc<Supervisor>, dirs: Dirs) -> Self {
        Self {
            supervisor,
            dirs,
            projects: Mutex::default(),
        }
    }

    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// The project at `whereabouts`, as it is now.
    pub(crate) async fn project(&self, whereabouts: Whereabouts) -> Result<Arc<Project>> {
        let slot = self.slot(&whereabouts);
        let mut slot = slot.lock().await;
        if let Some(project) = slot.as_ref().filter(|project| project.is_current()) {
            return Ok(Arc::clone(project));
        }
        if let Some(old) = slot.take() {
            tracing::info!(root = %old.root.display(), "configuration or interpreter changed");
            self.supervisor.retire(Some(&old.root));
        }
        let project = Arc::new(Project::open(&whereabouts, &self.dirs).await?);
        *slot = Some(Arc::clone(&project));
        Ok(project)
    }

    /// The workers of a project that import from `path` as well. Another path makes other
    /// workers: what is imported from one folder must not answer for another.
    /// Neither must what has one value of a variable that the project asks for.
    pub(crate) fn workers(
        &self,
        project: &Arc<Project>,
        path: &[PathBuf],
        peer: &Peer,
    ) -> Result<Arc<Pool>> {
        use std::fmt::Write;
        let (caller, own) = (peer.variables(), own());
        let pass = &project.config.python.pass_env;
        let mut path: Vec<PathBuf> = path.iter().map(|p| project.root.join(p)).collect();
        path.retain(|dir| *dir != project.root && *dir != project.root.join("src"));
        let mut key = format!(
            "worker\0{}\0{}\0{:x}",
            project.root.display(),
            project.interpreter()?.display(),
            fingerprint(&Variables::telling(caller, own, pass)),
        );
        for dir in &path {
            let _ = write!(key, "\0{}", dir.display());
        }
        let size = project.config.python.workers;
        Ok(self.supervisor.pool(&key, size, || {
            let variables = Variables::for_worker(caller, own, pass);
            worker::spec(project, path, variables, &self.dirs)
        }))
    }

    /// Refuse the foreign sidecar of a folder that its user does not trust.
    pub(crate) fn demand_sidecar(&self, whereabouts: &Whereabouts, name: &str) -> Result<()> {
        project::demand_sidecar(whereabouts, name, &self.dirs)
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

    fn slot(&self, whereabouts: &Whereabouts) -> Slot {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = projects.get(whereabouts) {
            return Arc::clone(slot);
        }
        if projects.len() >= MAX_PROJECTS {
            projects.clear();
        }
        Arc::clone(projects.entry(whereabouts.clone()).or_default())
    }
}
