//! The Python that lanes run: what of the machine it needs to see, and where its packages are.

use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};
use pillion_project::{Project, Stamps, Walls};
use pillion_runtime::discovery::{self, DiscoveryRequest};
use pillion_runtime::python_paths::{leads_away, links, shown};
use pillion_runtime::{Dirs, Interpreter, bytecode, worker_dir};

/// What the runtime of a project was found to be.
type Known = tokio::sync::Mutex<Option<Runtime>>;

/// Refuse what the lanes of a folder would get, unless it is trusted.
pub(crate) fn demand(project: &Project) -> Result<()> {
    let mut demands = project.config.lanes.demands();
    if project.config.python.interpreter.is_some() && !project.is_python_named() {
        demands.push("python.interpreter".to_owned());
    }
    project.demand(&demands)
}

/// A Python that nobody trusts compiles nothing that others run. One of the machine's own does
/// it where there is one of the same kind.
async fn compile_by_another(python: &Interpreter, worker: &Path, dirs: &Dirs) {
    let nowhere = std::env::temp_dir();
    let own = discovery::find(DiscoveryRequest::new(&nowhere), dirs).await;
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
    /// What says that the packages are still the same: who has imported some of them, such as a
    /// zygote, is of no use with others.
    pub proof: Stamps,
    /// It came with a folder that nobody trusts. It runs behind all walls, and is no zygote,
    /// which is behind fewer.
    pub is_foreign: bool,
}

impl Runtime {
    /// What the lanes of a project run. It is found out once, and kept for as long as the
    /// project is the same.
    pub async fn of_project(project: &Project, dirs: &Dirs) -> Result<Self> {
        let known = project.kept::<Known>();
        let mut known = known.lock().await;
        // Caches are emptied now and then.
        if let Some(runtime) = known.as_ref().filter(|known| known.worker.is_dir()) {
            return Ok(runtime.clone());
        }
        let python = project.python(Walls::UnlessTrusted).await;
        let choice = python.choice()?;
        let interpreter = &choice.interpreter;
        let is_foreign = choice.source.is_of_folder() && !project.is_trusted();
        let worker = worker_dir(dirs)
            .map_err(|error| Error::new(Code::StartFailed, error.to_string()).hint(error.hint()))?;
        // What runs behind walls cannot keep what it compiles, and would do it again each time.
        if !bytecode::is_ready(&worker, interpreter) {
            match is_foreign {
                false => bytecode::compile(&worker, interpreter).await,
                true => compile_by_another(interpreter, &worker, dirs).await,
            }
        }
        let mut runtime = Self::of(interpreter, worker, &project.root);
        runtime.is_foreign = is_foreign;
        runtime.proof = python.packages().clone();
        *known = Some(runtime.clone());
        Ok(runtime)
    }

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
            proof: Stamps::default(),
            is_foreign: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pillion_runtime::PythonVersion;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn interpreter(prefix: &Path, site_packages: Vec<PathBuf>) -> Interpreter {
        Interpreter {
            executable: prefix.join("bin/python"),
            version: PythonVersion::new(3, 12, 1),
            prefix: prefix.to_owned(),
            base_prefix: prefix.to_owned(),
            implementation: "cpython".to_owned(),
            site_packages,
            platform: "linux-x86_64".to_owned(),
            cache_tag: "cpython-312".to_owned(),
        }
    }

    #[test]
    fn a_program_sees_its_python_and_packages_and_nothing_beside_them() {
        let world = tempfile::tempdir().unwrap();
        let world = world.path().canonicalize().unwrap();
        let (prefix, root) = (world.join("python"), world.join("project"));
        let packages = prefix.join("lib/python3.12/site-packages");
        for folder in [
            &packages,
            &prefix.join("bin"),
            &prefix.join("secrets"),
            &root,
        ] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(prefix.join("bin/python"), "").unwrap();
        let missing = prefix.join("lib/missing");
        let python = interpreter(&prefix, vec![packages.clone(), missing]);
        let runtime = Runtime::of(&python, world.join("worker"), &root);
        assert_eq!(runtime.packages, [packages], "only folders that are there");
        let is_seen = |path: &str| {
            let path = world.join(path);
            runtime.view.iter().any(|shown| path.starts_with(shown))
        };
        for path in [
            "worker",
            "python/bin/python",
            "python/lib/python3.12/site-packages",
        ] {
            assert!(is_seen(path), "{path}");
        }
        for path in ["python/secrets", "python", "project", "other"] {
            assert!(!is_seen(path), "{path}");
        }
        assert!(runtime.view.is_sorted());
        let mut once = runtime.view.clone();
        once.dedup();
        assert_eq!(once, runtime.view);
        assert!(!runtime.is_foreign);
    }

    #[test]
    fn packages_of_a_project_that_lead_out_of_it_are_not_shown() {
        let world = tempfile::tempdir().unwrap();
        let world = world.path().canonicalize().unwrap();
        let (prefix, root) = (world.join("python"), world.join("project"));
        let (inside, outside) = (root.join("packages"), world.join("secrets"));
        for folder in [&prefix, &inside, &outside] {
            fs::create_dir_all(folder).unwrap();
        }
        let link = root.join("link");
        symlink(&outside, &link).unwrap();
        let python = interpreter(&prefix, vec![inside.clone(), link.clone()]);
        let runtime = Runtime::of(&python, world.join("worker"), &root);
        assert_eq!(runtime.packages, [inside]);
        assert!(!runtime.view.contains(&link) && !runtime.view.contains(&outside));
    }
}
