//! A zygote: a Python with its imports done, from which slots are forked. It never runs code
//! of others. It is a child of the supervisor as workers are; who holds it lets it fork.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pillion_catalogue::{Code, Error};
use pillion_sandbox::walls::{landlock, rlimits, seccomp};
use pillion_sandbox::{
    BoxRole, Confine, HANDED, Level, Policy, SHM_BYTES, TMP, TMP_BYTES, WORK, message,
};
use pillion_supervisor::{Dialect, Hold, SidecarKind, SidecarLimits, SidecarSpec, StartMode};
use serde::Serialize;
use serde_json::{Value, json};

use crate::lane::Lane;
use crate::runtime::Runtime;
use crate::{environment, sys};

/// How long imports may take.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Runs after which a zygote is replaced.
const RUNS: u64 = 500;
/// Runs that may go on in one zygote at once; the executor lets far fewer.
const AT_ONCE: usize = 1024;
/// A zygote that uses more than this ends at the next pause. It is not killed for it: runs
/// would die with it, and what those may use has limits of its own.
const LARGE: u64 = 1 << 30;
/// How long a slot may take to be confined. Runs have deadlines of their own; this is for a
/// zygote that hangs, and must not be the end of one on a busy machine.
const SLOT: Duration = Duration::from_secs(30);
/// Flags of a mount: no setuid programs, no devices, no programs.
const NOSUID_NODEV: u32 = 2 | 4;
const NOEXEC: u32 = 8;

/// What a zygote is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Make {
    /// The project that it belongs to.
    pub(crate) root: PathBuf,
    pub(crate) lane: Lane,
    pub(crate) runtime: Runtime,
    /// The policy of its slots.
    pub(crate) policy: Policy,
    pub(crate) imports: Vec<String>,
    /// The folder whose parts become folders of its slots.
    pub(crate) handed: Option<PathBuf>,
    /// Without a run for so long it ends.
    pub(crate) idle: Duration,
}

impl Make {
    /// Zygotes are the same if they were made of the same.
    pub(crate) fn key(&self) -> String {
        format!("zygote\0{self:?}")
    }

    /// As its supervisor knows it.
    pub(crate) fn spec(&self) -> SidecarSpec {
        let make = self.clone();
        SidecarSpec {
            name: format!("zygote-{}", self.lane.name()),
            kind: SidecarKind::Zygote,
            workspace: self.root.clone(),
            dialect: Dialect::Held,
            limits: SidecarLimits {
                hello: START_TIMEOUT,
                in_flight: AT_ONCE,
                memory_soft: Some(LARGE),
                idle: Some(self.idle),
                calls: Some(RUNS),
                ..SidecarLimits::default()
            },
            launch: Arc::new(move || make.start().map_err(not_started)),
            opening: None,
        }
    }

    /// A process of it, told what its slots will be confined by.
    fn start(&self) -> io::Result<StartMode> {
        let (channel, theirs) = UnixStream::pair()?;
        let theirs = OwnedFd::from(theirs);
        // It fits, and must not wait for a reader that is not there yet.
        channel.set_nonblocking(true)?;
        message::send(&channel, &setup(self).map_err(io::Error::other)?, &[])?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&theirs).to_string();
        let script = self.runtime.worker.join("pillion/lane/zygote.py");
        // The same hashes in every run of the expert lane.
        let env = environment::of_zygote(self.lane == Lane::Expert);
        let policy = Policy {
            folder: pillion_sandbox::Folder::Throwaway,
            ..self.policy.clone()
        };
        let executable = &self.runtime.executable;
        let confine = Confine::new(BoxRole::Zygote, Level::L3, policy, executable)
            .args(["-s", "-S", "-B", "-X", "utf8"])
            .args([script.to_string_lossy().into_owned(), number])
            .env(env.into_iter().collect())
            .watch(pillion_sandbox::WatchedLimits::default())
            .hand(self.handed.clone())
            .keep(theirs);
        let confine = Box::new(confine);
        Ok(StartMode::Confined { confine, channel })
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands on"
)]
fn not_started(error: io::Error) -> Error {
    Error::new(Code::StartFailed, format!("cannot start a zygote: {error}"))
}

