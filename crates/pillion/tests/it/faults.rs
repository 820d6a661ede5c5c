//! What user code and the system can do to a worker, and what callers see of it.

use std::time::Duration;

use pillion_testing::{
    TWO_SECONDS, TestContext, processes, rounds, wait_for, wait_for_file, wait_until,
};
use serde_json::{Value, json};

#[test]
fn a_safe_call_is_answered_by_the_successor_of_a_killed_worker() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mark = context.path("mark");
    let id = rpc.send_py(
        "things:die_once",
        json!([mark]),
        json!({"idempotent": true}),
    );
    let called = rpc.outcome(id).unwrap();
    let tried: Vec<String> = wait_for_file(&mark).lines().map(str::to_owned).collect();
    assert_eq!(tried.len(), 2, "tried twice, no more");
    assert_eq!(called["result"].to_string(), tried[1]);
    assert_eq!(called["worker"]["generation"], 2);
}

#[test]
fn an_unsafe_call_is_never_repeated() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mark = context.path("mark");
    let error = rpc.py("things:die_once", json!([mark])).unwrap_err();
    assert_eq!(error["data"]["code"], "crashed", "{error}");
    assert_eq!(error["code"], -32008);
    assert_eq!(error["data"]["data"]["signal"], 9);
    assert_eq!(error["data"]["data"]["generation"], 1);
    assert!(
        error["data"]["hint"]
            .as_str()
            .unwrap()
            .contains("idempotent")
    );
    // The next call has a fresh worker.
    let id = rpc.send_py("things:pid", json!([]), json!({}));
    assert_eq!(rpc.outcome(id).unwrap()["worker"]["generation"], 2);
    assert_eq!(wait_for_file(&mark).lines().count(), 1);
}

/// Kill after kill, 200 of them in a long run, right through the breaker and its recovery: nothing is lost,
/// doubled or orphaned.
#[test]
fn kills_in_a_row() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let go = context.path("go");
    let mut generations = Vec::new();
    let kills = rounds(200);
    for round in 0..kills {
        let safe = round % 2 == 0;
        let started = context.path(&format!("started-{round}"));
        let _ = std::fs::remove_file(&go);
        let id = rpc.send_py(
            "things:block",
            json!([started, go]),
            json!({"idempotent": safe}),
        );
        let victim = first_line(&started);
        // What comes after the victim finds its way free.
        std::fs::write(&go, "").unwrap();
        processes::kill(victim);
        let outcome = rpc.outcome(id);
        let tries = std::fs::read_to_string(&started).unwrap().lines().count();
        match (safe, outcome) {
            (_, Ok(called)) => {
                // The kill may have come just after the answer; else it was the successor.
                let by = called["result"].as_u64().unwrap();
                if by == u64::from(victim) {
                    assert_eq!(tries, 1, "round {round}");
                } else {
                    assert!(safe, "round {round}: an unsafe call was repeated");
                    assert_eq!(tries, 2, "round {round}");
                }
                generations.push(called["worker"]["generation"].as_u64().unwrap());
            }
            (true, Err(error)) => panic!("round {round}: a safe call was lost: {error}"),
            (false, Err(error)) => {
                assert_eq!(error["data"]["code"], "crashed", "round {round}: {error}");
                assert_eq!(tries, 1, "round {round}");
            }
        }
        wait_until("the victim to be gone", || !processes::is_alive(victim));
        // A call that is handed to a process before its end is known ends with it, and a call
        // that is not safe is not repeated.
        wait_until("its end to be known", || {
            let status = rpc.call("system.status", json!({})).unwrap();
            let workspaces = status["workspaces"].as_array().unwrap().iter();
            let mut sidecars = workspaces.flat_map(|one| one["sidecars"].as_array().unwrap());
            sidecars.all(|one| one["pid"] != victim)
        });
    }
    assert!(
        generations.len() >= kills / 2,
        "{} answers",
        generations.len()
    );
    assert!(
        generations.is_sorted(),
        "generations only grow: {generations:?}"
    );
    // Nobody is left but the daemon and at most one warm worker under its guard.
    wait_for(TWO_SECONDS, "the dead to be buried", || {
        let all = context.processes();
        let workers = all.iter().filter(|p| p.is_worker()).count();
        let guards = all.iter().filter(|p| p.is_guard()).count();
        if workers <= 1 && guards <= 1 && processes::zombies_of(daemon.pid).is_empty() {
            Ok(())
        } else {
            Err(processes::table(&all))
        }
    });
}

