//! What a socket can be told, which differs between systems.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{RecvFlags, SendFlags};

/// A peer that is gone is an error and no signal.
#[cfg(target_os = "linux")]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
/// Rust ignores the signal: a peer that is gone is an error.
#[cfg(target_os = "macos")]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::empty();

/// No child gets a descriptor that was received.
#[cfg(target_os = "linux")]
pub(crate) const CLOSE_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;
/// The flag comes a moment later, which a child started in between would see.
#[cfg(target_os = "macos")]
pub(crate) const CLOSE_ON_EXEC: RecvFlags = RecvFlags::empty();

/// [`CLOSE_ON_EXEC`] has seen to it.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
pub(crate) fn close_on_exec(_fds: &[OwnedFd]) -> io::Result<()> {
    Ok(())
}

/// See [`CLOSE_ON_EXEC`].
#[cfg(target_os = "macos")]
pub(crate) fn close_on_exec(fds: &[OwnedFd]) -> io::Result<()> {
    for fd in fds {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok(())
}
