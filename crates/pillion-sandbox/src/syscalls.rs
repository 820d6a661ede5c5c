//! The only unsafe code of this crate: what neither std nor rustix offers to a process that
//! forks, and builds walls around itself.

#![expect(
    unsafe_code,
    reason = "std offers no fork, and rustix neither limits by number nor attributes of mounts"
)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use rustix::thread::UnshareFlags;

/// Who one is after [`fork`].
pub(crate) enum Forked {
    Child,
    Parent(i32),
}

/// Fork this process, which must have one thread.
pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: a box starts no thread before its last fork, so the child is a whole copy of it.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

/// Become another program; returns only if that failed.
pub(crate) fn exec(program: &CStr, args: &[CString], env: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        let all = strings.iter().map(|s| s.as_ptr());
        all.chain([std::ptr::null()]).collect()
    };
    let (args, env) = (pointers(args), pointers(env));
    // SAFETY: both lists end with a null pointer, and their strings outlive the call.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// End at once, without what Rust would do at the end.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Leave namespaces behind for new ones.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the flags used here leave memory and descriptors as they are.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(io::Error::from)
}

/// Let processes of this network namespace talk to each other.
pub(crate) fn bring_up_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: all zeros are a valid `ifreq`: a name and numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        // A letter of C has a sign on some machines.
        *to = libc::c_char::from_ne_bytes([from]);
    }
    // SAFETY: the request is a whole `ifreq`, and its flags are what this call reads.
    let done = unsafe {
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Limit this process.
pub(crate) fn set_rlimit(resource: u32, soft: u64, hard: u64) -> io::Result<()> {
    let mut old = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both point to a valid `rlimit` for the length of the call.
    check(unsafe { libc::getrlimit(resource as _, &raw mut old) })?;
    // What is limited more already stays so: nobody may raise it.
    let limit = libc::rlimit {
        rlim_cur: soft.min(old.rlim_max),
        rlim_max: hard.min(old.rlim_max),
    };
    // SAFETY: as above.
    check(unsafe { libc::setrlimit(resource as _, &raw const limit) })
}

/// The version of Landlock in this kernel, 0 if there is none.
pub(crate) fn landlock_version() -> u32 {
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: asking for the version takes no attributes.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    u32::try_from(version).unwrap_or(0)
}

/// Make a mount, with all below it, read-only or otherwise less than it was.
pub(crate) fn restrict_mount(
    mount: BorrowedFd<'_>,
    attributes: u64,
    below: bool,
) -> io::Result<()> {
    let attr = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | if below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: `attr` is valid for the length of the call, and its size is its own.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    };
    check(i32::try_from(done).unwrap_or(-1))
}

/// The current folder becomes the root; the old one is then below it.
pub(crate) fn pivot_root() -> io::Result<()> {
    let here = c".".as_ptr();
    // SAFETY: both are valid paths.
    let done = unsafe { libc::syscall(libc::SYS_pivot_root, here, here) };
    check(i32::try_from(done).unwrap_or(-1))
}

/// Give a process of which only its owner and its init may know secrets back to the reach of
/// those (`true`), or take it out of it.
pub(crate) fn set_dumpable(yes: bool) -> io::Result<()> {
    // SAFETY: this prctl takes a number.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, libc::c_ulong::from(yes)) })
}

/// Forget all groups of the user that started us.
pub(crate) fn drop_groups() -> io::Result<()> {
    // SAFETY: no groups are read where there are none.
    check(unsafe { libc::setgroups(0, std::ptr::null()) })
}

/// Close all descriptors but these, and let these survive an exec; `ours` stays until then.
pub(crate) fn keep_only(kept: &[RawFd], ours: RawFd) -> io::Result<()> {
    for fd in kept {
        // SAFETY: only used to set a flag; fcntl fails cleanly on a number that is not open.
        let borrowed = unsafe { BorrowedFd::borrow_raw(*fd) };
        rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::empty())?;
    }
    let all = kept.iter().chain([&ours]);
    let mut kept: Vec<u32> = all.filter_map(|fd| u32::try_from(*fd).ok()).collect();
    kept.sort_unstable();
    let mut next = 3;
    for fd in kept.iter().copied().filter(|fd| *fd > 2) {
        if fd > next {
            close_range(next, fd - 1)?;
        }
        next = fd + 1;
    }
    close_range(next, u32::MAX)
}

/// A signal to everyone in this pid namespace, of which we are the first process.
pub(crate) fn signal_all_others(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: kill has no preconditions; -1 leaves out the sender and what it must not reach.
    check(unsafe { libc::kill(-1, signal) })
}

fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: whoever owns these descriptors in this process is never used or dropped again.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    check(i32::try_from(done).unwrap_or(-1))
}

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
