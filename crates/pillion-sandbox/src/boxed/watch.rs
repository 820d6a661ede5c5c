//! What all processes of a run use together, looked at from time to time.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

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
    /// What fits into it.
    pub bytes: u64,
}

/// Looks between two sums of a folder: they take longer than the others.
const DISK_EVERY: u32 = 4;
/// Files of a folder that are added up; more are too many.
const DISK_FILES: usize = 200_000;

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
        let tasks = pids.iter().map(|pid| tasks(*pid)).sum();
        self.processes = self.processes.max(tasks);
        if watch.processes.is_some_and(|most| tasks > most) {
            return Some("processes");
        }
        // What is shared is counted for each that has it, so this is an upper bound.
        let mut memory = pids.iter().map(|pid| resident(*pid)).sum();
        if watch.memory.is_some_and(|most| memory > most) {
            memory = pids.iter().map(|pid| proportional(*pid)).sum();
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
        disk.filter(|disk| used_below(&disk.path) > disk.bytes)
            .map(|_| "disk")
    }
}

/// All processes of this pid namespace but its first.
pub(super) fn all_others() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != 1)
        .collect()
}

fn tasks(pid: i32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Threads:"));
    line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
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

/// Bytes that the files below a folder have on disk. Links are not followed.
pub fn used_below(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut open = vec![folder.to_owned()];
    let (mut bytes, mut files) = (0, 0);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else {
                continue;
            };
            bytes += meta.blocks() * 512;
            files += 1;
            if files > DISK_FILES {
                return u64::MAX;
            }
            if meta.is_dir() {
                open.push(entry.path());
            }
        }
    }
    bytes
}
