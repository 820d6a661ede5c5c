//! Memory, queues, pools, slow readers, and the breaker.

use std::io::{BufReader, Write};

use pillion_testing::rpc::{Rpc, read_frame};
use pillion_testing::{TestContext, processes, standing_still, wait_for_file, wait_until};
use serde_json::{Value, json};

#[test]
fn a_worker_over_the_hard_limit_is_stopped_and_replaced() {
    let context = TestContext::new().config("[python]\nmemory_hard_mb = 150\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let error = rpc
        .py_with(
            "things:grow_and_wait",
            json!([400, context.path("never")]),
            json!({"idempotent": true}),
        )
        .unwrap_err();
    assert_eq!(error["data"]["code"], "memory", "not repeated: {error}");
    assert_eq!(error["data"]["data"]["cause"], "memory");
    assert!(
        error["data"]["hint"]
            .as_str()
            .unwrap()
            .contains("memory_hard_mb")
    );
    let id = rpc.send_py("things:pid", json!([]), json!({}));
    assert_eq!(rpc.outcome(id).unwrap()["worker"]["generation"], 2);
}

#[test]
fn a_worker_over_the_soft_limit_drops_its_caches() {
    let context = TestContext::new().config("[python]\nmemory_soft_mb = 100\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let pid = rpc.py("things:pid", json!([])).unwrap();
    assert_eq!(rpc.py("things:grow", json!([200])).unwrap(), 1);
    wait_until("the caches to be dropped", || {
        rpc.py("things:cached", json!([])).unwrap() == 0
    });
    assert_eq!(rpc.py("things:pid", json!([])).unwrap(), pid, "it lives on");
}

#[test]
fn a_full_queue_says_so_at_once() {
    let context = TestContext::new().config("[python]\nqueue = 2\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let (started, go) = (context.path("started"), context.path("go"));
    let mut ids = vec![rpc.send_py("things:block", json!([started, go]), json!({}))];
    wait_for_file(&started);
    ids.extend((0..2).map(|n| rpc.send_py("things:echo", json!([n]), json!({}))));
    rpc.call("system.ping", json!({})).unwrap();
    let error = rpc.py("things:echo", json!([3])).unwrap_err();
    assert_eq!(error["data"]["code"], "busy", "{error}");
    assert_eq!(error["code"], -32005);
    assert!(
        error["data"]["hint"].as_str().unwrap().contains("workers"),
        "{error}"
    );
    std::fs::write(go, "").unwrap();
    for id in ids {
        assert!(rpc.outcome(id).is_ok());
    }
    assert_eq!(
        rpc.py("things:echo", json!([4])).unwrap(),
        4,
        "there is room again"
    );
}

#[test]
fn a_cancelled_call_makes_room_in_the_queue() {
    let context = TestContext::new().config("[python]\nqueue = 1\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let (started, go) = (context.path("started"), context.path("go"));
    let first = rpc.send_py("things:block", json!([started, go]), json!({}));
    wait_for_file(&started);
    let waiting = rpc.send_py("things:echo", json!([1]), json!({}));
    rpc.call("system.ping", json!({})).unwrap();
    assert_eq!(
        rpc.py("things:echo", json!([2])).unwrap_err()["data"]["code"],
        "busy"
    );
    rpc.cancel(waiting);
    assert_eq!(
        rpc.outcome(waiting).unwrap_err()["data"]["code"],
        "cancelled"
    );
    wait_until("the place to be free", || {
        daemon.sidecars()[0]["pending"] == 1
    });
    let next = rpc.send_py("things:echo", json!([3]), json!({}));
    std::fs::write(go, "").unwrap();
    assert!(rpc.outcome(first).is_ok());
    assert_eq!(rpc.outcome(next).unwrap()["result"], 3);
}

#[test]
fn a_pool_works_side_by_side() {
    let context = TestContext::new().config("[python]\nworkers = 3\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    // One at a time needs one worker.
    for _ in 0..3 {
        rpc.py("things:pid", json!([])).unwrap();
    }
    assert_eq!(daemon.sidecars().len(), 1);
    // Each of these waits for a file that is written when all have begun.
    let go = context.path("go");
    let started: Vec<String> = (0..3)
        .map(|n| context.path(&format!("started-{n}")))
        .collect();
    let ids: Vec<u64> = started
        .iter()
        .map(|started| rpc.send_py("things:block", json!([started, go]), json!({})))
        .collect();
    let mut pids: Vec<String> = started.iter().map(wait_for_file).collect();
    std::fs::write(&go, "").unwrap();
    for id in ids {
        assert!(rpc.outcome(id).is_ok());
    }
    pids.sort();
    pids.dedup();
    assert_eq!(pids.len(), 3, "{pids:?}");
    let mut names: Vec<Value> = daemon
        .sidecars()
        .iter()
        .map(|s| s["name"].clone())
        .collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["worker-1", "worker-2", "worker-3"]);
}

#[test]
fn a_hundred_callers_share_a_pool_without_mixing_anything_up() {
    let context = TestContext::new().config("[python]\nworkers = 2\n");
    let daemon = context.daemon();
    let mut callers: Vec<_> = (0..20).map(|_| daemon.connect()).collect();
    let mut ids = Vec::new();
    for n in 0..400 {
        let rpc = &mut callers[n % 20];
        ids.push(rpc.send_py("things:echo", json!([n]), json!({})));
    }
    for (n, id) in ids.into_iter().enumerate() {
        assert_eq!(callers[n % 20].outcome(id).unwrap()["result"], n);
    }
}

/// Three deaths in ten seconds open the breaker; calls are served by a child of their own;
/// after the cool-down one good start closes it again.
#[test]
fn the_breaker_falls_back_and_recovers() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for _ in 0..3 {
        let error = rpc.py("things:os_exit", json!([])).unwrap_err();
        assert_eq!(error["data"]["code"], "crashed", "{error}");
    }
    let sidecars = daemon.sidecars();
    assert_eq!(sidecars[0]["state"], "broken", "{sidecars:?}");
    let mut pids = Vec::new();
    for n in 0..3 {
        assert_eq!(
            rpc.py("things:count", json!([])).unwrap(),
            1,
            "a fresh child, call {n}"
        );
        pids.push(rpc.py("things:pid", json!([])).unwrap());
    }
    pids.dedup();
    assert_eq!(pids.len(), 3, "one child per call: {pids:?}");
    let log = daemon.log();
    let said = log.matches("one child per call").count();
    assert_eq!(said, 1, "said once in the log:\n{log}");
    // An unsafe call in a one-shot child is not repeated either.
    let mark = context.path("mark");
    let error = rpc.py("things:die_once", json!([mark])).unwrap_err();
    assert_eq!(error["data"]["code"], "crashed", "{error}");
    wait_until("the recovery", || {
        let (first, second) = (
            rpc.py("things:pid", json!([])),
            rpc.py("things:pid", json!([])),
        );
        first.unwrap() == second.unwrap()
    });
    let sidecars = daemon.sidecars();
    assert_eq!(sidecars.len(), 1, "{sidecars:?}");
    assert_eq!(sidecars[0]["state"], "ready");
}

#[test]
fn errors_and_cancels_are_no_crashes() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let pid = rpc.py("things:pid", json!([])).unwrap();
    for _ in 0..5 {
        assert!(rpc.py("things:raises", json!([])).is_err());
        let id = rpc.send_py("things:sleep", json!([60]), json!({}));
        rpc.cancel(id);
        assert_eq!(rpc.outcome(id).unwrap_err()["data"]["code"], "cancelled");
    }
    assert_eq!(rpc.py("things:pid", json!([])).unwrap(), pid);
}

#[test]
fn a_slow_reader_holds_back_its_stream_and_nothing_else() {
    let context = TestContext::new().config("[python]\nworkers = 2\n");
    let daemon = context.daemon();
    let note = context.path("note");
    let stream = daemon.raw();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "py.call", "params": {
        "function": "things:chunks", "params": [200, 1 << 20, note], "stream": true,
        "root": context.project,
    }});
    let body = request.to_string();
    (&stream)
        .write_all(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
        .unwrap();
    // Nobody reads: the generator stands still, far from its end.
    let made = standing_still(&note);
    assert!(made < 150, "{made} MB were made for nobody");
    // Others are served all the while.
    let mut rpc = daemon.connect();
    assert_eq!(rpc.py("things:add", json!([1, 2])).unwrap(), 3);
    let status = rpc.call("system.status", json!({})).unwrap();
    let used = status["memory_bytes"].as_u64().unwrap();
    assert!(used < 200 << 20, "the daemon holds {used} bytes");
    // And nothing is lost.
    let mut reader = BufReader::new(stream);
    for n in 0..200 {
        let part = read_frame(&mut reader).unwrap();
        assert_eq!(
            part["params"]["item"].as_str().map(str::len),
            Some(1 << 20),
            "item {n}"
        );
    }
    assert_eq!(read_frame(&mut reader).unwrap()["id"], 1);
}

#[test]
fn a_reader_that_takes_nothing_does_not_stop_the_others() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut lazy = daemon.raw();
    let mut rpc = daemon.connect();
    rpc.py("things:pid", json!([])).unwrap();
    // Far more answers than any buffer holds.
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "py.call", "params": {
        "function": "things:large", "params": [100_000], "root": context.project,
    }})
    .to_string();
    for _ in 0..200 {
        let frame = format!("Content-Length: {}\r\n\r\n{request}", request.len());
        lazy.write_all(frame.as_bytes()).unwrap();
    }
    for n in 0..20 {
        assert_eq!(rpc.py("things:echo", json!([n])).unwrap(), n);
    }
}

