//! A walk over a folder that others are changing meanwhile. No path is followed twice: each step
//! is from an open folder to what is in it, never through a link, so nothing leads out.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

/// Deeper than any folder that people make: each level is an open folder.
pub(crate) const DEPTH: usize = 200;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// A walk: every name below a folder, each folder before what is in it.
pub struct Walk {
    /// From the first folder down to the one that is being read.
    open: Vec<Level>,
    /// A folder that was met last, and is entered next.
    next: Option<CString>,
    root: Stat,
}

struct Level {
    dir: Dir,
    name: CString,
}

impl std::fmt::Debug for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk")
            .field("depth", &self.open.len())
            .finish_non_exhaustive()
    }
}

/// What a walk met.
#[derive(Debug)]
pub struct WalkEntry {
    /// Its name in its folder.
    pub name: CString,
    /// What it was when it was met; a link is a link.
    pub stat: Stat,
}

impl WalkEntry {
    /// Its kind.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// What it takes on its disk.
    pub fn bytes(&self) -> u64 {
        bytes(&self.stat)
    }
}

/// What a file takes on its disk.
pub(crate) fn bytes(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or(0) * 512
}

/// What a walk cannot look into, and goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// A folder below the last level that is looked at.
    TooDeep,
    /// A folder that is closed to us.
    Closed,
}

impl Walk {
    /// Begin at `path`, which must be a folder itself, not a link to one.
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = openat(CWD, path, FOLDER, Mode::empty())?;
        let root = fstat(&folder)?;
        let level = Level {
            dir: Dir::new(folder)?,
            name: CString::default(),
        };
        Ok(Self {
            open: vec![level],
            next: None,
            root,
        })
    }

    /// The folder that the walk began at.
    pub fn root(&self) -> &Stat {
        &self.root
    }

    /// The open folder that what was met last is in.
    pub fn folder(&self) -> Option<BorrowedFd<'_>> {
        self.open.last().and_then(|level| level.dir.fd().ok())
    }

    /// The path of what was met last, from where the walk began.
    pub fn path(&self, name: &CStr) -> PathBuf {
        let folders = self.open.iter().skip(1).map(|level| level.name.as_c_str());
        let parts = folders.chain([name]);
        parts
            .map(|part| OsStr::from_bytes(part.to_bytes()))
            .collect()
    }

    /// Enter this folder of [`Walk::folder`] next: it was closed, and is open now.
    pub fn retry(&mut self, name: CString) {
        self.next = Some(name);
    }

    /// Enter the folder that was met last.
    fn enter(&mut self, name: CString) -> Result<(), Unseen> {
        if self.open.len() > DEPTH {
            return Err(Unseen::TooDeep);
        }
        let Some(level) = self.open.last() else {
            return Ok(());
        };
        let opened = level
            .dir
            .fd()
            .and_then(|folder| openat(folder, &name, FOLDER, Mode::empty()))
            .and_then(Dir::new);
        match opened {
            Ok(dir) => {
                self.open.push(Level { dir, name });
                Ok(())
            }
            Err(Errno::ACCESS | Errno::PERM) => Err(Unseen::Closed),
            // It is gone, or something else by now.
            Err(_) => Ok(()),
        }
    }
}

impl Iterator for Walk {
    type Item = Result<WalkEntry, Unseen>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(name) = self.next.take()
            && let Err(unseen) = self.enter(name)
        {
            return Some(Err(unseen));
        }
        loop {
            let level = self.open.last_mut()?;
            let Some(Ok(entry)) = level.dir.read() else {
                self.open.pop();
                continue;
            };
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            // It may be gone by now.
            let folder = level.dir.fd();
            let Ok(stat) = folder.and_then(|f| statat(f.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW))
            else {
                continue;
            };
            let found = WalkEntry {
                name: name.to_owned(),
                stat,
            };
            if found.kind() == FileType::Directory {
                self.next = Some(found.name.clone());
            }
            return Some(Ok(found));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn everything_below_is_met_once_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/b/file"), "x").unwrap();
        fs::hard_link(at("a/b/file"), at("again")).unwrap();
        symlink("/", at("a/link")).unwrap();
        let mut walk = Walk::open(folder.path()).unwrap();
        let mut paths = Vec::new();
        while let Some(found) = walk.next() {
            paths.push(walk.path(&found.unwrap().name));
        }
        paths.sort();
        let all = ["a", "a/b", "a/b/file", "a/link", "again"];
        assert_eq!(paths, all.map(PathBuf::from));
        assert!(Walk::open(&at("a/link")).is_err());
    }

    #[test]
    fn many_folders_are_no_trouble_and_deep_ones_are_said() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..1000 {
            fs::create_dir(folder.path().join(number.to_string())).unwrap();
        }
        assert_eq!(Walk::open(folder.path()).unwrap().flatten().count(), 1000);
        let deep = folder.path().join("0").join("d/".repeat(DEPTH + 5));
        fs::create_dir_all(deep).unwrap();
        let unseen: Vec<_> = Walk::open(folder.path())
            .unwrap()
            .filter_map(Result::err)
            .collect();
        assert_eq!(unseen, [Unseen::TooDeep]);
    }
}
