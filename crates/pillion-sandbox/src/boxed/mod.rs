//! The box: a process between pillion and a confined program. See the crate's theory of
//! operation.
//!
//! A box has one thread until its program runs, so it may fork. It hears what to do as the first message on its
//! control socket, and from then on its init speaks there: [`InitMessage`].

mod folder;
mod init;
mod late_folder;
mod payload;
mod processes;
mod root;
mod user;
mod watch;
mod without_namespaces;

use std::os::fd::{AsFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, waitpid,
};
use rustix::thread::UnshareFlags;

use crate::level::Level;
use crate::policy::Folder;
use crate::spec::{InitMessage, Spec};
use crate::{message, streams, syscalls};

pub use user::run_user;

/// Exit code of a box that could not do its work; why is on its control socket.
const FAILED: i32 = 126;

/// The box's whole life. Returns its exit code.
pub(crate) fn run(ctl: RawFd, life: RawFd) -> i32 {
    let (Ok(ctl), Ok(life)) = (pillion_process::adopt(ctl), pillion_process::adopt(life)) else {
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
        Level::L1 | Level::L2 => return without_namespaces::run(&spec, &ctl, &life),
    };
    match child {
        Ok(child) => {
            drop(ctl);
            streams::let_go();
            stand_by(child, &life)
        }
        Err(why) => complain(&ctl, why),
    }
}

/// Tell the owner why it could not be done.
fn complain(ctl: &OwnedFd, why: String) -> i32 {
    let said = InitMessage {
        failed: Some(why),
        ..InitMessage::default()
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
    if spec.run_user.is_none() {
        user::enter_user_namespace(0).map_err(step("user namespace"))?;
    }
    syscalls::unshare(UnshareFlags::NEWPID).map_err(step("pid namespace"))?;
    match syscalls::fork().map_err(step("fork"))? {
        syscalls::Forked::Child => syscalls::exit_now(init::run(spec, ctl)),
        syscalls::Forked::Parent(pid) => Pid::from_raw(pid).ok_or_else(|| "fork".to_owned()),
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

/// How the program ended, as its owner is told.
fn ended(status: WaitStatus, killed: Option<&str>, seen: &watch::Seen) -> InitMessage {
    InitMessage {
        exit: status.exit_status(),
        signal: status.terminating_signal(),
        killed: killed.map(ToOwned::to_owned),
        peak_bytes: seen.peak,
        processes: seen.processes,
        ..InitMessage::default()
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
