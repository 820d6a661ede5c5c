//! A folder that a program gets after it has started: a spare is started before anybody knows
//! whose it will be.
//!
//! The folders among which one will be named are taken from the old root as a mount that is
//! nowhere. When one is named, this process alone goes to another mount namespace, puts them
//! there, takes the one, comes back, and puts it where the program looks for its folder. The
//! program never sees the others.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, FileType, fstat};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::root::{put, work_attributes};
use crate::policy::WORK;
use crate::spec::{Disk, Named, Settled, Spec};
use crate::{message, syscalls};

/// What is needed to give a program its folder.
pub(super) struct Later {
    /// All folders, mounted nowhere.
    folders: OwnedFd,
    /// Where one is named.
    naming: OwnedFd,
    /// The namespace that the program lives in.
    home: File,
    attributes: u64,
}

impl Later {
    /// Before the program starts.
    pub(super) fn new(spec: &Spec, folders: OwnedFd) -> Result<Self, String> {
        let step = |error: io::Error| format!("a folder that is named later: {error}");
        Ok(Self {
            folders,
            naming: pillion_process::adopt(spec.naming).map_err(step)?,
            home: File::open("/proc/self/ns/mnt").map_err(step)?,
            attributes: work_attributes(&spec.policy),
        })
    }

    /// What has to stay open for it.
    pub(super) fn descriptors(&self) -> [RawFd; 3] {
        [
            self.folders.as_raw_fd(),
            self.naming.as_raw_fd(),
            self.home.as_raw_fd(),
        ]
    }

    /// Where a folder is named.
    pub(super) fn naming(&self) -> &OwnedFd {
        &self.naming
    }

    /// Hear which it is, and put it there. The program has its folder, if what it may hold is
    /// said; an owner that hung up or made no sense changes nothing.
    pub(super) fn settle(self) -> Option<Disk> {
        let (named, _) = message::receive::<Named>(&self.naming).ok()?;
        let done = self.put_folder(&named.folder);
        let settled = Settled {
            failed: done.as_ref().err().map(ToString::to_string),
        };
        let _ = message::send(&self.naming, &settled, &[]);
        done.ok().and(named.disk)
    }

    fn put_folder(&self, name: &str) -> io::Result<()> {
        let mut parts = Path::new(name).components();
        let is_plain = parts.all(|part| matches!(part, Component::Normal(_)));
        if name.is_empty() || !is_plain {
            return Err(io::Error::other("that is no name of a folder"));
        }
        syscalls::unshare(UnshareFlags::NEWNS)?;
        let taken = self.take(name);
        // Back home, whatever came of it.
        move_into_link_name_space(self.home.as_fd(), Some(LinkNameSpaceType::Mount))?;
        put(&taken?, Path::new(WORK), true)
    }

    /// Take one of the folders, in a namespace where nobody else is.
    fn take(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(&self.folders, "", CWD, WORK, flags)?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let tree = open_tree(CWD, Path::new(WORK).join(name), flags)?;
        let kind = FileType::from_raw_mode(fstat(&tree)?.st_mode);
        if kind != FileType::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        syscalls::restrict_mount(tree.as_fd(), self.attributes, true)?;
        Ok(tree)
    }
}
