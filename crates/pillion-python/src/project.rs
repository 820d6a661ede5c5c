//! A project as calls see it: root, configuration, interpreter, and proof of each.

use std::path::{Path, PathBuf};

use pillion_catalogue::Result;
use pillion_runtime::discovery::{Choice, Proven, Request};
use pillion_runtime::trust::{self, Trust};
use pillion_runtime::{Dirs, Proof};
use pillion_workspace::{Config, config, root};

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
    config_proof: Option<Proof>,
    trust: Trust,
    trust_proof: Option<Proof>,
    /// Foreign sidecars do not need one.
    python: Proven,
}

/// Refuse the foreign sidecars of a folder that its user does not trust, before anything of it
/// is looked for.
pub(crate) fn demand_sidecar(whereabouts: &Whereabouts, name: &str, dirs: &Dirs) -> Result<()> {
    let root = root::find(&whereabouts.root)?;
    let is_configured = Config::read(&root)?.sidecar.contains_key(name);
    match is_configured && !Trust::new(dirs).holds(&root, &root.join(config::FILE)) {
        true => Err(trust::refused(&root, &[format!("sidecar.{name}")])),
        false => Ok(()),
    }
}

impl Project {
    /// Look at the project that `whereabouts` lies in.
    pub(crate) async fn open(whereabouts: &Whereabouts, dirs: &Dirs) -> Result<Self> {
        let root = root::find(&whereabouts.root)?;
        // The proof is taken before what it proves is read.
        let config_proof = Proof::of(&root.join(config::FILE)).ok();
        let trust = Trust::new(dirs);
        let trust_proof = trust.proof(&root);
        let config = Config::read(&root)?;
        let is_trusted = trust.holds(&root, &root.join(config::FILE));
        let demands = config.python.demands(whereabouts.python.is_some());
        if !is_trusted && !demands.is_empty() {
            return Err(trust::refused(&root, &demands));
        }
        let request = Request {
            explicit: whereabouts.python.as_deref(),
            configured: config.python.interpreter.as_deref(),
            virtual_env: whereabouts.virtual_env.as_deref(),
            conda_prefix: whereabouts.conda_prefix.as_deref(),
            // A call runs this Python with all rights anyway: that is what is asked for.
            ..Request::new(&root)
        };
        let python = Proven::find(request, dirs).await;
        Ok(Self {
            root,
            config,
            config_proof,
            trust,
            trust_proof,
            python,
        })
    }

    /// Whether all that was found is still so.
    pub(crate) fn is_current(&self) -> bool {
        self.python.is_current()
            && Proof::of(&self.root.join(config::FILE)).ok() == self.config_proof
            && self.trust.proof(&self.root) == self.trust_proof
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
