//! Calls that go well, calls that fail, streams, progress, cancel and deadlines.

use pillion_testing::{TestContext, wait_for_file, wait_until};
use serde_json::json;

#[test]
fn a_function_answers_and_its_process_stays_warm() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    assert_eq!(rpc.py("things:add", json!([3, 4])).unwrap(), 7);
    assert_eq!(rpc.py("things:add", json!({"a": 1, "b": 2})).unwrap(), 3);
    assert_eq!(rpc.py("math:hypot", json!([3, 4])).unwrap(), 5.0);
    assert_eq!(
        rpc.py("things:gather", json!([4])).unwrap(),
        json!([0, 1, 4, 9])
    );
    for n in 1..4 {
        assert_eq!(rpc.py("things:count", json!(null)).unwrap(), n);
    }
    let called = rpc.call(
        "py.call",
        json!({"function": "things:pid", "root": context.project}),
    );
    let called = called.unwrap();
    assert_eq!(called["worker"]["pid"], called["result"]);
    assert_eq!(called["worker"]["generation"], 1);
}

#[test]
fn every_kind_of_failure_has_its_code() {
    let context = TestContext::new();
    context.write("broken.py", "import nosuchmodule\n");
    context.write("unparsable.py", "def f(:\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for (function, params, number, code) in [
        ("things:nosuch", json!([]), -32001, "not_found"),
        ("nosuch:f", json!([]), -32001, "not_found"),
        ("things:add", json!({"x": 1}), -32602, "invalid_params"),
        ("things:raises", json!(["no"]), -32016, "exception"),
        ("things:unwritable", json!([]), -32017, "invalid_result"),
        ("things:memory_error", json!([]), -32009, "memory"),
        ("things:too_much_memory", json!([]), -32009, "memory"),
        ("things:recurse", json!([]), -32016, "exception"),
        ("things:sys_exit", json!([]), -32016, "exception"),
        ("things:system_exit", json!([]), -32016, "exception"),
        ("broken:f", json!([]), -32016, "exception"),
        ("unparsable:f", json!([]), -32016, "exception"),
    ] {
        let error = rpc.py(function, params).unwrap_err();
        assert_eq!(error["data"]["code"], code, "{function}: {error}");
        assert_eq!(error["code"], number, "{function}: {error}");
        assert_eq!(error["data"]["recoverable"], true, "{function}: {error}");
        assert_eq!(error["message"], error["data"]["message"]);
    }
    // None of it has cost the worker its life.
    let sidecars = daemon.sidecars();
    assert_eq!(sidecars[0]["generation"], 1, "{sidecars:?}");
    assert_eq!(sidecars[0]["crashes"], 0, "{sidecars:?}");
}

#[test]
fn an_exception_comes_with_the_users_traceback() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let error = daemon
        .connect()
        .py("things:raises", json!(["no way"]))
        .unwrap_err();
    let data = &error["data"]["data"];
    assert_eq!(data["type"], "ValueError");
    assert!(
        error["message"].as_str().unwrap().contains("no way"),
        "{error}"
    );
    let frames = data["traceback"].as_array().unwrap();
    assert_eq!(frames.len(), 1, "only the user's own: {frames:?}");
    assert_eq!(frames[0]["function"], "raises");
    assert_eq!(frames[0]["file"], context.path("project/things.py"));
}

#[test]
fn a_stream_comes_item_by_item_and_then_its_result() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let id = rpc.send_py("things:numbers", json!([5]), json!({"stream": true}));
    let called = rpc.outcome(id).unwrap();
    assert_eq!(called["result"], "done");
    let items: Vec<_> = rpc
        .parts(id)
        .iter()
        .map(|part| part["item"].clone())
        .collect();
    assert_eq!(items, [0, 1, 2, 3, 4]);
    // Without `stream` it is one list.
    assert_eq!(
        rpc.py("things:numbers", json!([3])).unwrap(),
        json!([0, 1, 2])
    );
}

#[test]
fn progress_is_told_to_those_who_asked() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let id = rpc.send_py("things:steps", json!([3]), json!({"stream": true}));
    assert_eq!(rpc.outcome(id).unwrap()["result"], 3);
    let news: Vec<_> = rpc
        .parts(id)
        .iter()
        .map(|part| part["progress"].clone())
        .collect();
    assert_eq!(news.len(), 3);
    assert_eq!(
        news[1],
        json!({"value": 2, "total": 3, "message": "step 2"})
    );
    let id = rpc.send_py("things:steps", json!([3]), json!({}));
    assert_eq!(rpc.outcome(id).unwrap()["result"], 3);
    assert_eq!(rpc.parts(id).len(), 0, "nobody asked");
}

#[test]
fn a_cancelled_call_is_interrupted_and_its_worker_lives_on() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let started = context.path("started");
    let id = rpc.send_py("things:stubborn", json!([started]), json!({}));
    let pid = wait_for_file(&started);
    rpc.cancel(id);
    let error = rpc.outcome(id).unwrap_err();
    assert_eq!(error["data"]["code"], "cancelled", "{error}");
    wait_until("the function to see the cancel", || {
        wait_for_file(&started).ends_with("cancelled")
    });
    assert_eq!(rpc.py("things:pid", json!([])).unwrap().to_string(), pid);
    assert_eq!(daemon.sidecars()[0]["crashes"], 0);
}

