//! The managed environment: pillion's own Python tools, apart from every project.
//!
//! It is built once from a list that is embedded in this binary and locked by hashes, in a
//! folder named after the list and the Python below it. So another release, or another
//! Python, builds beside it and disturbs nobody. One lock file lets one process build at a
//! time; a record written last says that it is complete. What lacks the record was left by
//! a process that died, and is built anew.

mod error;
mod install;
mod progress;
mod tool;
mod wheels;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use pillion_protocol::vars;
use serde::{Deserialize, Serialize};

pub use error::{Attempt, ManagedError};
pub use progress::{ProgressListener, Silent, ToCaller};
pub use wheels::Wheels;

use crate::discovery::{self, DiscoveryError};
use crate::{Dirs, Interpreter, dirs, file};

/// What the environment consists of.
const REQUIREMENTS: &str = include_str!("../../../../python/requirements/tools.txt");
/// What Jupyter kernels need, for Pythons that do not have it.
const KERNELS: &str = include_str!("../../../../python/requirements/kernels.txt");
/// Says that an environment is complete.
const RECORD: &str = ".complete";
/// Every file of an environment with its size, as it was built.
const FILES: &str = ".files";
/// How long to wait for another process that builds.
const BUILD_LOCK_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How many environments of other releases are kept.
const KEEP: usize = 2;

/// The managed environment of one Python.
#[derive(Debug, Clone)]
pub struct Managed {
    dirs: Dirs,
    data: PathBuf,
    base: PathBuf,
    requirements: String,
    search_path: OsString,
    wheels: Option<PathBuf>,
    path: PathBuf,
}

/// How an environment is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum EnvironmentState {
    /// Not built yet.
    Absent,
    /// Being built, or left by a process that died.
    Incomplete,
    /// Complete.
    Ready {
        /// Its Python.
        interpreter: Box<Interpreter>,
        /// `uv` or `pip`.
        built_with: String,
    },
    /// Complete once, and damaged since.
    Broken {
        /// What is wrong.
        reason: String,
    },
}

/// The proof that an environment is complete.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    requirements: String,
    interpreter: Interpreter,
    built_with: String,
    /// The packages' `.dist-info` folders.
    packages: Vec<PathBuf>,
}

/// The folder among these that has ipykernel. Nothing is run for it.
pub fn ipykernel_in(packages: &[PathBuf]) -> Option<&Path> {
    let mut packages = packages.iter().map(PathBuf::as_path);
    packages.find(|folder| folder.join("ipykernel/kernelapp.py").is_file())
}

impl Managed {
    /// The environment for pillion's tools on this Python. Nothing is built yet.
    pub fn new(dirs: &Dirs, base: &Interpreter) -> Self {
        Self::with_requirements(dirs, base, REQUIREMENTS)
    }

    /// The environment on the Python of this machine: which project asks does not matter.
    pub async fn of_machine(dirs: &Dirs) -> Result<Self, DiscoveryError> {
        let nowhere = std::env::temp_dir();
        let choice = discovery::find(discovery::DiscoveryRequest::new(&nowhere), dirs).await?;
        Ok(Self::new(dirs, &choice.interpreter))
    }

    /// The environment for kernels on this Python. Nothing is built yet.
    pub fn for_kernels(dirs: &Dirs, base: &Interpreter) -> Self {
        Self::with_requirements(dirs, base, KERNELS)
    }

    /// An environment of another list, which has to be locked by hashes as well.
    pub fn with_requirements(dirs: &Dirs, base: &Interpreter, requirements: &str) -> Self {
        // Behind a project's environment stands a Python that is used for all of them.
        let base_path = base
            .executable
            .canonicalize()
            .unwrap_or_else(|_| base.executable.clone());
        let version = base.version.to_string();
        let pieces = [
            requirements.as_bytes(),
            version.as_bytes(),
            base_path.as_os_str().as_encoded_bytes(),
        ];
        let name = file::sha256(pieces)[..12].to_owned();
        // One that came with a read-only home is used where it is.
        let prepared = dirs.data.join("env").join(&name).join(RECORD).is_file();
        let data = if prepared {
            dirs.data.clone()
        } else {
            dirs.usable_data()
        };
        Self {
            path: data.join("env").join(name),
            dirs: dirs.clone(),
            data,
            base: base_path,
            requirements: requirements.to_owned(),
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            wheels: std::env::var_os(vars::PILLION_WHEELS)
                .filter(|folder| !folder.is_empty())
                .map(absolute),
        }
    }

    /// Take packages from the wheels in this folder, and from no index: no network is needed.
    #[must_use]
    pub fn from_wheels(mut self, folder: impl Into<PathBuf>) -> Self {
        self.wheels = Some(absolute(folder.into()));
        self
    }

