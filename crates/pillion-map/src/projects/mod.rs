//! The projects below a folder: what they are called, what they are written in, and which
//! of them uses which.
//!
//! A folder is a project if it has a `.git` or a file that names a language. `find` walks
//! over folders, `branch` reads git's own files, `depends` reads manifests. Nothing is
//! kept: an answer is as new as the folders are.

mod branch;
mod depends;
mod find;

pub use depends::{Dependency, DependencyKind, dependencies};
pub use find::{DetectedProject, all, around};

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

/// More of a manifest is not read.
const MAX_BYTES: u64 = 1 << 20;

/// The text of a small file, if it is there and is text.
fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.metadata().ok().filter(Metadata::is_file)?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}
