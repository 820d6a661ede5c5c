//! The files of a workspace, ordered by path.
//!
//! A snapshot holds all of them and must cost nothing to take, and a change of one file
//! must not cost a copy of all: so they lie in chunks, and a copy shares every chunk that
//! has not changed since.

use std::sync::Arc;

use pillion_process::stamp::Stamp;

/// A chunk with more entries is halved.
const CHUNK: usize = 512;

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
pub struct LeftOutPath {
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
