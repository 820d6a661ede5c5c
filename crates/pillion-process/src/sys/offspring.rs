//! Who descends from a process, on a system that gives orphans to its first process: it is
//! remembered who was seen below it, for later nobody can tell.
//!
//! A process belongs to the family if its parent does, or if it is in a process group that
//! one of the family leads or led. Only who forks twice, opens a session of its own and ends
//! in between, all before the table of processes is read once, gets away.

use std::collections::{BTreeMap, BTreeSet};

/// A row of the table of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) start: u64,
}

/// The family of one process.
#[derive(Debug, Default)]
pub(super) struct Family {
    /// When each of them started: a pid alone is no identity.
    members: BTreeMap<u32, u64>,
    groups: BTreeSet<u32>,
}

impl Family {
    /// The family of a process that leads a process group.
    pub(super) fn of(leader: u32) -> Self {
        Self {
            members: BTreeMap::new(),
            groups: BTreeSet::from([leader]),
        }
    }

    /// Compare with the table: who is new in the family is given back, who ended is forgotten,
    /// and so is a group that nobody is in any more, for its number will be used again.
    pub(super) fn compare(&mut self, table: &[Row]) -> Vec<u32> {
        let is_there =
            |pid: &u32, start: &u64| table.iter().any(|r| r.pid == *pid && r.start == *start);
        self.members.retain(|pid, start| is_there(pid, start));
        self.groups
            .retain(|group| table.iter().any(|row| row.group == *group));
        let mut new = Vec::new();
        loop {
            let found: Vec<&Row> = table.iter().filter(|row| self.is_new(row)).collect();
            if found.is_empty() {
                return new;
            }
            for row in found {
                self.members.insert(row.pid, row.start);
                if row.group == row.pid {
                    self.groups.insert(row.group);
                }
                new.push(row.pid);
            }
        }
    }

    /// All that are there.
    pub(super) fn members(&self) -> impl Iterator<Item = (u32, u64)> {
        self.members.iter().map(|(pid, start)| (*pid, *start))
    }

    fn is_new(&self, row: &Row) -> bool {
        !self.members.contains_key(&row.pid)
            && (self.members.contains_key(&row.parent) || self.groups.contains(&row.group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, parent: u32, group: u32) -> Row {
        Row {
            pid,
            parent,
            group,
            start: u64::from(pid) * 10,
        }
    }

    fn pids(family: &Family) -> Vec<u32> {
        family.members().map(|(pid, _)| pid).collect()
    }

    #[test]
    fn children_and_their_children_belong_to_it_and_nobody_else() {
        let mut family = Family::of(10);
        let table = [
            row(1, 0, 1),
            row(9, 1, 9),
            row(12, 11, 10),
            row(10, 9, 10),
            row(11, 10, 10),
            row(20, 1, 20),
        ];
        let mut new = family.compare(&table);
        new.sort_unstable();
        assert_eq!(new, [10, 11, 12]);
        assert_eq!(pids(&family), [10, 11, 12]);
        assert!(family.compare(&table).is_empty(), "nobody is new twice");
    }

    #[test]
    fn an_orphan_stays_in_the_family_also_in_a_session_of_its_own() {
        let mut family = Family::of(10);
        family.compare(&[row(10, 9, 10), row(11, 10, 11)]);
        // Its parent ended, so the first process has it; its own child is new.
        let new = family.compare(&[row(11, 1, 11), row(12, 11, 11), row(13, 1, 13)]);
        assert_eq!(new, [12]);
        assert_eq!(pids(&family), [11, 12]);
    }

    #[test]
    fn who_was_never_seen_below_it_is_known_by_its_group() {
        let mut family = Family::of(10);
        // The leader forked and ended before anybody looked.
        assert_eq!(family.compare(&[row(11, 1, 10)]), [11]);
    }

    #[test]
    fn a_number_that_is_used_again_is_somebody_else() {
        let mut family = Family::of(10);
        family.compare(&[row(10, 9, 10), row(11, 10, 10)]);
        let stranger = Row {
            start: 9999,
            ..row(11, 1, 5)
        };
        assert!(family.compare(&[row(10, 9, 10), stranger]).is_empty());
        assert_eq!(pids(&family), [10]);
        // Nobody is left in the group: whoever leads one of that number later is a stranger.
        assert!(family.compare(&[]).is_empty());
        let later = Row {
            start: 5000,
            ..row(10, 1, 10)
        };
        assert!(family.compare(&[later]).is_empty());
        assert!(pids(&family).is_empty());
    }
}
