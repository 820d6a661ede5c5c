//! The process table, as the kernel shows it.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// A living process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The number of its parent.
    pub parent: u32,
    /// Its command line.
    pub command: Vec<String>,
}

impl Process {
    /// Whether this is a daemon, which may live on when whoever started it has ended.
    pub fn is_daemon(&self) -> bool {
        self.command.get(1).is_some_and(|word| word == "daemon")
    }

    /// Whether this is a Python worker.
    pub fn is_worker(&self) -> bool {
        !self.is_guard() && self.command.iter().any(|word| word == "worker")
    }

    /// Whether this is a guard between pillion and a child.
    pub fn is_guard(&self) -> bool {
        self.command
            .first()
            .is_some_and(|word| word == "pillion-guard")
    }
}

/// Every process whose environment holds `marker`.
pub fn marked(marker: &str) -> Vec<Process> {
    let marker = marker.as_bytes();
    all_pids()
        .filter_map(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let ours = environ.split(|byte| *byte == 0).any(|var| var == marker);
            let (state, parent) = stat(pid).filter(|_| ours)?;
            let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let command = command
                .split(|byte| *byte == 0)
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect();
            (state != 'Z').then_some(Process {
                pid,
                parent,
                command,
            })
        })
        .collect()
}

/// Children of `parent` that have ended and were not waited for.
pub fn zombies_of(parent: u32) -> Vec<u32> {
    all_pids()
        .filter(|pid| stat(*pid) == Some(('Z', parent)))
        .collect()
}

/// The living children of a process.
pub fn children_of(parent: u32) -> Vec<u32> {
    all_pids()
        .filter(|pid| stat(*pid).is_some_and(|(state, of)| state != 'Z' && of == parent))
        .collect()
}

/// The living children of a process, with theirs.
pub fn below(parent: u32) -> Vec<u32> {
    let mut found = children_of(parent);
    let mut at = 0;
    while let Some(pid) = found.get(at) {
        found.extend(children_of(*pid));
        at += 1;
    }
    found
}

/// Whether a process runs. A zombie does not.
pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z')
}

/// Ask a process to end.
pub fn terminate(pid: u32) {
    signal(pid, Signal::TERM);
}

/// Kill a process.
pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Send a signal to a process, if it is there.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Stop a process, and wait until all of its threads stand still: on a busy machine some go on for
/// a while after the signal was sent.
pub fn stop(pid: u32) {
    signal(pid, Signal::STOP);
    crate::wait_until("all threads to stand still", || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"));
        let mut tasks = tasks.into_iter().flatten().flatten();
        tasks.all(|task| {
            let status = fs::read_to_string(task.path().join("status"));
            status.is_ok_and(|status| status.contains("\nState:\tT"))
        })
    });
}

/// Kill until nothing is left.
pub fn kill_all(list: impl Fn() -> Vec<Process>) {
    for _ in 0..200 {
        let left = list();
        if left.is_empty() {
            return;
        }
        for process in left {
            kill(process.pid);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// For a failure's message.
pub fn table(processes: &[Process]) -> String {
    processes
        .iter()
        .map(|p| {
            format!(
                "  pid {} (parent {}): {}\n",
                p.pid,
                p.parent,
                p.command.join(" ")
            )
        })
        .collect()
}

fn all_pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// State and parent.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = words.next()?.chars().next()?;
    Some((state, words.next()?.parse().ok()?))
}