/// Fork a slot, with its folder bound to a part of what was handed on if one is named. One
/// that is needed at once is not made ready for a long wait.
pub(crate) async fn fork(
    zygote: &Hold,
    mounts: Option<Vec<Value>>,
    at_once: bool,
) -> io::Result<Slot> {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    let (ctl, their_ctl) = UnixStream::pair()?;
    let (run, their_run) = UnixStream::pair()?;
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let mut order = json!({ "slot": number, "at_once": at_once });
    if let Some(mounts) = mounts {
        order["mounts"] = mounts.into();
    }
    let theirs = [their_ctl.as_fd(), their_run.as_fd()];
    message::send(zygote.channel(), &order, &theirs)?;
    drop((their_ctl, their_run));
    ctl.set_nonblocking(true)?;
    let mut ctl = tokio::net::UnixStream::from_std(ctl)?;
    let heard = tokio::time::timeout(SLOT, message::hear(&mut ctl)).await?;
    let (said, mut fds): (pillion_sandbox::InitMessage, _) = heard?;
    match (said.failed, fds.pop()) {
        (None, Some(pidfd)) => Ok(Slot {
            init: SlotInit {
                pidfd,
                zygote: None,
                over: None,
            },
            ctl,
            run,
        }),
        (why, _) => Err(io::Error::other(
            why.unwrap_or_else(|| "no slot".to_owned()),
        )),
    }
}

/// A confined interpreter that waits for its one order. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) init: SlotInit,
    pub(crate) ctl: tokio::net::UnixStream,
    /// Where its order goes.
    pub(crate) run: UnixStream,
}

/// The first process of a slot. Dropping it kills everything in there.
#[derive(Debug)]
pub(crate) struct SlotInit {
    pidfd: OwnedFd,
    /// A slot lives in the namespaces of its zygote, and would end with it: who uses one keeps
    /// the zygote. One that only waits keeps nobody.
    pub(crate) zygote: Option<Hold>,
    /// Dropped with it: somebody waits for that.
    pub(crate) over: Option<tokio::sync::oneshot::Sender<()>>,
}

impl SlotInit {
    /// A process that stands for an init in tests.
    #[cfg(test)]
    pub(crate) fn of_process(pid: u32) -> Self {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        Self {
            pidfd: pidfd_open(pid, PidfdFlags::empty()).unwrap(),
            zygote: None,
            over: None,
        }
    }

    pub(crate) fn kill(&self) {
        sys::kill(&self.pidfd);
    }

    pub(crate) fn is_alive(&self) -> bool {
        sys::is_alive(&self.pidfd)
    }
}

impl Drop for SlotInit {
    fn drop(&mut self) {
        self.kill();
    }
}

/// One message.
pub(crate) async fn hear<T: serde::de::DeserializeOwned>(
    socket: &mut tokio::net::UnixStream,
) -> io::Result<T> {
    Ok(message::hear(socket).await?.0)
}

/// Everything that its slots are confined by, as numbers.
fn setup(make: &Make) -> Result<impl Serialize, String> {
    let policy = &make.policy;
    let filter = seccomp::Filter::Program {
        network: policy.network,
        alone: false,
    };
    let filters: Vec<String> = seccomp::programs(filter)?
        .iter()
        .map(|program| BASE64_STANDARD.encode(seccomp::bytes(program)))
        .collect();
    Ok(json!({
        "imports": make.imports,
        "path": make.runtime.packages,
        "env": environment::of_program(),
        "uid": 1000,
        "gid": 1000,
        "mounts": mounts(policy, None),
        "hide": make.handed.as_ref().map(|_| HANDED).into_iter().collect::<Vec<_>>(),
        "landlock": landlock::numbers(policy),
        "filters": filters,
        "rlimits": rlimits::numbers(&policy.limits),
        "nice": 5,
        "oom_score_adj": 1000,
    }))
}

/// The mounts of a slot; `folder` is the part of the handed folder that is its own.
pub(crate) fn mounts(policy: &Policy, folder: Option<&std::path::Path>) -> Vec<Value> {
    let exec = if policy.runs_own_files { 0 } else { NOEXEC };
    let memory = |at: &str, bytes: u64, files: u64, mode: &str, flags: u32| {
        json!({ "kind": "tmpfs", "at": at, "flags": NOSUID_NODEV | flags,
            "options": format!("size={bytes},nr_inodes={files},mode={mode}") })
    };
    let work = match folder {
        Some(folder) => json!({ "kind": "bind", "at": WORK, "flags": NOSUID_NODEV | exec,
            "from": std::path::Path::new(HANDED).join(folder) }),
        None => memory(
            WORK,
            policy.limits.disk,
            policy.limits.disk_files,
            "700",
            exec,
        ),
    };
    vec![
        json!({ "kind": "proc", "at": "/proc" }),
        memory(TMP, TMP_BYTES, 4096, "1777", NOEXEC),
        memory("/dev/shm", SHM_BYTES, 256, "1777", NOEXEC),
        work,
    ]
}

#[cfg(test)]
#[path = "zygote_tests.rs"]
mod tests;
