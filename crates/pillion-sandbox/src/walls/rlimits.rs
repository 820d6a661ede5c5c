//! Resource limits of one process.

use std::io;

use crate::policy::Limits;
use crate::syscalls;

/// Processes above the limit that are still possible: the watcher sees them and ends the run.
const SLACK: u64 = 16;
/// What a process may have pinned in memory.
const LOCKED: u64 = 64 << 10;
/// Addresses that may be reserved without being used. More only makes for page tables that
/// take memory, and time of whoever looks at them.
const RESERVED: u64 = 64 << 30;
/// What a stack has unless its program asks for more. It is in the account of no other limit.
const STACK: u64 = 8 << 20;
/// What the interpreter itself needs, besides what the program was given.
const INTERPRETER: u64 = 32 << 20;

/// A limit of this process: which, and how much.
pub type Rlimit = (Number, u64, u64);
/// The number of a limit. C libraries agree about the numbers, not about their type.
pub type Number = u32;
/// The limit of processes and threads.
pub(crate) const PROCESSES: Number = libc::RLIMIT_NPROC as Number;

/// The limits as numbers: resource, soft, hard.
pub fn numbers(limits: &Limits) -> Vec<Rlimit> {
    let set = [
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_DATA, limits.memory.saturating_add(INTERPRETER)),
        (libc::RLIMIT_AS, limits.memory.saturating_add(RESERVED)),
        (libc::RLIMIT_NPROC, u64::from(limits.processes) + SLACK),
        (libc::RLIMIT_NOFILE, limits.open_files),
        (libc::RLIMIT_FSIZE, limits.disk),
        (libc::RLIMIT_CPU, limits.cpu_s),
        (libc::RLIMIT_MEMLOCK, LOCKED),
        (libc::RLIMIT_MSGQUEUE, 0),
        (libc::RLIMIT_SIGPENDING, 1024),
        (libc::RLIMIT_RTPRIO, 0),
        (libc::RLIMIT_NICE, 0),
    ];
    let stack = (
        libc::RLIMIT_STACK as Number,
        STACK.min(limits.memory),
        limits.memory,
    );
    set.into_iter()
        .map(|(resource, most)| (resource as Number, most, most))
        .chain([stack])
        .collect()
}

/// Put them around this process, and around what it will start.
pub(crate) fn apply(limits: &[Rlimit]) -> io::Result<()> {
    for &(resource, soft, hard) in limits {
        syscalls::set_rlimit(resource, soft, hard)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_soft_and_hard_and_a_stack_may_grow_to_its_memory() {
        let limits = Limits {
            memory: 512 << 20,
            ..Limits::default()
        };
        let numbers = numbers(&limits);
        let of = |resource: u32| {
            let found = numbers.iter().find(|(name, ..)| *name == resource);
            found.map(|(_, soft, hard)| (*soft, *hard))
        };
        assert_eq!(of(libc::RLIMIT_CORE), Some((0, 0)), "nothing is dumped");
        assert_eq!(of(libc::RLIMIT_STACK), Some((STACK, 512 << 20)));
        for (resource, soft, hard) in &numbers {
            assert!(soft <= hard, "{resource}");
        }
        let (data, _) = of(libc::RLIMIT_DATA).unwrap();
        assert_eq!(data, (512 << 20) + INTERPRETER);
        // Of all the memory there is, nothing overflows.
        let all = super::numbers(&Limits {
            memory: u64::MAX,
            ..Limits::default()
        });
        assert!(all.iter().any(|(_, soft, _)| *soft == u64::MAX));
    }
}
