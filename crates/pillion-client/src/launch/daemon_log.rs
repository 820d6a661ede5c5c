//! The file that a started daemon's words go to before it can speak for itself.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pillion_process::effective_uid;
use rustix::fs::OFlags;

/// A log larger than this starts anew.
const MAX_LOG: u64 = 1 << 20;
/// How much of it an error shows.
const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 12;

/// An open log, and where this start's words begin in it.
pub(crate) struct DaemonLog {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    begin: u64,
}

impl DaemonLog {
    /// Open the first of these files that can be written. A read-only home or a full disk
    /// is no reason not to start.
    pub(crate) fn open<'a>(candidates: impl IntoIterator<Item = &'a Path>) -> Option<Self> {
        candidates.into_iter().find_map(Self::open_one)
    }

    fn open_one(path: &Path) -> Option<Self> {
        let path = std::path::absolute(path).ok()?;
        std::fs::create_dir_all(path.parent()?).ok()?;
        // Never through a link that someone else may have put there.
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .ok()?;
        let meta = file.metadata().ok()?;
        if !meta.is_file() || meta.uid() != effective_uid() {
            return None;
        }
        let mut begin = meta.len();
        if begin > MAX_LOG {
            file.set_len(0).ok()?;
            begin = 0;
        }
        Some(Self { path, file, begin })
    }

    /// The last lines that were written since it was opened.
    pub(crate) fn tail(&self) -> String {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(&self.path)?;
            let end = file.metadata()?.len();
            let from = self.begin.max(end.saturating_sub(TAIL_BYTES));
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let text = read().unwrap_or_default();
        let lines: Vec<_> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_the_words_of_this_start_are_shown() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("new/daemon.log");
        let mut log = DaemonLog::open([path.as_path()]).unwrap();
        log.file.write_all(b"old words\n").unwrap();
        let mut log = DaemonLog::open([path.as_path()]).unwrap();
        assert_eq!(log.tail(), "");
        for line in 0..20 {
            writeln!(log.file, "line {line}\n").unwrap();
        }
        let tail = log.tail();
        assert!(
            tail.starts_with("line 8\n") && tail.ends_with("line 19"),
            "{tail}"
        );
    }

    #[test]
    fn a_large_log_starts_anew() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("daemon.log");
        std::fs::write(&path, vec![b'x'; (1 << 20) + 1]).unwrap();
        let log = DaemonLog::open([path.as_path()]).unwrap();
        assert_eq!(log.file.metadata().unwrap().len(), 0);
    }

    #[test]
    fn what_cannot_be_written_is_passed_by() {
        let temp = tempfile::tempdir().unwrap();
        let second = temp.path().join("second.log");
        let log = DaemonLog::open([Path::new("/proc/none/daemon.log"), &second]).unwrap();
        assert_eq!(log.path, second);
        assert!(DaemonLog::open([temp.path()]).is_none());
    }
}
