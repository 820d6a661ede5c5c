//! The reply, made of how a run ended and what it was made of.

use std::time::Duration;

use pillion_sandbox::Level;

use crate::outcome::RunOutcome;
use crate::reply::{FileOut, Limit, Reply, Used};
use crate::run::Finished;
use crate::run_setup::Setting;

/// A run that never began, in time or at all.
pub(crate) fn not_started(error: &std::io::Error) -> Finished {
    let (outcome, returncode, stderr) = match error.kind() {
        std::io::ErrorKind::TimedOut => {
            let why = "its time was over before it began\n".to_owned();
            (RunOutcome::Timeout, -1, why)
        }
        _ => (RunOutcome::StartFailed, -3, format!("{error}\n")),
    };
    Finished {
        outcome,
        returncode,
        stdout: String::new(),
        stderr,
        truncated: false,
        said: None,
        outputs: Vec::new(),
        ended: None,
    }
}

pub(crate) fn reply(finished: Finished, setting: &Setting<'_>, timeout: Duration) -> Reply {
    let said = finished.said.unwrap_or_default();
    let ended = finished.ended.unwrap_or_default();
    let names = said.outputs.into_iter().map(|file| file.name);
    Reply {
        success: finished.outcome == RunOutcome::Ok,
        stdout: finished.stdout,
        stderr: finished.stderr,
        returncode: finished.returncode,
        execution_time_ms: 0.0,
        cancelled: finished.outcome == RunOutcome::Cancelled,
        outcome: finished.outcome,
        limits: limits(setting, timeout),
        truncated: finished.truncated,
        lane: String::new(),
        level: format!("{:?}", setting.level),
        start: String::new(),
        value: ended.value,
        value_repr: ended.repr,
        exception: ended.exception,
        outputs: names
            .zip(finished.outputs)
            .map(|(name, contents)| FileOut::new(name, contents))
            .collect(),
        outputs_left_out: said.outputs_left_out,
        artifacts: Vec::new(),
        used: Used {
            cpu_ms: said.cpu_ms,
            peak_bytes: said.peak_bytes,
            processes: said.processes,
        },
        run_id: String::new(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
fn limits(setting: &Setting<'_>, timeout: Duration) -> Vec<Limit> {
    let Setting {
        limits,
        config,
        level,
        ..
    } = setting;
    let watched = match level {
        Level::L3 => "a watching init",
        Level::L1 | Level::L2 => "a watching box",
    };
    let in_memory = setting.place.folder.is_none();
    let limit = |what: &str, value: f64, by: String| Limit {
        what: what.to_owned(),
        value,
        by,
    };
    let mut all = vec![
        limit(
            "time",
            timeout.as_secs_f64(),
            "the daemon's clock; RLIMIT_CPU".into(),
        ),
        limit(
            "memory",
            limits.memory as f64,
            format!("RLIMIT_DATA; {watched}"),
        ),
        limit(
            "processes",
            f64::from(limits.processes),
            format!("RLIMIT_NPROC; {watched}"),
        ),
        limit(
            "open_files",
            limits.open_files as f64,
            "RLIMIT_NOFILE".into(),
        ),
        limit(
            "disk",
            limits.disk as f64,
            match in_memory {
                true => "a file system of that size".into(),
                false => format!("RLIMIT_FSIZE; {watched}"),
            },
        ),
        limit(
            "output",
            (config.output_kb << 10) as f64,
            "the daemon stops reading".into(),
        ),
    ];
    if !config.network {
        let by = match level {
            Level::L3 => "an empty network namespace; system call filter",
            Level::L2 => "system call filter; Landlock",
            Level::L1 => return all,
        };
        all.push(limit("network", 0.0, by.into()));
    }
    all
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
