//! A service with folders of its own, for tests: projects, trust, and calls as doors make them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::{Activity, Catalogue, Door, Peer, Request, Result};
use pillion_process::environment::Map;
use pillion_project::{Project, Projects, Whereabouts};
use pillion_runtime::Dirs;
use pillion_runtime::trust::TrustRecords;
use pillion_supervisor::Supervisor;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::to_raw_value;

use crate::project::PythonProject;
use crate::{PythonService, operations};

pub(crate) struct World {
    home: tempfile::TempDir,
    pub(crate) projects: Arc<Projects>,
    pub(crate) supervisor: Arc<Supervisor>,
    pub(crate) service: Arc<PythonService>,
    catalogue: Catalogue,
}

impl World {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let projects = Arc::new(Projects::new(Dirs::under(home.path().join("pillion"))));
        let supervisor = Arc::new(Supervisor::new(Activity::default()));
        let service = PythonService::new(Arc::clone(&supervisor), Arc::clone(&projects));
        let service = Arc::new(service);
        let mut catalogue = Catalogue::default();
        catalogue.add(operations::operations(), &service);
        Self {
            home,
            projects,
            supervisor,
            service,
            catalogue,
        }
    }

    /// A folder with this `pillion.toml`, which nobody trusts.
    pub(crate) fn folder(&self, name: &str, config: &str) -> PathBuf {
        let root = self.home.path().join(name);
        fs::create_dir_all(&root).unwrap();
        let root = root.canonicalize().unwrap();
        fs::write(root.join("pillion.toml"), config).unwrap();
        root
    }

    /// A folder with this `pillion.toml`, which is trusted.
    pub(crate) fn trusted(&self, name: &str, config: &str) -> PathBuf {
        let root = self.folder(name, config);
        let trust = TrustRecords::new(self.projects.dirs());
        trust.give(&root, &root.join("pillion.toml")).unwrap();
        root
    }

    /// The project there.
    pub(crate) async fn project(&self, root: PathBuf) -> Arc<Project> {
        let place = Whereabouts {
            root,
            ..Whereabouts::default()
        };
        self.projects.open(place).await.unwrap()
    }

    /// The project there with the Python of this machine.
    pub(crate) async fn with_python(&self, root: PathBuf) -> Arc<PythonProject> {
        let project = self.project(root).await;
        Arc::new(PythonProject::new(project).await.unwrap())
    }

    /// Ask as a door does.
    pub(crate) async fn call(&self, operation: &str, params: impl Serialize) -> Result<Value> {
        let params = to_raw_value(&params).unwrap();
        let request = Request::new(Door::Embedded);
        let answer = self
            .catalogue
            .call(operation, Some(&params), request)
            .await?;
        Ok(serde_json::from_str(answer.get()).unwrap())
    }
}

/// Somebody with these variables.
pub(crate) fn peer(variables: &[(&str, &str)]) -> Peer {
    let all: Map = map(variables);
    Peer::new(move || Some(all), || None)
}

pub(crate) fn map(variables: &[(&str, &str)]) -> Map {
    let owned = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
    variables.iter().map(owned).collect()
}
