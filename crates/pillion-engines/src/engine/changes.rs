//! What a server is told about changes on the disk.
//!
//! ty believes what it is told and does not look, so it has to be told right.
//!
//! ty remembers that a folder was not there, and a new file in it does not change its mind:
//! the folder has to be announced as well. Announcing one costs a look at all below it, so
//! each is announced once.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::uri;

/// Folders that are remembered before all are forgotten.
const MAX: usize = 10_000;

/// What happened to a file. One that is new to the server must be said to be created: of a
/// changed one it only reads the content again. Created is right for both, and costs more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LspChangeKind {
    /// It is new.
    Created,
    /// Its content is another.
    Changed,
    /// It is gone.
    Deleted,
}

impl LspChangeKind {
    /// What to say now: the file may have gone or come back since.
    fn as_it_is_now(self, path: &Path) -> Self {
        match (path.exists(), self) {
            (false, _) => Self::Deleted,
            (true, Self::Deleted) => Self::Created,
            (true, kind) => kind,
        }
    }
}

/// Folders that the server was told about.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    told: HashSet<PathBuf>,
}

impl Folders {
    /// The `changes` of one `workspace/didChangeWatchedFiles`.
    pub(super) fn tell(&mut self, root: &Path, changes: &[(PathBuf, LspChangeKind)]) -> Vec<Value> {
        let mut told = Vec::with_capacity(changes.len());
        let mut tell = |path: &Path, kind: u8| {
            told.push(json!({ "uri": uri::from_path(path), "type": kind }));
        };
        let mut new_at_the_top = false;
        for (path, kind) in changes {
            match kind.as_it_is_now(path) {
                LspChangeKind::Created => {
                    for folder in self.above(root, path) {
                        new_at_the_top |= folder.parent() == Some(root);
                        tell(&folder, 1);
                    }
                    tell(path, 1);
                }
                LspChangeKind::Changed => tell(path, 2),
                LspChangeKind::Deleted => {
                    self.forget();
                    tell(path, 3);
                }
            }
        }
        if new_at_the_top {
            // Modules are looked for in `src` and the like if they were there when ty read
            // its configuration. It reads it again, at little cost, if the file seems to
            // have changed or gone.
            let config = root.join("ty.toml");
            tell(&config, if config.exists() { 2 } else { 3 });
        }
        told
    }

    /// The folders above a new file that the server may not know, the uppermost first.
    /// Outside of `root` it is only the nearest: nobody knows where to stop.
    fn above(&mut self, root: &Path, file: &Path) -> Vec<PathBuf> {
        let inside = file.starts_with(root);
        let mut new: Vec<PathBuf> = file
            .ancestors()
            .skip(1)
            .take(if inside { usize::MAX } else { 1 })
            .take_while(|folder| *folder != root && !self.told.contains(*folder))
            .map(Path::to_owned)
            .collect();
        new.reverse();
        if self.told.len() + new.len() > MAX {
            self.told.clear();
        }
        self.told.extend(new.iter().cloned());
        new
    }

    /// Something was deleted: folders may have gone with it.
    fn forget(&mut self) {
        self.told.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_is_told_once_until_something_is_deleted() {
        let mut folders = Folders::default();
        let root = Path::new("/r");
        let mut above = |file: &str, forget: bool| -> Vec<String> {
            if forget {
                folders.forget();
            }
            let found = folders.above(root, Path::new(file));
            found.iter().map(|f| f.display().to_string()).collect()
        };
        assert_eq!(above("/r/a/b/x.py", false), ["/r/a", "/r/a/b"]);
        assert_eq!(above("/r/a/c/x.py", false), ["/r/a/c"]);
        assert!(above("/r/a/b/y.py", false).is_empty());
        assert!(above("/r/x.py", false).is_empty());
        assert_eq!(above("/lib/p/q/x.py", false), ["/lib/p/q"]);
        assert_eq!(above("/r/a/b/y.py", true), ["/r/a", "/r/a/b"]);
    }
}
