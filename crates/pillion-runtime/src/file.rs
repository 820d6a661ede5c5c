//! Small helpers around files: atomic writes, hashes, since when what they hold is certain.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

/// A name beside `path` that nobody else uses.
pub(crate) fn temporary_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{count}.tmp", std::process::id()))
}

/// Replace a file's contents at once: a reader sees the old or the new, never a part.
pub fn write_atomically(path: &Path, contents: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path);
    let written = std::fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(contents))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// The current run of this machine. What was written in an earlier one may not have come to
/// the disk whole.
pub(crate) fn boot() -> String {
    pillion_process::stat::boot_id().unwrap_or_default()
}

/// The SHA-256 of some pieces, each preceded by its length, in hexadecimal.
pub(crate) fn sha256<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for piece in pieces {
        hasher.update((piece.len() as u64).to_le_bytes());
        hasher.update(piece);
    }
    hex::encode(hasher.finalize())
}

/// The end of a program's complaint: enough to see what was wrong.
pub(crate) fn tail(text: &str) -> String {
    const LINES: usize = 12;
    const BYTES: usize = 2000;
    let text = text.trim_end();
    let lines: Vec<&str> = text.lines().collect();
    let kept = lines[lines.len().saturating_sub(LINES)..].join("\n");
    let cut = kept.ceil_char_boundary(kept.len().saturating_sub(BYTES));
    kept[cut..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for text in ["one", "two"] {
            write_atomically(&path, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        let names = folder.path().read_dir().unwrap().count();
        assert_eq!(names, 1, "nothing temporary is left");
    }

    #[test]
    fn pieces_are_not_confused_by_moving_bytes_between_them() {
        let one = sha256([b"ab".as_slice(), b"c"]);
        let two = sha256([b"a".as_slice(), b"bc"]);
        assert_ne!(one, two);
        assert_eq!(one.len(), 64);
    }

    #[test]
    fn a_tail_keeps_the_end() {
        let long = "x\n".repeat(5000) + "the cause\n";
        let tail = tail(&long);
        assert!(tail.ends_with("the cause") && tail.len() < 100);
        assert!(super::tail(&"ä".repeat(4000)).len() <= 2000);
    }
}
