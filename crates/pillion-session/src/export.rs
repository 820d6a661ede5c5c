//! A session as a file: a tar archive of its folder.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};

use crate::folder::{Folder, hold};

/// Files that go into an archive, and how deep folders may lie.
const MOST: u64 = 20_000;
const DEEPEST: usize = 16;

/// What was written.
#[derive(Debug)]
pub(crate) struct Written {
    /// The length of the file.
    pub(crate) size_bytes: u64,
    /// Files in it.
    pub(crate) files: u64,
}

/// Write a session into a new file. Links and what else is no file stay behind: a learner's code
/// could have made them to show what is elsewhere.
pub(crate) fn export(folder: &Folder, path: &Path) -> Result<Written> {
    let mut held = hold(folder)?;
    folder.settle(&mut held)?;
    let failed = |error: io::Error| {
        let what = format!("cannot write `{}`: {error}", path.display());
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Error::new(Code::Conflict, what).hint("name a file that is not there yet")
            }
            _ => Error::new(Code::WriteFailed, what),
        }
    };
    let mut options = File::options();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.write(true).create_new(true).open(path);
    let file = file.map_err(failed)?;
    let written = archive(folder, file);
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    let (files, size_bytes) = written.map_err(failed)?;
    Ok(Written { size_bytes, files })
}

fn archive(folder: &Folder, file: File) -> io::Result<(u64, u64)> {
    let mut archive = tar::Builder::new(BufWriter::new(file));
    archive.mode(tar::HeaderMode::Deterministic);
    archive.follow_symlinks(false);
    let mut files = 0;
    let mut waiting = vec![(folder.base(), PathBuf::from(folder.id()), 0)];
    while let Some((from, name, depth)) = waiting.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(&from)?.collect::<io::Result<_>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type()?;
            let name = name.join(entry.file_name());
            let is_ours = entry
                .file_name()
                .to_string_lossy()
                .starts_with(".commit.json");
            if kind.is_dir() && depth < DEEPEST {
                waiting.push((entry.path(), name, depth + 1));
            } else if kind.is_file() && !is_ours {
                files += 1;
                if files > MOST {
                    return Err(io::Error::other("it has too many files"));
                }
                let flags = rustix::fs::OFlags::RDONLY
                    | rustix::fs::OFlags::NOFOLLOW
                    | rustix::fs::OFlags::NONBLOCK
                    | rustix::fs::OFlags::CLOEXEC;
                let open = rustix::fs::open(entry.path(), flags, rustix::fs::Mode::empty())?;
                archive.append_file(name, &mut File::from(open))?;
            }
        }
    }
    let mut writer = archive.into_inner()?;
    writer.flush()?;
    let file = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok((files, file.metadata()?.len()))
}
