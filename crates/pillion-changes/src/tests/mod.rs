//! Tests of change sets, patches and the journal.

mod faults;
mod journal;
mod kill;
mod patches;
mod set;
mod writers;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use pillion_index::source::{Position, Span};
use pillion_runtime::Dirs;

use super::{ChangeSet, Journal, TextEdit};

/// A workspace and a journal of its own.
struct World {
    folder: tempfile::TempDir,
    root: PathBuf,
    journal: Journal,
}

/// Every file and folder, with bytes and mode.
type Tree = BTreeMap<String, (Option<Vec<u8>>, u32)>;

impl World {
    fn new() -> Self {
        Self::at(&std::env::temp_dir())
    }

    /// For tests with many rounds: waiting for the disk would only take longer.
    fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        match memory.is_dir() {
            true => Self::at(memory),
            false => Self::new(),
        }
    }

    fn at(above: &Path) -> Self {
        let folder = tempfile::tempdir_in(above).unwrap();
        let root = folder.path().canonicalize().unwrap().join("root");
        fs::create_dir(&root).unwrap();
        Self {
            journal: Journal::new(&Dirs::under(folder.path().join("home")), &root),
            folder,
            root,
        }
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).unwrap()
    }

    fn chmod(&self, path: &str, mode: u32) {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(self.root.join(path), mode).unwrap();
    }

    fn set(&self) -> ChangeSet {
        ChangeSet::new(self.root.clone())
    }

    fn tree(&self) -> Tree {
        tree(&self.root)
    }
}

fn tree(root: &Path) -> Tree {
    let mut all = Tree::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            if name == ".git" {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let bytes = meta.is_file().then(|| fs::read(&path).unwrap());
            all.insert(name.to_owned(), (bytes, meta.mode() & 0o7777));
            if meta.is_dir() {
                open.push(path);
            }
        }
    }
    all
}

fn at(line: u32, column: u32) -> Position {
    Position { line, column }
}

fn edit(from: (u32, u32), to: (u32, u32), text: &str) -> TextEdit {
    TextEdit {
        span: Span {
            start: at(from.0, from.1),
            end: at(to.0, to.1),
        },
        text: text.to_owned(),
    }
}
