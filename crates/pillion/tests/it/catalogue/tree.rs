//! A folder as it is, to be compared with how it is later.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Everything below a folder that a write would change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<PathBuf, Entry>);

/// A file or folder. Folders have their times too: a file that came and went is a write.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    inode: u64,
    mode: u32,
    changed: (i64, i64),
    content: Vec<u8>,
}

impl Tree {
    pub(super) fn of(folder: &Path) -> Self {
        let mut all = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(path) = open.pop() {
            let about = path.symlink_metadata().unwrap();
            if about.is_dir() {
                open.extend(
                    fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            }
            let content = match about.is_file() {
                true => fs::read(&path).unwrap(),
                false => Vec::new(),
            };
            let entry = Entry {
                inode: about.ino(),
                mode: about.mode(),
                changed: (about.ctime(), about.ctime_nsec()),
                content,
            };
            all.insert(path, entry);
        }
        Self(all)
    }

    /// What is new, gone or another, by path.
    pub(super) fn differences(&self, later: &Self) -> Vec<String> {
        let gone = self.0.keys().filter(|path| !later.0.contains_key(*path));
        let gone = gone.map(|path| format!("gone: {}", path.display()));
        let others = later
            .0
            .iter()
            .filter_map(|(path, entry)| match self.0.get(path) {
                None => Some(format!("new: {}", path.display())),
                Some(before) if before.content != entry.content => {
                    Some(format!("written: {}", path.display()))
                }
                Some(before) if before != entry => Some(format!("touched: {}", path.display())),
                Some(_) => None,
            });
        gone.chain(others).collect()
    }
}