#[test]
fn too_many_sidecars_evict_the_workspace_that_was_used_least_recently() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mut first = None;
    // A zygote is one of them, and was used before all others.
    let run = json!({"code": "", "lane": "expert", "root": context.project});
    assert_eq!(rpc.call("exec.run", run.clone()).unwrap()["outcome"], "ok");
    let zygote = || {
        let mut sidecars = daemon.sidecars().into_iter();
        sidecars.find(|one| one["kind"] == "zygote").unwrap()
    };
    // While it makes its slots it is at work, and who works is not evicted.
    wait_until("the zygote to have nothing to do", || {
        let lanes = rpc.call("exec.lanes", json!({})).unwrap();
        lanes["warm_slots"] != 0 && zygote()["pending"] == 0
    });
    let pid = u32::try_from(zygote()["pid"].as_u64().unwrap()).unwrap();
    for n in 0..49 {
        let root = context.base.join(format!("root-{n}"));
        std::fs::create_dir(&root).unwrap();
        let called = rpc
            .call("py.call", json!({"function": "os:getpid", "root": root}))
            .unwrap();
        first = first.or_else(|| called["result"].as_u64());
    }
    let first = u32::try_from(first.unwrap()).unwrap();
    wait_until("the first worker to be evicted", || {
        !processes::is_alive(first)
    });
    wait_until("the zygote to be evicted", || !processes::is_alive(pid));
    wait_until("no more than 48 workers", || {
        context.processes().iter().filter(|p| p.is_worker()).count() <= 48
    });
    // Its workspace is served again when it is needed.
    let root = context.base.join("root-0");
    assert!(
        rpc.call("py.call", json!({"function": "os:getpid", "root": root}))
            .is_ok()
    );
    assert_eq!(rpc.call("exec.run", run.clone()).unwrap()["start"], "fork");
    wait_until("a run from a slot of the new zygote", || {
        rpc.call("exec.run", run.clone()).unwrap()["start"] == "slot"
    });
}

