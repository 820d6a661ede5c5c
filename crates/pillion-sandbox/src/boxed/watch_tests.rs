//! What real processes use, and which limit that passes.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

use pillion_process::{Launch, Pipe, Running, StreamTarget};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::super::processes::once_still;
use super::*;

/// A process that does nothing until it is dropped.
struct Idle {
    _running: Running,
    pid: i32,
}

impl Idle {
    fn new(stdin: StreamTarget) -> Self {
        let launch = Launch::new("sleep").arg("600").stdin(stdin).unguarded();
        let running = launch.spawn().unwrap();
        let pid = i32::try_from(running.id().unwrap()).unwrap();
        // Until it sleeps it is still being loaded.
        until(|| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            status.starts_with("Name:\tsleep\n") && status.contains("\nState:\tS ")
        });
        Self {
            _running: running,
            pid,
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid).unwrap(), signal).unwrap();
    }

    fn is_stopped(&self) -> bool {
        ProcessStatus::of(self.pid).is_stopped()
    }
}

fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A look without any folder, at everyone in `list`.
fn look(watch: &WatchedLimits, list: fn() -> Vec<i32>) -> (Option<&'static str>, Seen) {
    let everyone = Everyone {
        list,
        stop: list,
        wake: || {},
    };
    let mut seen = Seen::new(watch, 0);
    (seen.look(watch, everyone), seen)
}

fn memory(most: u64) -> WatchedLimits {
    WatchedLimits {
        memory: Some(most),
        ..WatchedLimits::default()
    }
}

#[tokio::test]
async fn a_process_is_seen_as_it_is() {
    let idle = Idle::new(StreamTarget::Null);
    let status = ProcessStatus::of(idle.pid);
    assert_eq!((status.tasks, status.is_stopped()), (1, false));
    assert!(status.memory > status.tables && status.tables > 0);
    assert_eq!(open_files(idle.pid), 3);
    idle.signal(Signal::STOP);
    until(|| idle.is_stopped());
    let maps = fs::read_to_string(format!("/proc/{}/maps", idle.pid)).unwrap();
    assert_eq!(count_mappings(idle.pid), maps.lines().count() as u64);
}

#[test]
fn a_process_that_is_gone_uses_nothing() {
    let gone = ProcessStatus::of(i32::MAX);
    assert_eq!((gone.tasks, gone.memory, gone.is_stopped()), (0, 0, false));
    assert_eq!(open_files(i32::MAX) + count_mappings(i32::MAX), 0);
    assert_eq!(in_the_kernel(&[i32::MAX]), (0, 0));
    assert_eq!(proportional(i32::MAX), 0);
}

#[tokio::test]
async fn processes_of_all_are_counted_together() {
    static PIDS: Mutex<Vec<i32>> = Mutex::new(Vec::new());
    let idle = [Idle::new(StreamTarget::Null), Idle::new(StreamTarget::Null)];
    *PIDS.lock().unwrap() = idle.iter().map(|idle| idle.pid).collect();
    let most = |processes| {
        let watch = WatchedLimits {
            processes: Some(processes),
            ..WatchedLimits::default()
        };
        look(&watch, || PIDS.lock().unwrap().clone())
    };
    let (passed, seen) = most(2);
    assert_eq!((passed, seen.processes), (None, 2));
    assert_eq!(most(1).0, Some("processes"));
}

#[tokio::test]
async fn memory_of_all_is_limited_and_what_they_share_counts_once() {
    static PIDS: Mutex<Vec<i32>> = Mutex::new(Vec::new());
    let idle = [Idle::new(StreamTarget::Null), Idle::new(StreamTarget::Null)];
    let pids: Vec<i32> = idle.iter().map(|idle| idle.pid).collect();
    PIDS.lock().unwrap().clone_from(&pids);
    let list = || PIDS.lock().unwrap().clone();
    let (passed, seen) = look(&memory(1 << 30), list);
    assert_eq!(passed, None);
    let each: u64 = pids.iter().map(|pid| ProcessStatus::of(*pid).memory).sum();
    assert_eq!(seen.peak, each, "a quick look counts for each");
    let Look::Taken(closer) = closer(&pids, true, u64::MAX) else {
        panic!("it was not taken");
    };
    assert!(closer.memory > 0 && closer.memory < each);
    assert!(closer.counted > 0, "their mappings");
    // A little less than they have, each page once, is passed; what each has alone is not.
    let (passed, seen) = look(&memory(closer.memory / 2), list);
    assert_eq!(passed, Some("memory"));
    assert!(seen.peak > closer.memory / 2);
    let (passed, seen) = look(&memory(each), list);
    assert_eq!(passed, None, "the closer look decides");
    assert!(seen.peak < each);
}

