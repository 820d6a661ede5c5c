//! What macOS has instead of `/proc`, subreapers and death signals: `libproc`, `sysctl` and
//! `kqueue`. Checked and linked by `cargo xtask cross`; not run by us.

use std::ffi::{CStr, OsString};
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
use rustix::fs::{OFlags, Stat};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Pid;

use super::offspring::{Family, Row};
use super::{Facts, Identity, procargs};

/// Bytes in a unit of a process's peak of memory.
pub(super) const PEAK_UNIT: u64 = 1;

/// The flag comes a moment later, which a child started in between would see.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe()?;
    fcntl_setfd(&read, FdFlags::CLOEXEC)?;
    fcntl_setfd(&write, FdFlags::CLOEXEC)?;
    Ok((read, write))
}

/// This executable, by its path: a file that replaced it meanwhile is taken for it.
pub(crate) fn program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// To have hold of a file or folder: there is no way here without the right to read it.
pub const HANDLE: OFlags = OFlags::RDONLY;

/// Where the file behind a descriptor can be opened again, whatever has its name by then. Who
/// opens it shares its position.
pub fn descriptor_path(fd: &impl AsRawFd) -> PathBuf {
    format!("/dev/fd/{}", fd.as_raw_fd()).into()
}

/// The descriptors of this process.
pub(crate) fn open_descriptors() -> Vec<RawFd> {
    let entries = fs::read_dir("/dev/fd").into_iter().flatten();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// There are no ranges of descriptors here: they are gone through one by one.
pub(super) fn close_range_on_exec(_first: RawFd) -> io::Result<bool> {
    Ok(false)
}

/// See [`close_range_on_exec`].
pub(super) fn close_range(_first: RawFd) -> bool {
    false
}

/// No signal tells of a parent's death here: the guard's pipe does.
pub(super) fn die_with_parent() -> io::Result<()> {
    Ok(())
}

/// Everything below a guard, followed from the first child on: the kernel says when one of
/// them forks, and the table of processes then says whom.
#[derive(Debug, Default)]
pub(crate) struct Offspring(Arc<Mutex<Family>>);

impl Offspring {
    /// Orphans cannot be taken in here; [`Offspring::follow`] keeps sight of them.
    pub(crate) fn adopt() -> Self {
        Self::default()
    }

    /// This child has been started, and leads a process group.
    pub(crate) fn follow(&self, child: u32) {
        *lock(&self.0) = Family::of(child);
        let family = Arc::clone(&self.0);
        // Without the thread all are looked for when they are to be killed.
        let _ = std::thread::Builder::new()
            .name("offspring".into())
            .spawn(move || keep_sight(&family));
    }

    /// SIGKILL to all; says how many there were.
    pub(crate) fn kill(&self) -> usize {
        let mut family = lock(&self.0);
        family.compare(&table());
        let members = family.members();
        members
            .filter(|(pid, start)| {
                let (pid, start) = (*pid, *start);
                Identity { pid, start }.kill()
            })
            .count()
    }
}

fn lock(family: &Mutex<Family>) -> MutexGuard<'_, Family> {
    family.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Look at the table whenever one of the family forks or ends.
fn keep_sight(family: &Mutex<Family>) {
    let Ok(queue) = kqueue() else {
        return;
    };
    loop {
        // Who is new is watched before the table is read again, so that no fork is missed.
        loop {
            let new = lock(family).compare(&table());
            if new.is_empty() {
                break;
            }
            for pid in new {
                watch(&queue, pid);
            }
        }
        let mut heard = Vec::with_capacity(16);
        // SAFETY: no descriptor is named by these events.
        let waited = unsafe {
            let room = rustix::buffer::spare_capacity(&mut heard);
            kevent(&queue, &[], room, None)
        };
        match waited {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Hear when this process forks or ends. One that is gone is no error: the table says so.
fn watch(queue: &OwnedFd, pid: u32) {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    let filter = EventFilter::Proc {
        pid,
        flags: ProcessEvents::FORK | ProcessEvents::EXIT,
    };
    let event = Event::new(
        filter,
        EventFlags::ADD | EventFlags::CLEAR,
        std::ptr::null_mut(),
    );
    let mut none: [MaybeUninit<Event>; 0] = [];
    // SAFETY: the event names a process and no descriptor.
    let _ = unsafe { kevent(queue, &[event], &mut none, Some(std::time::Duration::ZERO)) };
}

/// The table of processes, without zombies: they neither fork nor can be killed.
fn table() -> Vec<Row> {
    let rows = pids().into_iter().filter_map(|pid| {
        let info = info(pid)?;
        (info.pbi_status != libc::SZOMB).then_some(Row {
            pid,
            parent: info.pbi_ppid,
            group: info.pbi_pgid,
            start: start(&info),
        })
    });
    rows.collect()
}

/// All processes of the machine.
pub(crate) fn pids() -> Vec<u32> {
    // Some may come between the two questions.
    const MORE: usize = 64;
    // SAFETY: without a buffer only their number is asked for.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let mut pids = vec![0_i32; usize::try_from(count).unwrap_or(0) + MORE];
    let bytes = i32::try_from(size_of_val(pids.as_slice())).unwrap_or(0);
    // SAFETY: the buffer is as long as is said.
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
    pids.truncate(usize::try_from(count).unwrap_or(0));
    let named = pids.into_iter().filter_map(|pid| u32::try_from(pid).ok());
    named.filter(|pid| *pid > 0).collect()
}

/// What the system says about a process.
pub(crate) fn facts(pid: u32) -> Option<Facts> {
    let info = info(pid)?;
    Some(Facts {
        is_zombie: info.pbi_status == libc::SZOMB,
        parent: info.pbi_ppid,
        start: start(&info),
    })
}

/// The session of a process.
pub(crate) fn session(pid: u32) -> Option<u32> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let session = rustix::process::getsid(Some(pid)).ok()?;
    u32::try_from(session.as_raw_nonzero().get()).ok()
}

/// Resident memory of a process in bytes.
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let info: libc::proc_taskinfo = ask(pid, libc::PROC_PIDTASKINFO)?;
    Some(info.pti_resident_size)
}

/// The variables that a process was started with, each ended by a zero byte.
pub(crate) fn environment_of(pid: u32) -> io::Result<Vec<u8>> {
    let pid = i32::try_from(pid).map_err(|_| io::ErrorKind::NotFound)?;
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut said = vec![0_u8; usize::try_from(most_arguments()?).unwrap_or(0)];
    let mut length = said.len();
    // SAFETY: name and buffer are as long as is said, and nothing is set.
    let done = unsafe {
        libc::sysctl(
            name.as_mut_ptr(),
            3,
            said.as_mut_ptr().cast(),
            &raw mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    said.truncate(length);
    let variables = procargs::environment(&said);
    let variables = variables.ok_or(io::ErrorKind::InvalidData)?;
    Ok(variables.to_vec())
}

/// What arguments and variables of a process take at most.
fn most_arguments() -> io::Result<i32> {
    let mut most: libc::c_int = 0;
    let bytes = by_name(c"kern.argmax", (&raw mut most).cast(), size_of_val(&most))?;
    match bytes == size_of_val(&most) {
        true => Ok(most),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The folder that a process is in.
pub(crate) fn folder_of(pid: u32) -> io::Result<PathBuf> {
    let info: Option<libc::proc_vnodepathinfo> = ask(pid, libc::PROC_PIDVNODEPATHINFO);
    let info = info.ok_or_else(io::Error::last_os_error)?;
    let path = info.pvi_cdir.vip_path.as_flattened();
    let bytes = path.iter().map(|byte| byte.cast_unsigned());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    Ok(OsString::from_vec(bytes).into())
}

/// What tells this run of the machine from others.
pub(crate) fn boot_id() -> Option<String> {
    let mut id = [0_u8; 64];
    let length = by_name(c"kern.bootsessionuuid", id.as_mut_ptr().cast(), id.len()).ok()?;
    let id = CStr::from_bytes_until_nul(id.get(..length)?).ok()?;
    Some(id.to_str().ok()?.to_owned())
}

/// The device that a file is on, as std tells it.
pub fn device(stat: &Stat) -> u64 {
    i64::from(stat.st_dev).cast_unsigned()
}

/// Nanoseconds of the last change of a file's contents, and of the file.
pub(crate) fn parts_of_seconds(stat: &Stat) -> (i64, i64) {
    (stat.st_mtime_nsec, stat.st_ctime_nsec)
}

/// Nobody tells here.
pub fn is_open_for_writing(_file: &File) -> Option<bool> {
    None
}

fn info(pid: u32) -> Option<libc::proc_bsdinfo> {
    ask(pid, libc::PROC_PIDTBSDINFO)
}

/// Microseconds since 1970.
fn start(info: &libc::proc_bsdinfo) -> u64 {
    info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec
}

/// Ask `libproc` for what is of type `T` by this flavour. Only for types made of numbers.
fn ask<T>(pid: u32, flavour: libc::c_int) -> Option<T> {
    let pid = i32::try_from(pid).ok()?;
    let size = i32::try_from(size_of::<T>()).ok()?;
    let mut said = MaybeUninit::<T>::zeroed();
    // SAFETY: the buffer is as long as is said.
    let length = unsafe { libc::proc_pidinfo(pid, flavour, 0, said.as_mut_ptr().cast(), size) };
    // SAFETY: all of it was filled in; and zeros are numbers, too.
    (length == size).then(|| unsafe { said.assume_init() })
}

/// What the system says under a name: how many bytes of the buffer it filled.
fn by_name(name: &CStr, buffer: *mut libc::c_void, mut length: usize) -> io::Result<usize> {
    let none = std::ptr::null_mut();
    // SAFETY: callers hand in a buffer of that length, and nothing is set.
    let done = unsafe { libc::sysctlbyname(name.as_ptr(), buffer, &raw mut length, none, 0) };
    match done {
        0 => Ok(length),
        _ => Err(io::Error::last_os_error()),
    }
}
