//! What changed between two moments, and the bounded log that knows it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;

/// So many changes are remembered.
const REMEMBERED: usize = 10_000;

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Its content may be another, although its stamp may be the same.
    Modified,
    /// It is gone, or ignored now.
    Deleted,
}

/// One file that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the root, with `/`.
    pub path: Arc<str>,
    /// What happened.
    pub kind: ChangeKind,
}

/// What is not as it was at an earlier moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// Nothing is known of that moment: look at everything.
    Everything,
    /// These files, one net change for each, ordered by path.
    These(Vec<FileChange>),
}

/// The latest changes, oldest first.
#[derive(Debug)]
pub(crate) struct Log {
    sets: VecDeque<(u64, Vec<FileChange>)>,
    changes: usize,
    /// The earliest tick since which all changes are here.
    since: u64,
}

impl Log {
    pub(crate) fn new(since: Clock) -> Self {
        Self {
            sets: VecDeque::new(),
            changes: 0,
            since: since.tick(),
        }
    }

    /// The changes that led to the moment `clock`.
    pub(crate) fn push(&mut self, clock: Clock, set: Vec<FileChange>) {
        self.changes += set.len();
        self.sets.push_back((clock.tick(), set));
        while self.changes > REMEMBERED
            && let Some((tick, set)) = self.sets.pop_front()
        {
            self.changes -= set.len();
            self.since = tick;
        }
    }

    /// The net changes between two moments.
    pub(crate) fn between(&self, earlier: Option<Clock>, now: Clock) -> Changes {
        let known = earlier
            .filter(|earlier| *earlier <= now && earlier.tick() >= self.since)
            .map(Clock::tick);
        let Some(earlier) = known else {
            return Changes::Everything;
        };
        // Of each file only the first and the last change count: whether it was there
        // before, and whether it is there now.
        let mut net = BTreeMap::<&Arc<str>, (ChangeKind, ChangeKind)>::new();
        let from = self.sets.partition_point(|(tick, _)| *tick <= earlier);
        for (_, set) in self
            .sets
            .range(from..)
            .take_while(|(tick, _)| *tick <= now.tick())
        {
            for FileChange { path, kind } in set {
                net.entry(path).or_insert((*kind, *kind)).1 = *kind;
            }
        }
        let changes = net.into_iter().filter_map(|(path, (first, last))| {
            let was = first != ChangeKind::Created;
            let is = last != ChangeKind::Deleted;
            let kind = match (was, is) {
                (false, true) => ChangeKind::Created,
                (true, true) => ChangeKind::Modified,
                (true, false) => ChangeKind::Deleted,
                (false, false) => return None,
            };
            let path = path.clone();
            Some(FileChange { path, kind })
        });
        Changes::These(changes.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::ChangeKind::{Created, Deleted, Modified};
    use super::*;

    fn change(path: &str, kind: ChangeKind) -> FileChange {
        let path = path.into();
        FileChange { path, kind }
    }

    #[test]
    fn changes_of_one_file_become_one() {
        for (steps, net) in [
            (&[Created][..], Some(Created)),
            (&[Created, Modified], Some(Created)),
            (&[Created, Deleted], None),
            (&[Created, Deleted, Created], Some(Created)),
            (&[Modified, Deleted], Some(Deleted)),
            (&[Deleted, Created], Some(Modified)),
            (&[Deleted, Created, Deleted], Some(Deleted)),
        ] {
            let start = Clock::start();
            let mut log = Log::new(start);
            let mut now = start;
            for kind in steps {
                now = now.next();
                log.push(now, vec![change("a", *kind)]);
            }
            let net: Vec<_> = net.map(|kind| change("a", kind)).into_iter().collect();
            assert_eq!(log.between(Some(start), now), Changes::These(net));
        }
    }

    #[test]
    fn what_is_not_known_is_everything() {
        let start = Clock::start();
        let mut log = Log::new(start);
        let mut now = start;
        for _ in 0..3 {
            now = now.next();
            let set = (0..4000).map(|n| change(&n.to_string(), Modified));
            log.push(now, set.collect());
        }
        assert_eq!(log.between(None, now), Changes::Everything);
        assert_eq!(log.between(Some(Clock::start()), now), Changes::Everything);
        assert_eq!(log.between(Some(now.next()), now), Changes::Everything);
        assert_eq!(log.between(Some(start), now), Changes::Everything);
        let Changes::These(these) = log.between(Some(start.next()), now) else {
            panic!("two sets fit");
        };
        assert_eq!(these.len(), 4000);
        assert_eq!(log.between(Some(now), now), Changes::These(vec![]));
        now = now.next();
        let huge = (0..10_001).map(|n| change(&n.to_string(), Deleted));
        log.push(now, huge.collect());
        assert_eq!(log.between(Some(start.next()), now), Changes::Everything);
        assert_eq!(log.between(Some(now), now), Changes::These(vec![]));
    }
}