#[tokio::test]
async fn what_waits_in_pipes_and_sockets_counts_once_for_all_who_have_them() {
    let pipe = Pipe::new().unwrap();
    let end = || StreamTarget::File(File::from(pipe.read.try_clone().unwrap()));
    let (first, second) = (Idle::new(end()), Idle::new(end()));
    assert_eq!(in_the_kernel(&[first.pid]), (PIPE, 0));
    assert_eq!(in_the_kernel(&[first.pid, second.pid]), (PIPE, 0));
    let (here, _there) = UnixStream::pair().unwrap();
    let third = Idle::new(StreamTarget::File(File::from(OwnedFd::from(here))));
    assert_eq!(in_the_kernel(&[third.pid]), (SOCKET, 0));
    assert_eq!(in_the_kernel(&[first.pid, third.pid]), (PIPE + SOCKET, 0));
}

#[test]
fn locks_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("file")).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file).to_string();
    let pid = i32::try_from(std::process::id()).unwrap();
    assert_eq!(count_locks(pid, &number), 0);
    rustix::fs::flock(file.as_fd(), rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(count_locks(pid, &number), 1);
    assert_eq!(count_locks(pid, "no number"), 0);
}

#[tokio::test]
async fn a_look_waits_for_its_time() {
    static PIDS: Mutex<Vec<i32>> = Mutex::new(Vec::new());
    let idle = Idle::new(StreamTarget::Null);
    *PIDS.lock().unwrap() = vec![idle.pid];
    let everyone = Everyone {
        list: || PIDS.lock().unwrap().clone(),
        ..Everyone::NOBODY
    };
    let an_hour = 3_600_000;
    let mut later = Seen::new(&memory(1), an_hour);
    assert_eq!(later.look_in_time(&memory(1), everyone, an_hour), None);
    assert!(later.next() > Duration::from_secs(3000));
    let mut now = Seen::new(&memory(1), 0);
    assert_eq!(now.next(), Duration::ZERO);
    assert_eq!(
        now.look_in_time(&memory(1), everyone, an_hour),
        Some("memory")
    );
    assert!(now.next() > Duration::from_secs(3000), "the next one, too");
}

#[tokio::test]
async fn a_full_folder_ends_a_run_and_is_found_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let watch = |files| WatchedLimits {
        disk: Some(Disk {
            path: folder.path().to_owned(),
            bytes: 1 << 30,
            files,
            used: 0,
            named: 0,
            left: (u64::MAX / 2, u64::MAX / 2),
            sends: false,
        }),
        ..WatchedLimits::default()
    };
    for (files, expected) in [(2, None), (1, Some("disk"))] {
        assert_eq!(look(&watch(files), Vec::new).0, expected);
        assert_eq!(Seen::new(&watch(files), 0).last_look(), expected);
    }
}

