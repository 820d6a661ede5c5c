//! What differs between systems, and the only unsafe code of this crate: what must happen
//! between fork and exec, and questions to the kernel that no safe crate asks.
//!
//! What every Unix has is here. `linux` and `macos` answer the same questions, each in its
//! own way: what the rest of the crate asks for is there on both.

#![expect(
    unsafe_code,
    reason = "std offers no safe way to run code between fork and exec, and nobody one to ask for a lease"
)]

mod identity;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(any(target_os = "macos", test))]
mod offspring;
#[cfg(any(target_os = "macos", test))]
mod procargs;
#[cfg(target_os = "linux")]
mod subreaper;
mod table;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("pillion starts processes on Linux and macOS only: see docs/guides/platforms.md");

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::setsid;

pub use platform::{HANDLE, descriptor_path, device, is_open_for_writing};
pub(crate) use platform::{
    boot_id, environment_of, facts, folder_of, open_descriptors, parts_of_seconds, pids, program,
    resident_bytes, session,
};

pub use identity::Identity;
#[cfg(target_os = "macos")]
pub(crate) use platform::Offspring;
#[cfg(target_os = "linux")]
pub(crate) use subreaper::Offspring;
pub use table::descendants;
pub(crate) use table::{as_pid, parents, signal};

/// What the system says about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    /// It has ended, and nobody has asked yet how.
    pub(crate) is_zombie: bool,
    pub(crate) parent: u32,
    /// When it started, in whatever the system counts.
    pub(crate) start: u64,
}

/// A pipe whose ends are closed on exec.
#[derive(Debug)]
pub struct Pipe {
    /// The end to read from.
    pub read: OwnedFd,
    /// The end to write to.
    pub write: OwnedFd,
}

impl Pipe {
    /// A new pipe.
    pub fn new() -> io::Result<Self> {
        let (read, write) = platform::pipe()?;
        Ok(Self { read, write })
    }
}

/// The user this process acts as.
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The first descriptor after the standard streams.
const FIRST: RawFd = 3;
/// As far as is looked where the kernel knows no ranges of descriptors.
const MOST: RawFd = 65_536;

/// Let the child have its standard streams and `fds`, under the same numbers, and nothing
/// else: what whoever started us left open is not the child's either.
pub(crate) fn inherit(command: &mut Command, fds: Vec<OwnedFd>) {
    // SAFETY: the closure makes system calls only; it neither allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            close_on_exec()?;
            for fd in &fds {
                fcntl_setfd(fd.as_fd(), FdFlags::empty())?;
            }
            Ok(())
        });
    }
}

/// Mark everything behind the standard streams as not to survive an exec. Async-signal-safe.
fn close_on_exec() -> io::Result<()> {
    if platform::close_range_on_exec(FIRST)? {
        return Ok(());
    }
    for fd in FIRST..last_descriptor() {
        use std::os::fd::BorrowedFd;
        // SAFETY: fcntl fails cleanly on a number that is not open.
        let _ = fcntl_setfd(unsafe { BorrowedFd::borrow_raw(fd) }, FdFlags::CLOEXEC);
    }
    Ok(())
}

/// Close everything behind the standard streams. Only to be called first in a program, when
/// nothing in it has opened anything yet: what is open then, somebody else left open.
pub(crate) fn close_all() {
    if platform::close_range(FIRST) {
        return;
    }
    for fd in FIRST..last_descriptor() {
        // SAFETY: nobody in this process has a descriptor yet, so none is pulled from under
        // its owner; close fails cleanly on a number that is not open.
        unsafe { libc::close(fd) };
    }
}

fn last_descriptor() -> RawFd {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(MOST, |limit| {
        RawFd::try_from(limit).map_or(MOST, |limit| limit.min(MOST))
    })
}

/// Kill the child when the thread that starts it dies, where the system offers that.
pub(crate) fn die_with_parent(command: &mut Command) {
    // SAFETY: what it calls is async-signal-safe, and neither allocates nor locks.
    unsafe {
        command.pre_exec(platform::die_with_parent);
    }
}

/// Put the child into a session of its own, away from the terminal.
pub(crate) fn new_session(command: &mut Command) {
    // SAFETY: setsid is async-signal-safe, and the closure neither allocates nor locks.
    unsafe {
        command.pre_exec(|| {
            setsid()?;
            Ok(())
        });
    }
}

/// How much the children that ended have used: processor time in milliseconds, and the most
/// memory of one of them in bytes.
pub fn used_by_children() -> (f64, u64) {
    // SAFETY: zero is a valid `rusage`, and it is filled in.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the length of the call.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) } != 0 {
        return (0.0, 0);
    }
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a run fit")]
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    let peak = u64::try_from(usage.ru_maxrss).unwrap_or(0) * platform::PEAK_UNIT;
    (ms(usage.ru_utime) + ms(usage.ru_stime), peak)
}

/// Adopt a descriptor that the parent left open for us, named by number. Only for a number
/// that the parent has told, and once.
pub fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    use std::os::fd::{BorrowedFd, FromRawFd};
    // SAFETY: only used to ask whether the number is open; fcntl fails cleanly if not.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    fcntl_setfd(borrowed, FdFlags::CLOEXEC)?;
    debug_assert_eq!(borrowed.as_raw_fd(), fd);
    // SAFETY: the guard protocol hands this descriptor over, and nobody else here knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether a descriptor of this process survives an exec.
pub(crate) fn is_inheritable(fd: RawFd) -> bool {
    use std::os::fd::BorrowedFd;
    // SAFETY: only asked about; fcntl fails cleanly on a number that is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    rustix::io::fcntl_getfd(borrowed).is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC))
}
