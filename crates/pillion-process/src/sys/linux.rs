//! What only Linux has: `/proc`, subreapers, leases, ranges of descriptors.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use rustix::fs::{OFlags, Stat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::Facts;

/// Bytes in a unit of a process's peak of memory.
pub(super) const PEAK_UNIT: u64 = 1024;

/// Both ends are closed on exec.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// This executable, also when its file has been replaced.
pub(crate) fn program() -> io::Result<PathBuf> {
    Ok("/proc/self/exe".into())
}

/// To have hold of a file or folder without reading it.
pub const HANDLE: OFlags = OFlags::PATH;

/// Where the file behind a descriptor can be opened again, whatever has its name by then.
pub fn descriptor_path(fd: &impl AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", fd.as_raw_fd()).into()
}

/// The descriptors of this process.
pub(crate) fn open_descriptors() -> Vec<RawFd> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Mark all descriptors from `first` on as not to survive an exec. Says whether the kernel
/// could; async-signal-safe.
pub(super) fn close_range_on_exec(first: RawFd) -> io::Result<bool> {
    match range(first, libc::CLOSE_RANGE_CLOEXEC) {
        Ok(()) => Ok(true),
        // From Linux 5.11 on.
        Err(error) if is_unknown(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Close all descriptors from `first` on. Says whether the kernel could.
pub(super) fn close_range(first: RawFd) -> bool {
    range(first, 0).is_ok()
}

fn range(first: RawFd, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the call takes numbers only. Its callers see to whose descriptors they are.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn is_unknown(error: &io::Error) -> bool {
    // A filter of an older container answers EPERM to calls that it does not know.
    matches!(
        error.raw_os_error(),
        Some(libc::ENOSYS | libc::EINVAL | libc::EPERM)
    )
}

/// Async-signal-safe.
pub(super) fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// All processes that can be seen.
pub(crate) fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// What `/proc/PID/stat` says.
pub(crate) fn facts(pid: u32) -> Option<Facts> {
    let row = Row::of(pid)?;
    Some(Facts {
        is_zombie: row.state == 'Z',
        parent: row.parent,
        start: row.start,
    })
}

/// The session of a process.
///
/// Not asked of rustix: its `getsid` panics for a session whose leader is outside of this
/// pid namespace, as in a container, for which the kernel says 0.
pub(crate) fn session(pid: u32) -> Option<u32> {
    Some(Row::of(pid)?.session)
}

struct Row {
    state: char,
    parent: u32,
    session: u32,
    start: u64,
}

impl Row {
    /// The command name may hold spaces and parentheses.
    fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_ascii_whitespace();
        Some(Self {
            state: words.next()?.chars().next()?,
            parent: words.next()?.parse().ok()?,
            // Field 6 of the file, behind the process group.
            session: words.nth(1)?.parse().ok()?,
            // Field 22 of the file.
            start: words.nth(15)?.parse().ok()?,
        })
    }
}

/// Resident memory of a process in bytes.
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// The variables that a process was started with, each ended by a zero byte.
pub(crate) fn environment_of(pid: u32) -> io::Result<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ"))
}

/// The folder that a process is in.
pub(crate) fn folder_of(pid: u32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd"))
}

/// What tells this run of the machine from others.
pub(crate) fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// The device that a file is on.
pub fn device(stat: &Stat) -> u64 {
    stat.st_dev
}

/// Nanoseconds of the last change of a file's contents, and of the file.
pub(crate) fn parts_of_seconds(stat: &Stat) -> (i64, i64) {
    let part = |nanos: u64| i64::try_from(nanos).unwrap_or(0);
    (part(stat.st_mtime_nsec), part(stat.st_ctime_nsec))
}

/// Which signal the end of a lease is told by; the number is the same on every platform.
const F_SETSIG: libc::c_int = 10;

/// Whether anybody has a file open for writing; nothing if the kernel does not tell: the file
/// is another user's, or its file system knows no leases.
///
/// A read lease is given only while no descriptor and no mapping can write to the file. It is
/// given back at once.
pub fn is_open_for_writing(file: &File) -> Option<bool> {
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
