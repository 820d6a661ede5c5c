//! What the kernel of a kernelspec is made of: its command, and what it has to see.
//!
//! Such a kernel lives behind the same walls as ipykernel. What of the machine it sees besides
//! the system's programs and libraries is the installation that its program is a part of, and the
//! folder of its kernelspec. A kernelspec of a folder that nobody trusts shows nothing that is
//! not in that folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result, work};
use pillion_lanes::Ground;
use pillion_project::{Project, Walls};
use pillion_runtime::Dirs;
use pillion_runtime::managed::ProgressListener;
use pillion_runtime::python_paths::{leads_away, links, shown};
use pillion_sandbox::Level;

use crate::packages::Packages;
use crate::specs::{InstalledSpec, InterruptMode, PYTHON, SearchPath, Specs};

/// Words by which a kernelspec means the Python of whoever reads it.
const PYTHONS: [&str; 2] = ["python", "python3"];
/// Modules that are ipykernel.
const IPYKERNEL: [&str; 2] = ["ipykernel_launcher", "ipykernel"];
/// Parts of an installation that programs need besides what a Python has.
const MORE_PARTS: [&str; 2] = ["libexec", "share"];

/// Which kernel somebody wants.
#[derive(Debug, Clone, Default)]
pub struct KernelChoice {
    /// Its name; without one it is what the session had before, or Python.
    pub name: Option<String>,
    /// Where it is looked for.
    pub search: SearchPath,
}

impl KernelChoice {
    /// The name as it is compared.
    fn name(&self) -> Option<String> {
        let name = self.name.as_deref().unwrap_or_default().to_lowercase();
        (!name.is_empty()).then_some(name)
    }

    /// Whether it is the kernel of this name, or any.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name().is_none_or(|wanted| wanted == name)
    }
}

/// What the process of a kernel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    /// ipykernel, on the Python of the project.
    Ipykernel(Packages),
    /// The command of a kernelspec.
    Foreign(Foreign),
}

impl Program {
    /// What is wanted, for a project.
    pub(crate) async fn find(
        wanted: &KernelChoice,
        ground: &Ground,
        dirs: &Dirs,
        progress: &dyn ProgressListener,
    ) -> Result<Self> {
        if let Some(name) = wanted.name().filter(|name| name != PYTHON) {
            let specs = Specs::of_project(&ground.project, &wanted.search).await?;
            let found = specs.get(&name)?;
            if !is_ipykernel(found, ground) {
                let foreign = Foreign::new(found, ground, &wanted.search)?;
                return Ok(Self::Foreign(foreign));
            }
        }
        let packages = Packages::find(ground, dirs, progress).await?;
        Ok(Self::Ipykernel(packages))
    }

    /// The name of the kernel.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Ipykernel(_) => PYTHON,
            Self::Foreign(foreign) => &foreign.name,
        }
    }

    /// The language of its cells.
    pub(crate) fn language(&self) -> &str {
        match self {
            Self::Ipykernel(_) => "python",
            Self::Foreign(foreign) => &foreign.language,
        }
    }
}

impl Specs {
    /// Those that a project sees: its Python's are among them, if it has one.
    pub(crate) async fn of_project(project: &Project, search: &SearchPath) -> Result<Self> {
        let python = project.python_if_any(Walls::UnlessTrusted).await;
        let choice = python.choice().ok();
        let prefix = choice.map(|choice| choice.interpreter.prefix.as_path());
        let folders = search.folders(prefix);
        work(move |_| Self::find(&folders)).await
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Result<&InstalledSpec> {
        if let Some(found) = self.found.get(name) {
            return Ok(found);
        }
        let is_it = |one: &&crate::specs::Unreadable| one.name.as_deref() == Some(name);
        if let Some(one) = self.unreadable.iter().find(is_it) {
            let what = format!("the kernelspec `{}` is not usable", one.path.display());
            return Err(Error::new(
                Code::StartFailed,
                format!("{what}: {}", one.why),
            ));
        }
        let what = format!("there is no kernel `{name}` here");
        let others = self.found.keys().filter(|name| *name != PYTHON);
        let mut names = vec![format!("`{PYTHON}`")];
        names.extend(others.map(|name| format!("`{name}`")));
        Err(Error::new(Code::NotFound, what).hint(format!(
            "there are {}; `pillion kernel specs` tells more",
            names.join(", ")
        )))
    }
}

/// Whether a kernelspec means the kernel that is there without it.
fn is_ipykernel(found: &InstalledSpec, ground: &Ground) -> bool {
    let argv: Vec<&str> = found.spec.argv.iter().map(String::as_str).collect();
    match argv.as_slice() {
        [python, "-m", module, ..] if IPYKERNEL.contains(module) => {
            is_python(python) || Path::new(python) == ground.runtime.executable
        }
        // What `pillion kernel install` writes.
        [program, "kernel", "launch", ..] => Path::new(program).ends_with("pillion"),
        _ => false,
    }
}

/// Whether a word means the Python of whoever reads it.
fn is_python(word: &str) -> bool {
    let minor = word.strip_prefix("python3.").unwrap_or_default();
    PYTHONS.contains(&word) || (!minor.is_empty() && minor.bytes().all(|c| c.is_ascii_digit()))
}

/// What the kernel of a kernelspec is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub(crate) name: String,
    pub(crate) language: String,
    pub(crate) argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    /// The folder of its kernelspec.
    pub(crate) folder: PathBuf,
    /// What it sees.
    pub(crate) view: Vec<PathBuf>,
    pub(crate) interrupt_mode: InterruptMode,
}

