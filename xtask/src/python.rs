//! Python environments made of locked files: the one for development, with pytest, ruff and
//! what the tests of the worker import, in `target/dev-python`; and one with the tools for other
//! platforms.

use std::path::{Path, PathBuf};

use crate::debian;
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::run::{Output, Run};

/// The oldest Python that pillion works with.
const OLDEST: (u32, u32) = (3, 10);

/// Where a Python may be found, in the order of preference.
const NAMES: &[&str] = &[
    "python3",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
    "python",
];

/// A Python on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Python {
    /// The name it was found by.
    pub(crate) name: &'static str,
    /// Major and minor version.
    pub(crate) version: (u32, u32),
    /// Itself, behind any shim.
    pub(crate) executable: PathBuf,
}

/// The environment.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The Python that it was made from.
    pub(crate) base: Python,
    folder: PathBuf,
}

impl Environment {
    /// The environment for development, made anew if it is missing or not what its lock file
    /// says.
    pub(crate) fn set_up(repository: &Repository) -> Result<Self> {
        let folder = repository.root.join("target/dev-python");
        let requirements = repository.root.join("python/requirements/dev.txt");
        Self::made(folder, &requirements, Self::compile)
    }

    /// The environment with the tools for other platforms, likewise.
    pub(crate) fn for_cross(repository: &Repository, folder: &Path) -> Result<Self> {
        let requirements = repository.root.join("python/requirements/cross.txt");
        Self::made(folder.to_owned(), &requirements, |_| Ok(()))
    }

    fn made(
        folder: PathBuf,
        requirements: &Path,
        complete: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<Self> {
        let base = find()?;
        let locked = std::fs::read_to_string(requirements)
            .map_err(|error| Error::file(requirements, &error))?;
        let environment = Self { base, folder };
        // Written last, so that it is only there when all before it went well.
        let stamp = environment.folder.join("pillion-stamp");
        let base = environment.base.executable.display();
        let wanted = format!("{base}, compiled\n{locked}");
        if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
            println!("{} is up to date", environment.folder.display());
            return Ok(environment);
        }
        environment.create()?;
        environment.install(requirements)?;
        complete(&environment)?;
        std::fs::write(&stamp, wanted).map_err(|error| Error::file(&stamp, &error))?;
        Ok(environment)
    }

    /// A program of the environment.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        let programs = if cfg!(windows) { "Scripts" } else { "bin" };
        self.folder.join(programs).join(name)
    }

    fn create(&self) -> Result<()> {
        let (major, minor) = self.base.version;
        println!(
            "making {} with Python {major}.{minor}",
            self.folder.display()
        );
        let failed = match self.venv()? {
            output if output.ended_well() => return Ok(()),
            output => output,
        };
        if !lacks_venv(&failed) {
            return failed.success().map(drop);
        }
        // Debian and its children ship Python without this part of its library.
        let package = match self.base.name {
            "python3" => "python3-venv".to_owned(),
            _ => format!("python{major}.{minor}-venv"),
        };
        if !debian::install(&package)? {
            let why = format!(
                "`{}` has no complete `venv` module",
                self.base.executable.display()
            );
            return Err(Error::new(why).hint(format!(
                "install it, on Debian and Ubuntu with `sudo apt-get install {package}`, and run this again"
            )));
        }
        self.venv()?.success().map(drop)
    }

    fn venv(&self) -> Result<Output> {
        Run::new(&self.base.executable)
            .args(["-I", "-m", "venv", "--clear"])
            .args([&self.folder])
            .output()
    }

    fn install(&self, requirements: &Path) -> Result<()> {
        println!("installing {}", requirements.display());
        Run::new(self.program("python"))
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "--require-hashes"])
            .args(["--only-binary", ":all:", "--no-compile"])
            .args([Path::new("-r"), requirements])
            .show()
            .map_err(|error| {
                error.hint("pip needs to reach a package index, or a mirror that it is set up for")
            })
    }

    /// Compile what was installed, on all processors, as pip does not. Kernels run behind walls
    /// and keep no byte-code: each of them would compile all of ipykernel and matplotlib anew.
    fn compile(&self) -> Result<()> {
        println!("compiling {}", self.folder.display());
        let compiled = Run::new(self.program("python"))
            .args(["-I", "-m", "compileall", "-q", "-j", "0"])
            .args([self.folder.join("lib")])
            .output()?;
        // A package may hold what is for another Python; nobody imports that.
        if !compiled.ended_well() {
            println!("{}{}", compiled.stdout, compiled.stderr);
        }
        Ok(())
    }
}

/// The first Python that is new enough.
pub(crate) fn find() -> Result<Python> {
    let mut too_old = Vec::new();
    for name in NAMES {
        match probe(name) {
            Some(python) if python.version >= OLDEST => return Ok(python),
            Some(python) => too_old.push(python),
            None => {}
        }
    }
    let seen = match too_old.first() {
        Some(Python {
            name,
            version: (major, minor),
            ..
        }) => format!("`{name}` is Python {major}.{minor}"),
        None => "no `python3` was found on PATH".to_owned(),
    };
    let (major, minor) = OLDEST;
    Err(Error::new(seen).hint(format!(
        "install Python {major}.{minor} or newer and put it on PATH"
    )))
}

/// Other Pythons on PATH that are new enough, one of each version.
pub(crate) fn others(than: &Python) -> Vec<Python> {
    let mut found = vec![than.clone()];
    for python in NAMES.iter().filter_map(|name| probe(name)) {
        if python.version >= OLDEST && found.iter().all(|p| p.version != python.version) {
            found.push(python);
        }
    }
    found.split_off(1)
}

fn probe(name: &'static str) -> Option<Python> {
    const ASK: &str = "import sys; print(*sys.version_info[:2], sys.executable)";
    let output = Run::new(name).args(["-I", "-c", ASK]).output().ok()?;
    // A shim of pyenv is there for versions that are not.
    let said = output.success().ok()?;
    let mut words = said.trim().splitn(3, ' ');
    let version = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let executable = PathBuf::from(words.next()?);
    Some(Python {
        name,
        version,
        executable,
    })
}

fn lacks_venv(failed: &Output) -> bool {
    let said = format!("{}{}", failed.stdout, failed.stderr);
    said.contains("ensurepip") || said.contains("No module named venv")
}
