//! `exec.jsonl`: a line of JSON for each run, in two files of a limited size.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use pillion_runtime::Dirs;

/// The log, in the state folder.
const FILE: &str = "exec.jsonl";
/// What it was before.
const OLD: &str = "exec.jsonl.1";
/// Held by whoever writes: daemons may share the folder.
const LOCK: &str = "exec.jsonl.lock";
/// When the log begins anew.
const BYTES: u64 = 4 << 20;

/// Add whole lines. Blocks.
pub(super) fn append(dirs: &Dirs, lines: &[u8]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let folder = dirs.writable_state().map_err(io::Error::other)?;
    let open = |name: &str| -> io::Result<File> {
        let mut options = File::options();
        options.create(true).append(true).mode(0o600);
        options.open(folder.join(name))
    };
    let lock = open(LOCK)?;
    lock.lock()?;
    let mut file = open(FILE)?;
    if file.metadata()?.len() + lines.len() as u64 > BYTES {
        fs::rename(folder.join(FILE), folder.join(OLD))?;
        file = open(FILE)?;
    }
    file.write_all(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_are_kept_and_no_line_is_torn() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path());
        let line = format!("{}\n", "x".repeat(999));
        for _ in 0..10 {
            append(&dirs, line.repeat(1000).as_bytes()).unwrap();
        }
        let size = |name: &str| fs::metadata(dirs.state.join(name)).unwrap().len();
        assert_eq!((size(FILE), size(OLD)), (2_000_000, 4_000_000));
        let text = fs::read_to_string(dirs.state.join(FILE)).unwrap();
        assert!(text.lines().all(|line| line.len() == 999));
    }
}