impl Foreign {
    fn new(found: &InstalledSpec, ground: &Ground, search: &SearchPath) -> Result<Self> {
        let (name, spec) = (&found.name, &found.spec);
        let not = |why: &str| {
            let what = format!("the kernel `{name}` is not started: {why}");
            Error::new(Code::StartFailed, what)
        };
        if ground.level != Level::L3 {
            return Err(not("it needs namespaces, and there are none here")
                .hint("`pillion doctor` tells why; Python's own kernel does without"));
        }
        if ground.config.network {
            // Its sockets would be on the loopback of the whole machine.
            return Err(
                not("in a lane with network others could listen to its sockets")
                    .hint("set `network = false` for the user lane, or use Python's own kernel"),
            );
        }
        let [word, rest @ ..] = spec.argv.as_slice() else {
            return Err(not("its `argv` is empty"));
        };
        let program = match word {
            word if is_python(word) => ground.runtime.executable.clone(),
            word if word.starts_with('/') => PathBuf::from(word),
            word if !word.contains('/') => search.program(word).ok_or_else(|| {
                not(&format!("there is no program `{word}`"))
                    .hint("install it, or set `PATH` so that it is found")
            })?,
            word => return Err(not(&format!("`{word}` is no absolute path"))),
        };
        if !program.is_file() {
            return Err(not(&format!("there is no program `{}`", program.display()))
                .hint("install the kernel again: its kernelspec names what is gone"));
        }
        let root = &ground.project.root;
        let is_stranger = is_in(&found.folder, root) && !ground.project.is_trusted();
        let is_own = program == ground.runtime.executable;
        if is_stranger && !is_own && !is_in(&program, root) && !is_of_system(&program) {
            let what = format!(
                "the kernelspec of `{name}` came with a folder which you do not trust, and names a program that is not in there"
            );
            return Err(Error::new(Code::Untrusted, what).hint("`pillion trust` if you do"));
        }
        let mut view = vec![found.folder.clone()];
        if !is_own {
            view.extend(installation(&program, root));
        }
        // Scripts that are named by the command.
        view.extend(
            rest.iter()
                .map(PathBuf::from)
                .filter(|path| path.is_absolute() && path.is_file()),
        );
        view.retain(|path| match is_stranger {
            true => is_in(path, root),
            false => !leads_away(path, root),
        });
        view.sort();
        view.dedup();
        let mut argv = vec![program.to_string_lossy().into_owned()];
        argv.extend(rest.iter().cloned());
        Ok(Self {
            name: name.clone(),
            language: spec.language.clone(),
            argv,
            env: spec.env.clone(),
            folder: found.folder.clone(),
            view,
            interrupt_mode: spec.interrupt_mode,
        })
    }
}