fn first_line(path: &str) -> u32 {
    wait_for(pillion_testing::DEADLINE, path, || {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        match text.split_once('\n') {
            Some((line, _)) => Ok(line.parse().unwrap()),
            None => Err("nobody began"),
        }
    })
}

#[test]
fn a_hang_in_c_is_ended_after_a_grace_and_the_next_call_is_served() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let victim = rpc.py("things:pid", json!([])).unwrap();
    let error = rpc
        .py_with("things:hang_in_c", json!([]), json!({"timeout_ms": 200}))
        .unwrap_err();
    assert_eq!(error["data"]["code"], "timeout", "{error}");
    let id = rpc.send_py("things:pid", json!([]), json!({}));
    let called = rpc.outcome(id).unwrap();
    assert_eq!(called["worker"]["generation"], 2, "{called}");
    assert_ne!(called["result"], victim);
    let victim = u32::try_from(victim.as_u64().unwrap()).unwrap();
    wait_until("the hung worker to be gone", || {
        !processes::is_alive(victim)
    });
}

#[test]
fn a_hang_that_holds_the_interpreter_is_seen_and_ended() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let started = context.path("started");
    let id = rpc.send_py("things:hang_with_gil", json!([started]), json!({}));
    wait_for_file(&started);
    // It cannot answer a ping, and `status` says so.
    wait_until("`unresponsive_s` in the status", || {
        daemon.sidecars()[0]["unresponsive_s"].is_f64()
    });
    rpc.cancel(id);
    assert_eq!(rpc.outcome(id).unwrap_err()["data"]["code"], "cancelled");
    let called = rpc.send_py("things:pid", json!([]), json!({}));
    assert_eq!(rpc.outcome(called).unwrap()["worker"]["generation"], 2);
}

#[test]
fn a_call_that_waited_behind_a_hang_is_served_by_the_successor() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let started = context.path("started");
    let hang = rpc.send_py("things:hang_with_gil", json!([started]), json!({}));
    wait_for_file(&started);
    let waiting = rpc.send_py("things:add", json!([1, 1]), json!({}));
    rpc.cancel(hang);
    assert!(rpc.outcome(hang).is_err());
    assert_eq!(rpc.outcome(waiting).unwrap()["result"], 2);
}

#[test]
fn leaving_the_process_is_a_crash_with_its_last_words() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let error = rpc.py("things:os_exit", json!([7])).unwrap_err();
    assert_eq!(error["data"]["code"], "crashed", "{error}");
    assert_eq!(error["data"]["data"]["exit_code"], 7);
    assert_eq!(error["data"]["data"]["cause"], "crash");
    assert!(
        error["message"].as_str().unwrap().contains("last words"),
        "{error}"
    );
    let error = rpc.py("things:segfault", json!([])).unwrap_err();
    assert_eq!(error["data"]["data"]["signal"], 11, "{error}");
    assert_eq!(rpc.py("things:add", json!([1, 1])).unwrap(), 2);
}

