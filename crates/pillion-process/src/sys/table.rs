//! The table of processes: who is below whom, and a signal to one of them.

use rustix::process::{Pid, Signal, kill_process};

use super::{facts, pids};

/// `(pid, parent)` of every process that can be seen.
pub(crate) fn parents() -> Vec<(u32, u32)> {
    let pids = pids().into_iter();
    pids.filter_map(|pid| Some((pid, facts(pid)?.parent)))
        .collect()
}

/// All descendants of `root`, parents before children. One sweep over the process table.
pub fn descendants(root: u32) -> Vec<u32> {
    let table = parents();
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

pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = as_pid(pid) {
        let _ = kill_process(pid, signal);
    }
}

pub(crate) fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_our_parent() {
        let me = std::process::id();
        assert!(
            parents()
                .iter()
                .any(|(pid, parent)| *pid == me && *parent > 0)
        );
    }
}
