//! What a kernel is made of, and how its process starts.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pillion_catalogue::{Code, Error, Result};
use pillion_lanes::{Ground, Lane, RunFolder, disk, environment, limits, path_access, session};
use pillion_process::Secret;
use pillion_sandbox::walls::seccomp;
use pillion_sandbox::{BoxRole, Confine, Disk, Folder, Level, Policy, WatchedLimits, message};
use pillion_supervisor::{Dialect, Hold, SidecarKind, SidecarLimits, SidecarSpec, StartMode};
use serde::Deserialize;
use serde_json::json;

use crate::client::KernelClient;
use crate::foreign::{KernelChoice, Program};

/// How long a kernel may take to answer what is no cell.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// From the start until it can be asked.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take to end by itself once it was asked to.
const CLOSE: Duration = Duration::from_millis(300);
/// Requests that may be under way at once; each holds the kernel.
const AT_ONCE: usize = 256;
/// A kernel lives as long as it is used, whatever its processor time.
const FOR_EVER: f64 = 1e9;

/// What a kernel is made of.
#[derive(Debug, Clone)]
pub(crate) struct Make {
    pub(crate) session: String,
    pub(crate) ground: Ground,
    /// What was asked for, to be asked for again.
    pub(crate) wanted: KernelChoice,
    pub(crate) program: Program,
    pub(crate) memory_mb: Option<u64>,
    /// Unused for so long, it ends.
    pub(crate) idle: Duration,
    /// What its messages are signed with.
    pub(crate) key: Arc<Secret>,
    /// Somebody else speaks with it directly, and has chosen the key.
    pub(crate) is_key_given: bool,
    /// Where its folder is, as it sees it.
    pub(crate) seen: PathBuf,
    pub(crate) tmp: PathBuf,
    pub(crate) folder: Option<PathBuf>,
    /// The folders among which its own is named after the start, if it is a spare.
    pub(crate) later: Option<PathBuf>,
    /// What its folder may hold, by what it held before the start.
    pub(crate) room: Arc<Mutex<Option<Disk>>>,
}

impl Make {
    pub(crate) fn at(mut self, place: &RunFolder) -> Self {
        self.seen.clone_from(&place.seen);
        self.tmp.clone_from(&place.tmp);
        self.folder.clone_from(&place.folder);
        self
    }

