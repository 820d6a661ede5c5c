//! What a reply says about how a run ended, and about its limits.

use super::*;
use crate::lane::Lane;
use crate::run_folder::RunFolder;
use crate::runner_messages::{Ended, Exception};
use crate::runtime::Runtime;
use crate::session::Survey;
use pillion_sandbox::{InitMessage, Limits, OutputFile};
use pillion_workspace::LaneConfig;
use std::io;
use std::path::Path;

/// Do something with the setting of a run in the expert lane.
fn in_setting<T>(level: Level, network: bool, act: impl FnOnce(&Setting<'_>) -> T) -> T {
    let home = tempfile::tempdir().unwrap();
    let lane = match level {
        Level::L3 => Lane::Expert,
        _ => Lane::User,
    };
    let place = RunFolder::new(home.path(), lane, None, level).unwrap();
    let runtime = Runtime {
        executable: "/python".into(),
        worker: "/worker".into(),
        view: Vec::new(),
        packages: Vec::new(),
        proof: pillion_project::Stamps::default(),
        is_foreign: false,
    };
    let config = LaneConfig {
        network,
        ..LaneConfig::default()
    };
    act(&Setting {
        root: Path::new("/project"),
        runtime: &runtime,
        config: &config,
        limits: Limits::default(),
        level,
        place: &place,
        before: &Survey::default(),
    })
}

fn finished(outcome: RunOutcome) -> Finished {
    Finished {
        outcome,
        returncode: 7,
        stdout: "out".to_owned(),
        stderr: "err".to_owned(),
        truncated: true,
        said: None,
        outputs: Vec::new(),
        ended: None,
    }
}

fn reply_to(finished: Finished) -> Reply {
    let timeout = Duration::from_secs(3);
    in_setting(Level::L3, false, |setting| {
        reply(finished, setting, timeout)
    })
}

/// By what a limit is kept.
fn kept_by(level: Level, network: bool, what: &str) -> Option<String> {
    let timeout = Duration::from_secs(3);
    let all = in_setting(level, network, |setting| limits(setting, timeout));
    let found = all.into_iter().find(|limit| limit.what == what);
    found.map(|limit| limit.by)
}

#[test]
fn a_run_that_did_not_begin_in_time_is_told_apart_from_one_that_could_not() {
    let late = not_started(&io::ErrorKind::TimedOut.into());
    assert_eq!((late.outcome, late.returncode), (RunOutcome::Timeout, -1));
    let failed = not_started(&io::Error::other("no zygote"));
    assert_eq!(
        (failed.outcome, failed.returncode),
        (RunOutcome::StartFailed, -3)
    );
    assert_eq!(failed.stderr, "no zygote\n");
}

#[test]
fn success_is_one_outcome_and_cancelled_another() {
    for (outcome, success, cancelled) in [
        (RunOutcome::Ok, true, false),
        (RunOutcome::Error, false, false),
        (RunOutcome::Cancelled, false, true),
        (RunOutcome::Timeout, false, false),
    ] {
        let reply = reply_to(finished(outcome));
        assert_eq!((reply.success, reply.cancelled), (success, cancelled));
        assert_eq!((reply.returncode, reply.truncated), (7, true));
        assert_eq!(
            (reply.stdout.as_str(), reply.stderr.as_str()),
            ("out", "err")
        );
        assert_eq!(reply.level, "L3");
    }
}

#[test]
fn what_was_said_is_in_the_reply() {
    let file = |name: &str| OutputFile {
        name: name.to_owned(),
        size: 1,
    };
    let said = InitMessage {
        cpu_ms: 1.5,
        peak_bytes: 2,
        processes: 3,
        outputs: vec![file("a"), file("b")],
        ..InitMessage::default()
    };
    let ended = Ended {
        repr: Some("<object>".to_owned()),
        exception: Some(Exception {
            kind: "E".to_owned(),
            message: String::new(),
            limit: None,
        }),
        ..Ended::default()
    };
    let reply = reply_to(Finished {
        said: Some(said),
        outputs: vec![b"1".to_vec(), b"2".to_vec()],
        ended: Some(ended),
        ..finished(RunOutcome::Error)
    });
    let outputs = reply.outputs.iter();
    let outputs: Vec<_> = outputs
        .map(|file| (&*file.name, file.text.as_deref()))
        .collect();
    assert_eq!(outputs, [("a", Some("1")), ("b", Some("2"))]);
    let Used {
        cpu_ms,
        peak_bytes,
        processes,
    } = reply.used;
    assert_eq!((cpu_ms, peak_bytes, processes), (1.5, 2, 3));
    assert_eq!(reply.value_repr.as_deref(), Some("<object>"));
    assert_eq!(reply.exception.unwrap().kind, "E");
}

#[test]
fn limits_are_those_in_force_with_what_keeps_them() {
    let reply = reply_to(finished(RunOutcome::Ok));
    let values: Vec<_> = reply
        .limits
        .iter()
        .map(|limit| (&*limit.what, limit.value))
        .collect();
    let expected = [
        ("time", 3.0),
        ("memory", 512.0 * 1024.0 * 1024.0),
        ("processes", 64.0),
        ("open_files", 256.0),
        ("disk", 256.0 * 1024.0 * 1024.0),
        ("output", 16_384.0 * 1024.0),
        ("network", 0.0),
    ];
    assert_eq!(values, expected);
    assert!(reply.limits.iter().all(|limit| !limit.by.is_empty()));
}

#[test]
fn nothing_is_said_to_keep_a_limit_that_is_not_there() {
    assert_eq!(kept_by(Level::L3, true, "network"), None);
    assert_eq!(kept_by(Level::L1, false, "network"), None);
    let filtered = kept_by(Level::L2, false, "network").unwrap();
    assert!(filtered.contains("filter") && !filtered.contains("namespace"));
    assert!(
        kept_by(Level::L3, false, "network")
            .unwrap()
            .contains("namespace")
    );
    for (level, by) in [(Level::L3, "init"), (Level::L2, "box"), (Level::L1, "box")] {
        assert!(kept_by(level, false, "memory").unwrap().contains(by));
    }
    let (in_memory, on_disk) = (
        kept_by(Level::L3, false, "disk"),
        kept_by(Level::L2, false, "disk"),
    );
    assert_eq!(in_memory.as_deref(), Some("a file system of that size"));
    assert!(on_disk.unwrap().contains("RLIMIT_FSIZE"));
}
