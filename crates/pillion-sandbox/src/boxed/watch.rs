//! What all processes of a run use together, looked at from time to time.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind::PermissionDenied;

use serde::{Deserialize, Serialize};

use super::folder;

/// What is watched.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub struct Watch {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u32>,
    /// Bytes below a folder.
    pub disk: Option<Disk>,
}

/// A folder whose contents are watched.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Disk {
    /// The folder.
    pub path: std::path::PathBuf,
    /// Bytes that fit into it.
    pub bytes: u64,
    /// Files and folders that fit into it.
    pub files: u64,
}

/// Looks between two sums of a folder: they take longer than the others.
const DISK_EVERY: u32 = 4;
/// What can wait in a socket or a pipe, in the kernel's memory.
const SOCKET: u64 = 212_992;
const PIPE: u64 = 65_536;
/// Open files of a process that does not let us count them.
const UNSEEN_FILES: u64 = 256;

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) peak: u64,
    pub(super) processes: u32,
    looks: u32,
}

impl Seen {
    /// Look at the processes `pids`; says which limit is passed.
    pub(super) fn look(&mut self, watch: &Watch, pids: &[i32]) -> Option<&'static str> {
        let states: Vec<Status> = pids.iter().map(|pid| Status::of(*pid)).collect();
        let tasks = states.iter().map(|status| status.tasks).sum();
        self.processes = self.processes.max(tasks);
        if watch.processes.is_some_and(|most| tasks > most) {
            return Some("processes");
        }
        // What is shared is counted for each that has it, and each open file as a full
        // socket, so this is an upper bound.
        let tables: u64 = states.iter().map(|status| status.tables).sum();
        let mut memory: u64 = pids.iter().map(|pid| resident(*pid)).sum::<u64>() + tables;
        let waiting: u64 = pids.iter().map(|pid| open_files(*pid) * SOCKET).sum();
        if watch.memory.is_some_and(|most| memory + waiting > most) {
            let all: u64 = pids.iter().map(|pid| proportional(*pid)).sum();
            memory = all + tables + in_the_kernel(pids);
        }
        self.peak = self.peak.max(memory);
        if watch.memory.is_some_and(|most| memory > most) {
            return Some("memory");
        }
        self.looks += 1;
        let disk = watch
            .disk
            .as_ref()
            .filter(|_| self.looks.is_multiple_of(DISK_EVERY));
        disk.filter(|disk| folder::is_full(disk, pids))
            .map(|_| "disk")
    }
}

/// What a process says of itself.
#[derive(Debug, Default)]
struct Status {
    tasks: u32,
    /// Bytes of its page tables, which are in no other sum.
    tables: u64,
}

impl Status {
    fn of(pid: i32) -> Self {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok())
                .unwrap_or(0)
        };
        Self {
            tasks: u32::try_from(number("Threads:")).unwrap_or(u32::MAX),
            tables: number("VmPTE:") * 1024,
        }
    }
}

/// How many files a process has open.
fn open_files(pid: i32) -> u64 {
    let folder = format!("/proc/{pid}/fd");
    match fs::metadata(&folder) {
        // Newer kernels say it at once.
        Ok(meta) if meta.len() > 0 => meta.len(),
        Ok(_) => fs::read_dir(&folder).map_or(0, |files| files.count() as u64),
        Err(_) => 0,
    }
}

/// What may wait in the sockets and pipes that these processes have.
fn in_the_kernel(pids: &[i32]) -> u64 {
    let mut seen = HashSet::new();
    let mut bytes = 0;
    for pid in pids {
        let files = match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(files) => files,
            // One that is about to be gone shows nothing to anybody, and has no memory.
            Err(error) if error.kind() == PermissionDenied && resident(*pid) > 0 => {
                bytes += UNSEEN_FILES * SOCKET;
                continue;
            }
            Err(_) => continue,
        };
        for link in files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok())
        {
            let one = match link.to_str() {
                Some(name) if name.starts_with("socket:") => SOCKET,
                Some(name) if name.starts_with("pipe:") => PIPE,
                _ => continue,
            };
            if seen.insert(link) {
                bytes += one;
            }
        }
    }
    bytes
}

/// All processes of this pid namespace but its first.
pub(super) fn all_others() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != 1)
        .collect()
}

fn resident(pid: i32) -> u64 {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: u64 = statm
        .split(' ')
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

fn proportional(pid: i32) -> u64 {
    let sums = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kb = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    // One that cannot be read is taken for all it has.
    kb.map_or_else(|| resident(pid), |kb| kb * 1024)
}