#[test]
fn standard_output_belongs_to_the_protocol() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mut listener = daemon.connect();
    let news = listener.send("system.subscribe", json!({"events": ["log"]}));
    listener.part(news, 0);
    for _ in 0..3 {
        assert_eq!(rpc.py("things:noise", json!([])).unwrap(), "quiet");
    }
    let sidecars = daemon.sidecars();
    assert_eq!(sidecars[0]["generation"], 1, "{sidecars:?}");
    // All of it went to standard error, from where it can be read.
    let mut n = 1;
    let mut heard = String::new();
    for words in [
        "from print",
        "from sys.stdout",
        "from sys.__stdout__",
        "from a write",
        "from C",
        "from a shell",
        "from a program",
    ] {
        while !heard.contains(words) {
            heard += listener.part(news, n)["item"]["line"].as_str().unwrap();
            n += 1;
        }
    }
    listener.cancel(news);
    let _ = listener.outcome(news);
}

#[test]
fn two_hundred_megabytes_on_standard_error_block_nobody() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let id = rpc.send_py("things:shout", json!([200]), json!({}));
    // The daemon answers others meanwhile.
    assert_eq!(
        daemon.connect().call("system.ping", json!({})).unwrap()["pong"],
        true
    );
    assert_eq!(rpc.outcome(id).unwrap()["result"], 200);
    let status = rpc.call("system.status", json!({})).unwrap();
    let used = status["memory_bytes"].as_u64().unwrap();
    assert!(used < 100 << 20, "the daemon kept it: {used} bytes");
}

#[test]
fn a_large_answer_arrives_and_one_over_the_cap_is_refused() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let pid = rpc.py("things:pid", json!([])).unwrap();
    // The worker's line is `{"id":N,"result":"..."}`; 64 MiB hold this much.
    let size = (64 << 20) - 100;
    let answer = rpc.py("things:large", json!([size])).unwrap();
    assert_eq!(answer.as_str().unwrap().len(), size);
    let error = rpc.py("things:large", json!([65 << 20])).unwrap_err();
    assert_eq!(error["data"]["code"], "response_too_large", "{error}");
    assert_eq!(rpc.py("things:pid", json!([])).unwrap(), pid, "no crash");
}

#[test]
fn grandchildren_end_with_their_worker() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let note = context.path("pids");
    let worker = rpc.py("things:pid", json!([])).unwrap();
    let pids = rpc.py("things:grandchildren", json!([note])).unwrap();
    let pids = as_pids(&pids);
    assert!(pids.iter().all(|pid| processes::is_alive(*pid)), "{pids:?}");
    processes::kill(u32::try_from(worker.as_u64().unwrap()).unwrap());
    gone(&pids, TWO_SECONDS);
    assert!(rpc.py("things:pid", json!([])).is_ok());
}

#[test]
fn grandchildren_end_with_the_call_that_hung() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let pids = rpc
        .py("things:grandchildren", json!([context.path("pids")]))
        .unwrap();
    let error = rpc
        .py_with("things:hang_in_c", json!([]), json!({"timeout_ms": 100}))
        .unwrap_err();
    assert_eq!(error["data"]["code"], "timeout");
    gone(&as_pids(&pids), pillion_testing::DEADLINE);
}

#[test]
fn nothing_outlives_a_killed_daemon() {
    let context = TestContext::new();
    let mut daemon = context.daemon();
    let mut rpc = daemon.connect();
    let pids = as_pids(
        &rpc.py("things:grandchildren", json!([context.path("pids")]))
            .unwrap(),
    );
    let (started, go) = (context.path("started"), context.path("go"));
    rpc.send_py("things:block", json!([started, go]), json!({}));
    wait_for_file(&started);
    daemon.kill();
    gone(&pids, TWO_SECONDS);
    context.wait_until_alone(TWO_SECONDS);
    rpc.hang_up();
}

#[test]
fn nothing_outlives_a_killed_daemon_whose_worker_hangs_in_c() {
    let context = TestContext::new();
    let mut daemon = context.daemon();
    let mut rpc = daemon.connect();
    let started = context.path("started");
    rpc.send_py("things:hang_with_gil", json!([started]), json!({}));
    wait_for_file(&started);
    daemon.kill();
    context.wait_until_alone(TWO_SECONDS);
    rpc.hang_up();
}

