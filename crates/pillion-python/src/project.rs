//! A project as calls see it: root, configuration, interpreter, and proof of each.

use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};
use pillion_runtime::Dirs;
use pillion_runtime::discovery::{self, Choice, DiscoveryError, Request};
use pillion_workspace::{Config, Proof, config, root};
use serde_json::json;

/// What a caller says about where its call should run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Whereabouts {
    /// A folder of the project.
    pub(crate) root: PathBuf,
    /// The interpreter the caller named.
    pub(crate) python: Option<PathBuf>,
    /// The caller's virtual environment.
    pub(crate) virtual_env: Option<PathBuf>,
    /// The caller's conda environment.
    pub(crate) conda_prefix: Option<PathBuf>,
}

/// A project that calls can run in.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) config: Config,
    /// The interpreter and why it was chosen; foreign sidecars do not need one.
    pub(crate) python: Result<Choice>,
    proofs: Vec<(PathBuf, Proof)>,
}

impl Project {
    /// Look at the project that `whereabouts` lies in.
    pub(crate) async fn open(whereabouts: &Whereabouts, dirs: &Dirs) -> Result<Self> {
        let root = root::find(&whereabouts.root)?;
        // Proofs are taken before what they prove is read.
        let mut watched = vec![root.join(config::FILE)];
        watched.extend([".venv", "venv"].map(|name| root.join(name).join("pyvenv.cfg")));
        let mut proofs: Vec<_> = watched.into_iter().map(with_proof).collect();
        let config = Config::read(&root)?;
        let request = Request {
            explicit: whereabouts.python.as_deref(),
            configured: config.python.interpreter.as_deref(),
            virtual_env: whereabouts.virtual_env.as_deref(),
            conda_prefix: whereabouts.conda_prefix.as_deref(),
            ..Request::new(&root)
        };
        let python = discovery::find(request, dirs)
            .await
            .map_err(|error| no_python(&error));
        if let Ok(choice) = &python {
            proofs.push(with_proof(choice.interpreter.executable.clone()));
            // Installing or removing a package changes the folder that holds it.
            proofs.extend(
                choice
                    .interpreter
                    .site_packages
                    .iter()
                    .cloned()
                    .map(with_proof),
            );
        }
        Ok(Self {
            root,
            config,
            python,
            proofs,
        })
    }

    /// Whether all that was found is still so. A missing interpreter is looked for again.
    pub(crate) fn is_current(&self) -> bool {
        self.python.is_ok()
            && self
                .proofs
                .iter()
                .all(|(path, proof)| Proof::of(path) == *proof)
    }

    /// The interpreter for its workers.
    pub(crate) fn interpreter(&self) -> Result<&Path> {
        match &self.python {
            Ok(choice) => Ok(&choice.interpreter.executable),
            Err(error) => Err(error.clone()),
        }
    }
}

fn with_proof(path: PathBuf) -> (PathBuf, Proof) {
    let proof = Proof::of(&path);
    (path, proof)
}

fn no_python(error: &DiscoveryError) -> Error {
    Error::new(Code::PythonNotFound, error.to_string())
        .hint(error.hint())
        .data(json!({ "considered": error.considered() }))
}