/// Whether a path, and what it leads to, is in a folder.
fn is_in(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

/// Whether a program is one of those that everybody sees.
fn is_of_system(program: &Path) -> bool {
    let real = program.canonicalize();
    real.is_ok_and(|real| {
        ["/usr", "/bin"]
            .iter()
            .any(|system| real.starts_with(system))
    })
}

/// The program, and what it is installed with: for all links that lead to it, the libraries and
/// programs beside it.
fn installation(program: &Path, root: &Path) -> Vec<PathBuf> {
    let mut all = links(program);
    let bins: Vec<PathBuf> = all
        .iter()
        .filter_map(|path| path.parent())
        .filter(|parent| parent.ends_with("bin"))
        .map(Path::to_owned)
        .collect();
    // An environment of Python says whose it is.
    let homes = bins
        .iter()
        .filter_map(|bin| home_of(&bin.parent()?.join("pyvenv.cfg")));
    let homes: Vec<PathBuf> = homes.collect();
    for prefix in bins.iter().chain(&homes).filter_map(|bin| bin.parent()) {
        let version = version_in(prefix).unwrap_or_default();
        let parts = shown(prefix, &version, root);
        // `lib` itself is not shown where the prefix holds other things, such as a home.
        if parts.contains(&prefix.join("lib")) && !is_of_user(prefix) {
            let more = MORE_PARTS.iter().map(|part| prefix.join(part));
            all.extend(more.filter(|part| part.is_dir()));
        }
        all.extend(parts);
    }
    all
}

/// Whether this prefix is where a user's own data is: `~/.local`.
fn is_of_user(prefix: &Path) -> bool {
    prefix.ends_with(".local")
}

/// The programs of the Python that an environment was made from.
fn home_of(config: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(config).ok()?;
    let mut settings = text.lines().filter_map(|line| line.split_once('='));
    let (_, home) = settings.find(|(name, _)| name.trim() == "home")?;
    let home = PathBuf::from(home.trim());
    (home.is_absolute() && home.ends_with("bin")).then_some(home)
}

/// The version of Python in a prefix, as its folders spell it.
fn version_in(prefix: &Path) -> Option<String> {
    let entries = prefix.join("lib").read_dir().ok()?.flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.find(|name| name.starts_with("python3."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn words_for_python_mean_the_projects_own() {
        for word in ["python", "python3", "python3.12"] {
            assert!(is_python(word), "{word}");
        }
        for word in [
            "python2",
            "python3.",
            "python3.x",
            "/usr/bin/python3",
            "pypy3",
        ] {
            assert!(!is_python(word), "{word}");
        }
    }

    #[test]
    fn an_installation_is_what_all_links_to_its_program_lie_beside() {
        let world = tempfile::tempdir().unwrap();
        let world = world.path().canonicalize().unwrap();
        for folder in [
            "base/bin",
            "base/lib/python3.12",
            "base/share/x",
            "base/secrets",
            "project",
        ] {
            fs::create_dir_all(world.join(folder)).unwrap();
        }
        fs::create_dir_all(world.join("env/bin")).unwrap();
        fs::write(world.join("base/bin/python3"), "").unwrap();
        symlink(world.join("base/bin/python3"), world.join("env/bin/python")).unwrap();
        let all = installation(&world.join("env/bin/python"), &world.join("project"));
        let is_seen = |path: &str| all.iter().any(|shown| world.join(path).starts_with(shown));
        for path in [
            "env/bin/python",
            "base/bin/python3",
            "base/lib/python3.12",
            "base/share/x",
        ] {
            assert!(is_seen(path), "{path}: {all:?}");
        }
        assert!(!is_seen("base/secrets") && !is_seen("env/other"), "{all:?}");
    }

    #[test]
    fn a_copied_environment_says_which_python_it_was_made_from() {
        let world = tempfile::tempdir().unwrap();
        let config = world.path().join("pyvenv.cfg");
        fs::write(&config, "version = 3.12\nhome = /opt/py/bin\n").unwrap();
        assert_eq!(home_of(&config), Some(PathBuf::from("/opt/py/bin")));
        fs::write(&config, "home = /etc\n").unwrap();
        assert_eq!(home_of(&config), None);
    }

    #[test]
    fn data_of_the_user_is_no_part_of_an_installation() {
        let world = tempfile::tempdir().unwrap();
        let world = world.path().canonicalize().unwrap();
        for folder in [
            ".local/bin",
            ".local/lib",
            ".local/share/keyrings",
            "project",
        ] {
            fs::create_dir_all(world.join(folder)).unwrap();
        }
        fs::write(world.join(".local/bin/kernel"), "").unwrap();
        let all = installation(&world.join(".local/bin/kernel"), &world.join("project"));
        assert!(all.contains(&world.join(".local/lib")), "{all:?}");
        assert!(!all.contains(&world.join(".local/share")), "{all:?}");
    }
}
