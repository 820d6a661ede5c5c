//! A box without namespaces: it is the subreaper of everything below it, watches, and kills
//! until nothing is left.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

use super::processes::Everyone;
use super::watch::Seen;
use super::{complain, payload};
use crate::spec::{BoxRole, InitMessage, Spec};
use crate::{message, outputs, streams};

/// Milliseconds between two looks: a child's end is not seen otherwise, and programs end soon.
const OFTEN: u32 = 10;
/// How often everyone is looked for who is to be stopped.
const ROUNDS: u32 = 8;

/// The whole life of such a box. Returns its exit code.
pub(super) fn run(spec: &Spec, ctl: &OwnedFd, life: &OwnedFd) -> i32 {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let program = match payload::start(spec, ctl) {
        Ok(program) => program,
        Err(why) => return complain(ctl, why),
    };
    streams::let_go();
    let ready = InitMessage {
        ready: Some(0),
        ..InitMessage::default()
    };
    if spec.role != BoxRole::Trial && message::send(ctl, &ready, &[]).is_err() {
        return super::FAILED;
    }
    let mut seen = Seen::new(&spec.watch, OFTEN.min(spec.every_ms));
    let mut killed = None;
    let status = loop {
        if owner_is_gone(life, ctl, seen.next()) {
            bury_everyone();
            return super::FAILED;
        }
        if let Some(status) = ended(program) {
            break status;
        }
        let every = OFTEN.min(spec.every_ms);
        killed = killed.or_else(|| seen.look_in_time(&spec.watch, EVERYONE, every));
        if killed.is_some() {
            kill_everyone();
        }
    };
    killed = killed.or_else(|| seen.look(&spec.watch, EVERYONE));
    bury_everyone();
    killed = killed.or_else(|| seen.last_look());
    let end = super::ended(status, killed, &seen);
    outputs::report(ctl, &spec.cwd, &spec.outputs, end);
    0
}

/// Everyone below this process.
const EVERYONE: Everyone = Everyone {
    list: below,
    stop: stop_everyone,
    wake: || {
        for pid in below().into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::CONT);
        }
    },
};

/// Wait for the next look; says whether the owner let go.
fn owner_is_gone(life: &OwnedFd, ctl: &OwnedFd, most: Duration) -> bool {
    let mut fds = [
        PollFd::new(life, PollFlags::IN),
        PollFd::new(ctl, PollFlags::IN),
    ];
    let most = most.min(Duration::from_millis(OFTEN.into()));
    let wait = rustix::time::Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(most.subsec_nanos()),
    };
    matches!(poll(&mut fds, Some(&wait)), Ok(1..))
}

/// Reap what ended; the program's status if it is among them.
fn ended(program: Pid) -> Option<WaitStatus> {
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == program {
            return Some(status);
        }
    }
    None
}

/// Everything below this process.
fn below() -> Vec<i32> {
    let all = pillion_process::descendants(std::process::id()).into_iter();
    all.filter_map(|pid| i32::try_from(pid).ok()).collect()
}

/// Stop all, also those who were made meanwhile; not for ever. Says who was stopped.
fn stop_everyone() -> Vec<i32> {
    let mut stopped = HashSet::new();
    for _ in 0..ROUNDS {
        let new: Vec<i32> = below()
            .into_iter()
            .filter(|pid| stopped.insert(*pid))
            .collect();
        if new.is_empty() {
            break;
        }
        for pid in new.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::STOP);
        }
    }
    stopped.into_iter().collect()
}

/// Stop all first, so that none can fork while the others are killed.
fn kill_everyone() {
    let all = below();
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in all.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process(pid, signal);
        }
    }
}

fn bury_everyone() {
    loop {
        kill_everyone();
        match wait(WaitOptions::NOHANG) {
            Err(rustix::io::Errno::CHILD) => return,
            Ok(Some(_)) => {}
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
