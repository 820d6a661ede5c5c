//! The processes below one, and how to kill them all.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::stat;

/// All descendants of `root`, parents before children. One sweep over the process table.
pub fn descendants(root: u32) -> Vec<u32> {
    let table = stat::parents();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            table
                .iter()
                .filter(|(_, ppid)| *ppid == parent)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    found.remove(0);
    found
}

/// The child of `parent` that was started first.
pub fn first_child(parent: u32) -> Option<u32> {
    stat::parents()
        .into_iter()
        .filter(|(_, ppid)| *ppid == parent)
        .filter_map(|(pid, _)| stat::Identity::of(pid))
        .min_by_key(|child| child.start)
        .map(|child| child.pid)
}

/// SIGKILL to `leader`, its process group and everything below it.
pub(crate) fn kill_tree(leader: u32) {
    let below = descendants(leader);
    // The process may be gone already: that is the wanted state, not an error.
    kill_group(leader);
    signal(leader, Signal::KILL);
    for pid in below {
        signal(pid, Signal::KILL);
    }
}

/// SIGKILL to what is left of a process group.
pub(crate) fn kill_group(leader: u32) {
    if let Some(pid) = as_pid(leader) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = as_pid(pid) {
        let _ = kill_process(pid, signal);
    }
}

fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
