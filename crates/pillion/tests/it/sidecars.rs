//! Foreign sidecars: programs of the old contract, supervised by `pillion.toml`.

use pillion_testing::{TWO_SECONDS, TestContext, processes, wait_until};
use serde_json::{Value, json};

const OLD: &str = include_str!("old_sidecar.py");

fn context(more: &str) -> TestContext {
    let context = TestContext::new();
    context.write("old_sidecar.py", OLD);
    context.trusted_config(&format!(
        "[sidecar.old]\ncommand = ['python3', '-u', 'old_sidecar.py', '--sidecar']\n{more}"
    ))
}

#[test]
fn an_old_program_is_started_on_first_use_and_kept() {
    let context = context("");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    assert!(daemon.sidecars().is_empty(), "lazy");
    let answer = rpc.sidecar("old", "echo", json!({"x": [1, "é"]})).unwrap();
    assert_eq!(answer["args"], json!({"x": [1, "é"]}));
    assert_eq!(answer["project"], context.project.to_str().unwrap());
    let first = rpc.sidecar("old", "pid", json!({})).unwrap();
    let second = rpc.sidecar("old", "pid", json!({})).unwrap();
    assert_eq!(first["pid"], second["pid"]);
    assert_eq!(second["calls"], 3);
    let unknown = rpc.sidecar("old", "dance", json!({})).unwrap();
    assert_eq!(unknown["error"], "UnknownCommand", "a result, as it came");
    let sidecar = daemon.sidecars().remove(0);
    assert_eq!(
        (&sidecar["name"], &sidecar["kind"]),
        (&json!("old"), &json!("foreign"))
    );
    assert_eq!(
        sidecar["pid"], first["pid"],
        "the program itself, not its guard"
    );
}

#[test]
fn its_own_errors_are_passed_on_and_no_crashes() {
    let context = context("");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for _ in 0..4 {
        let error = rpc.sidecar("old", "fail", json!({})).unwrap_err();
        assert_eq!(error["data"]["code"], "file_not_found", "{error}");
        assert_eq!(error["data"]["recoverable"], true);
        assert_eq!(error["data"]["data"]["type"], "FileNotFoundError");
    }
    assert_eq!(daemon.sidecars()[0]["crashes"], 0);
    let error = rpc.sidecar("nosuch", "x", json!({})).unwrap_err();
    assert_eq!(error["data"]["code"], "not_found", "{error}");
    assert!(
        error["data"]["hint"].as_str().unwrap().contains("old"),
        "{error}"
    );
}

#[test]
fn stray_lines_are_nobodys_answer() {
    let context = context("");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for _ in 0..3 {
        assert_eq!(
            rpc.sidecar("old", "noisy", json!({})).unwrap(),
            json!({"noisy": true})
        );
        assert_eq!(
            rpc.sidecar("old", "twice", json!({})).unwrap(),
            json!({"first": true})
        );
    }
    let answer = rpc.sidecar("old", "echo", json!({"n": 1})).unwrap();
    assert_eq!(answer["args"]["n"], 1, "not off by one");
    assert_eq!(daemon.sidecars()[0]["crashes"], 0);
}

#[test]
fn a_late_answer_is_dropped_and_the_next_caller_gets_its_own() {
    let context = context("");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let pid = rpc.sidecar("old", "pid", json!({})).unwrap()["pid"].clone();
    let id = rpc.send_sidecar(
        "old",
        "late",
        json!({"seconds": 1}),
        json!({"timeout_ms": 200}),
    );
    assert_eq!(rpc.outcome(id).unwrap_err()["data"]["code"], "timeout");
    for n in 0..3 {
        let answer = rpc.sidecar("old", "echo", json!({"n": n})).unwrap();
        assert_eq!(answer["args"]["n"], n);
    }
    assert_eq!(
        rpc.sidecar("old", "pid", json!({})).unwrap()["pid"],
        pid,
        "it was only late"
    );
    assert_eq!(daemon.sidecars()[0]["crashes"], 0, "late is no crash");
}

#[test]
fn one_that_hangs_for_good_is_ended() {
    let context = context("");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let first = rpc.sidecar("old", "pid", json!({})).unwrap()["pid"].clone();
    let id = rpc.send_sidecar(
        "old",
        "late",
        json!({"seconds": 600}),
        json!({"timeout_ms": 100}),
    );
    assert_eq!(rpc.outcome(id).unwrap_err()["data"]["code"], "timeout");
    let second = rpc.sidecar("old", "pid", json!({})).unwrap()["pid"].clone();
    assert_ne!(first, second);
}

