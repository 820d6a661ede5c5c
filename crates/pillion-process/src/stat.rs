//! Facts about running processes: who they are, and what they use.
//!
//! A pid alone is never an identity, since the system uses it again: [`Identity`] pairs
//! it with the start time.

use crate::sys;

pub use crate::sys::Identity;

/// Whether some process has this pid now, a zombie too.
pub fn exists(pid: u32) -> bool {
    i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Resident memory of a process in bytes.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    sys::resident_bytes(pid)
}

/// Resident memory of a process and of everything below it, in bytes. Pages that several
/// of them share count for each.
pub fn resident_bytes_of_tree(pid: u32) -> u64 {
    let below = sys::descendants(pid);
    let all = std::iter::once(pid).chain(below);
    all.filter_map(resident_bytes).sum()
}

/// Whether a process runs in the session that `leader` leads.
pub fn is_in_session_of(pid: u32, leader: u32) -> bool {
    sys::session(pid) == Some(leader)
}

/// What tells this run of the machine from others, where the system says it.
pub fn boot_id() -> Option<String> {
    sys::boot_id()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_has_memory() {
        let me = Identity::of(std::process::id()).unwrap();
        assert!(me.is_alive());
        assert!(exists(me.pid) && !exists(u32::MAX));
        assert!(resident_bytes(me.pid).unwrap() > 100_000);
        assert!(resident_bytes_of_tree(me.pid) > 100_000);
        let twin = Identity {
            start: me.start + 1,
            ..me
        };
        assert!(
            !twin.is_alive(),
            "the same pid with another start is another process"
        );
    }

    #[test]
    fn a_new_session_is_led_by_the_process_that_opened_it() {
        #[expect(
            clippy::disallowed_methods,
            reason = "the test is about processes themselves"
        )]
        let mut child = std::process::Command::new("setsid")
            .args(["sleep", "60"])
            .spawn()
            .unwrap();
        while !is_in_session_of(child.id(), child.id()) {
            std::thread::yield_now();
        }
        assert!(!is_in_session_of(std::process::id(), child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
