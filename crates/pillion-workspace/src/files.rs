//! The files of a workspace, ordered by path.
//!
//! A snapshot holds all of them and must cost nothing to take, and a change of one file
//! must not cost a copy of all: so they lie in chunks, and a copy shares every chunk that
//! has not changed since.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pillion_process::stamp::Stamp;

/// A chunk with more entries is halved.
const CHUNK: usize = 512;
/// A file changed less than this before the look may change again with the same stamp:
/// kernels stamp with the time of their last timer interrupt.
pub(crate) const RACY: Duration = Duration::from_millis(30);
/// The same where time is counted in seconds.
const RACY_SECONDS: Duration = Duration::from_secs(3);

/// A moment at which files are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    began_ns: i64,
    /// The times are those of another machine, whose clock may differ.
    distrust: bool,
}

impl Look {
    pub(crate) fn now(distrust: bool) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanos = since.map_or(0, |since| since.as_nanos());
        Self {
            began_ns: i64::try_from(nanos).unwrap_or(i64::MAX),
            distrust,
        }
    }

    /// Whether a write after this look, by which `stamp` was found, must have changed it.
    pub(crate) fn settles(self, stamp: &Stamp) -> bool {
        let whole_seconds = stamp.ctime_ns % 1_000_000_000 == 0;
        let window = match self.distrust || whole_seconds {
            true => RACY_SECONDS,
            false => RACY,
        };
        let window = i64::try_from(window.as_nanos()).unwrap_or(i64::MAX);
        // A modification time in the future was set by hand, and the next write will not
        // carry it; a change time is never set by hand.
        let near = |time: i64| (self.began_ns.saturating_sub(time)).abs() < window;
        stamp.ctime_ns <= self.began_ns && !near(stamp.ctime_ns) && !near(stamp.mtime_ns)
    }
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Relative to the root, with `/`.
    pub path: Arc<str>,
    /// What the file system says of it.
    pub stamp: Stamp,
    /// Whether the stamp alone proves the content. Until then another write of the same
    /// size could carry the same stamp: what is cached must not rely on it.
    pub settled: bool,
}

/// A file or folder that is there and cannot be worked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Relative to the root; bytes that are no UTF-8 are written as `\\xe9`.
    pub path: Box<str>,
    /// Why not.
    pub why: &'static str,
}

/// Files, ordered by path. A copy is cheap.
#[derive(Debug, Clone, Default)]
pub struct Files {
    chunks: Arc<Vec<Arc<Vec<FileEntry>>>>,
    len: usize,
}

impl Files {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The file at a path relative to the root.
    pub fn get(&self, path: &str) -> Option<&FileEntry> {
        let chunk = self.chunks.get(self.chunk_of(path))?;
        let at = chunk.binary_search_by(|entry| (*entry.path).cmp(path));
        at.ok().map(|at| &chunk[at])
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &FileEntry> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The files beneath a folder; the root is the empty path.
    pub fn under(&self, folder: &str) -> impl Iterator<Item = &FileEntry> {
        let prefix = match folder.trim_end_matches('/') {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let first = self.chunk_of(&prefix);
        self.chunks[first..]
            .iter()
            .enumerate()
            .flat_map({
                let prefix = prefix.clone();
                move |(index, chunk)| {
                    let from = match index {
                        0 => chunk.partition_point(|entry| *entry.path < *prefix),
                        _ => 0,
                    };
                    chunk[from..].iter()
                }
            })
            .take_while(move |entry| entry.path.starts_with(&prefix))
    }

    /// The index of the one chunk that a path can be in.
    fn chunk_of(&self, path: &str) -> usize {
        let after = self
            .chunks
            .partition_point(|chunk| chunk.first().is_some_and(|entry| *entry.path <= *path));
        after.saturating_sub(1)
    }

    /// Files from entries that are in order.
    pub(crate) fn from_sorted(entries: Vec<FileEntry>) -> Self {
        let len = entries.len();
        let mut chunks = Vec::with_capacity(len / (CHUNK / 2) + 1);
        let mut entries = entries.into_iter().peekable();
        while entries.peek().is_some() {
            chunks.push(Arc::new(entries.by_ref().take(CHUNK / 2).collect()));
        }
        let chunks = Arc::new(chunks);
        Self { chunks, len }
    }

    /// Add or replace a file.
    pub(crate) fn put(&mut self, entry: FileEntry) {
        let index = self.chunk_of(&entry.path);
        let chunks = Arc::make_mut(&mut self.chunks);
        if chunks.is_empty() {
            chunks.push(Arc::default());
        }
        let chunk = Arc::make_mut(&mut chunks[index]);
        match chunk.binary_search_by(|known| known.path.cmp(&entry.path)) {
            Ok(at) => chunk[at] = entry,
            Err(at) => {
                chunk.insert(at, entry);
                self.len += 1;
                if chunk.len() > CHUNK {
                    let upper = chunk.split_off(CHUNK / 2);
                    chunks.insert(index + 1, Arc::new(upper));
                }
            }
        }
    }

    /// Remove a file; whether it was there.
    pub(crate) fn remove(&mut self, path: &str) -> bool {
        if self.get(path).is_none() {
            return false;
        }
        let index = self.chunk_of(path);
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = Arc::make_mut(&mut chunks[index]);
        chunk.retain(|entry| *entry.path != *path);
        if chunk.is_empty() {
            chunks.remove(index);
        }
        self.len -= 1;
        true
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
