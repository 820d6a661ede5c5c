//! Confining processes: one policy, and the walls that keep it.
//!
//! # Theory of operation
//!
//! A [`Policy`] says in one place what a program may see, write, reach and use up. On Linux
//! a program is started by a **box**: this same executable, started again as `pillion-box`
//! ([`init`]). The box makes a user and a pid namespace and forks an **init**, the first
//! process in there. Init makes a file system in which only the policy's view exists, forks
//! the program behind all walls (no capabilities, no way to get any, Landlock, a filter of
//! system calls, limits), watches what it uses, and reports how it ended.
//!
//! Who kills what: the owner holds the life pipe; when it closes, the box kills init; when
//! init is gone, the kernel kills everything in its namespace. Nothing in there can get out
//! of the namespace, so nothing survives, whoever is killed first.
//!
//! Where namespaces are forbidden ([`Level::L2`]), the box itself watches and kills what is
//! below it, and Landlock and the filter stand alone. On macOS the wall is a profile of
//! Seatbelt, made from the same policy (`seatbelt`), and a guard stands for the namespace. What
//! then is guaranteed by what is an [`Enforcement`], made by trying it ([`probe`]).

#[cfg(target_os = "linux")]
mod boxed;
mod confined;
mod level;
pub mod message;
mod outputs;
mod policy;
mod probe;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
mod socket;
mod spec;
mod streams;
mod sys;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod system_paths;
mod walk;
pub mod walls;

use std::sync::atomic::{AtomicBool, Ordering};

pub use confined::{Confine, ConfineError, Confined, Keepalive};
pub use level::{Enforcement, Guarantee, Level, Means};
pub use policy::{Folder, HANDED, Limits, Policy, SHM_BYTES, TMP, TMP_BYTES, WORK};
pub use probe::probe;
pub use spec::{
    BoxRole, Disk, InitMessage, LeftOut, Named, OutputFile, OutputsSpec, Settled, WatchedLimits,
};
pub use sys::run_user;
pub use walk::{Unseen, Walk, WalkEntry};

/// The box's name in process listings.
const NAME: &str = "pillion-box";
/// This executable can serve as a box, because its `main` called [`init`].
static AVAILABLE: AtomicBool = AtomicBool::new(false);

/// Call this in `main` before anything else. In a box it does the box's work and never
/// returns; in any other process it notes that this executable can be used as one.
pub fn init() {
    let mut args = std::env::args();
    if args.next().is_some_and(|name| name == NAME) {
        let mut number = || args.next().and_then(|n| n.parse().ok()).unwrap_or(-1);
        std::process::exit(sys::run_box(number(), number()));
    }
    AVAILABLE.store(true, Ordering::Relaxed);
}

/// Whether this executable can be a box.
fn available() -> bool {
    AVAILABLE.load(Ordering::Relaxed)
}
