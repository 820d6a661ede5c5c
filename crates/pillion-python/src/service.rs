//! The service behind the operations: projects, and the pools that work for them.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use pillion_catalogue::{Peer, Result};
use pillion_process::environment::{self, ChildVariables};
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
fn fingerprint(variables: &ChildVariables) -> u64 {
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
        let sidecars = Arc::clone(&supervisor);
        projects.on_leaving(move |project| {
            sidecars.retire(Some(&project.root));
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
            fingerprint(&ChildVariables::telling(caller, own, pass)),
        );
        for dir in &path {
            let _ = write!(key, "\0{}", dir.display());
        }
        let size = config.python.workers;
        Ok(self.supervisor.pool(&key, size, || {
            let variables = ChildVariables::for_worker(caller, own, pass);
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
            fingerprint(&ChildVariables::telling(caller, own, &made.pass_env)),
        );
        Ok(self.supervisor.pool(&key, 1, || {
            let variables = ChildVariables::for_worker(caller, own, &made.pass_env);
            foreign::spec(project, name, made, variables)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{World, map, peer};
    use std::path::Path;

    #[test]
    fn variables_are_told_apart_by_all_of_their_values() {
        let of = |pairs: &[(&str, &str)]| {
            let own = map(pairs);
            fingerprint(&ChildVariables::telling(
                None,
                &own,
                &["A".to_owned(), "B".to_owned()],
            ))
        };
        assert_eq!(of(&[("A", "1"), ("B", "2")]), of(&[("B", "2"), ("A", "1")]));
        let all = [
            of(&[]),
            of(&[("A", "")]),
            of(&[("A", "1")]),
            of(&[("B", "1")]),
            of(&[("A", "1B2")]),
            of(&[("A", "1"), ("B", "2")]),
        ];
        let different: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    #[tokio::test]
    async fn workers_are_shared_by_calls_that_import_from_the_same_folders() {
        let world = World::new();
        let project = world.with_python(world.folder("one", "")).await;
        let root = project.common.root.clone();
        let caller = peer(&[]);
        let pool = |path: &[&Path]| {
            let path: Vec<PathBuf> = path.iter().map(|dir| (*dir).to_owned()).collect();
            world.service.workers(&project, &path, &caller).unwrap()
        };
        let usual = pool(&[]);
        assert!(Arc::ptr_eq(&usual, &pool(&[])));
        // These are imported from anyway.
        for same in [root.as_path(), &root.join("src"), Path::new("src")] {
            assert!(Arc::ptr_eq(&usual, &pool(&[same])), "{}", same.display());
        }
        let lib = pool(&[Path::new("lib")]);
        assert!(!Arc::ptr_eq(&usual, &lib));
        assert!(
            Arc::ptr_eq(&lib, &pool(&[&root.join("lib")])),
            "the same folder"
        );
        assert!(!Arc::ptr_eq(&lib, &pool(&[Path::new("other")])));
        let both = pool(&[Path::new("lib"), Path::new("other")]);
        let turned = pool(&[Path::new("other"), Path::new("lib")]);
        assert!(
            !Arc::ptr_eq(&both, &turned),
            "the first that has a module wins"
        );
    }

    #[tokio::test]
    async fn workers_are_apart_by_project_and_by_what_it_asks_of_its_callers() {
        let world = World::new();
        let config = "[python]\npass_env = ['TOKEN']\n";
        let one = world.with_python(world.trusted("one", config)).await;
        let two = world.with_python(world.trusted("two", config)).await;
        let pool = |project: &Arc<PythonProject>, variables: &[(&str, &str)]| {
            world
                .service
                .workers(project, &[], &peer(variables))
                .unwrap()
        };
        let first = pool(&one, &[("TOKEN", "a")]);
        assert!(!Arc::ptr_eq(&first, &pool(&two, &[("TOKEN", "a")])));
        assert!(!Arc::ptr_eq(&first, &pool(&one, &[("TOKEN", "b")])));
        assert!(!Arc::ptr_eq(&first, &pool(&one, &[])));
        assert!(!Arc::ptr_eq(
            &first,
            &pool(&one, &[("TOKEN", "a"), ("PYTHONOPTIMIZE", "1")])
        ));
        // What it does not ask for makes no difference.
        assert!(Arc::ptr_eq(
            &first,
            &pool(&one, &[("TOKEN", "a"), ("OTHER", "x")])
        ));
    }

    #[tokio::test]
    async fn foreign_sidecars_are_apart_by_name_and_by_what_they_ask_of_their_callers() {
        let world = World::new();
        let config = "[sidecar.a]\ncommand = ['x']\npass_env = ['TOKEN']\n\
            [sidecar.b]\ncommand = ['x']\n";
        let project = world.project(world.trusted("one", config)).await;
        let pool = |name: &str, token: &str| {
            let caller = peer(&[("TOKEN", token)]);
            world.service.foreign(&project, name, &caller).unwrap()
        };
        assert!(Arc::ptr_eq(&pool("a", "1"), &pool("a", "1")));
        assert!(!Arc::ptr_eq(&pool("a", "1"), &pool("a", "2")));
        assert!(!Arc::ptr_eq(&pool("a", "1"), &pool("b", "1")));
        assert!(
            Arc::ptr_eq(&pool("b", "1"), &pool("b", "2")),
            "it did not ask"
        );
        let unknown = world.service.foreign(&project, "c", &peer(&[]));
        assert!(unknown.is_err());
    }

    #[tokio::test]
    async fn sidecars_of_a_project_that_changed_are_let_go_of() {
        let world = World::new();
        let (one, two) = (world.folder("one", ""), world.folder("two", ""));
        let old = world.with_python(one.clone()).await;
        let other = world.with_python(two.clone()).await;
        for project in [&old, &other] {
            world.service.workers(project, &[], &peer(&[])).unwrap();
        }
        std::fs::write(one.join("pillion.toml"), "[python]\nworkers = 2\n").unwrap();
        world.project(one.clone()).await;
        assert_eq!(world.supervisor.pools_of(Some(&one)).len(), 0);
        assert_eq!(world.supervisor.pools_of(Some(&two)).len(), 1);
    }
}
