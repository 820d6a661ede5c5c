//! The only unsafe code of this crate: what must happen between fork and exec, and the one
//! question about files that no safe crate asks.

#![expect(
    unsafe_code,
    reason = "std offers no safe way to run code between fork and exec, and nobody one to ask for a lease"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::setsid;
#[cfg(target_os = "linux")]
use rustix::process::{Signal, set_parent_process_death_signal};

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
        #[cfg(target_os = "linux")]
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // Elsewhere the flag comes a moment later, which a child started in between would see.
        #[cfg(not(target_os = "linux"))]
        let (read, write) = {
            let (read, write) = rustix::pipe::pipe()?;
            fcntl_setfd(&read, FdFlags::CLOEXEC)?;
            fcntl_setfd(&write, FdFlags::CLOEXEC)?;
            (read, write)
        };
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
    #[cfg(target_os = "linux")]
    match close_range(libc::CLOSE_RANGE_CLOEXEC) {
        // From Linux 5.11 on.
        Err(error) if is_unknown(&error) => {}
        other => return other,
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
    #[cfg(target_os = "linux")]
    if close_range(0).is_ok() {
        return;
    }
    for fd in FIRST..last_descriptor() {
        // SAFETY: nobody in this process has a descriptor yet, so none is pulled from under
        // its owner; close fails cleanly on a number that is not open.
        unsafe { libc::close(fd) };
    }
}

#[cfg(target_os = "linux")]
fn close_range(flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the call takes numbers only. Its callers see to whose descriptors they are.
    let done = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, flags) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(target_os = "linux")]
fn is_unknown(error: &io::Error) -> bool {
    // A filter of an older container answers EPERM to calls that it does not know.
    matches!(
        error.raw_os_error(),
        Some(libc::ENOSYS | libc::EINVAL | libc::EPERM)
    )
}

fn last_descriptor() -> RawFd {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(MOST, |limit| {
        RawFd::try_from(limit).map_or(MOST, |limit| limit.min(MOST))
    })
}

/// Kill the child when the thread that starts it dies.
pub(crate) fn die_with_parent(command: &mut Command) {
    // SAFETY: prctl is async-signal-safe, and the closure neither allocates nor locks.
    unsafe {
        command.pre_exec(|| {
            #[cfg(target_os = "linux")]
            set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        });
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

/// Adopt a descriptor that the parent left open for us, named by number.
pub(crate) fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
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

/// Which signal the end of a lease is told by; the number is the same on every platform.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Whether anybody has a file open for writing; nothing if the kernel does not tell: the file
/// is another user's, or its file system knows no leases.
///
/// A read lease is given only while no descriptor and no mapping can write to the file. It is
/// given back at once.
#[cfg(target_os = "linux")]
pub fn is_open_for_writing(file: &std::fs::File) -> Option<bool> {
    let fd = file.as_raw_fd();
    // Somebody who opens it just now would have a signal sent to this process; the usual one
    // ends it, this one is ignored unless it is asked for.
    // SAFETY: the descriptor is open, and these commands take an integer.
    let asked = unsafe {
        libc::fcntl(fd, F_SETSIG, libc::SIGURG);
        libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK)
    };
    if asked == 0 {
        // SAFETY: as above.
        unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) };
        return Some(false);
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Some(true),
        _ => None,
    }
}

/// Elsewhere nobody tells.
#[cfg(not(target_os = "linux"))]
pub fn is_open_for_writing(_file: &std::fs::File) -> Option<bool> {
    None
}
