//! The one door through which pillion starts processes.
//!
//! # Theory of operation
//!
//! Every child is started by a [`Launch`]. It runs in a process group of its own,
//! with variables that were chosen for it ([`environment`]), and its
//! owner is a [`Running`] handle: dropping the handle kills the child *and all its
//! descendants*.
//!
//! That last promise has to hold when pillion itself is killed with SIGKILL, and for
//! grandchildren that moved to another session. No parent can promise that alone, so
//! a child is started under a **guard**: this same executable, started again
//! as `pillion-guard PROGRAM ARGS...` ([`guard`]). On Linux the guard is a child subreaper,
//! so nothing below it can escape by forking twice; on macOS, which has none, it hears of
//! every fork below it and remembers whom it saw (`sys`). It holds the read end of a *life
//! pipe* whose write end only the owner has. When the pipe closes, for whatever
//! reason, the guard kills everything below it and exits.
//!
//! A child has its standard streams and the descriptors that its [`Launch`] names, and no
//! other: neither ours nor those that whoever started us left open. A daemon, which outlives
//! its starter, begins by closing those ([`disown_descriptors`]).
//!
//! A host that embeds pillion calls [`guard::init`] first in `main`. One that does not
//! still gets process groups, and a kill takes everything below the child along; but what
//! a child left in another session when it ended by itself stays, and a SIGKILL of that
//! host is only noticed by children that watch their own input.

pub mod environment;
pub mod guard;
mod launch;
mod output;
pub mod peer;
pub mod private_folder;
mod random;
mod read_only;
mod running;
mod secret;
pub mod stamp;
pub mod stat;
mod sys;
mod tree;
pub mod watch;

pub use launch::{Detached, Launch, LaunchError, StreamTarget};
pub use output::ProgramOutput;
pub use random::fill_random;
pub use running::{Exit, Running};
pub use secret::Secret;
pub use sys::{
    HANDLE, Pipe, adopt, descriptor_path, device, effective_uid, is_open_for_writing,
    used_by_children,
};
pub use tree::{descendants, first_child};

/// Close every descriptor but the standard streams. For a program that outlives whoever
/// started it, first of all in `main`: a lock that was left open to it would be held, and a
/// pipe kept from ending, for as long as it runs.
pub fn disown_descriptors() {
    sys::close_all();
}
