//! Our own index: what every Python file of a workspace defines, imports and mentions.
//!
//! It follows the workspace's clock: [`Index::follow`] takes in what changed since it last
//! looked and parses only that, on all cores. What was parsed is kept on disk with proof
//! (`store`), so that a daemon that starts again parses nothing.

mod dunder_all;
mod extract;
pub mod facts;
mod mentions;
mod search;
mod store;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{CancellationToken, Result, wanted};
use pillion_workspace::{Changes, Clock, FileEntry, Snapshot, Stamp};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use dunder_all::all as offered;
pub use extract::{MAX_ERRORS, facts as extract_facts};
pub use facts::{Facts, Import, Kind, ParseError, Symbol};
pub use mentions::{Mention, mentions_in, preview};
pub use search::FoundSymbol;
pub use store::IndexStore;

use crate::source::Source;

/// Larger files are listed but not parsed.
pub const MAX_FILE: u64 = 16 << 20;

/// A file as it was parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// What the file system said before it was read.
    stamp: Stamp,
    /// Whether that alone proves that it is unchanged.
    settled: bool,
    /// What was read.
    hash: [u8; 16],
    /// What is known about it.
    pub facts: Facts,
}

/// What every Python file defines, imports and mentions. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Index {
    entries: Arc<BTreeMap<Arc<str>, Arc<IndexEntry>>>,
    clock: Option<Clock>,
}

/// What following the clock took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Followed {
    /// Files that were parsed.
    pub parsed: usize,
    /// Files that were forgotten.
    pub forgotten: usize,
}

impl Index {
    /// Take in what changed since the last time. Blocks: it reads and parses files, until
    /// nobody waits for it any more. What it has read by then it knows, and the next time
    /// begins there.
    pub fn follow(&mut self, snapshot: &Snapshot, token: &CancellationToken) -> Result<Followed> {
        let mut followed = Followed::default();
        let mut look: Vec<&FileEntry> = Vec::new();
        let mut gone: Vec<Arc<str>> = Vec::new();
        match snapshot.changes_since(self.clock) {
            Changes::These(changes) => {
                for change in changes.into_iter().filter(|c| is_python(&c.path)) {
                    match snapshot.files().get(&change.path) {
                        Some(file) => look.push(file),
                        None => gone.push(change.path),
                    }
                }
            }
            Changes::Everything => {
                let files = snapshot.files();
                look.extend(files.iter().filter(|f| is_python(&f.path)));
                look.retain(|file| !self.knows(file));
                let known = self.entries.keys();
                gone.extend(known.filter(|path| files.get(path).is_none()).cloned());
            }
        }
        if look.is_empty() && gone.is_empty() {
            self.clock = Some(snapshot.clock());
            return Ok(followed);
        }
        let fresh: Vec<_> = look
            .par_iter()
            .take_any_while(|_| !token.is_cancelled())
            .map(|file| (Arc::clone(&file.path), self.read(snapshot.root(), file)))
            .collect();
        let entries = Arc::make_mut(&mut self.entries);
        for (path, read) in fresh {
            match read {
                Read::Parsed(entry) => {
                    followed.parsed += 1;
                    entries.insert(path, Arc::new(entry));
                }
                Read::Same(entry) => drop(entries.insert(path, Arc::new(entry))),
                Read::Unreadable => gone.push(path),
            }
        }
        for path in gone {
            followed.forgotten += usize::from(entries.remove(&path).is_some());
        }
        wanted(token)?;
        self.clock = Some(snapshot.clock());
        Ok(followed)
    }

    /// Whether a file is proven to be the one that was parsed.
    fn knows(&self, file: &FileEntry) -> bool {
        self.entries
            .get(&file.path)
            .is_some_and(|entry| entry.settled && entry.stamp == file.stamp)
    }

    fn read(&self, root: &Path, file: &FileEntry) -> Read {
        let bytes = if file.stamp.size > MAX_FILE {
            Vec::new()
        } else {
            match std::fs::read(root.join(&*file.path)) {
                Ok(bytes) => bytes,
                Err(_) => return Read::Unreadable,
            }
        };
        let hash = content_hash(&bytes);
        let (stamp, settled) = (file.stamp, file.settled);
        match self.entries.get(&file.path) {
            Some(known) if known.hash == hash => Read::Same(IndexEntry {
                stamp,
                settled,
                ..IndexEntry::clone(known)
            }),
            _ => Read::Parsed(IndexEntry {
                stamp,
                settled,
                hash,
                facts: extract::facts(&Source::decode(&bytes), &file.path),
            }),
        }
    }

    /// Whether an engine that looks at the file itself could miss how it changed since
    /// `before`: its bytes are not its text, or its modification time proves nothing.
    pub fn needs_text(&self, path: &str, before: &Self) -> bool {
        let Some(now) = self.entries.get(path) else {
            return false;
        };
        let then = before
            .entries
            .get(path)
            .filter(|then| then.hash != now.hash);
        let same_time = then.is_some_and(|then| then.stamp.mtime_ns == now.stamp.mtime_ns);
        now.facts.needs_handing_over() || !now.settled || same_time
    }

    /// What is known about a file.
    pub fn get(&self, path: &str) -> Option<&Facts> {
        self.entries.get(path).map(|entry| &entry.facts)
    }

    /// All files, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Facts)> {
        self.entries
            .iter()
            .map(|(path, entry)| (path, &entry.facts))
    }

    /// All files, by path, with a hash of what was read.
    pub fn hashes(&self) -> impl Iterator<Item = (&Arc<str>, [u8; 16])> {
        self.entries.iter().map(|(path, entry)| (path, entry.hash))
    }

    /// A hash of what was read of a file.
    pub fn hash(&self, path: &str) -> Option<[u8; 16]> {
        self.entries.get(path).map(|entry| entry.hash)
    }

    /// Whether it is the very same as another: nothing was taken in since.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.entries, &other.entries)
    }

    /// How many files it knows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Files in which a name may occur.
    pub fn files_with(&self, name: &str) -> Vec<Arc<str>> {
        let hash = facts::name_hash(name);
        self.iter()
            .filter(|(_, facts)| facts.may_mention(hash))
            .map(|(path, _)| Arc::clone(path))
            .collect()
    }
}

enum Read {
    Parsed(IndexEntry),
    /// Its bytes are the ones that were parsed already.
    Same(IndexEntry),
    Unreadable,
}

/// Whether a path is Python source.
pub fn is_python(path: &str) -> bool {
    [".py", ".pyi", ".pyw"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// The hash that tells one content of a file from another.
pub fn content_hash(bytes: &[u8]) -> [u8; 16] {
    let digest = Sha256::digest(bytes);
    std::array::from_fn(|i| digest[i])
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