#[tokio::test]
async fn who_moved_goes_on_and_who_stood_still_does_not() {
    static PIDS: Mutex<Vec<i32>> = Mutex::new(Vec::new());
    let (moving, asleep) = (Idle::new(StreamTarget::Null), Idle::new(StreamTarget::Null));
    *PIDS.lock().unwrap() = vec![moving.pid, asleep.pid];
    let everyone = Everyone {
        list: || PIDS.lock().unwrap().clone(),
        stop: || {
            let pids = PIDS.lock().unwrap().clone();
            for pid in &pids {
                kill_process(Pid::from_raw(*pid).unwrap(), Signal::STOP).unwrap();
                until(|| ProcessStatus::of(*pid).is_stopped());
            }
            pids
        },
        wake: || {},
    };
    asleep.signal(Signal::STOP);
    until(|| asleep.is_stopped());
    let held = everyone.held(|pids| {
        assert_eq!(pids, [moving.pid, asleep.pid]);
        assert!(moving.is_stopped() && asleep.is_stopped());
        Ok::<_, ()>(())
    });
    assert!(held.is_ok());
    until(|| !moving.is_stopped());
    assert!(asleep.is_stopped());
    assert_eq!(everyone.held(|_| Err("full")), Err("full"));
    assert!(moving.is_stopped(), "after a failure nobody moves again");
}

#[tokio::test]
async fn whoever_was_stopped_goes_on_also_if_a_list_misses_him() {
    static PIDS: Mutex<Vec<i32>> = Mutex::new(Vec::new());
    let missed = Idle::new(StreamTarget::Null);
    *PIDS.lock().unwrap() = vec![missed.pid];
    let everyone = Everyone {
        list: Vec::new,
        stop: || {
            let pids = PIDS.lock().unwrap().clone();
            kill_process(Pid::from_raw(pids[0]).unwrap(), Signal::STOP).unwrap();
            pids
        },
        wake: || {},
    };
    assert_eq!(everyone.held(|_| Ok::<_, ()>(())), Ok(()));
    until(|| !missed.is_stopped());
}

/// Much memory makes each fork take long, so that many are going on when everybody is stopped.
const FORKS_MUCH: &str = "
import os
memory = bytearray(os.urandom(1 << 20) * 100)
for _ in range(100):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
";

#[tokio::test]
async fn who_is_made_while_all_are_stopped_goes_on() {
    static GROUP: AtomicI32 = AtomicI32::new(0);
    fn signal(signal: Signal) {
        let group = Pid::from_raw(GROUP.load(Ordering::Relaxed)).unwrap();
        let _ = kill_process_group(group, signal);
    }
    fn list() -> Vec<i32> {
        let group = GROUP.load(Ordering::Relaxed);
        let below = pillion_process::descendants(group.unsigned_abs());
        let below = below.into_iter().map(|pid| i32::try_from(pid).unwrap());
        [group].into_iter().chain(below).collect()
    }
    let everyone = Everyone {
        list,
        stop: || {
            signal(Signal::STOP);
            once_still(list)
        },
        wake: || signal(Signal::CONT),
    };
    let launch = Launch::new("python3").args(["-I", "-S", "-c", FORKS_MUCH]);
    let mut running = launch
        .stdin(StreamTarget::Null)
        .unguarded()
        .spawn()
        .unwrap();
    let pid = i32::try_from(running.id().unwrap()).unwrap();
    GROUP.store(pid, Ordering::Relaxed);
    let deadline = Instant::now() + Duration::from_secs(180);
    while fs::read_to_string(format!("/proc/{pid}/status"))
        .is_ok_and(|status| !status.contains("\nState:\tZ"))
    {
        assert!(Instant::now() < deadline, "somebody stands still for ever");
        everyone.held(|_| Ok::<_, ()>(())).unwrap();
    }
    assert!(running.wait().await.success());
}

#[test]
fn everyone_else_in_the_namespace_is_found() {
    let all = all_others();
    let ourselves = i32::try_from(std::process::id()).unwrap();
    assert!(all.contains(&ourselves) || ourselves == 1);
    assert!(!all.contains(&1), "its init is not");
}

#[test]
fn who_could_not_be_looked_at_is_ended_only_if_that_goes_on_or_he_may_have_too_much() {
    let mut seen = Seen::new(&memory(1), 0);
    assert!(!seen.can_wait(true), "by all that is known it is too much");
    let mut seen = Seen::new(&memory(1), 0);
    for _ in 0..MOST_MISSED {
        assert!(seen.can_wait(false));
    }
    assert!(!seen.can_wait(false));
}
