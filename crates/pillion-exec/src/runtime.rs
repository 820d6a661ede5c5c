//! The Python that lanes run: what of the machine it needs to see, and where its packages are.

use std::path::{Path, PathBuf};

use pillion_catalogue::Result;
use pillion_runtime::discovery::{Proven, Request};
use pillion_runtime::{Dirs, Interpreter, Proof, bytecode, worker_dir};
use pillion_workspace::{Config, config, root};

/// How many links an executable may be behind.
const MAX_LINKS: usize = 16;

/// What a caller says about where its code should run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Whereabouts {
    /// A folder of the project whose `pillion.toml` and Python are meant.
    pub(crate) root: PathBuf,
    pub(crate) python: Option<PathBuf>,
    pub(crate) virtual_env: Option<PathBuf>,
    pub(crate) conda_prefix: Option<PathBuf>,
}

/// A project's rules for lanes, and its Python; with proof of both.
#[derive(Debug)]
pub(crate) struct Project {
    root: PathBuf,
    pub(crate) config: Config,
    config_proof: Option<Proof>,
    python: Proven,
    /// What its lanes run, once that was found out.
    runtime: tokio::sync::Mutex<Option<Runtime>>,
}

impl Project {
    pub(crate) async fn open(whereabouts: &Whereabouts, dirs: &Dirs) -> Result<Self> {
        let root = root::find(&whereabouts.root)?;
        // The proof is taken before what it proves is read.
        let config_proof = Proof::of(&root.join(config::FILE)).ok();
        let config = Config::read(&root)?;
        let request = Request {
            explicit: whereabouts.python.as_deref(),
            configured: config.python.interpreter.as_deref(),
            virtual_env: whereabouts.virtual_env.as_deref(),
            conda_prefix: whereabouts.conda_prefix.as_deref(),
            ..Request::new(&root)
        };
        let python = Proven::find(request, dirs).await;
        Ok(Self {
            root,
            config,
            config_proof,
            python,
            runtime: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn is_current(&self) -> bool {
        self.python.is_current()
            && Proof::of(&self.root.join(config::FILE)).ok() == self.config_proof
    }

    /// What its lanes run.
    pub(crate) async fn runtime(&self, dirs: &Dirs) -> Result<Runtime> {
        let mut known = self.runtime.lock().await;
        // Caches are emptied now and then.
        if let Some(runtime) = known.as_ref().filter(|known| known.worker.is_dir()) {
            return Ok(runtime.clone());
        }
        let interpreter = &self.python.choice()?.interpreter;
        let worker = worker_dir(dirs).map_err(|error| {
            pillion_catalogue::Error::new(pillion_catalogue::Code::StartFailed, error.to_string())
                .hint(error.hint())
        })?;
        // What runs behind walls cannot keep what it compiles, and would do it again each time.
        if !bytecode::is_ready(&worker, interpreter) {
            bytecode::compile(&worker, interpreter).await;
        }
        let runtime = Runtime::of(interpreter, worker, &self.root);
        *known = Some(runtime.clone());
        Ok(runtime)
    }
}

/// A Python, as lanes see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Runtime {
    pub(crate) executable: PathBuf,
    /// The folder with pillion's own Python package.
    pub(crate) worker: PathBuf,
    /// What must be readable.
    pub(crate) view: Vec<PathBuf>,
    /// Where packages are imported from.
    pub(crate) packages: Vec<PathBuf>,
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
        }
    }
}

/// What of an installation or environment is shown: its programs and libraries. Its folder may
/// hold anything else, too: an environment can be made right in a project or in a home.
fn shown(prefix: &Path, version: &str, root: &Path) -> Vec<PathBuf> {
    // Of the system's own tree only the libraries, which are shown anyway.
    if ["/", "/usr", "/usr/local"].map(Path::new).contains(&prefix) {
        return Vec::new();
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let is_shared = root.starts_with(prefix)
        || home.is_some_and(|home| !home.as_os_str().is_empty() && home.starts_with(prefix));
    let names: Vec<PathBuf> = match is_shared {
        // Even these names may be those of other things there.
        true => ["lib", "lib64", "lib32", "include"]
            .iter()
            .map(|folder| Path::new(folder).join(version))
            .chain(beginning_with(&prefix.join("bin"), "bin", "python"))
            .chain(beginning_with(&prefix.join("lib"), "lib", "libpython"))
            .chain(["pyvenv.cfg".into()])
            .collect(),
        false => [
            "bin",
            "lib",
            "lib64",
            "lib32",
            "include",
            "pyvenv.cfg",
            // conda's certificates.
            "ssl/cert.pem",
        ]
        .map(PathBuf::from)
        .into(),
    };
    let paths = names.into_iter().map(|name| prefix.join(name));
    paths
        .filter(|path| path.exists() && !leads_away(path, root))
        .collect()
}

/// Files of a folder whose names begin so, as named from above it.
fn beginning_with(folder: &Path, name: &str, beginning: &str) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|file| file.starts_with(beginning))
        .map(|file| Path::new(name).join(file))
        .collect()
}

/// Whether a path in the project leads out of it by a link. What is shown under its name would
/// be something that nobody meant to show; an environment's Python is found by other means.
fn leads_away(path: &Path, root: &Path) -> bool {
    let (Ok(real), Ok(real_root)) = (path.canonicalize(), root.canonicalize()) else {
        return true;
    };
    let is_program = path.parent().is_some_and(|parent| parent.ends_with("bin"));
    path.starts_with(root) && !real.starts_with(real_root) && !is_program
}

/// An executable, and everything it is a link to.
fn links(executable: &Path) -> Vec<PathBuf> {
    let mut all = vec![executable.to_owned()];
    for _ in 0..MAX_LINKS {
        let Some(last) = all.last() else { break };
        let Ok(target) = std::fs::read_link(last) else {
            break;
        };
        let next = last.parent().unwrap_or(Path::new("/")).join(target);
        all.push(std::path::absolute(&next).unwrap_or(next));
    }
    if let Ok(real) = executable.canonicalize() {
        all.push(real);
    }
    all
}
