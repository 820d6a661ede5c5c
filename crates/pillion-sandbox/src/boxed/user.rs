//! Who a confined process is: nobody, in a user namespace of its own.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySets, UnshareFlags};

use super::sys;

/// Who runs code of others where pillion is root. Nobody has this number; where it cannot be
/// had, the last that a small range has.
const STRANGERS: [u32; 2] = [1_879_048_192, 65_533];
/// Who a program is in its own eyes.
pub(crate) const LANE_ID: u32 = 1000;

/// The user that runs code of others where pillion is root: never root itself. Others run it
/// as themselves, and so does a root that has no other users to give.
pub fn stranger() -> Option<u32> {
    if !geteuid().is_root() {
        return None;
    }
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    stranger_in(&map)
}

/// The first stranger that a map of users has.
fn stranger_in(map: &str) -> Option<u32> {
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
    STRANGERS.into_iter().find(|uid| has(*uid))
}

/// Become that user, for good.
pub(super) fn become_stranger(id: u32) -> io::Result<()> {
    let uid = rustix::process::Uid::from_raw(id);
    let gid = rustix::process::Gid::from_raw(id);
    sys::drop_groups()?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

/// Enter a user namespace in which we are `id`, and nobody else is anybody.
pub(super) fn enter_user_namespace(id: u32) -> io::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    // Whoever changed its user is hidden from itself too, and could not write its maps.
    sys::set_dumpable(true)?;
    sys::unshare(UnshareFlags::NEWUSER)?;
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