    /// Whether one that was made so would be as this one is. Keys differ always.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let (one, two) = (&self.ground, &other.ground);
        one.project.root == two.project.root
            && one.config == two.config
            && one.project.config.notebook.debugger == two.project.config.notebook.debugger
            && one.runtime == two.runtime
            && one.level == two.level
            && self.program == other.program
            && self.memory_mb == other.memory_mb
            && self.idle == other.idle
    }

    /// As people see it.
    pub(crate) fn name(&self) -> String {
        format!("kernel-{}", self.session)
    }

    /// What its folder may hold.
    pub(crate) fn room(&self) -> Option<Disk> {
        let room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        room.clone()
    }

    /// Note what its folder holds, before it starts.
    pub(crate) fn measured(&self, before: &session::Survey) {
        let limits = self.limits();
        let room = disk(&limits, &self.seen, before, self.ground.config.network);
        *self.room.lock().unwrap_or_else(PoisonError::into_inner) = Some(room);
    }

    fn limits(&self) -> pillion_sandbox::Limits {
        limits(&self.ground.config, self.memory_mb, FOR_EVER)
    }

    /// As its supervisor knows it.
    pub(crate) fn spec(&self) -> SidecarSpec {
        let make = self.clone();
        SidecarSpec {
            name: self.name(),
            kind: SidecarKind::Kernel,
            workspace: self.ground.project.root.clone(),
            dialect: Dialect::Held,
            limits: SidecarLimits {
                hello: START_TIMEOUT,
                close: CLOSE,
                in_flight: AT_ONCE,
                idle: Some(self.idle),
                ..SidecarLimits::default()
            },
            launch: Arc::new(move || make.start(None).map_err(|error| not_started(&error))),
            opening: None,
        }
    }

    fn policy(&self) -> Policy {
        let ground = &self.ground;
        let limits = self.limits();
        let folder = self.folder.clone();
        let mut policy = Lane::User.policy(&ground.runtime, &ground.config, limits, folder);
        match &self.program {
            Program::Ipykernel(packages) => policy.view.extend(packages.more.iter().cloned()),
            Program::Foreign(foreign) => {
                policy.view.extend(foreign.view.iter().cloned());
                // Kernels of shells are made of them.
                policy.terminals = true;
            }
        }
        if let Some(folders) = &self.later {
            policy.folder = Folder::Later(folders.clone());
        }
        policy
    }

    /// A process of it, told what it needs to know; and where its folder is named, if it is a
    /// spare.
    pub(crate) fn start(&self, naming: Option<OwnedFd>) -> io::Result<StartMode> {
        let policy = self.policy();
        let (channel, theirs) = UnixStream::pair()?;
        let theirs = OwnedFd::from(theirs);
        // It fits, and must not wait for a reader that is not there yet.
        channel.set_nonblocking(true)?;
        message::send(&channel, &self.setup(&policy)?, &[])?;
        let number = theirs.as_raw_fd().to_string();
        let runtime = &self.ground.runtime;
        let script = runtime.worker.join(match self.program {
            Program::Ipykernel(_) => "pillion/lane/kernel.py",
            Program::Foreign(_) => "pillion/lane/foreign.py",
        });
        let watch = WatchedLimits {
            memory: Some(policy.limits.memory),
            processes: Some(policy.limits.processes),
            disk: self.room(),
        };
        let level = self.ground.level;
        path_access::check(level, &[&self.seen, &runtime.worker, &runtime.executable])?;
        let mut confine = Confine::new(BoxRole::Kernel, level, policy, &runtime.executable)
            .args(["-s", "-S", "-B", "-X", "utf8"])
            .args([script.to_string_lossy().into_owned(), number])
            .env(self.variables())
            .cwd(&self.seen)
            .watch(watch)
            .keep(theirs);
        if let Some(naming) = naming {
            confine = confine.name_later(naming);
        }
        let confine = Box::new(confine);
        Ok(StartMode::Confined { confine, channel })
    }

    fn variables(&self) -> Vec<(String, String)> {
        let mut variables = environment::at(&self.seen, &self.tmp);
        // It chooses by itself how it shows pictures.
        variables.remove("MPLBACKEND");
        let ipython = self.tmp.join("ipython").to_string_lossy().into_owned();
        variables.insert("IPYTHONDIR".to_owned(), ipython);
        variables.into_iter().collect()
    }

    fn setup(&self, policy: &Policy) -> io::Result<serde_json::Value> {
        let cell = seccomp::Filter::Cell {
            network: policy.network,
        };
        let filters = match self.ground.level {
            Level::L1 => Vec::new(),
            Level::L2 | Level::L3 => seccomp::programs(cell).map_err(io::Error::other)?,
        };
        let filters: Vec<String> = filters
            .iter()
            .map(|program| BASE64_STANDARD.encode(seccomp::bytes(program)))
            .collect();
        let mut setup = json!({
            "sockets": self.tmp.join("kernel"),
            "key": self.key.expose(),
            "filters": filters,
        });
        match &self.program {
            Program::Ipykernel(packages) => {
                let mut path = vec![self.seen.clone()];
                path.extend(self.ground.runtime.packages.iter().cloned());
                path.extend(packages.more.iter().cloned());
                setup["path"] = json!(path);
                setup["waits"] = self.later.is_some().into();
                setup["debugger"] = self.ground.project.config.notebook.debugger.into();
            }
            Program::Foreign(foreign) => {
                setup["argv"] = json!(foreign.argv);
                setup["env"] = json!(foreign.env);
                setup["resource_dir"] = json!(foreign.folder);
            }
        }
        Ok(setup)
    }
}

pub(crate) fn not_started(error: &io::Error) -> Error {
    Error::new(Code::StartFailed, format!("cannot start a kernel: {error}"))
}

/// What a kernel's messages are signed with.
pub(crate) fn new_key() -> Result<Arc<Secret>> {
    let key = Secret::random().map_err(|error| {
        let message = format!("no randomness for a key: {error}");
        Error::new(Code::StartFailed, message)
    })?;
    Ok(Arc::new(key))
}

/// A client of a process that has started.
pub(crate) async fn connect(hold: &Hold, make: &Make) -> io::Result<KernelClient> {
    #[derive(Deserialize)]
    struct Sockets {
        prefix: String,
    }
    let channel = hold.channel().try_clone()?;
    let mut channel = tokio::net::UnixStream::from_std(channel)?;
    let heard = tokio::time::timeout(ANSWER_TIMEOUT, message::hear(&mut channel)).await?;
    let (sockets, fds): (Sockets, _) = heard?;
    let folder = fds
        .into_iter()
        .next()
        .ok_or_else(|| io::Error::other("no folder with sockets"))?;
    KernelClient::connect(folder, &sockets.prefix, &make.key).await
}
