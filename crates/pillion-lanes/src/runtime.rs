//! The Python that lanes run: what of the machine it needs to see, and where its packages are.

use std::path::{Path, PathBuf};

use pillion_catalogue::Result;
use pillion_runtime::discovery::{self, Proven, Request};
use pillion_runtime::trust::{self, Trust};
use pillion_runtime::view::{leads_away, links, shown};
use pillion_runtime::{Dirs, Interpreter, Proof, bytecode, worker_dir};
use pillion_workspace::{Config, config, root};

/// What a caller says about where its code should run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Whereabouts {
    /// A folder of the project whose `pillion.toml` and Python are meant.
    pub root: PathBuf,
    /// The interpreter that is asked for.
    pub python: Option<PathBuf>,
    /// The caller's virtual environment.
    pub virtual_env: Option<PathBuf>,
    /// The caller's conda environment.
    pub conda_prefix: Option<PathBuf>,
}

/// A project's rules for lanes, and its Python; with proof of both.
#[derive(Debug)]
pub struct Project {
    root: PathBuf,
    /// What its `pillion.toml` says.
    pub config: Config,
    config_proof: Option<Proof>,
    trust: Trust,
    trust_proof: Option<Proof>,
    is_trusted: bool,
    python: Proven,
    /// What its lanes run, once that was found out.
    runtime: tokio::sync::Mutex<Option<Runtime>>,
}

impl Project {
    pub(crate) async fn open(whereabouts: &Whereabouts, dirs: &Dirs) -> Result<Self> {
        let root = root::find(&whereabouts.root)?;
        // The proof is taken before what it proves is read.
        let config_proof = Proof::of(&root.join(config::FILE)).ok();
        let trust = Trust::new(dirs);
        let trust_proof = trust.proof(&root);
        let config = Config::read(&root)?;
        let is_trusted = trust.holds(&root, &root.join(config::FILE));
        let mut demands = config.lanes.demands();
        if config.python.interpreter.is_some() && whereabouts.python.is_none() {
            demands.push("python.interpreter".to_owned());
        }
        if !is_trusted && !demands.is_empty() {
            return Err(trust::refused(&root, &demands));
        }
        let request = Request {
            explicit: whereabouts.python.as_deref(),
            configured: config.python.interpreter.as_deref(),
            virtual_env: whereabouts.virtual_env.as_deref(),
            conda_prefix: whereabouts.conda_prefix.as_deref(),
            walled: !is_trusted,
            ..Request::new(&root)
        };
        let python = Proven::find(request, dirs).await;
        Ok(Self {
            root,
            config,
            config_proof,
            trust,
            trust_proof,
            is_trusted,
            python,
            runtime: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn is_current(&self) -> bool {
        self.python.is_current()
            && Proof::of(&self.root.join(config::FILE)).ok() == self.config_proof
            && self.trust.proof(&self.root) == self.trust_proof
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What its lanes run.
    pub async fn runtime(&self, dirs: &Dirs) -> Result<Runtime> {
        let mut known = self.runtime.lock().await;
        // Caches are emptied now and then.
        if let Some(runtime) = known.as_ref().filter(|known| known.worker.is_dir()) {
            return Ok(runtime.clone());
        }
        let choice = self.python.choice()?;
        let interpreter = &choice.interpreter;
        let is_foreign = choice.source.is_of_folder() && !self.is_trusted;
        let worker = worker_dir(dirs).map_err(|error| {
            pillion_catalogue::Error::new(pillion_catalogue::Code::StartFailed, error.to_string())
                .hint(error.hint())
        })?;
        // What runs behind walls cannot keep what it compiles, and would do it again each time.
        if !bytecode::is_ready(&worker, interpreter) {
            match is_foreign {
                false => bytecode::compile(&worker, interpreter).await,
                true => compile_by_another(interpreter, &worker, dirs).await,
            }
        }
        let mut runtime = Runtime::of(interpreter, worker, &self.root);
        runtime.is_foreign = is_foreign;
        *known = Some(runtime.clone());
        Ok(runtime)
    }
}

/// A Python that nobody trusts compiles nothing that others run. One of the machine's own does
/// it where there is one of the same kind.
async fn compile_by_another(python: &Interpreter, worker: &Path, dirs: &Dirs) {
    let nowhere = std::env::temp_dir();
    let own = discovery::find(Request::new(&nowhere), dirs).await;
    if let Ok(own) = own
        && own.interpreter.cache_tag == python.cache_tag
    {
        bytecode::compile(worker, &own.interpreter).await;
    }
}

/// A Python, as lanes see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Runtime {
    /// The interpreter.
    pub executable: PathBuf,
    /// The folder with pillion's own Python package.
    pub worker: PathBuf,
    /// What must be readable.
    pub view: Vec<PathBuf>,
    /// Where packages are imported from.
    pub packages: Vec<PathBuf>,
    /// It came with a folder that nobody trusts. It runs behind all walls, and is no zygote,
    /// which is behind fewer.
    pub is_foreign: bool,
}

impl Runtime {
    fn of(interpreter: &Interpreter, worker: PathBuf, root: &Path) -> Self {
        let packages: Vec<PathBuf> = interpreter
            .site_packages
            .iter()
            .filter(|path| path.is_dir() && !leads_away(path, root))
            .cloned()
            .collect();
        let mut view = vec![worker.clone()];
        let version = format!(
            "python{}.{}",
            interpreter.version.major, interpreter.version.minor
        );
        for prefix in [&interpreter.prefix, &interpreter.base_prefix] {
            view.extend(shown(prefix, &version, root));
        }
        view.extend(links(&interpreter.executable));
        view.extend(packages.iter().cloned());
        view.sort();
        view.dedup();
        Self {
            executable: interpreter.executable.clone(),
            worker,
            view,
            packages,
            is_foreign: false,
        }
    }
}