#[test]
fn a_deadline_interrupts_the_call_and_the_late_answer_reaches_nobody() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let pid = rpc.py("things:pid", json!([])).unwrap();
    let started = context.path("started");
    let error = rpc
        .py_with(
            "things:stubborn",
            json!([started]),
            json!({"timeout_ms": 300}),
        )
        .unwrap_err();
    assert_eq!(error["data"]["code"], "timeout", "{error}");
    assert!(
        error["data"]["hint"]
            .as_str()
            .unwrap()
            .contains("timeout_ms")
    );
    for n in 0..5 {
        assert_eq!(rpc.py("things:echo", json!([n])).unwrap(), n);
    }
    assert_eq!(
        rpc.py("things:pid", json!([])).unwrap(),
        pid,
        "the worker lives on"
    );
}

#[test]
fn a_deadline_covers_the_wait_for_others() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let (started, go) = (context.path("started"), context.path("go"));
    let first = rpc.send_py("things:block", json!([started, go]), json!({}));
    wait_for_file(&started);
    let error = rpc
        .py_with("things:echo", json!([1]), json!({"timeout_ms": 100}))
        .unwrap_err();
    assert_eq!(error["data"]["code"], "timeout", "{error}");
    std::fs::write(go, "").unwrap();
    assert!(rpc.outcome(first).is_ok());
}

#[test]
fn everything_else_is_answered_while_a_call_runs() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let (started, go) = (context.path("started"), context.path("go"));
    let id = rpc.send_py("things:block", json!([started, go]), json!({}));
    wait_for_file(&started);
    assert_eq!(rpc.call("system.ping", json!(null)).unwrap()["pong"], true);
    let status = rpc.call("system.status", json!({})).unwrap();
    assert_eq!(status["idle"], false);
    let sidecar = &status["workspaces"][0]["sidecars"][0];
    assert_eq!(sidecar["state"], "busy");
    assert_eq!(sidecar["pending"], 1);
    assert!(!rpc.is_answered(id));
    std::fs::write(go, "").unwrap();
    rpc.outcome(id).unwrap();
    let status = rpc.call("system.status", json!({})).unwrap();
    assert_eq!(status["idle"], true, "{status}");
}

#[test]
fn hanging_up_cancels_what_was_asked_for() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let started = context.path("started");
    rpc.send_py("things:stubborn", json!([started]), json!({}));
    let pid = wait_for_file(&started);
    rpc.hang_up();
    wait_until("the function to see the cancel", || {
        wait_for_file(&started).ends_with("cancelled")
    });
    let mut rpc = daemon.connect();
    assert_eq!(rpc.py("things:pid", json!([])).unwrap().to_string(), pid);
}

#[test]
fn hanging_up_ends_a_stream_at_its_source() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let note = context.path("note");
    let id = rpc.send_py("things:forever", json!([note]), json!({"stream": true}));
    rpc.part(id, 3);
    rpc.hang_up();
    assert_eq!(wait_for_file(&note), "stopped");
    assert_eq!(daemon.sidecars()[0]["crashes"], 0);
}

#[test]
fn a_stream_is_cancelled_like_a_call() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let note = context.path("note");
    let id = rpc.send_py("things:forever", json!([note]), json!({"stream": true}));
    rpc.part(id, 3);
    rpc.cancel(id);
    assert_eq!(rpc.outcome(id).unwrap_err()["data"]["code"], "cancelled");
    assert_eq!(wait_for_file(&note), "stopped");
}

#[test]
fn calls_to_several_workspaces_have_workers_of_their_own() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let other = context.base.join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("things.py"), "def pid():\n    return 'other'\n").unwrap();
    assert!(rpc.py("things:pid", json!([])).unwrap().is_u64());
    let called = rpc.call("py.call", json!({"function": "things:pid", "root": other}));
    assert_eq!(called.unwrap()["result"], "other");
    let status = rpc.call("system.status", json!({})).unwrap();
    assert_eq!(status["workspaces"].as_array().unwrap().len(), 2);
}

#[test]
fn a_module_is_described_with_schemas() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let module = rpc
        .call(
            "py.describe",
            json!({"module": "things", "root": context.project}),
        )
        .unwrap();
    let functions = module["functions"].as_array().unwrap();
    let add = functions.iter().find(|f| f["name"] == "add").unwrap();
    assert_eq!(add["summary"], "Add two numbers.");
    assert_eq!(add["params"]["properties"]["a"]["type"], "integer");
    assert_eq!(add["params"]["required"], json!(["a"]));
    assert_eq!(add["returns"]["type"], "integer");
    let numbers = functions.iter().find(|f| f["name"] == "numbers").unwrap();
    assert_eq!(numbers["stream"], true);
    let gather = functions.iter().find(|f| f["name"] == "gather").unwrap();
    assert_eq!(gather["async"], true);
}

#[test]
fn a_wrong_project_is_told_what_is_wrong() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let error = rpc
        .call(
            "py.call",
            json!({"function": "things:pid", "root": "/no/such/folder"}),
        )
        .unwrap_err();
    assert_eq!(error["data"]["code"], "not_found", "{error}");
    context.write("pillion.toml", "[python]\nworkerz = 3\n");
    let error = rpc.py("things:pid", json!([])).unwrap_err();
    assert_eq!(error["data"]["code"], "invalid_config", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("workerz"),
        "{error}"
    );
    // Put right, it works at once.
    context.write("pillion.toml", "[python]\nworkers = 3\n");
    assert!(rpc.py("things:pid", json!([])).is_ok());
}
