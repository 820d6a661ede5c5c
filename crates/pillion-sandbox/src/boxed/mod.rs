//! The box: a process between pillion and a confined program. See the crate's theory of
//! operation.
//!
//! A box has one thread until its program runs, so it may fork. It hears what to do as the first message on its
//! control socket, and from then on its init speaks there: [`Said`].

mod folder;
mod init;
mod later;
mod outputs;
mod payload;
pub(crate) mod root;
pub(crate) mod sys;
pub(crate) mod user;
mod watch;
mod without;

use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, waitpid,
};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use crate::level::Level;
use crate::message;
use crate::policy::{Folder, Policy};

pub use later::{Named, Settled};
pub use user::stranger;
pub use watch::{Disk, Watch};

/// The box's name in process listings.
pub(crate) const NAME: &str = "pillion-box";
/// Exit code of a box that could not do its work; why is on its control socket.
const FAILED: i32 = 126;
/// This executable can serve as a box, because its `main` called [`init`].
static AVAILABLE: AtomicBool = AtomicBool::new(false);

/// What a box is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// One program, once.
    Program,
    /// A Jupyter kernel, which is asked on sockets of its own.
    Kernel,
    /// A Python that forks programs, each of which it confines itself.
    Zygote,
    /// Nothing: only to see whether it can be done.
    Trial,
}

/// What a box has to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) role: Role,
    pub(crate) level: Level,
    pub(crate) policy: Policy,
    /// Who to become, where we are root.
    pub(crate) stranger: Option<u32>,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Where it starts.
    pub(crate) cwd: PathBuf,
    /// Descriptors of the program.
    pub(crate) keep: Vec<RawFd>,
    /// A folder that a zygote hands on, in parts, to its children.
    pub(crate) handed: Option<PathBuf>,
    /// Where a folder is named that was not known before.
    pub(crate) naming: RawFd,
    pub(crate) watch: Watch,
    pub(crate) outputs: Outputs,
    /// Milliseconds between two looks.
    pub(crate) every_ms: u32,
}

/// What is brought back from the folder of a program.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outputs {
    /// Names or patterns, relative to the folder.
    pub names: Vec<String>,
    /// The most bytes, of all together.
    pub bytes: u64,
    /// The most files.
    pub files: u32,
}

/// What an init says on its control socket.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Said {
    /// The program is confined, and on its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<u64>,
    /// It could not be confined: at which step, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// It ended with this code.
    pub exit: Option<i32>,
    /// It was ended by this signal.
    pub signal: Option<i32>,
    /// It was killed for passing a limit: `memory`, `processes` or `disk`.
    pub killed: Option<String>,
    /// Processor time of everything that ran.
    pub cpu_ms: f64,
    /// The most memory that was seen in use.
    pub peak_bytes: u64,
    /// The most processes and threads that were seen.
    pub processes: u32,
    /// Files that follow this message, one after the other.
    pub outputs: Vec<OutputFile>,
    /// Files that were asked for and do not follow.
    pub outputs_left_out: Vec<LeftOut>,
}

/// A file that is brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// Its name in the folder.
    pub name: String,
    /// Its length.
    pub size: u64,
}

/// A file that is not brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftOut {
    /// Its name, or the pattern.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// See [`crate::init`].
pub(crate) fn init() {
    let mut args = std::env::args();
    if args.next().is_some_and(|name| name == NAME) {
        let mut number = || args.next().and_then(|n| n.parse().ok()).unwrap_or(-1);
        std::process::exit(run(number(), number()));
    }
    AVAILABLE.store(true, Ordering::Relaxed);
}

/// Whether this executable can be a box.
pub(crate) fn available() -> bool {
    AVAILABLE.load(Ordering::Relaxed)
}

/// The box's whole life. Returns its exit code.
fn run(ctl: RawFd, life: RawFd) -> i32 {
    let (Ok(ctl), Ok(life)) = (sys::adopt(ctl), sys::adopt(life)) else {
        return FAILED;
    };
    let Ok((spec, _)) = message::receive::<Spec>(&ctl) else {
        return FAILED;
    };
    let child = match spec.level {
        Level::L3 => start_init(&spec, &ctl),
        Level::L1 | Level::L2 if matches!(spec.policy.folder, Folder::Later(_)) => {
            Err("a folder that is named later needs namespaces".to_owned())
        }
        Level::L1 | Level::L2 => return without::run(&spec, &ctl, &life),
    };
    match child {
        Ok(child) => {
            drop(ctl);
            let_go_of_streams();
            stand_by(child, &life)
        }
        Err(why) => complain(&ctl, why),
    }
}

