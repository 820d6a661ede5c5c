//! Standard input and output as streams.
//!
//! tokio reads them on a thread of their own, which costs a hand-over for every message.
//! Hosts mostly give their children pipes, and those can be waited for like sockets.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

type Input = Box<dyn AsyncRead + Unpin + Send>;
type Output = Box<dyn AsyncWrite + Unpin + Send>;

/// The fastest streams that these descriptors allow.
pub(crate) fn standard() -> (Input, Output) {
    let input: Input = match pipe_of(io::stdin().as_fd()).and_then(pipe::Receiver::from_file) {
        Ok(pipe) => Box::new(pipe),
        Err(_) => Box::new(tokio::io::stdin()),
    };
    let output: Output = match pipe_of(io::stdout().as_fd()).and_then(pipe::Sender::from_file) {
        Ok(pipe) => Box::new(pipe),
        Err(_) => Box::new(tokio::io::stdout()),
    };
    (input, output)
}

/// A descriptor of our own for a pipe; anything else is refused by the caller's conversion.
fn pipe_of(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<File> {
    let owned: OwnedFd = fd.try_clone_to_owned()?;
    Ok(owned.into())
}

/// Whether nobody reads standard output any more, as far as the system knows.
pub(crate) fn unread() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty())];
    let asked = poll(&mut polled, Some(&Timespec::default()));
    let closed = PollFlags::ERR | PollFlags::HUP;
    asked.is_ok() && polled[0].revents().intersects(closed)
}
