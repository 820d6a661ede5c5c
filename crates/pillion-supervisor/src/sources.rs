//! The source files that a process has imported: is each still what it was?
//!
//! That is asked before every call. With hundreds of modules it would cost more than the call,
//! so they are watched ([`pillion_process::watch`]).

use std::path::PathBuf;

use pillion_process::stamp::{Stamp, Stamps};
use pillion_process::watch::Watched;
use pillion_protocol::worker::SourceFile;

/// What a process has imported.
#[derive(Debug, Default)]
pub(crate) struct Sources(Watched);

impl Sources {
    /// More files, or newer proofs of known ones.
    pub(crate) fn add(&mut self, files: Vec<SourceFile>) {
        if files.is_empty() {
            return;
        }
        let mut newer = Stamps::default();
        for file in files {
            let stamp = stamp(&file);
            newer.add_seen(PathBuf::from(file.0), stamp);
        }
        let mut stamps = std::mem::take(&mut self.0).into_stamps();
        stamps.update(newer);
        self.0 = stamps.into();
    }

    /// The first file that is not as it was when it was imported.
    pub(crate) fn changed(&self) -> Option<String> {
        let changed = self.0.changed();
        // It came as text.
        changed.map(|path| path.to_string_lossy().into_owned())
    }
}

/// The stamp that a worker sent; zeros stand for what was not there. Times beyond those of a
/// stamp are the last one there is, as they are in what is found here.
fn stamp(file: &SourceFile) -> Stamp {
    let SourceFile(_, dev, ino, size, mtime, ctime) = *file;
    let time = |nanos: i128| i64::try_from(nanos).unwrap_or(i64::MAX);
    Stamp {
        dev,
        ino,
        size,
        mtime_ns: time(mtime),
        ctime_ns: time(ctime),
    }
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
