//! A zygote as its owner sees it: a Python with its imports done, from which slots are
//! forked. It never runs code of others.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pillion_process::Stream;
use pillion_sandbox::walls::{landlock, rlimits, seccomp};
use pillion_sandbox::{
    Confine, Confined, HANDED, Level, Policy, Role, SHM_BYTES, TMP, TMP_BYTES, WORK, message,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, Interest};

use crate::environment;
use crate::runtime::Runtime;

/// How long imports may take.
const START: Duration = Duration::from_secs(60);
/// How long a slot may take to be confined.
const SLOT: Duration = Duration::from_secs(10);
/// Flags of a mount: no setuid programs, no devices, no programs.
const NOSUID_NODEV: u32 = 2 | 4;
const NOEXEC: u32 = 8;

/// What a zygote is made of.
#[derive(Debug, Clone)]
pub(crate) struct Make {
    pub(crate) runtime: Runtime,
    /// That of its slots.
    pub(crate) policy: Policy,
    pub(crate) imports: Vec<String>,
    /// The same hashes in every run.
    pub(crate) fixed_hashes: bool,
    /// The folder whose parts become folders of its slots.
    pub(crate) handed: Option<std::path::PathBuf>,
}

/// A living zygote. Dropping it kills it and all its slots.
#[derive(Debug)]
pub(crate) struct Zygote {
    _confined: Confined,
    control: UnixStream,
    numbers: AtomicU64,
}

/// What it says when it is ready.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Ready {
    failed: std::collections::BTreeMap<String, String>,
    threads: Option<u32>,
}

impl Zygote {
    /// Start one, and wait until its imports are done.
    pub(crate) async fn start(make: &Make) -> io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        let theirs = OwnedFd::from(theirs);
        let number = std::os::fd::AsRawFd::as_raw_fd(&theirs).to_string();
        let runtime = &make.runtime;
        let script = runtime.worker.join("pillion/lane/zygote.py");
        let env = environment::of_zygote(make.fixed_hashes);
        let policy = Policy {
            folder: pillion_sandbox::Folder::Throwaway,
            ..make.policy.clone()
        };
        let mut confined = Confine::new(Role::Zygote, Level::L3, policy, &runtime.executable)
            .args(["-s", "-S", "-B", "-X", "utf8"])
            .args([script.to_string_lossy().into_owned(), number])
            .env(env.into_iter().collect())
            .watch(pillion_sandbox::Watch::default())
            .hand(make.handed.clone())
            .stdio([Stream::Null, Stream::Null, Stream::Null])
            .keep(theirs)
            .spawn()
            .map_err(io::Error::other)?;
        confined.ready().await.map_err(io::Error::other)?;
        message::send(&control, &setup(make).map_err(io::Error::other)?, &[])?;
        control.set_nonblocking(true)?;
        let mut heard = tokio::net::UnixStream::from_std(control.try_clone()?)?;
        let ready: Ready = tokio::time::timeout(START, hear(&mut heard)).await??;
        if let Some((module, why)) = ready.failed.first_key_value() {
            return Err(io::Error::other(format!("cannot import `{module}`: {why}")));
        }
        if let Some(threads) = ready.threads.filter(|threads| *threads > 1) {
            let why = format!("its imports started {threads} threads, so it cannot fork");
            return Err(io::Error::other(why));
        }
        Ok(Self {
            _confined: confined,
            control,
            numbers: AtomicU64::new(1),
        })
    }

    /// Fork a slot, with its folder bound to a part of what was handed on if one is named.
    /// One that is needed at once is not made ready for a long wait.
    pub(crate) async fn slot(
        self: &Arc<Self>,
        mounts: Option<Vec<Value>>,
        at_once: bool,
    ) -> io::Result<Slot> {
        let (ctl, their_ctl) = UnixStream::pair()?;
        let (run, their_run) = UnixStream::pair()?;
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let mut order = json!({ "slot": number, "at_once": at_once });
        if let Some(mounts) = mounts {
            order["mounts"] = mounts.into();
        }
        message::send(
            &self.control,
            &order,
            &[their_ctl.as_fd(), their_run.as_fd()],
        )?;
        drop((their_ctl, their_run));
        ctl.set_nonblocking(true)?;
        let mut ctl = tokio::net::UnixStream::from_std(ctl)?;
        let heard = tokio::time::timeout(SLOT, hear_with_descriptors(&mut ctl)).await?;
        let (said, mut fds): (pillion_sandbox::Said, _) = heard?;
        match (said.failed, fds.pop()) {
            (None, Some(pidfd)) => Ok(Slot {
                init: SlotInit {
                    pidfd,
                    _zygote: Arc::clone(self),
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
    /// A slot lives in the namespaces of its zygote, and would end with it.
    _zygote: Arc<Zygote>,
    /// Dropped with it: somebody waits for that.
    pub(crate) over: Option<tokio::sync::oneshot::Sender<()>>,
}

impl SlotInit {
    pub(crate) fn kill(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, rustix::process::Signal::KILL);
    }

    pub(crate) fn is_alive(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let now = rustix::time::Timespec::default();
        matches!(poll(&mut fds, Some(&now)), Ok(0))
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
    Ok(hear_with_descriptors(socket).await?.0)
}

async fn hear_with_descriptors<T: serde::de::DeserializeOwned>(
    socket: &mut tokio::net::UnixStream,
) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut head = [0; 4];
    let (read, fds) = loop {
        socket.readable().await?;
        let received = socket.try_io(Interest::READABLE, || {
            message::receive_first(socket.as_fd(), &mut head)
        });
        match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => break other?,
        }
    };
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    socket
        .read_exact(head.get_mut(read..).unwrap_or_default())
        .await?;
    let mut body = vec![0; message::length(head)?];
    socket.read_exact(&mut body).await?;
    Ok((message::decode(&body)?, fds))
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
