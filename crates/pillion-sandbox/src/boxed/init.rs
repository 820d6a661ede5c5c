//! The first process of a namespace: it builds the file system, starts the program, watches
//! it, and brings back what it left. It never runs anything of the program's.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};
use rustix::thread::UnshareFlags;

use super::late_folder::Later;
use super::processes::{Everyone, once_still};
use super::watch::{Seen, all_others};
use super::{complain, is_over, payload, root};
use crate::policy::WORK;
use crate::spec::{BoxRole, InitMessage, Spec};
use crate::{message, outputs, streams, syscalls};

/// No wait is longer.
const A_WHILE: Duration = Duration::from_millis(999);

/// Its whole life. Returns its exit code.
pub(super) fn run(spec: &Spec, ctl: &OwnedFd) -> i32 {
    match start(spec, ctl) {
        Ok((program, later)) => attend(spec, ctl, program, later),
        Err(why) => complain(ctl, why),
    }
}

fn start(spec: &Spec, ctl: &OwnedFd) -> Result<(Pid, Option<Later>), String> {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if is_over(ctl) {
        return Err("the owner is gone".to_owned());
    }
    let _ = rustix::process::setsid();
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let mut spaces = UnshareFlags::NEWNS | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if !spec.policy.network {
        spaces |= UnshareFlags::NEWNET;
    }
    syscalls::unshare(spaces).map_err(|error| format!("namespaces: {error}"))?;
    if spec.role == BoxRole::Kernel && !spec.policy.network {
        // Children that a cell forks send what they print over it. It leads nowhere else.
        syscalls::bring_up_loopback().map_err(|error| format!("loopback: {error}"))?;
    }
    let folders = root::build(&spec.policy, spec.handed.as_deref())?;
    let later = folders.map(|folders| Later::new(spec, folders));
    let later = later.transpose()?;
    // Nobody can look into us from here on: what we hold is the owner's.
    let program = payload::start(spec, ctl);
    let _ = syscalls::set_dumpable(false);
    let program = program?;
    streams::let_go();
    let kept = later.as_ref().map(Later::descriptors);
    let kept: Vec<_> = kept.into_iter().flatten().collect();
    let _ = syscalls::keep_only(&kept, ctl.as_raw_fd());
    Ok((program, later))
}

/// Watch the program until it ends, then end everything else and report.
fn attend(spec: &Spec, ctl: &OwnedFd, program: Pid, mut later: Option<Later>) -> i32 {
    let ready = InitMessage {
        ready: Some(0),
        ..InitMessage::default()
    };
    if spec.role != BoxRole::Trial && message::send(ctl, &ready, &[]).is_err() {
        return super::FAILED;
    }
    let mut seen = Seen::new(&spec.watch, spec.every_ms);
    let mut killed = None;
    let status = loop {
        match await_change(ctl, program, later.as_ref(), seen.next()) {
            Change::Ended(status) => break status,
            Change::Over => return super::FAILED,
            Change::Named => {
                let disk = later.take().and_then(Later::settle);
                seen.watch_folder(disk);
            }
            Change::Nothing => {}
        }
        killed = killed.or_else(|| seen.look_in_time(&spec.watch, EVERYONE, spec.every_ms));
        if killed.is_some() {
            kill_everyone();
        }
    };
    // What it left behind counts: a program that ended may have filled everything first.
    killed = killed.or_else(|| seen.look(&spec.watch, EVERYONE));
    bury_everyone();
    killed = killed.or_else(|| seen.last_look());
    let end = super::ended(status, killed, &seen);
    outputs::report(ctl, Path::new(WORK), &spec.outputs, end);
    0
}

/// Everyone in this namespace but us.
const EVERYONE: Everyone = Everyone {
    list: all_others,
    stop: || {
        let _ = syscalls::signal_all_others(libc::SIGSTOP);
        once_still(all_others)
    },
    wake: || {
        let _ = syscalls::signal_all_others(libc::SIGCONT);
    },
};

enum Change {
    Ended(WaitStatus),
    Over,
    Named,
    Nothing,
}

/// Wait for the end of the program, for the owner's, for the name of its folder, or for the next
/// look.
fn await_change(ctl: &OwnedFd, program: Pid, later: Option<&Later>, most: Duration) -> Change {
    use rustix::event::{PollFd, PollFlags, poll};
    let Ok(pidfd) = rustix::process::pidfd_open(program, rustix::process::PidfdFlags::empty())
    else {
        return Change::Over;
    };
    let mut fds = vec![
        PollFd::new(ctl, PollFlags::IN),
        PollFd::new(&pidfd, PollFlags::IN),
    ];
    fds.extend(later.map(|later| PollFd::new(later.naming(), PollFlags::IN)));
    let wait = rustix::time::Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(most.min(A_WHILE).subsec_nanos()),
    };
    let _ = poll(&mut fds, Some(&wait));
    let mut heard = fds.iter().map(|fd| !fd.revents().is_empty());
    let (is_over, _, is_named) = (heard.next(), heard.next(), heard.next());
    if is_over == Some(true) {
        return Change::Over;
    }
    // Orphans are ours: reap whatever ended.
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid == program {
            return Change::Ended(status);
        }
    }
    match is_named {
        Some(true) => Change::Named,
        _ => Change::Nothing,
    }
}

/// SIGKILL to everyone in this namespace but us.
fn kill_everyone() {
    let _ = syscalls::signal_all_others(libc::SIGKILL);
}

/// Kill and reap until we are alone.
fn bury_everyone() {
    loop {
        kill_everyone();
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
