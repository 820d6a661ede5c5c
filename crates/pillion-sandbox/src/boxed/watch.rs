//! What all processes of a run use together, looked at from time to time.
//!
//! A look asks only what the kernel answers at once (`status`), which is never less than the
//! truth. Only if that is too much does a closer look say how much of it is shared. For that the
//! kernel needs a lock that a process can hold for long, so it is asked beside the watching:
//! whoever does not let himself be looked at, and goes on growing, is ended.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::ErrorKind::{NotFound, PermissionDenied};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::folder::Folder;
use super::processes::{Everyone, ProcessStatus};
use crate::spec::{Disk, WatchedLimits};

/// Between two counts of locks and mappings, which take longer than a look.
const COUNT_EVERY: Duration = Duration::from_millis(500);
/// What can wait in a socket or a pipe, and what there can be of an epoll, in the kernel's memory.
const SOCKET: u64 = 212_992;
const PIPE: u64 = 65_536;
const EPOLL: u64 = 65_536;
/// What the kernel needs for one lock, and for one mapping.
const LOCK: u64 = 256;
const MAPPING: u64 = 224;
/// Open files of a process that does not let us count them.
const UNSEEN_FILES: u64 = 256;
/// How often is asked meanwhile whether a closer look can be waited for, and how many times at
/// most. Turns are counted, not seconds: on a machine that is busy, or stands still for a while,
/// it is not the fault of whoever is looked at that a second is over.
const MEANWHILE: Duration = Duration::from_millis(10);
const MOST_TURNS: u32 = 100;
/// If it takes more turns than this, no more than this part of the limit may be added meanwhile.
const FEW_TURNS: u32 = 10;
const MORE_MEANWHILE: u64 = 8;
/// Counts in a row that can be missed by who has not too much by all that is seen at once.
const MOST_MISSED: u32 = 5;

/// What was seen so far.
pub(super) struct Seen {
    pub(super) peak: u64,
    pub(super) processes: u32,
    folder: Option<Folder>,
    /// What the kernel needs for locks and mappings, when they were counted last.
    counted: u64,
    count_at: Instant,
    /// How many times in a row they could not be counted.
    missed: u32,
    look_at: Instant,
}

impl Seen {
    /// Before anything runs.
    pub(super) fn new(watch: &WatchedLimits, every_ms: u32) -> Self {
        Self {
            peak: 0,
            processes: 0,
            folder: watch.disk.clone().and_then(Folder::new),
            counted: 0,
            count_at: Instant::now() + COUNT_EVERY,
            missed: 0,
            look_at: Instant::now() + Duration::from_millis(every_ms.into()),
        }
    }

    /// Watch a folder from now on.
    pub(super) fn watch_folder(&mut self, disk: Option<Disk>) {
        self.folder = disk.and_then(Folder::new);
    }

    /// When there is something to be looked at.
    pub(super) fn next(&self) -> Duration {
        let look = self.look_at.saturating_duration_since(Instant::now());
        let folder = self.folder.as_ref().map(Folder::time_left);
        look.min(folder.unwrap_or(look))
    }

    /// Look at what it is time for; says which limit is passed.
    pub(super) fn look_in_time(
        &mut self,
        watch: &WatchedLimits,
        everyone: Everyone,
        every_ms: u32,
    ) -> Option<&'static str> {
        if Instant::now() >= self.look_at {
            let passed = self.look(watch, everyone);
            self.look_at = Instant::now() + Duration::from_millis(every_ms.max(1).into());
            return passed;
        }
        let is_full = self.folder.as_mut()?.is_full_already(everyone);
        is_full.then_some("disk")
    }

    /// Look at all; says which limit is passed.
    pub(super) fn look(
        &mut self,
        watch: &WatchedLimits,
        everyone: Everyone,
    ) -> Option<&'static str> {
        let pids = (everyone.list)();
        let states: Vec<ProcessStatus> = pids.iter().map(|pid| ProcessStatus::of(*pid)).collect();
        let tasks = states.iter().map(|status| status.tasks).sum();
        self.processes = self.processes.max(tasks);
        if watch.processes.is_some_and(|most| tasks > most) {
            return Some("processes");
        }
        // What is shared is counted for each that has it.
        let mut memory: u64 = states.iter().map(|status| status.memory).sum::<u64>() + self.counted;
        if let Some(most) = watch.memory {
            let files: u64 = pids.iter().map(|pid| open_files(*pid)).sum();
            let may_be_too_much = memory + files * SOCKET > most;
            if may_be_too_much || Instant::now() > self.count_at {
                let bound = memory + most / MORE_MEANWHILE;
                let closer = closer(&pids, may_be_too_much, bound);
                let is_over = match closer {
                    Look::Taken(_) => false,
                    Look::Missed => !self.can_wait(may_be_too_much),
                    Look::Outgrown => true,
                };
                if is_over {
                    // The more there are, the longer it takes.
                    let tasks: u32 = (everyone.list)()
                        .into_iter()
                        .map(|pid| ProcessStatus::of(pid).tasks)
                        .sum();
                    let too_many = watch.processes.is_some_and(|most| tasks > most);
                    return Some(if too_many { "processes" } else { "memory" });
                }
                self.count_at = Instant::now() + COUNT_EVERY;
                if let Look::Taken(closer) = closer {
                    self.missed = 0;
                    self.counted = closer.counted;
                    if may_be_too_much {
                        let tables: u64 = states.iter().map(|status| status.tables).sum();
                        memory = closer.memory + tables + closer.counted;
                    }
                }
            }
        }
        self.peak = self.peak.max(memory);
        if watch.memory.is_some_and(|most| memory > most) {
            return Some("memory");
        }
        let is_full = self.folder.as_mut()?.is_full(everyone);
        is_full.then_some("disk")
    }

    /// Whether those of whom nothing more could be seen may go on: they have not too much by what
    /// is seen at once, and it is not always so.
    fn can_wait(&mut self, may_be_too_much: bool) -> bool {
        self.missed += 1;
        !may_be_too_much && self.missed <= MOST_MISSED
    }

    /// What it left in its folder, when nobody is there any more.
    pub(super) fn last_look(&mut self) -> Option<&'static str> {
        let was_filled = self.folder.as_mut()?.was_filled(Everyone::NOBODY);
        was_filled.then_some("disk")
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

