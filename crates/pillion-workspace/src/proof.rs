//! Proof that a file is the one that was read: caches carry it, and ask it before use.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What the file system says about a file without reading it; `None` if it is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Proof(Option<[i128; 5]>);

impl Proof {
    /// The proof of the file at `path` as it is now.
    pub fn of(path: &Path) -> Self {
        Self(
            std::fs::metadata(path)
                .ok()
                .map(|meta| Self::numbers(&meta)),
        )
    }

    fn numbers(meta: &Metadata) -> [i128; 5] {
        let nanos = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
        [
            meta.dev().into(),
            meta.ino().into(),
            meta.size().into(),
            nanos(meta.mtime(), meta.mtime_nsec()),
            nanos(meta.ctime(), meta.ctime_nsec()),
        ]
    }
}
