//! From start to end: who starts, who may stay, who has to go, and what is left behind.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use pillion_testing::{DEADLINE, TWO_SECONDS, TestContext, processes, wait_for_file, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};

#[test]
fn an_unused_daemon_ends_by_itself_and_tidies_up() {
    let context = TestContext::new();
    let mut daemon = context.daemon_with(&["--idle-timeout", "0.3"]);
    assert!(daemon.connect().call("system.ping", Value::Null).is_ok());
    assert!(daemon.wait().success());
    assert!(!context.socket().exists(), "its socket is gone");
    assert!(daemon.log().contains("idle"), "{}", daemon.log());
}

#[test]
fn a_silent_connection_keeps_nobody_alive() {
    let context = TestContext::new();
    let mut daemon = context.daemon_with(&["--idle-timeout", "0.3"]);
    let rpc = daemon.connect();
    assert!(daemon.wait().success());
    drop(rpc);
}

#[test]
fn a_warm_worker_then_its_idleness_then_the_daemon() {
    let context = TestContext::new().config("[python]\nidle_minutes = 0.01\n");
    let mut daemon = context.daemon_with(&["--idle-timeout", "0.1"]);
    let worker = daemon.connect().py("things:pid", json!([])).unwrap();
    let worker = u32::try_from(worker.as_u64().unwrap()).unwrap();
    // The worker outlasts the daemon's own timer, and the daemon waits for it.
    assert!(daemon.wait().success());
    assert!(!processes::is_alive(worker));
    let log = daemon.log();
    assert!(log.contains("idle"), "{log}");
}

#[test]
fn a_running_call_and_a_running_stream_are_no_idleness() {
    let context = TestContext::new().config("[python]\nidle_minutes = 0.002\n");
    let mut daemon = context.daemon_with(&["--idle-timeout", "0.1"]);
    let mut rpc = daemon.connect();
    assert_eq!(rpc.py("things:sleep", json!([1.0])).unwrap(), 1.0);
    let mut rpc = daemon.connect();
    let id = rpc.send_py("things:numbers", json!([5, 0.2]), json!({"stream": true}));
    assert_eq!(rpc.outcome(id).unwrap()["result"], "done");
    assert_eq!(rpc.parts(id).len(), 5);
    drop(rpc);
    assert!(daemon.wait().success());
}

#[test]
fn a_subscriber_is_no_idleness() {
    let context = TestContext::new();
    let mut daemon = context.daemon_with(&["--idle-timeout", "0.2"]);
    let mut rpc = daemon.connect();
    let id = rpc.send("system.subscribe", json!({}));
    rpc.part(id, 0);
    std::thread::sleep(std::time::Duration::from_millis(800));
    assert!(processes::is_alive(daemon.pid));
    rpc.cancel(id);
    assert!(rpc.outcome(id).is_err());
    assert!(daemon.wait().success());
}

#[test]
fn an_idle_worker_ends_and_the_next_call_starts_its_successor() {
    let context = TestContext::new().config("[python]\nidle_minutes = 0.003\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    rpc.py("things:pid", json!([])).unwrap();
    wait_until("the worker to go idle", || {
        daemon.sidecars()[0]["state"] == "idle"
    });
    let sidecar = daemon.sidecars().remove(0);
    assert_eq!(
        (&sidecar["pid"], &sidecar["crashes"]),
        (&Value::Null, &json!(0))
    );
    let id = rpc.send_py("things:pid", json!([]), json!({}));
    assert_eq!(rpc.outcome(id).unwrap()["worker"]["generation"], 2);
}

#[test]
fn a_signal_lets_running_calls_finish() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let context = TestContext::new();
        let mut daemon = context.daemon();
        let mut rpc = daemon.connect();
        let (started, go) = (context.path("started"), context.path("go"));
        let id = rpc.send_py("things:block", json!([started, go]), json!({}));
        wait_for_file(&started);
        processes::signal(daemon.pid, signal);
        wait_until("the socket to be gone", || !context.socket().exists());
        fs::write(go, "").unwrap();
        assert!(rpc.outcome(id).is_ok(), "{signal:?}");
        assert!(daemon.wait().success(), "{signal:?}");
        context.wait_until_alone(DEADLINE);
    }
}

