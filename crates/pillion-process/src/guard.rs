//! The guard: a small process between pillion and each child, so that nothing the child
//! starts can outlive it or pillion. See the crate's theory of operation.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::RawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};

use crate::read_only;
use crate::sys::{self, Offspring};

/// Carries the number of the life pipe's descriptor into the guard.
const LIFE_FD: &str = "PILLION_GUARD_FD";
/// Says that the program may write only below the first so many arguments.
const WRITABLE: &str = "PILLION_GUARD_WRITABLE";
/// The guard's name in process listings.
const NAME: &str = "pillion-guard";
/// This executable can serve as guard, because its `main` called [`init`].
static AVAILABLE: AtomicBool = AtomicBool::new(false);

/// Exit code of a guard that could not start its program.
pub(crate) const NOT_STARTED: i32 = 126;

/// Call this first in `main`. In a guard process it does the guard's work and never
/// returns; in any other it notes that this executable can be used as one.
pub fn init() {
    let mut args = std::env::args_os();
    if args.next().is_some_and(|name| name == NAME)
        && let Some(fd) = std::env::var(LIFE_FD).ok().and_then(|v| v.parse().ok())
    {
        exit(run(fd, args));
    }
    AVAILABLE.store(true, Ordering::Relaxed);
}

/// Whether children of this process can be put under a guard.
pub fn available() -> bool {
    AVAILABLE.load(Ordering::Relaxed)
}

/// The command that runs `program` under a guard whose life hangs on `life`. It may write
/// anywhere, or only at `writable`.
pub(crate) fn command(
    program: &Path,
    life: RawFd,
    writable: Option<&[PathBuf]>,
) -> io::Result<Command> {
    #[expect(clippy::disallowed_methods, reason = "this is the one door")]
    let mut command = Command::new(sys::program()?);
    command.arg0(NAME).env(LIFE_FD, life.to_string());
    if let Some(writable) = writable {
        command.env(WRITABLE, writable.len().to_string());
        command.args(writable);
    }
    command.arg(program);
    Ok(command)
}

/// The guard's whole life. Returns its exit code.
fn run(life: RawFd, mut args: impl Iterator<Item = OsString>) -> i32 {
    let Ok(life) = sys::adopt(life) else {
        return NOT_STARTED;
    };
    let offspring = Arc::new(Offspring::adopt());
    let writable = std::env::var(WRITABLE).ok().and_then(|n| n.parse().ok());
    let writable: Option<Vec<PathBuf>> =
        writable.map(|count: usize| args.by_ref().take(count).map(PathBuf::from).collect());
    let Some(program) = args.next() else {
        return NOT_STARTED;
    };
    if let Some(writable) = writable
        && let Err(error) = read_only::restrict(writable.iter().map(PathBuf::as_path))
    {
        complain(&format!(
            "cannot keep {} from writing: {error}\n",
            program.display()
        ));
        return NOT_STARTED;
    }
    #[expect(clippy::disallowed_methods, reason = "this is the one door")]
    let mut command = Command::new(&program);
    command.args(args).process_group(0);
    command.env_remove(LIFE_FD).env_remove(WRITABLE);
    sys::die_with_parent(&mut command);
    let child = match command.spawn() {
        Ok(child) => child.id(),
        Err(error) => {
            complain(&format!("cannot start {}: {error}\n", program.display()));
            return NOT_STARTED;
        }
    };
    offspring.follow(child);
    let_go_of_streams();
    let watched = Arc::clone(&offspring);
    let watching = std::thread::Builder::new().spawn(move || watch(life.into(), &watched));
    if watching.is_err() {
        // Nobody would notice the owner's end: rather no child at all.
        offspring.kill();
    }
    let status = wait_for(child);
    bury_the_rest(&offspring);
    imitate(status)
}

/// Wait until the owner lets go of the life pipe, then kill until nothing is left.
fn watch(mut life: File, offspring: &Offspring) {
    let mut byte = [0];
    while matches!(life.read(&mut byte), Ok(1..)) {}
    loop {
        offspring.kill();
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The child has the pipes now. Holding on to them would hide their end from the owner.
fn let_go_of_streams() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    for fd in inherited_descriptors() {
        drop(sys::adopt(fd));
    }
}

/// Descriptors above the standard ones that exec left open: they are the child's.
fn inherited_descriptors() -> Vec<RawFd> {
    sys::open_descriptors()
        .into_iter()
        .filter(|fd| *fd > 2 && sys::is_inheritable(*fd))
        .collect()
}

/// Reap whatever ends until `child` does.
fn wait_for(child: u32) -> Option<WaitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid_of(pid) == child => return Some(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Kill and reap all that the child left behind.
fn bury_the_rest(offspring: &Offspring) {
    loop {
        let left = offspring.kill();
        match rustix::process::wait(WaitOptions::NOHANG) {
            Err(rustix::io::Errno::CHILD) if left == 0 => return,
            Ok(Some(_)) => {}
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// End as the child ended, so that the owner's `wait` tells the truth about it.
fn imitate(status: Option<WaitStatus>) -> i32 {
    let Some(status) = status else {
        return NOT_STARTED;
    };
    if let Some(signal) = status.terminating_signal() {
        let no_core = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let _ = rustix::process::setrlimit(Resource::Core, no_core);
        if let Some(signal) = Signal::from_named_raw(signal) {
            // Twice: Rust's own handler takes the first SIGSEGV or SIGBUS, finds no overflown
            // stack, and steps aside for the next.
            for _ in 0..2 {
                let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
            }
        }
        return 128 + signal;
    }
    status.exit_status().unwrap_or(NOT_STARTED)
}

fn pid_of(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// The guard's only words, on the stream that the owner attaches to its error.
fn complain(text: &str) {
    use std::io::Write;
    let _ = io::stderr().write_all(format!("{NAME}: {text}").as_bytes());
}

/// What an exit status of a guard says about its program.
pub(crate) fn was_not_started(status: std::process::ExitStatus) -> bool {
    status.signal().is_none() && status.code() == Some(NOT_STARTED)
}
