//! What differs between systems: handles of processes, and of folders that are closed.

#[cfg(target_os = "linux")]
mod platform {
    use std::ffi::CStr;
    use std::io;
    use std::os::fd::{BorrowedFd, OwnedFd};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::{Mode, OFlags, chmod, openat};
    use rustix::process::{Signal, pidfd_send_signal};

    /// SIGKILL to the process behind a handle.
    pub(crate) fn kill(pidfd: &OwnedFd) {
        let _ = pidfd_send_signal(pidfd, Signal::KILL);
    }

    /// Whether the process behind a handle still runs.
    pub(crate) fn is_alive(pidfd: &OwnedFd) -> bool {
        let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
        let now = rustix::time::Timespec::default();
        matches!(poll(&mut fds, Some(&now)), Ok(0))
    }

    /// Let the owner of a folder into it.
    pub(crate) fn let_in(at: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(at, name, flags, Mode::empty())?;
        // What was opened, whatever has that name by now.
        chmod(pillion_process::descriptor_path(&folder), Mode::RWXU)?;
        Ok(())
    }
}

/// Checked and linked by `cargo xtask cross`; not run by us.
#[cfg(target_os = "macos")]
mod platform {
    use std::ffi::CStr;
    use std::io;
    use std::os::fd::{BorrowedFd, OwnedFd};

    use rustix::fs::{AtFlags, Mode, chmodat};

    /// Only zygotes hand out such handles, and there are none here.
    pub(crate) fn kill(_pidfd: &OwnedFd) {}

    /// See [`kill`].
    pub(crate) fn is_alive(_pidfd: &OwnedFd) -> bool {
        false
    }

    /// Let the owner of a folder into it; a link stays as it is.
    pub(crate) fn let_in(at: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        chmodat(at, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(())
    }
}

pub(crate) use platform::{is_alive, kill, let_in};