#[test]
fn a_signal_does_not_wait_for_ever_and_every_request_is_answered() {
    let context = TestContext::new();
    let mut daemon = context.daemon();
    let mut rpc = daemon.connect();
    let started = context.path("started");
    let hang = rpc.send_py("things:hang_with_gil", json!([started]), json!({}));
    wait_for_file(&started);
    let waiting = rpc.send_py("things:add", json!([1, 2]), json!({}));
    rpc.call("system.ping", Value::Null).unwrap();
    daemon.terminate();
    for id in [hang, waiting] {
        let error = rpc.outcome(id).unwrap_err();
        let code = error["data"]["code"].as_str().unwrap();
        assert!(
            ["shutting_down", "crashed", "cancelled"].contains(&code),
            "{error}"
        );
    }
    assert!(daemon.wait().success());
    context.wait_until_alone(TWO_SECONDS);
}

#[test]
fn shutdown_is_acknowledged_and_then_done() {
    let context = TestContext::new();
    let mut daemon = context.daemon();
    let mut rpc = daemon.connect();
    rpc.py("things:pid", json!([])).unwrap();
    let answer = rpc.call("system.shutdown", Value::Null).unwrap();
    assert_eq!(answer, json!({"acknowledged": true}));
    assert!(daemon.wait().success());
    assert!(!context.socket().exists());
    context.wait_until_alone(TWO_SECONDS);
}

#[test]
fn generations_grow_with_every_restart() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mut pids = Vec::new();
    for generation in 1..5 {
        let id = rpc.send_py("things:pid", json!([]), json!({}));
        let called = rpc.outcome(id).unwrap();
        assert_eq!(called["worker"]["generation"], generation);
        assert!(!pids.contains(&called["result"]), "a fresh process");
        pids.push(called["result"].clone());
        let restarted = rpc
            .call("py.restart", json!({"root": context.project}))
            .unwrap();
        assert_eq!(restarted["restarted"], 1);
    }
}

#[test]
fn a_restart_lets_the_running_call_finish() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let (started, go) = (context.path("started"), context.path("go"));
    let running = rpc.send_py("things:block", json!([started, go]), json!({}));
    wait_for_file(&started);
    rpc.call("py.restart", json!({})).unwrap();
    let next = rpc.send_py("things:pid", json!([]), json!({}));
    rpc.call("system.ping", Value::Null).unwrap();
    fs::write(go, "").unwrap();
    assert_eq!(rpc.outcome(running).unwrap()["worker"]["generation"], 1);
    assert_eq!(rpc.outcome(next).unwrap()["worker"]["generation"], 2);
}

#[test]
fn subscribers_hear_of_states_ends_and_progress() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut listener = daemon.connect();
    let news = listener.send("system.subscribe", json!({}));
    assert_eq!(listener.part(news, 0)["item"]["event"], "subscribed");
    let mut rpc = daemon.connect();
    let id = rpc.send_py("things:steps", json!([1]), json!({"stream": true}));
    rpc.outcome(id).unwrap();
    assert!(rpc.py("things:os_exit", json!([])).is_err());
    let mut seen = Vec::new();
    let mut n = 1;
    let ended = loop {
        let item = listener.part(news, n)["item"].clone();
        n += 1;
        match item["event"].as_str().unwrap() {
            "sidecar_state" => {
                assert_eq!(item["workspace"], context.project.to_str().unwrap());
                seen.push(item["state"].as_str().unwrap().to_owned());
            }
            "progress" => assert_eq!(item["progress"]["message"], "step 1"),
            "sidecar_ended" => break item,
            _ => {}
        }
    };
    // A worker that is awaited goes from starting to busy in one step.
    assert_eq!(seen[..3], ["starting", "busy", "ready"], "{seen:?}");
    assert_eq!(ended["generation"], 1);
    assert_eq!(ended["cause"], "crash", "{ended}");
    assert!(ended["exit"].as_str().unwrap().contains('7'), "{ended}");
    listener.cancel(news);
    assert!(listener.outcome(news).is_err());
    // Some want only some of it, and only so much.
    let few = listener.send(
        "system.subscribe",
        json!({"events": ["sidecar_ended"], "max": 1}),
    );
    listener.part(few, 0);
    assert!(rpc.py("things:os_exit", json!([])).is_err());
    assert_eq!(listener.outcome(few).unwrap()["events"], 1);
}