    /// Look for uv in these folders instead of those of this process's `PATH`.
    #[must_use]
    pub fn searching(mut self, search_path: impl Into<OsString>) -> Self {
        self.search_path = search_path.into();
        self
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The uv that a build would use; none means that one would be fetched.
    pub fn uv(&self) -> Option<PathBuf> {
        install::find_uv(&self.search_path, &self.data)
    }

    /// How it is. Costs a few stats, runs nothing.
    pub fn state(&self) -> EnvironmentState {
        if !self.path.is_dir() {
            return EnvironmentState::Absent;
        }
        let Ok(bytes) = std::fs::read(self.path.join(RECORD)) else {
            return EnvironmentState::Incomplete;
        };
        let broken = |reason: String| EnvironmentState::Broken { reason };
        let Ok(record) = serde_json::from_slice::<Record>(&bytes) else {
            return broken("its record cannot be read".into());
        };
        if !record.interpreter.executable.is_file() {
            return broken(format!(
                "`{}` is gone",
                record.interpreter.executable.display()
            ));
        }
        if let Some(lost) = record.packages.iter().find(|package| !package.is_dir()) {
            return broken(format!("`{}` is gone", lost.display()));
        }
        let Record {
            interpreter,
            built_with,
            ..
        } = record;
        EnvironmentState::Ready {
            interpreter: Box::new(interpreter),
            built_with,
        }
    }

    /// How it is, with a look at every file of it: that each is there, and as long as it was.
    pub fn verified(&self) -> EnvironmentState {
        match (self.state(), self.lost()) {
            (EnvironmentState::Ready { .. }, Some(lost)) => EnvironmentState::Broken {
                reason: format!("`{}` is not as it was installed", lost.display()),
            },
            (state, _) => state,
        }
    }

    /// A file that is gone, or has another size than when it was built.
    fn lost(&self) -> Option<PathBuf> {
        // One that an older pillion built has no list.
        let list = std::fs::read_to_string(self.path.join(FILES)).ok()?;
        let mut files = list.lines().filter_map(|line| {
            let (size, name) = line.split_once(' ')?;
            Some((size.parse::<u64>().ok()?, self.path.join(name)))
        });
        let found = files.find(|(size, path)| path.metadata().map_or(true, |m| m.len() != *size));
        found.map(|(_, path)| path)
    }

    /// The state, looked at closely once by each process.
    fn trusted_state(&self) -> EnvironmentState {
        static SEEN: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.contains(&self.path) {
            return self.state();
        }
        let state = self.verified();
        if matches!(state, EnvironmentState::Ready { .. }) {
            seen.insert(self.path.clone());
        }
        state
    }

    /// Its Python, after building or repairing it if need be.
    pub async fn ensure(
        &self,
        progress: &dyn ProgressListener,
    ) -> Result<Interpreter, ManagedError> {
        if let EnvironmentState::Ready { interpreter, .. } = self.trusted_state() {
            return Ok(*interpreter);
        }
        let _lock = self.lock(progress).await?;
        // Another process may have built it while we waited.
        if let EnvironmentState::Ready { interpreter, .. } = self.trusted_state() {
            return Ok(*interpreter);
        }
        self.build(progress).await
    }

    /// Build it anew, whatever is there. Processes that use it now may fail.
    pub async fn rebuild(
        &self,
        progress: &dyn ProgressListener,
    ) -> Result<Interpreter, ManagedError> {
        let _lock = self.lock(progress).await?;
        self.build(progress).await
    }

    /// Fetch every wheel that pillion may install on this Python, for machines without a
    /// network: its tools, what kernels need, and uv. They are what [`Self::from_wheels`] takes.
    pub async fn vendor(
        &self,
        out: &Path,
        progress: &dyn ProgressListener,
    ) -> Result<(), ManagedError> {
        let out = absolute(out);
        let failed = || ManagedError::io("create", &out);
        std::fs::create_dir_all(&out).map_err(failed())?;
        // Tools run there.
        dirs::create(&self.data)?;
        let cache = self.dirs.writable_cache()?;
        let scratch = file::temporary_beside(&cache.join("vendor"));
        let lists = [&self.requirements, KERNELS, install::UV_REQUIREMENTS];
        let fetched = self.builder(&scratch, progress).fetch(&lists, &out).await;
        remove(&scratch).await?;
        fetched.map_err(|attempt| ManagedError::Fetch { attempt })
    }

    fn builder<'a>(
        &'a self,
        target: &'a Path,
        progress: &'a dyn ProgressListener,
    ) -> install::Builder<'a> {
        install::Builder {
            base: &self.base,
            target,
            requirements: &self.requirements,
            search_path: &self.search_path,
            data: &self.data,
            dirs: &self.dirs,
            wheels: self.wheels.as_deref(),
            progress,
        }
    }

    async fn build(&self, progress: &dyn ProgressListener) -> Result<Interpreter, ManagedError> {
        remove(&self.path).await?;
        let built_with = self.builder(&self.path, progress).build().await?;
        progress.step("checking the environment");
        let interpreter = Interpreter::probe(&Interpreter::executable_below(&self.path)).await?;
        let list = self.path.join(FILES);
        file::write_atomically(&list, files(&self.path).as_bytes())
            .map_err(ManagedError::io("write", &list))?;
        let record = Record {
            requirements: self.requirements_hash(),
            packages: packages(&interpreter, &self.path),
            interpreter,
            built_with: built_with.to_owned(),
        };
        let file = self.path.join(RECORD);
        serde_json::to_vec_pretty(&record)
            .map_err(Into::into)
            .and_then(|bytes| file::write_atomically(&file, &bytes))
            .map_err(ManagedError::io("write", &file))?;
        self.prune().await;
        Ok(record.interpreter)
    }

    /// One build at a time. The lock goes when the file is closed, also by a kill.
    async fn lock(&self, progress: &dyn ProgressListener) -> Result<File, ManagedError> {
        let all = self.data.join("env");
        dirs::create(&all)?;
        let path = all.join(".lock");
        let failed = || ManagedError::io("lock", &path);
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed())?;
        let start = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(failed()(error)),
                Err(TryLockError::WouldBlock) if start.elapsed() > BUILD_LOCK_TIMEOUT => {
                    return Err(ManagedError::Busy {
                        path: self.path.clone(),
                    });
                }
                Err(TryLockError::WouldBlock) => {}
            }
            if !told {
                progress.step("waiting for another process that builds the environment");
                told = true;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Remove what other releases left, but for the newest, and what never got complete.
    /// Only called with the lock held: nobody else is building.
    async fn prune(&self) {
        let ours = [&self.requirements, REQUIREMENTS, KERNELS]
            .map(|requirements| file::sha256([requirements.as_bytes()]));
        let Ok(entries) = self.data.join("env").read_dir() else {
            return;
        };
        let mut useless = Vec::new();
        let mut old: Vec<(SystemTime, PathBuf)> = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            if path == self.path || !path.is_dir() {
                continue;
            }
            let file = path.join(RECORD);
            let time = file.metadata().and_then(|found| found.modified());
            let record = std::fs::read(&file).ok();
            match record.and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok()) {
                Some(record) if !record.interpreter.executable.is_file() => useless.push(path),
                // Of this release, for another Python: in use.
                Some(record) if ours.contains(&record.requirements) => {}
                Some(_) => old.push((time.unwrap_or(SystemTime::UNIX_EPOCH), path)),
                None => useless.push(path),
            }
        }
        old.sort();
        let too_many = old.len().saturating_sub(KEEP);
        useless.extend(old.into_iter().take(too_many).map(|(_, path)| path));
        for path in useless {
            tracing::debug!(path = %path.display(), "removing an old managed environment");
            if let Err(error) = remove(&path).await {
                tracing::debug!(%error, "cannot remove it");
            }
        }
    }

    fn requirements_hash(&self) -> String {
        file::sha256([self.requirements.as_bytes()])
    }
}

