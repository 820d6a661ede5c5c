//! What differs between systems: who is the box, and what a socket can be told.

#[cfg(target_os = "linux")]
mod platform {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::net::{RecvFlags, SendFlags};

    use crate::confined::trial;
    use crate::level::{Level, Means};
    use crate::walls;

    pub(crate) use crate::boxed::run as run_box;
    pub use crate::boxed::stranger;

    /// A peer that is gone is an error and no signal.
    pub(crate) const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
    /// No child gets a descriptor that was received.
    pub(crate) const CLOSE_ON_EXEC: RecvFlags = RecvFlags::CMSG_CLOEXEC;

    /// [`CLOSE_ON_EXEC`] has seen to it.
    #[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
    pub(crate) fn close_on_exec(_fds: &[OwnedFd]) -> io::Result<()> {
        Ok(())
    }

    /// Find out what can be enforced, by doing it.
    pub(crate) async fn try_out(means: &mut Means) {
        means.landlock = walls::landlock::version();
        means.namespaces = trial(Level::L3).await;
        means.seccomp = match &means.namespaces {
            Ok(()) => true,
            Err(_) => trial(Level::L2).await.is_ok(),
        };
    }
}

/// Checked and linked by `cargo xtask cross`; not run by us.
#[cfg(target_os = "macos")]
mod platform {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::io::{FdFlags, fcntl_setfd};
    use rustix::net::{RecvFlags, SendFlags};

    use crate::confined::trial;
    use crate::level::{Level, Means};

    pub(crate) use crate::seatbelt::run_box;

    /// Rust ignores the signal: a peer that is gone is an error.
    pub(crate) const NO_SIGNAL: SendFlags = SendFlags::empty();
    /// The flag comes a moment later, which a child started in between would see.
    pub(crate) const CLOSE_ON_EXEC: RecvFlags = RecvFlags::empty();

    pub(crate) fn close_on_exec(fds: &[OwnedFd]) -> io::Result<()> {
        for fd in fds {
            fcntl_setfd(fd, FdFlags::CLOEXEC)?;
        }
        Ok(())
    }

    /// Nobody else can be become behind a profile: code of others has the rights of our user,
    /// as far as the profile leaves them.
    pub fn stranger() -> Option<u32> {
        None
    }

    /// Find out what can be enforced, by doing it.
    pub(crate) async fn try_out(means: &mut Means) {
        means.namespaces = Err("macOS has no namespaces".to_owned());
        means.seatbelt = trial(Level::L2).await.is_ok();
    }
}

pub use platform::stranger;
pub(crate) use platform::{CLOSE_ON_EXEC, NO_SIGNAL, close_on_exec, run_box, try_out};
