//! What is known of the files, and how it changes.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::changes::{ChangeKind, FileChange, Log};
use crate::clock::Clock;
use crate::files::{FileEntry, Files};

/// A file beyond this is not read to see whether it changed: it is said to have.
const MAX_BYTES: u64 = 8 << 20;

/// How a file came to be looked at, which says what an unchanged stamp proves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cause {
    /// A watch tells of all that happens to it; this time also something about its
    /// content, if true.
    Told(bool),
    /// Something may have happened without anybody telling.
    Untold,
}

/// The files at a moment of the clock, and the changes that will make the next.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) clock: Clock,
    pub(crate) files: Files,
    pub(crate) log: Arc<Mutex<Log>>,
    /// How many changes there were in all.
    pub(crate) changes: u64,
    /// Files whose stamp proves nothing yet, with a hash of the content if `hashing`.
    unsettled: BTreeMap<Arc<str>, Option<u64>>,
    /// Nobody tells of changes, so contents of unsettled files are compared.
    pub(crate) hashing: bool,
    pending: Vec<FileChange>,
}

impl Known {
    pub(crate) fn new() -> Self {
        let clock = Clock::start();
        Self {
            clock,
            files: Files::default(),
            log: Arc::new(Mutex::new(Log::new(clock))),
            changes: 0,
            unsettled: BTreeMap::new(),
            hashing: false,
            pending: Vec::new(),
        }
    }

    /// Files whose stamp proves nothing yet.
    pub(crate) fn unsettled(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.unsettled.keys()
    }

    /// Note that a file is there, as it is now.
    pub(crate) fn put(&mut self, root: &Path, entry: FileEntry, cause: Cause) {
        let hash = || content(&root.join(&*entry.path), entry.stamp.size);
        let mut seen = None;
        let known = self.files.get(&entry.path);
        let change = match known {
            None => Some(ChangeKind::Created),
            Some(known) => {
                let modified = known.stamp != entry.stamp
                    || match cause {
                        Cause::Told(content) => content,
                        Cause::Untold if known.settled => false,
                        Cause::Untold => {
                            let before = self.unsettled.get(&entry.path).copied().flatten();
                            seen = before.and_then(|_| hash());
                            seen.is_none() || seen != before
                        }
                    };
                modified.then_some(ChangeKind::Modified)
            }
        };
        if entry.settled {
            self.unsettled.remove(&entry.path);
        } else {
            let seen = match self.hashing {
                true => seen.or_else(hash),
                false => None,
            };
            self.unsettled.insert(entry.path.clone(), seen);
        }
        if let Some(kind) = change {
            let path = entry.path.clone();
            self.pending.push(FileChange { path, kind });
        }
        if change.is_some() || known.is_some_and(|known| known.settled != entry.settled) {
            self.files.put(entry);
        }
    }

    /// A file is not there.
    pub(crate) fn remove(&mut self, path: &str) {
        if self.files.remove(path) {
            self.unsettled.remove(path);
            let (path, kind) = (path.into(), ChangeKind::Deleted);
            self.pending.push(FileChange { path, kind });
        }
    }

    /// These are all files beneath a folder.
    pub(crate) fn replace(
        &mut self,
        root: &Path,
        folder: &str,
        mut entries: Vec<FileEntry>,
        cause: impl Fn(&str) -> Cause,
    ) {
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let is_gone = |known: &&FileEntry| {
            let found = entries.binary_search_by(|entry| entry.path.cmp(&known.path));
            found.is_err()
        };
        let gone = self.files.under(folder).filter(is_gone);
        let gone: Vec<_> = gone.map(|entry| entry.path.clone()).collect();
        for path in gone {
            self.remove(&path);
        }
        self.remove(folder);
        if self.files.is_empty() {
            // The same as to put each, without the search for its place.
            self.files = Files::from_sorted(entries.clone());
            for FileEntry {
                path,
                stamp,
                settled,
            } in entries
            {
                if !settled {
                    let seen = self
                        .hashing
                        .then(|| content(&root.join(&*path), stamp.size));
                    self.unsettled.insert(path.clone(), seen.flatten());
                }
                let kind = ChangeKind::Created;
                self.pending.push(FileChange { path, kind });
            }
            return;
        }
        for entry in entries {
            let cause = cause(&entry.path);
            self.put(root, entry, cause);
        }
    }

    /// What changed since the last moment makes the next.
    pub(crate) fn commit(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let set = std::mem::take(&mut self.pending);
        self.changes += set.len() as u64;
        self.clock = self.clock.next();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(self.clock, set);
    }
}

/// A hash of a file's content, good for this process only.
fn content(file: &Path, size: u64) -> Option<u64> {
    if size > MAX_BYTES {
        return None;
    }
    let mut text = Vec::new();
    let file = File::open(file).ok()?;
    file.take(MAX_BYTES + 1).read_to_end(&mut text).ok()?;
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(&text);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Changes;
    use pillion_process::stamp::Stamp;

    /// One file whose stamp stays the same whatever is written to it, as if all happened
    /// between two ticks of the kernel's clock. Newer kernels do not let that be made.
    struct Frozen {
        root: tempfile::TempDir,
        known: Known,
        settled: bool,
    }

    impl Frozen {
        fn new(hashing: bool) -> Self {
            let mut known = Known::new();
            known.hashing = hashing;
            let root = tempfile::tempdir().unwrap();
            let settled = false;
            let mut frozen = Self {
                root,
                known,
                settled,
            };
            assert!(frozen.look("1", Cause::Untold), "it is new");
            frozen
        }

        /// Write to it and look at it; whether it is said to have changed.
        fn look(&mut self, text: &str, cause: Cause) -> bool {
            std::fs::write(self.root.path().join("a"), text).unwrap();
            let entry = FileEntry {
                path: "a".into(),
                stamp: Stamp {
                    dev: 1,
                    ino: 1,
                    size: 1,
                    mtime_ns: 1,
                    ctime_ns: 1,
                },
                settled: self.settled,
            };
            let before = self.known.clock;
            self.known.put(self.root.path(), entry, cause);
            self.known.commit();
            let log = self.known.log.lock().unwrap();
            let changes = log.between(Some(before), self.known.clock);
            changes != Changes::These(Vec::new())
        }
    }

    #[test]
    fn contents_tell_where_nobody_does() {
        let mut file = Frozen::new(true);
        assert!(file.look("2", Cause::Untold));
        assert!(!file.look("2", Cause::Untold));
        assert!(file.look("3", Cause::Untold));
        file.settled = true;
        assert!(file.look("4", Cause::Untold), "written before it settled");
        assert_eq!(file.known.unsettled().len(), 0);
        assert!(file.known.files.get("a").unwrap().settled);
        assert!(!file.look("4", Cause::Untold));
    }

    #[test]
    fn what_nobody_told_and_no_content_proves_counts_as_changed() {
        let mut file = Frozen::new(false);
        assert!(file.look("1", Cause::Untold));
        file.settled = true;
        assert!(file.look("1", Cause::Untold));
        assert!(!file.look("1", Cause::Untold), "it was settled");
    }

    #[test]
    fn what_is_told_counts() {
        let mut file = Frozen::new(false);
        assert!(file.look("2", Cause::Told(true)));
        assert!(!file.look("2", Cause::Told(false)));
        file.settled = true;
        assert!(!file.look("2", Cause::Told(false)));
        assert!(
            file.known.files.get("a").unwrap().settled,
            "time settled it"
        );
        assert!(file.look("3", Cause::Told(true)), "through a memory map");
    }
}
