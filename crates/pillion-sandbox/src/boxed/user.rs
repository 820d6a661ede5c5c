//! Who a confined process is: nobody, in a user namespace of its own.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySets, UnshareFlags};

use crate::syscalls;

/// Who runs code of others where pillion is root. Nobody has this number; where it cannot be
/// had, the last that a small range has.
const RUN_USERS: [u32; 2] = [1_879_048_192, 65_533];
/// Who a program is in its own eyes.
pub(crate) const LANE_ID: u32 = 1000;

/// The user that runs code of others where pillion is root: never root itself. Others run it
/// as themselves, and so does a root that has no other users to give.
pub fn run_user() -> Option<u32> {
    if !geteuid().is_root() {
        return None;
    }
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    run_user_in(&map)
}

/// The first of these users that a map of users has.
fn run_user_in(map: &str) -> Option<u32> {
    let has = |uid: u32| {
        map.lines().any(|line| {
            let mut numbers = line
                .split_whitespace()
                .map(|n| n.parse::<u64>().unwrap_or(0));
            let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
            let (first, count) = (first.unwrap_or(0), count.unwrap_or(0));
            (first..first + count).contains(&u64::from(uid))
        })
    };
    RUN_USERS.into_iter().find(|uid| has(*uid))
}

/// Become that user, for good.
pub(super) fn become_run_user(id: u32) -> io::Result<()> {
    let uid = rustix::process::Uid::from_raw(id);
    let gid = rustix::process::Gid::from_raw(id);
    syscalls::drop_groups()?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

/// Enter a user namespace in which we are `id`, and nobody else is anybody.
pub(super) fn enter_user_namespace(id: u32) -> io::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    // Whoever changed its user is hidden from itself too, and could not write its maps.
    syscalls::set_dumpable(true)?;
    syscalls::unshare(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{id} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{id} {gid} 1"))
}

/// Give up all capabilities, and every way to get one.
pub(super) fn drop_capabilities() -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    for number in 0..=last_capability() {
        let capability = rustix::thread::CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // An ordinary user outside of a namespace has none to lose, and gets none.
            Ok(()) | Err(rustix::io::Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let none = rustix::thread::CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    rustix::thread::set_capabilities(None, sets)?;
    Ok(())
}

fn last_capability() -> u32 {
    let text = fs::read_to_string("/proc/sys/kernel/cap_last_cap");
    text.ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_user_is_one_that_the_map_has() {
        let [usual, small] = RUN_USERS;
        for (map, expected) in [
            ("         0          0 4294967295\n", Some(usual)),
            ("0 0 65536", Some(small)),
            ("0 1000 1\n1 100000 65536\n", Some(small)),
            ("65533 7 1", Some(small)),
            // The end of a range is not in it.
            ("0 0 65533", None),
            ("0 1000 1", None),
            ("no map", None),
            ("", None),
        ] {
            assert_eq!(run_user_in(map), expected, "{map:?}");
        }
    }

    #[test]
    fn only_root_has_a_run_user_and_that_is_never_root() {
        match run_user() {
            None => {}
            Some(id) => assert!(geteuid().is_root() && id != 0),
        }
        if !geteuid().is_root() {
            assert_eq!(run_user(), None);
        }
        assert!(!RUN_USERS.contains(&0) && !RUN_USERS.contains(&LANE_ID));
    }
}