#[test]
fn secrets_stay_outside_unless_the_project_asks_for_them() {
    let mut context = TestContext::new();
    context.set_env("X_API_KEY", "secret");
    context.set_env("GITHUB_TOKEN", "secret");
    context.set_env("XDG_HARMLESS", "seen");
    context.set_env("OTHER_SETTING", "not asked for");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let see = |rpc: &mut Rpc, name: &str| rpc.py("things:env", json!([name])).unwrap();
    assert_eq!(see(&mut rpc, "XDG_HARMLESS"), "seen");
    for name in [
        "X_API_KEY",
        "GITHUB_TOKEN",
        "OTHER_SETTING",
        "PILLION_HOME",
        "PILLION_GUARD_FD",
    ] {
        assert_eq!(see(&mut rpc, name), Value::Null, "{name}");
    }
    context.write("pillion.toml", "[python]\npass_env = ['X_API_KEY']\n");
    context.trust();
    assert_eq!(see(&mut rpc, "X_API_KEY"), "secret");
    assert_eq!(see(&mut rpc, "GITHUB_TOKEN"), Value::Null);
    // Nor do they show up in what pillion says and logs.
    let status = rpc.call("system.status", json!({})).unwrap().to_string();
    assert!(!status.contains("secret") && !daemon.log().contains("secret"));
}
