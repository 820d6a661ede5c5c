//! Files that are on disk when we say so, and trees that move as a whole.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Open a file to read it. What is none is refused unopened: a pipe to which nobody writes would
/// keep us for ever.
pub(crate) fn open(path: &Path) -> io::Result<fs::File> {
    match fs::metadata(path)?.is_file() {
        true => fs::File::open(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
    }
}

/// Replace a file so that either the old or the new one is there, also after a power failure.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    renamed.map_err(Error::io("write", path))?;
    sync_parent(path)
}

/// See that the names in the folder of a path are on disk.
pub(crate) fn sync_parent(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(Error::io("write", folder))
}

/// See that everything below a folder is on disk.
#[cfg(target_os = "linux")]
pub(crate) fn sync_tree(folder: &Path) -> Result<()> {
    // One call for thousands of files; it waits for all that is written there.
    let synced = fs::File::open(folder).and_then(|open| Ok(rustix::fs::syncfs(&open)?));
    synced.map_err(Error::io("write", folder))
}

/// See that everything below a folder is on disk.
#[cfg(not(target_os = "linux"))]
pub(crate) fn sync_tree(folder: &Path) -> Result<()> {
    let entries = folder.read_dir().map_err(Error::io("read", folder))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::io("read", &path))?;
        if kind.is_dir() {
            sync_tree(&path)?;
        } else if kind.is_file() {
            let synced = fs::File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(Error::io("write", &path))?;
        }
    }
    let synced = fs::File::open(folder).and_then(|open| open.sync_all());
    synced.map_err(Error::io("write", folder))
}

/// Move a tree to its place. What is there goes to `aside`, at the same moment where the system
/// can do that.
pub(crate) fn place(tree: &Path, target: &Path, aside: &Path) -> Result<()> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(Error::io("make", parent))?;
    }
    let moved = match target.symlink_metadata() {
        Ok(_) => match exchange(tree, target) {
            Ok(()) => Ok(()),
            Err(_) => fs::rename(target, aside).and_then(|()| fs::rename(tree, target)),
        },
        Err(_) => fs::rename(tree, target),
    };
    moved.map_err(Error::io("write", target))?;
    sync_parent(target)
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Remove a tree, if it is there. A link is removed, not followed.
pub(crate) fn remove_tree(path: &Path) -> Result<()> {
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let removed = match meta.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}
