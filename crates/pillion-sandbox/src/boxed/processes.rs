//! The processes of a run: who they are, and what each says of itself.

use std::collections::HashSet;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// The processes of a run, as their watcher finds and reaches them.
#[derive(Clone, Copy)]
pub(super) struct Everyone {
    /// All of them.
    pub(super) list: fn() -> Vec<i32>,
    /// Stop all of them; says who that was.
    pub(super) stop: fn() -> Vec<i32>,
}

impl Everyone {
    /// Do something while nobody moves. Who stood still before still does afterwards; after a
    /// failure everyone does.
    pub(super) fn held<E>(self, act: impl FnOnce(&[i32]) -> Result<(), E>) -> Result<(), E> {
        let before = (self.list)();
        let asleep: HashSet<i32> = before
            .into_iter()
            .filter(|pid| ProcessStatus::of(*pid).is_stopped)
            .collect();
        // Whoever was stopped is in this list, also if a later one misses him: he would stand
        // still for ever.
        let all = (self.stop)();
        act(&all)?;
        let moving = all.iter().filter(|pid| !asleep.contains(pid));
        for pid in moving.filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process(pid, Signal::CONT);
        }
        Ok(())
    }
}

/// What a process says of itself.
#[derive(Debug, Default)]
pub(super) struct ProcessStatus {
    pub(super) tasks: u32,
    /// Bytes that it has in memory, also those that others have too, and its page tables.
    pub(super) memory: u64,
    /// Bytes of its page tables, which are in no other sum.
    pub(super) tables: u64,
    pub(super) is_stopped: bool,
}

impl ProcessStatus {
    pub(super) fn of(pid: i32) -> Self {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let word = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let number = |name: &str| {
            let rest = word(name).map(|rest| rest.trim().trim_end_matches(" kB"));
            rest.and_then(|rest| rest.parse::<u64>().ok()).unwrap_or(0)
        };
        let tables = number("VmPTE:") * 1024;
        Self {
            tasks: u32::try_from(number("Threads:")).unwrap_or(u32::MAX),
            memory: (number("VmRSS:") + number("VmSwap:")) * 1024 + tables,
            tables,
            is_stopped: word("State:").is_some_and(|state| state.trim().starts_with('T')),
        }
    }
}
