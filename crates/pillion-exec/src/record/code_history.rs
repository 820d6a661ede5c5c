//! The last runs of a session, in its folder: an interface, because desktops show them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pillion_lanes::{Program, Reply, RunRequest};
use serde_json::{Value, json};

/// Runs that are kept of a session.
const KEPT: usize = 10;
/// What is kept of a text.
const TEXT: usize = 64 << 10;
/// The folder below that of the session.
const FOLDER: &str = "code_history";

/// What a run was, taken before it runs.
pub(crate) fn program(request: &RunRequest) -> Value {
    match &request.program {
        Program::Code(code) => json!({ "code": cut(code) }),
        Program::File(name) => json!({ "file": name }),
        Program::Module(name) => json!({ "module": name }),
        Program::Function { function, .. } => json!({ "function": function }),
    }
}

/// Write a run into the folder of its session; the oldest goes.
pub(crate) fn keep(session: &Path, program: Value, reply: &Reply) -> io::Result<()> {
    let folder = session.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let now = jiff::Timestamp::now();
    let mut run = program;
    run["at"] = now.to_string().into();
    run["run_id"] = reply.run_id.clone().into();
    run["success"] = reply.success.into();
    run["stdout"] = cut(&reply.stdout).into();
    run["stderr"] = cut(&reply.stderr).into();
    run["returncode"] = reply.returncode.into();
    run["execution_time_ms"] = reply.execution_time_ms.into();
    run["outcome"] = json!(reply.outcome);
    run["truncated"] = reply.truncated.into();
    let text = serde_json::to_vec_pretty(&run)?;
    write(&folder, now.as_millisecond(), &text)?;
    let mut all = names(&folder)?;
    let over = all.len().saturating_sub(KEPT);
    for old in all.drain(..over) {
        fs::remove_file(folder.join(old))?;
    }
    Ok(())
}

/// Write a file under a name that is later than all others: this millisecond, unless several
/// runs were in it or the clock was set back.
fn write(folder: &Path, millisecond: i64, text: &[u8]) -> io::Result<()> {
    let staged = folder.join(format!(".{}.new", pillion_lanes::session::name_of_run()));
    fs::write(&staged, text)?;
    let newest = names(folder)?.pop();
    let newest = newest.and_then(|name| number(name.to_str()?));
    let mut at = newest.map_or(millisecond, |newest| millisecond.max(newest + 1));
    loop {
        match fs::hard_link(&staged, folder.join(format!("run_{at}.json"))) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => at += 1,
            linked => {
                fs::remove_file(&staged)?;
                return linked;
            }
        }
    }
}

/// The files of runs, oldest first.
fn names(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<(i64, PathBuf)> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((number(&name)?, name.into()))
        })
        .collect();
    all.sort();
    Ok(all.into_iter().map(|(_, name)| name).collect())
}

/// The number in the name of a run's file.
fn number(name: &str) -> Option<i64> {
    let number = name.strip_prefix("run_")?.strip_suffix(".json")?;
    // A file that somebody put there must not use up all numbers.
    number.parse().ok().filter(|number| *number < i64::MAX / 2)
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pillion_catalogue::{Code, Error};
    use pillion_lanes::Lane;

    #[test]
    fn a_run_is_the_newest_also_when_the_clock_was_set_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for (millisecond, name) in [
            (500, "run_500.json"),
            (500, "run_501.json"),
            (100, "run_502.json"),
            (900, "run_900.json"),
        ] {
            write(folder, millisecond, b"{}").unwrap();
            assert_eq!(names(folder).unwrap().pop(), Some(name.into()));
        }
        fs::remove_file(folder.join("run_500.json")).unwrap();
        write(folder, 500, b"{}").unwrap();
        assert_eq!(names(folder).unwrap().pop(), Some("run_901.json".into()));
    }

    #[test]
    fn the_last_ten_runs_are_kept_whatever_the_clock_says() {
        let session = tempfile::tempdir().unwrap();
        for number in 0..13 {
            let error = Error::new(Code::Busy, format!("run {number}"));
            let reply = Reply::never_ran(Lane::User, &error);
            keep(session.path(), json!({ "code": "1" }), &reply).unwrap();
        }
        let folder = session.path().join(FOLDER);
        let kept = names(&folder).unwrap();
        assert_eq!(kept.len(), KEPT);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), KEPT);
        let read = |name: &PathBuf| -> Value {
            serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
        };
        assert_eq!(read(&kept[0])["stderr"], "run 3\n");
        assert_eq!(read(&kept[9])["stderr"], "run 12\n");
        assert_eq!(read(&kept[9])["outcome"], "start_failed");
    }
}
