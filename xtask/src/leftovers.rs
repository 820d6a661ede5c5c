//! Processes that tests left behind. Each test process carries a mark in its environment,
//! and so does every process it starts, unless its environment is scrubbed.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::run::Run;

/// The environment variable that marks the processes of a run.
pub(crate) const MARK: &str = "PILLION_TEST_RUN";

/// What was told to stop may take this long to be gone.
const GRACE: Duration = Duration::from_secs(3);

/// The mark of this run.
pub(crate) fn mark() -> String {
    std::process::id().to_string()
}

/// Whether this platform lets us see them.
pub(crate) fn can_be_seen() -> bool {
    cfg!(target_os = "linux")
}

/// Fail if a marked process is still there after a grace, and end it.
pub(crate) fn none() -> Result<()> {
    none_after(GRACE)
}

fn none_after(grace: Duration) -> Result<()> {
    let deadline = Instant::now() + grace;
    loop {
        let left = marked();
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(end(&left));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A process that tests started.
struct Leftover {
    pid: String,
    command: String,
}

/// End them, so that they cannot disturb the next run.
fn end(left: &[Leftover]) -> Error {
    let mut list = String::new();
    for Leftover { pid, command } in left {
        list.push_str(&format!("\n  {pid} {command}"));
        let _ = Run::new("kill").args(["-9", pid]).output();
    }
    Error::new(format!("tests left processes behind:{list}"))
        .hint("they were killed now; a test ends what it starts, also when it fails")
}

/// The marked processes that live.
fn marked() -> Vec<Leftover> {
    let wanted = format!("{MARK}={}", mark());
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for process in processes.flatten() {
        // Processes end while we look, and those of other users are none of ours.
        let Ok(environment) = std::fs::read(process.path().join("environ")) else {
            continue;
        };
        let mut variables = environment.split(|byte| *byte == 0);
        if variables.any(|variable| variable == wanted.as_bytes()) {
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let pid = process.file_name().to_string_lossy().into_owned();
            found.push(Leftover { pid, command });
        }
    }
    found
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_marked_process_is_found_told_and_ended() {
        // `sleep` outlives the shell that started it, as a leftover outlives its test.
        let shell = Run::new("sh").args(["-c", "sleep 60 >/dev/null 2>&1 &"]);
        shell.env(MARK, mark()).show().unwrap();
        // While a process becomes another program, it has no variables for a moment.
        let is_there = |left: &Leftover| left.command.contains("sleep 60");
        while !marked().iter().any(is_there) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let told = none_after(Duration::ZERO).unwrap_err();
        assert!(told.message().contains("sleep 60"), "{told}");
        assert_eq!(none(), Ok(()));
    }
}
