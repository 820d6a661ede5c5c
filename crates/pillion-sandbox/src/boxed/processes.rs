//! The processes of a run: who they are, and what each says of itself.

use std::collections::HashSet;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long stopped processes may take to stand still. A busy machine lets a process wait that
/// long before it goes on with a large fork, at whose end it stops.
const STILL_WITHIN: Duration = Duration::from_secs(5);
/// How long processes get to do what a signal asks, before they are looked at again.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

/// The processes of a run, as their watcher finds and reaches them.
#[derive(Clone, Copy)]
pub(super) struct Everyone {
    /// All of them.
    pub(super) list: fn() -> Vec<i32>,
    /// Stop all of them; says who that was.
    pub(super) stop: fn() -> Vec<i32>,
    /// Let all of them go on, also those that nobody has seen yet.
    pub(super) wake: fn(),
}

impl Everyone {
    /// Nobody at all.
    pub(super) const NOBODY: Self = Self {
        list: Vec::new,
        stop: Vec::new,
        wake: || {},
    };

    /// Do something while nobody moves. Who stood still before still does afterwards; after a
    /// failure everyone does.
    pub(super) fn held<E>(self, act: impl FnOnce(&[i32]) -> Result<(), E>) -> Result<(), E> {
        let before = (self.list)();
        let asleep: HashSet<i32> = before
            .into_iter()
            .filter(|pid| ProcessStatus::of(*pid).is_stopped())
            .collect();
        // Whoever was stopped is in this list, also if a later one misses him: he would stand
        // still for ever.
        let all = (self.stop)();
        act(&all)?;
        let moving = all.iter().filter(|pid| !asleep.contains(pid));
        for pid in moving.filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process(pid, Signal::CONT);
        }
        if asleep.is_empty() {
            (self.wake)();
        }
        Ok(())
    }
}

/// All that are listed, once each of them stands still.
///
/// A child that is being made when all are stopped is stopped as soon as it is made. Whoever did
/// not wait for it would not know it, and it would stand still for ever.
pub(super) fn once_still(list: fn() -> Vec<i32>) -> Vec<i32> {
    let deadline = Instant::now() + STILL_WITHIN;
    let mut all = list();
    while Instant::now() < deadline {
        let were_still = are_still(&all);
        let before = std::mem::replace(&mut all, list());
        if were_still && before == all {
            break;
        }
        sleep(BETWEEN_LOOKS);
    }
    all
}

/// Whether none of them will do anything, nor have another child, before it goes on.
fn are_still(all: &[i32]) -> bool {
    let statuses = all.iter().map(|pid| (*pid, ProcessStatus::of(*pid)));
    let statuses: Vec<(i32, ProcessStatus)> = statuses.collect();
    // `vfork` waits until the child starts a program, and the child stands still before that.
    let stopped = statuses.iter().filter(|(_, status)| status.is_stopped());
    let parents: HashSet<i32> = stopped.map(|(_, status)| status.parent).collect();
    statuses.iter().all(|(pid, status)| match status.state {
        // Stopped, looked at by a debugger, or ended.
        'T' | 't' | 'Z' | 'X' => true,
        // It waits for something in the kernel, and no signal but the last wakes it.
        'D' => parents.contains(pid),
        _ => false,
    })
}

/// What a process says of itself.
#[derive(Debug, Default)]
pub(super) struct ProcessStatus {
    pub(super) tasks: u32,
    /// Bytes that it has in memory, also those that others have too, and its page tables.
    pub(super) memory: u64,
    /// Bytes of its page tables, which are in no other sum.
    pub(super) tables: u64,
    /// What it does, in the kernel's letters; `X` for one that is gone.
    state: char,
    parent: i32,
}

impl ProcessStatus {
    pub(super) fn of(pid: i32) -> Self {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let word = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let letter = word("State:").and_then(|state| state.trim().chars().next());
        let number = |name: &str| {
            let rest = word(name).map(|rest| rest.trim().trim_end_matches(" kB"));
            rest.and_then(|rest| rest.parse::<u64>().ok()).unwrap_or(0)
        };
        let tables = number("VmPTE:") * 1024;
        Self {
            tasks: u32::try_from(number("Threads:")).unwrap_or(u32::MAX),
            memory: (number("VmRSS:") + number("VmSwap:")) * 1024 + tables,
            tables,
            state: letter.unwrap_or('X'),
            parent: i32::try_from(number("PPid:")).unwrap_or(0),
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.state == 'T'
    }
}
