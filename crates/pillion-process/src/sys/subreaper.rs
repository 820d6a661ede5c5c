//! How a guard on Linux finds what it has to end: the kernel makes orphans its children.

use rustix::process::Signal;

use super::table::{descendants, signal};

/// Everything below a guard: the kernel makes orphans its children.
#[derive(Debug)]
pub(crate) struct Offspring;

impl Offspring {
    /// Take in what will be started below this process.
    pub(crate) fn adopt() -> Self {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Self
    }

    /// This child has been started. The kernel needs no telling.
    #[expect(clippy::unused_self, reason = "other systems must follow it")]
    pub(crate) fn follow(&self, _child: u32) {}

    /// SIGKILL to all; says how many there were.
    #[expect(
        clippy::unused_self,
        reason = "other systems know by heart who that is"
    )]
    pub(crate) fn kill(&self) -> usize {
        let all = descendants(std::process::id());
        for pid in &all {
            signal(*pid, Signal::KILL);
        }
        all.len()
    }
}
