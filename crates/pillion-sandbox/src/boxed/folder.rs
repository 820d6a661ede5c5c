//! Whether a folder holds more than it may. Untrusted code writes to it meanwhile, so every
//! step is from an open folder to one below it, and what cannot be added up is too much.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use super::Disk;

/// Deeper than any folder that people make.
const DEPTH: u32 = 200;

/// What still fits.
struct Left {
    bytes: u64,
    files: u64,
    /// Files with more than one name, or none, that were added up already.
    known: HashSet<(u64, u64)>,
}

/// What does not fit.
struct TooMuch;

/// Whether what is in the folder, and what these processes have open of it without a name, is
/// more than fits.
pub(super) fn is_full(disk: &Disk, pids: &[i32]) -> bool {
    let Ok(root) = openat(CWD, &disk.path, FOLDER, Mode::empty()) else {
        return false;
    };
    let mut left = Left {
        bytes: disk.bytes,
        files: disk.files,
        known: HashSet::new(),
    };
    let device = fstat(&root).map_or(0, |stat| stat.st_dev);
    let sum = left.add_nameless(device, pids);
    sum.and_then(|()| left.add_below(&root, 0)).is_err()
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Left {
    fn add(&mut self, blocks: u64) -> Result<(), TooMuch> {
        self.bytes = self.bytes.checked_sub(blocks * 512).ok_or(TooMuch)?;
        self.files = self.files.checked_sub(1).ok_or(TooMuch)?;
        Ok(())
    }

    /// Files that were removed are there as long as somebody has them open.
    fn add_nameless(&mut self, device: u64, pids: &[i32]) -> Result<(), TooMuch> {
        for pid in pids {
            let files = fs::read_dir(format!("/proc/{pid}/fd"));
            for file in files.into_iter().flatten().flatten() {
                let Ok(meta) = fs::metadata(file.path()) else {
                    continue;
                };
                let is_nameless = meta.nlink() == 0 && meta.dev() == device;
                if is_nameless && self.known.insert((meta.dev(), meta.ino())) {
                    self.add(meta.blocks())?;
                }
            }
        }
        Ok(())
    }

    fn add_below(&mut self, folder: &OwnedFd, depth: u32) -> Result<(), TooMuch> {
        let Ok(entries) = Dir::read_from(folder) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            // It may be gone by now.
            let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            let is_known =
                !is_folder && stat.st_nlink > 1 && !self.known.insert((stat.st_dev, stat.st_ino));
            if !is_known {
                self.add(u64::try_from(stat.st_blocks).unwrap_or(0))?;
            }
            if !is_folder {
                continue;
            }
            if depth >= DEPTH {
                return Err(TooMuch);
            }
            match openat(folder, name, FOLDER, Mode::empty()) {
                Ok(below) => self.add_below(&below, depth + 1)?,
                // Whoever hides what is his has something to hide.
                Err(Errno::ACCESS) if stat.st_uid == rustix::process::geteuid().as_raw() => {
                    return Err(TooMuch);
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}
