//! Whose a job is: one life of a store in one process.
//!
//! The process is named by pid, start time and boot, since each of them alone comes again.
//! A process may open a store several times, one after the other or at once, so that a
//! number tells its lives apart. Processes of another pid namespace cannot be seen: a store
//! must not be shared between containers.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pillion_process::stat::{self, Identity};

/// The lives of this process: the next number, and those that have not ended.
static LIVES: Mutex<(u64, BTreeSet<u64>)> = Mutex::new((0, BTreeSet::new()));

/// One life, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Life {
    number: u64,
    pub(crate) name: String,
}

impl Life {
    pub(crate) fn begin() -> Self {
        let mut lives = LIVES.lock().unwrap_or_else(PoisonError::into_inner);
        lives.0 += 1;
        let number = lives.0;
        lives.1.insert(number);
        let pid = std::process::id();
        let start = Identity::of(pid).map_or(0, |identity| identity.start);
        let name = format!("{pid}.{start}.{}.{number}", boot());
        Self { number, name }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let mut lives = LIVES.lock().unwrap_or_else(PoisonError::into_inner);
        lives.1.remove(&self.number);
    }
}

/// Whether the life with this name goes on. A name that nobody could have is of the dead.
pub fn is_alive(owner: &str) -> bool {
    let mut parts = owner.split('.');
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (Some(pid), Some(start)) = (number(), number()) else {
        return false;
    };
    let Ok(pid) = u32::try_from(pid) else {
        return false;
    };
    if parts.next() != Some(boot().as_str()) || !runs(pid, start) {
        return false;
    }
    let Some(number) = parts.next().and_then(|number| number.parse().ok()) else {
        return false;
    };
    let lives = LIVES.lock().unwrap_or_else(PoisonError::into_inner);
    pid != std::process::id() || lives.1.contains(&number)
}

/// Whether that process runs. Where the system does not say when a process started, one
/// with that pid is taken for it: to wait is better than to lose what is running.
fn runs(pid: u32, start: u64) -> bool {
    if start > 0 {
        return Identity { pid, start }.is_alive();
    }
    stat::exists(pid)
}

/// What tells this boot of the machine from others, where the system says it.
fn boot() -> String {
    let id = stat::boot_id().unwrap_or_default();
    id.replace('-', "").chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_goes_on_until_it_is_dropped() {
        let one = Life::begin();
        let other = Life::begin();
        let name = one.name.clone();
        assert!(is_alive(&name), "{name}");
        drop(one);
        assert!(!is_alive(&name));
        assert!(is_alive(&other.name));
    }

    #[test]
    fn another_start_boot_or_number_is_another_life() {
        let life = Life::begin();
        let parts: Vec<&str> = life.name.split('.').collect();
        let with = |place: usize, part: &str| {
            let mut parts = parts.clone();
            parts[place] = part;
            parts.join(".")
        };
        assert!(!is_alive(&with(1, "1")));
        assert!(!is_alive(&with(2, "0123456789abcdef")));
        assert!(!is_alive(&with(3, "999999")));
    }

    #[test]
    fn nonsense_is_dead() {
        for name in [
            "",
            "x",
            "1",
            "1.2",
            "-1.2.3.4",
            "99999999999.1..1",
            "1.x.y.z",
        ] {
            assert!(!is_alive(name), "{name}");
        }
    }

    #[test]
    fn a_process_without_a_known_start_is_known_by_its_pid() {
        assert!(runs(std::process::id(), 0));
        assert!(!runs(u32::MAX, 0));
    }
}