#[test]
fn only_what_is_safe_is_sent_again() {
    let context = context("safe_commands = ['die_once']\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mark = context.path("safe");
    let answer = rpc
        .sidecar("old", "die_once", json!({"mark": mark}))
        .unwrap();
    assert_eq!(answer, json!({"survived": true}));
    assert_eq!(std::fs::read_to_string(&mark).unwrap().lines().count(), 2);
    let mark = context.path("unsafe");
    let error = rpc
        .sidecar("old", "die", json!({"mark": mark}))
        .unwrap_err();
    assert_eq!(error["data"]["code"], "crashed", "{error}");
    assert_eq!(error["data"]["data"]["exit_code"], 11);
    assert!(
        error["message"].as_str().unwrap().contains("I am dying"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&mark).unwrap().lines().count(), 1);
}

#[test]
fn three_crashes_fall_back_to_a_child_per_call_and_it_recovers() {
    let context = context("");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for _ in 0..3 {
        assert!(
            rpc.sidecar("old", "die", json!({"mark": context.path("mark")}))
                .is_err()
        );
    }
    assert_eq!(daemon.sidecars()[0]["state"], "broken");
    for _ in 0..2 {
        let answer = rpc.sidecar("old", "pid", json!({})).unwrap();
        assert_eq!(answer["calls"], 1, "a child of its own");
    }
    assert_eq!(
        daemon.log().matches("one child per call").count(),
        1,
        "{}",
        daemon.log()
    );
    wait_until("the persistent child to be back", || {
        rpc.sidecar("old", "pid", json!({})).unwrap()["calls"].as_u64() > Some(1)
    });
}

#[test]
fn a_missing_or_wrong_ready_line_is_told_at_once() {
    let context = TestContext::new().trusted_config(
        "[sidecar.silent]\ncommand = ['sleep', '600']\nready_s = 0.3\n\
         [sidecar.chatty]\ncommand = ['sh', '-c', 'echo hello; sleep 600']\n\
         [sidecar.dead]\ncommand = ['sh', '-c', 'echo broken >&2; exit 4']\n\
         [sidecar.absent]\ncommand = ['./nosuch-program']\n",
    );
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for (name, words) in [
        ("silent", "did not get ready"),
        ("chatty", "ready"),
        ("dead", "broken"),
        ("absent", "nosuch-program"),
    ] {
        let error = rpc.sidecar(name, "x", json!({})).unwrap_err();
        assert_eq!(error["data"]["code"], "start_failed", "{name}: {error}");
        assert!(
            error["message"].as_str().unwrap().contains(words),
            "{name}: {error}"
        );
        assert!(error["data"]["hint"].is_string(), "{name}: {error}");
    }
    wait_until("nothing of them to be left", || {
        context.processes().len() == 1
    });
}

#[test]
fn a_lot_on_standard_error_does_not_block_it() {
    let context = context("");
    let daemon = context.daemon();
    let answer = daemon
        .connect()
        .sidecar("old", "shout", json!({"megabytes": 20}));
    assert_eq!(answer.unwrap(), json!({"shouted": true}));
}

#[test]
fn memory_and_secrets_have_the_same_rules() {
    let mut context = context("memory_hard_mb = 150\npass_env = ['WANTED_TOKEN']\n");
    context.set_env("WANTED_TOKEN", "given");
    context.set_env("OTHER_TOKEN", "kept");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for (name, value) in [
        ("WANTED_TOKEN", json!("given")),
        ("OTHER_TOKEN", Value::Null),
    ] {
        let answer = rpc.sidecar("old", "env", json!({"name": name})).unwrap();
        assert_eq!(answer["value"], value, "{name}");
    }
    let error = rpc
        .sidecar("old", "grow", json!({"megabytes": 400}))
        .unwrap_err();
    assert_eq!(error["data"]["code"], "memory", "{error}");
}

#[test]
fn our_own_package_serves_a_module_as_a_foreign_sidecar() {
    let package = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");
    let context = TestContext::new().trusted_config(&format!(
        "[sidecar.mine]\ncommand = ['env', 'PYTHONPATH={package}', 'python3', '-u', '-m', \
         'pillion', 'serve', 'things', '--sidecar']\n"
    ));
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    assert_eq!(
        rpc.sidecar("mine", "add", json!({"a": 1, "b": 2})).unwrap(),
        3
    );
    assert_eq!(rpc.sidecar("mine", "noise", json!({})).unwrap(), "quiet");
    let error = rpc
        .sidecar("mine", "raises", json!({"text": "no"}))
        .unwrap_err();
    assert_eq!(error["data"]["code"], "internal_error", "{error}");
    assert_eq!(error["data"]["data"]["type"], "ValueError");
    // It understands cancel, so it lives on.
    let pid = rpc.sidecar("mine", "pid", json!({})).unwrap();
    let started = context.path("started");
    let id = rpc.send_sidecar("mine", "stubborn", json!({"started": started}), json!({}));
    pillion_testing::wait_for_file(&started);
    rpc.cancel(id);
    assert_eq!(rpc.outcome(id).unwrap_err()["data"]["code"], "cancelled");
    assert_eq!(rpc.sidecar("mine", "pid", json!({})).unwrap(), pid);
    assert_eq!(daemon.sidecars()[0]["crashes"], 0);
}

#[test]
fn the_end_of_its_input_is_its_end_and_a_kill_helps_those_who_stay() {
    let context = context(
        "[sidecar.stubborn]\ncommand = ['sh', '-c', '''trap \"\" TERM; echo \"{\\\"status\\\":\\\"ready\\\"}\"; \
         read line; echo \"{\\\"id\\\":1,\\\"result\\\":{}}\"; while :; do sleep 1; done''']\n",
    );
    let mut daemon = context.daemon();
    let mut rpc = daemon.connect();
    rpc.sidecar("stubborn", "x", json!({})).unwrap();
    rpc.sidecar("old", "pid", json!({})).unwrap();
    let before = context.processes().len();
    assert!(before >= 5, "{}", processes::table(&context.processes()));
    drop(rpc);
    daemon.terminate();
    assert!(daemon.wait().success());
    context.wait_until_alone(TWO_SECONDS);
}

#[test]
fn a_sidecar_is_reached_from_the_command_line() {
    let context = context("");
    let output = context.pillion(&["call", "--sidecar", "old", "echo", "--args", r#"{"n": 1}"#]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json()["args"]["n"], 1);
    assert_eq!(output.json()["project"], context.project.to_str().unwrap());
}