#[test]
fn nothing_outlives_other_killed_hosts() {
    let context = TestContext::new();
    // `pillion rpc --stdio`
    let mut rpc = context.rpc_stdio();
    let pids = as_pids(
        &rpc.py("things:grandchildren", json!([context.path("pids")]))
            .unwrap(),
    );
    processes::kill(rpc.child());
    gone(&pids, TWO_SECONDS);
    rpc.hang_up();
    context.wait_until_alone(TWO_SECONDS);
    // `pillion stdio`
    let mut host = context.stdio();
    let called = host.ask(&json!({
        "id": 1, "command": "py.call", "project": context.project,
        "args": {"function": "things:grandchildren", "params": [context.path("pids")]},
    }));
    let pids = as_pids(&called["result"]["result"]);
    host.child.kill().unwrap();
    host.wait();
    gone(&pids, TWO_SECONDS);
    context.wait_until_alone(TWO_SECONDS);
}

#[test]
fn fifty_first_callers_make_one_start() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut callers: Vec<_> = (0..50).map(|_| daemon.connect()).collect();
    let ids: Vec<u64> = callers
        .iter_mut()
        .map(|rpc| rpc.send_py("things:pid", json!([]), json!({})))
        .collect();
    let mut pids = Vec::new();
    for (rpc, id) in callers.iter_mut().zip(ids) {
        let called = rpc.outcome(id).unwrap();
        assert_eq!(called["worker"]["generation"], 1);
        pids.push(called["result"].clone());
    }
    pids.dedup();
    assert_eq!(pids.len(), 1, "{pids:?}");
}

#[test]
fn fifty_first_callers_share_the_error_of_one_start() {
    let context = TestContext::new().trusted_config(
        "[sidecar.bad]\ncommand = ['sh', '-c', 'echo x >> starts; echo no luck >&2; sleep 0.3; exit 9']\n",
    );
    let daemon = context.daemon();
    let mut callers: Vec<_> = (0..50).map(|_| daemon.connect()).collect();
    let ids: Vec<u64> = callers
        .iter_mut()
        .map(|rpc| rpc.send_sidecar("bad", "x", json!({}), json!({})))
        .collect();
    for (rpc, id) in callers.iter_mut().zip(ids) {
        let error = rpc.outcome(id).unwrap_err();
        assert_eq!(error["data"]["code"], "start_failed", "{error}");
        assert_eq!(error["data"]["data"]["exit_code"], 9);
        assert!(
            error["message"].as_str().unwrap().contains("no luck"),
            "{error}"
        );
    }
    let starts = std::fs::read_to_string(context.project.join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 1);
}

#[test]
fn a_worker_that_is_killed_while_it_waits_is_replaced_by_the_next_call() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let worker = rpc.py("things:pid", json!([])).unwrap().as_u64().unwrap();
    processes::kill(u32::try_from(worker).unwrap());
    wait_until("the death to be noticed", || {
        daemon.sidecars()[0]["crashes"] == 1
    });
    let sidecar = daemon.sidecars().remove(0);
    assert_eq!(sidecar["pid"], Value::Null, "{sidecar}");
    let id = rpc.send_py("things:pid", json!([]), json!({}));
    assert_eq!(rpc.outcome(id).unwrap()["worker"]["generation"], 2);
}

fn as_pids(pids: &Value) -> Vec<u32> {
    let pids = pids.as_array().unwrap_or_else(|| panic!("{pids}"));
    pids.iter()
        .map(|pid| u32::try_from(pid.as_u64().unwrap()).unwrap())
        .collect()
}

fn gone(pids: &[u32], limit: Duration) {
    wait_for(limit, "the grandchildren to be gone", || {
        let left: Vec<_> = pids
            .iter()
            .filter(|pid| processes::is_alive(**pid))
            .collect();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:?} live"))
        }
    });
}
