//! The processes below one, and how to kill them all.

use rustix::process::{Signal, kill_process_group};

pub use crate::sys::descendants;
use crate::sys::{Identity, as_pid, parents, signal};

/// The child of `parent` that was started first.
pub fn first_child(parent: u32) -> Option<u32> {
    parents()
        .into_iter()
        .filter(|(_, ppid)| *ppid == parent)
        .filter_map(|(pid, _)| Identity::of(pid))
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