#[test]
fn clients_that_race_start_one_daemon() {
    let context = TestContext::new();
    let racers: Vec<_> = (0..12)
        .map(|_| {
            let command = context.pillion_command(&["--json", "status"]);
            std::thread::spawn(|| pillion_testing::CommandOutput::of(command))
        })
        .collect();
    let mut pids = Vec::new();
    for racer in racers {
        let output = racer.join().unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        pids.push(output.json()["pid"].clone());
    }
    pids.dedup();
    assert_eq!(pids.len(), 1, "{pids:?}");
    assert_eq!(context.processes().len(), 1);
}

#[test]
fn daemons_that_race_for_the_socket_leave_one_winner() {
    let context = TestContext::new();
    let mut racers: Vec<_> = (0..8)
        .map(|_| context.start_daemon(&["--no-timeout"]))
        .collect();
    wait_until("seven losers", || {
        racers
            .iter()
            .filter(|d| !processes::is_alive(d.pid))
            .count()
            == 7
    });
    let mut winner = None;
    for mut racer in racers.drain(..) {
        if processes::is_alive(racer.pid) {
            winner = Some(racer);
        } else {
            assert_eq!(racer.wait().code(), Some(75), "{}", racer.log());
        }
    }
    let winner = winner.unwrap();
    let status = winner.connect().call("system.status", Value::Null).unwrap();
    assert_eq!(status["pid"], winner.pid, "the winner has the socket");
}

#[test]
fn a_socket_left_by_a_killed_daemon_is_in_nobodys_way() {
    let context = TestContext::new();
    let mut daemon = context.daemon();
    daemon.kill();
    assert!(
        context
            .socket()
            .symlink_metadata()
            .unwrap()
            .file_type()
            .is_socket()
    );
    let second = context.daemon();
    let status = second.connect().call("system.status", Value::Null).unwrap();
    assert_eq!(status["pid"], second.pid);
    drop(second);
    // Nor does it disturb a client, which starts a new one.
    let mut third = context.daemon();
    third.kill();
    assert_eq!(context.pillion_json(&["--json", "ping"])["pong"], true);
}