/// Tell the owner why it could not be done.
fn complain(ctl: &OwnedFd, why: String) -> i32 {
    let said = Said {
        failed: Some(why),
        ..Said::default()
    };
    let _ = message::send(ctl, &said, &[]);
    FAILED
}

/// Make the namespaces, and the first process in them.
fn start_init(spec: &Spec, ctl: &OwnedFd) -> Result<Pid, String> {
    let step = |what: &str| {
        let what = what.to_owned();
        move |error: std::io::Error| format!("{what}: {error}")
    };
    // Root can make all of it without; and must, to take what only it can read.
    if spec.stranger.is_none() {
        user::enter_user_namespace(0).map_err(step("user namespace"))?;
    }
    sys::unshare(UnshareFlags::NEWPID).map_err(step("pid namespace"))?;
    match sys::fork().map_err(step("fork"))? {
        sys::Forked::Child => sys::exit_now(init::run(spec, ctl)),
        sys::Forked::Parent(pid) => Pid::from_raw(pid).ok_or_else(|| "fork".to_owned()),
    }
}

/// Wait until init ends, or kill it when the owner lets go.
fn stand_by(init: Pid, life: &OwnedFd) -> i32 {
    let pidfd = pidfd_open(init, PidfdFlags::empty());
    if let Ok(pidfd) = &pidfd {
        let mut fds = [
            PollFd::new(life, PollFlags::IN),
            PollFd::new(pidfd, PollFlags::IN),
        ];
        while matches!(poll(&mut fds, None), Err(rustix::io::Errno::INTR)) {}
        if fds[1].revents().is_empty() {
            let _ = kill_process(init, Signal::KILL);
        }
    } else {
        let _ = kill_process(init, Signal::KILL);
    }
    let status = rustix::io::retry_on_intr(|| waitpid(Some(init), WaitOptions::empty()));
    let code = status
        .ok()
        .flatten()
        .and_then(|(_, status)| status.exit_status());
    code.unwrap_or(FAILED)
}

/// Tell the owner how the program ended, what it used, and what it leaves in its folder.
/// Everything that it started has been reaped.
fn report(
    spec: &Spec,
    ctl: &OwnedFd,
    folder: &Path,
    (status, killed, seen): (WaitStatus, Option<&str>, &watch::Seen),
) {
    let (cpu_ms, peak) = sys::used_by_children();
    let (files, left_out) = outputs::collect(folder, &spec.outputs);
    let said = Said {
        exit: status.exit_status(),
        signal: status.terminating_signal(),
        killed: killed.map(ToOwned::to_owned),
        cpu_ms,
        peak_bytes: seen.peak.max(peak),
        processes: seen.processes.max(1),
        outputs: files.iter().map(outputs::Collected::listed).collect(),
        outputs_left_out: left_out,
        ..Said::default()
    };
    if message::send(ctl, &said, &[]).is_ok() {
        outputs::send(message::Stream(ctl.as_fd()), &files);
    }
}

/// The program has the pipes now. Holding on to them would hide their end from the owner.
fn let_go_of_streams() {
    let null = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null");
    if let Ok(null) = null {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Whether the owner has hung up, or says something: either way it is over.
fn is_over(ctl: &OwnedFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(ctl.as_fd(), PollFlags::IN)];
    let now = rustix::time::Timespec::default();
    matches!(poll(&mut fds, Some(&now)), Ok(1..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_init_in_python_need_not_say_everything() {
        let said: Said = serde_json::from_str(r#"{"exit": 3, "killed": "memory"}"#).unwrap();
        let expected = Said {
            exit: Some(3),
            killed: Some("memory".to_owned()),
            ..Said::default()
        };
        assert_eq!(said, expected);
        // Nothing said is neither a failure nor a beginning.
        let nothing: Said = serde_json::from_str("{}").unwrap();
        assert_eq!((nothing.failed, nothing.ready), (None, None));
    }

    #[test]
    fn an_owner_that_speaks_or_hangs_up_is_gone() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let ours = OwnedFd::from(ours);
        assert!(!is_over(&ours));
        std::io::Write::write_all(&mut &theirs, b"x").unwrap();
        assert!(is_over(&ours));
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        drop(theirs);
        assert!(is_over(&OwnedFd::from(ours)));
    }

    #[test]
    fn a_box_whose_descriptors_are_not_open_fails() {
        assert_eq!(run(999_999, 999_999), FAILED);
    }
}
