//! News from the kernel about the files of a workspace.
//!
//! Linux queues an inotify event before the system call that caused it returns. So reading
//! the queue without waiting, at the start of a read, *is* the synchronisation: whatever
//! was written before the read was asked for is in the queue by then. This is better than
//! the usual cookie file, whose event has to be waited for: nothing is written into the
//! user's tree, it works on trees that cannot be written to, nobody has to wait for an
//! event that may never come, and it costs one system call.
//!
//! Elsewhere nothing is watched, and everything is looked at.
//!
//! What a watch on folders does not see, and what is done about it:
//!
//! - A write through a memory map makes no event. The end of one does: `IN_CLOSE_WRITE`
//!   comes when the map and the descriptor are both gone, and counts as a change even if
//!   the stamp is the same. While a program keeps a file mapped, what it stores there
//!   may go unseen.
//! - A write through another name of the file (a hard link) is told to the folder of that
//!   other name. A file that has several names when it is looked at gets a watch of its
//!   own, which sees all writes. A link that is made *later*, outside of the tree or at an
//!   ignored path, and then written through in place, goes unseen until something
//!   happens to the file under a name of ours.
//! - A file system mounted over a watched folder other than the root makes no event.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub(crate) use inotify::{Watch, distrust};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{Watch, distrust};

/// What happened since the last look, each path once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// So much that not all is known, or the root is another.
    pub(crate) everything: bool,
    /// Folders that came, went, or can be read or not.
    pub(crate) folders: BTreeSet<String>,
    /// Files; true if more than their properties may have changed.
    pub(crate) files: BTreeMap<String, bool>,
    /// The same for files with several names, by device and number.
    pub(crate) inodes: BTreeMap<(u64, u64), bool>,
    /// Folders in which something with a name that is no UTF-8 came or went.
    pub(crate) unnamed: BTreeSet<Arc<str>>,
}

impl News {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it takes only a few looks at single files.
    pub(crate) fn is_little(&self) -> bool {
        !self.everything
            && self.folders.is_empty()
            && self.inodes.is_empty()
            && self.unnamed.is_empty()
            && self.files.len() <= 32
    }
}

/// Why something is not watched.
#[derive(Debug)]
pub(crate) enum Refused {
    /// No more can be watched, or nothing at all; with the reason.
    Limit(String),
    /// This cannot be watched: it is gone, or not ours to read.
    This(std::io::Error),
}

/// The path of something in a folder; the root is the empty path.
pub(crate) fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}