/// The tools run in another folder than this process.
fn absolute(path: impl AsRef<Path>) -> PathBuf {
    std::path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned())
}

/// Every file below a folder with its size, but for byte-code, which Python may write again.
fn files(environment: &Path) -> String {
    use std::fmt::Write;
    let mut list = String::new();
    let mut folders = vec![environment.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let Ok(found) = path.symlink_metadata() else {
                continue;
            };
            let name = path.strip_prefix(environment).ok().and_then(Path::to_str);
            if found.is_dir() && !path.ends_with("__pycache__") {
                folders.push(path);
            } else if let Some(name) = name.filter(|name| found.is_file() && !name.contains('\n')) {
                let _ = writeln!(list, "{} {name}", found.len());
            }
        }
    }
    list
}

/// The `.dist-info` folders of the packages in an environment.
fn packages(interpreter: &Interpreter, environment: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = interpreter
        .site_packages
        .iter()
        .filter(|folder| folder.starts_with(environment))
        .filter_map(|folder| folder.read_dir().ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(|path| path.extension() == Some(OsStr::new("dist-info")))
        .collect();
    found.sort();
    found
}

/// Remove a folder with all that is in it. None there is fine.
async fn remove(path: &Path) -> Result<(), ManagedError> {
    match tokio::fs::remove_dir_all(path).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ManagedError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}