/// What takes longer to find out.
#[derive(Debug, Default)]
struct Closer {
    /// What all have in memory, each page once, and what may wait in the kernel for them.
    memory: u64,
    /// What the kernel needs for their locks and mappings.
    counted: u64,
}

/// How a closer look went.
#[derive(Debug)]
enum Look {
    Taken(Closer),
    /// They did not let themselves be looked at in time.
    Missed,
    /// They have grown too much meanwhile.
    Outgrown,
}

/// A closer look, if it can be had while all together stay below `most`.
fn closer(pids: &[i32], with_memory: bool, most: u64) -> Look {
    let asked = pids.to_vec();
    let (tell, told) = mpsc::channel();
    let look = move || {
        let (waiting, locks) = in_the_kernel(&asked);
        let mappings: u64 = asked.iter().map(|pid| count_mappings(*pid)).sum();
        let counted = locks + mappings * MAPPING;
        let own = asked.iter().filter(|_| with_memory);
        let own: u64 = own.map(|pid| proportional(*pid)).sum();
        let memory = own + waiting;
        // Nobody may be waiting any more.
        let _ = tell.send(Closer { memory, counted });
    };
    // A user has only so many threads, and others of his may have taken all of them.
    if std::thread::Builder::new().spawn(look).is_err() {
        return Look::Missed;
    }
    for turn in 1..=MOST_TURNS {
        match told.recv_timeout(MEANWHILE) {
            Ok(closer) => return Look::Taken(closer),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Look::Missed,
        }
        let now = || -> u64 { pids.iter().map(|pid| ProcessStatus::of(*pid).memory).sum() };
        if turn > FEW_TURNS && now() > most {
            return Look::Outgrown;
        }
    }
    Look::Missed
}

/// What may wait in the sockets and pipes that these processes have, and what their locks take.
fn in_the_kernel(pids: &[i32]) -> (u64, u64) {
    let mut seen = HashSet::new();
    let (mut bytes, mut locks) = (0, 0);
    for pid in pids {
        let files = match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(files) => files,
            // One that is about to be gone shows nothing to anybody, and has no memory.
            Err(error)
                if error.kind() == PermissionDenied && ProcessStatus::of(*pid).memory > 0 =>
            {
                bytes += UNSEEN_FILES * SOCKET;
                continue;
            }
            Err(_) => continue,
        };
        // A process has its locks on a file once, however often it has that open.
        let mut locked = HashSet::new();
        for file in files.flatten() {
            let link = match fs::read_link(file.path()) {
                Ok(link) => link,
                Err(error) if [NotFound, PermissionDenied].contains(&error.kind()) => continue,
                // A file whose name is too long to be said.
                Err(_) => Path::new("/").join(file.file_name()),
            };
            let name = link.to_string_lossy();
            let one = match name.as_ref() {
                name if name.starts_with("socket:") => SOCKET,
                name if name.starts_with("pipe:") => PIPE,
                // All of these have the same name.
                name if name.contains("[eventpoll]") => {
                    bytes += EPOLL;
                    continue;
                }
                name if name.starts_with('/') && !name.starts_with("/dev/null") => {
                    let number = file.file_name();
                    if locked.insert(link) {
                        locks += count_locks(*pid, &number.to_string_lossy()) * LOCK;
                    }
                    continue;
                }
                _ => continue,
            };
            if seen.insert(link) {
                bytes += one;
            }
        }
    }
    (bytes, locks)
}

/// How many locks a process has on a file that it has open.
fn count_locks(pid: i32, number: &str) -> u64 {
    let Ok(file) = File::open(format!("/proc/{pid}/fdinfo/{number}")) else {
        return 0;
    };
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    lines.filter(|line| line.starts_with(b"lock:")).count() as u64
}

/// How many parts the memory of a process has.
fn count_mappings(pid: i32) -> u64 {
    let Ok(mut file) = File::open(format!("/proc/{pid}/maps")) else {
        return 0;
    };
    let (mut count, mut piece) = (0, vec![0; 1 << 16]);
    while let Ok(read @ 1..) = file.read(&mut piece) {
        let read = piece.get(..read).unwrap_or_default();
        count += read.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    count
}

/// All processes of this pid namespace but its first.
pub(super) fn all_others() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != 1)
        .collect()
}

fn proportional(pid: i32) -> u64 {
    let sums = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let kb = |name: &str| {
        let line = sums.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok())
    };
    // One that cannot be read is taken for all it has.
    kb("Pss:").map_or_else(
        || ProcessStatus::of(pid).memory,
        |pss| (pss + kb("SwapPss:").unwrap_or(0)) * 1024,
    )
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