#[test]
fn a_foreign_file_is_never_removed() {
    let context = TestContext::new();
    fs::create_dir_all(context.socket().parent().unwrap()).unwrap();
    fs::write(context.socket(), "precious").unwrap();
    let output = context.pillion(&["daemon"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stderr.contains("is not a socket"), "{output}");
    assert!(output.stderr.contains("hint: "), "{output}");
    let output = context.pillion(&["ping"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stderr.contains("is not a socket"), "{output}");
    assert_eq!(fs::read_to_string(context.socket()).unwrap(), "precious");
}

#[test]
fn someone_elses_socket_is_never_removed() {
    let context = TestContext::new();
    fs::create_dir_all(context.socket().parent().unwrap()).unwrap();
    let _listener = UnixListener::bind(context.socket()).unwrap();
    let output = context.pillion(&["daemon"]);
    assert_eq!(output.code, Some(75), "{output}");
    assert!(context.socket().exists());
}

#[test]
fn a_daemon_removes_only_its_own_socket() {
    let context = TestContext::new();
    let mut daemon = context.daemon();
    fs::remove_file(context.socket()).unwrap();
    let _listener = UnixListener::bind(context.socket()).unwrap();
    daemon.terminate();
    assert!(daemon.wait().success());
    assert!(context.socket().exists(), "it was not the daemon's");
}

#[test]
fn a_folder_of_someone_else_is_refused() {
    let mut context = TestContext::new();
    if rustix::process::geteuid().is_root() {
        let folder = context.socket().parent().unwrap().to_owned();
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).unwrap();
    } else {
        // Nobody but root can write here.
        context.set_env("XDG_RUNTIME_DIR", "/");
    }
    let output = context.pillion(&["--json", "daemon"]);
    assert_eq!(output.code, Some(1), "{output}");
    let error = output.json();
    assert_eq!(error["code"], "start_failed", "{error}");
    assert!(
        error["hint"].as_str().unwrap().contains("XDG_RUNTIME_DIR"),
        "{error}"
    );
}

#[test]
fn a_path_that_is_too_long_gets_a_short_one() {
    let mut context = TestContext::new();
    let deep = context.base.join("d".repeat(100));
    context.set_env("XDG_RUNTIME_DIR", &deep);
    let socket = context.pillion(&["socket-path"]).stdout;
    let socket = Path::new(socket.trim());
    assert!(
        socket.as_os_str().len() < 108 && !socket.starts_with(&deep),
        "{socket:?}"
    );
    assert_eq!(context.pillion_json(&["--json", "ping"])["pong"], true);
    assert!(socket.exists());
    let output = context.pillion(&["stop"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(!socket.exists());
    for name in ["lock", "start"] {
        let _ = fs::remove_file(format!("{}.{name}", socket.display()));
    }
    // One that was named is not replaced by another, but refused.
    let named = deep.join("x.sock");
    let output = context.pillion(&["--json", "--socket", named.to_str().unwrap(), "daemon"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(
        output.json()["message"]
            .as_str()
            .unwrap()
            .contains("107 bytes"),
        "{output}"
    );
    assert!(
        output.json()["hint"].as_str().unwrap().contains("--socket"),
        "{output}"
    );
}

#[test]
fn instances_are_daemons_of_their_own() {
    let context = TestContext::new();
    let first = context.pillion_json(&["--json", "status"])["pid"].clone();
    let second = context.pillion_json(&["--json", "--instance", "two", "status"])["pid"].clone();
    assert_ne!(first, second);
    assert!(context.base.join("run/pillion/two.sock").exists());
    let output = context.pillion(&["--instance", "two", "stop"]);
    assert!(output.stdout.contains("stopped"), "{output}");
    assert_eq!(context.pillion_json(&["--json", "status"])["pid"], first);
}

#[test]
fn without_a_runtime_folder_the_socket_is_among_temporary_files() {
    let mut context = TestContext::new();
    context.set_env("XDG_RUNTIME_DIR", "");
    let uid = rustix::process::geteuid().as_raw();
    let expected = context.base.join(format!("tmp/pillion-{uid}/daemon.sock"));
    let printed = context.pillion(&["socket-path"]).stdout;
    assert_eq!(printed.trim(), expected.to_str().unwrap());
    assert_eq!(context.pillion_json(&["--json", "ping"])["pong"], true);
    assert!(expected.exists());
}

#[test]
fn stop_and_restart_work_from_the_command_line() {
    let context = TestContext::new();
    assert!(
        context
            .pillion(&["stop"])
            .stdout
            .contains("no daemon is running")
    );
    let first = context.pillion_json(&["--json", "status"])["pid"].clone();
    let output = context.pillion(&["restart"]);
    assert_eq!(output.code, Some(0), "{output}");
    let second = context.pillion_json(&["--json", "status"])["pid"].clone();
    assert_ne!(first, second);
    let output = context.pillion(&["stop"]);
    assert!(output.stdout.contains("stopped the daemon"), "{output}");
    context.wait_until_alone(TWO_SECONDS);
}
