//! The line-JSON contract, as an old host speaks it to `pillion stdio`.

use std::io::Write;
use std::process::Stdio;

use pillion_testing::lines::LineProcess;
use pillion_testing::processes::Process;
use pillion_testing::{
    DEADLINE, TWO_SECONDS, TestContext, processes, standing_still, wait_for_file,
};
use serde_json::{Value, json};

fn call(context: &TestContext, id: impl Into<Value>, function: &str, params: Value) -> Value {
    json!({
        "id": id.into(), "command": "py.call", "project": context.project,
        "args": {"function": function, "params": params},
    })
}

#[test]
fn the_ready_line_comes_first_and_nothing_is_started_by_it() {
    let context = TestContext::new();
    let mut host = LineProcess::start(context.pillion_command(&["stdio"]));
    let line = host.line().unwrap();
    assert!(
        line.starts_with(r#"{"status":"ready""#),
        "`status` comes first: {line}"
    );
    let ready: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(ready["pid"], host.child.id());
    assert!(ready["protocol"].is_u64() && ready["version"].is_string());
    assert!(!context.processes().iter().any(Process::is_worker));
    assert!(host.finish().success());
}

#[test]
fn an_id_of_any_kind_comes_back() {
    let context = TestContext::new();
    let mut host = context.stdio();
    for id in [
        json!(1),
        json!("text"),
        json!(1.5),
        json!(null),
        json!([1, {"a": 2}]),
        json!({"k": 1}),
    ] {
        let answer = host.ask(&json!({"id": id, "command": "system.ping"}));
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["pong"], true);
    }
    let answer = host.ask(&json!({"command": "system.ping"}));
    assert_eq!(answer["id"], Value::Null, "a missing id is null");
    assert!(host.finish().success());
}

#[test]
fn missing_members_have_their_defaults() {
    let context = TestContext::new();
    let mut host = context.stdio();
    for request in [
        json!({"id": 1, "command": "system.ping", "args": null}),
        json!({"id": 1, "command": "system.ping", "project": "", "args": {}}),
        json!({"id": 1, "command": "system.ping", "project": null, "unknown": true}),
    ] {
        assert_eq!(host.ask(&request)["result"]["pong"], true, "{request}");
    }
    for request in [json!({"id": 2}), json!({"id": 2, "command": ""})] {
        let answer = host.ask(&request);
        assert_eq!(answer["result"]["error"], "UnknownCommand", "{answer}");
    }
    assert!(host.finish().success());
}

#[test]
fn an_unknown_command_is_a_result() {
    let context = TestContext::new();
    let mut host = context.stdio();
    let answer = host.ask(&json!({"id": 7, "command": "X", "project": "", "args": {}}));
    let expected = json!({
        "id": 7, "result": {"error": "UnknownCommand", "message": "Unknown command: X"},
    });
    assert_eq!(answer, expected);
    assert!(host.finish().success());
}

#[test]
fn lines_that_are_no_requests_are_answered_and_the_loop_goes_on() {
    let context = TestContext::new();
    let mut host = context.stdio();
    host.write(b"\n   \n\r\n");
    for line in ["{", "nonsense", "{\"id\": 1,}"] {
        host.write(format!("{line}\n").as_bytes());
        let answer = host.json();
        assert_eq!(answer["id"], Value::Null);
        assert_eq!(answer["error"]["type"], "InvalidJSON", "{line}: {answer}");
        assert_eq!(answer["error"]["code"], "invalid_json");
        assert_eq!(answer["error"]["recoverable"], true);
        assert!(answer["error"]["message"].is_string());
    }
    host.write(b"\xff\xfe\n");
    assert_eq!(host.json()["error"]["code"], "invalid_json");
    for line in ["1", "[1, 2]", "\"text\"", "null", "true"] {
        host.write(format!("{line}\n").as_bytes());
        let answer = host.json();
        assert_eq!(
            answer["error"]["code"], "invalid_request",
            "{line}: {answer}"
        );
        assert_eq!(answer["error"]["recoverable"], true);
    }
    assert_eq!(
        host.ask(&json!({"id": 1, "command": "system.ping"}))["id"],
        1
    );
    assert!(host.finish().success());
}

/// A host that waits for its id would wait for ever if a mistake were answered with none.
#[test]
fn a_mistake_in_a_request_is_answered_under_its_id() {
    let context = TestContext::new();
    let mut host = context.stdio();
    for request in [
        json!({"id": 7, "command": 3}),
        json!({"id": 7, "command": "system.ping", "project": 1}),
        json!({"id": 7, "command": "system.ping", "progress": "yes"}),
    ] {
        let answer = host.ask(&request);
        assert_eq!(
            answer["error"]["code"], "invalid_request",
            "{request}: {answer}"
        );
        assert_eq!(answer["id"], 7, "{request}: {answer}");
    }
    assert!(host.finish().success());
}

#[test]
fn errors_have_the_members_that_hosts_branch_on() {
    let context = TestContext::new();
    let mut host = context.stdio();
    for (function, params, code, name) in [
        (
            "things:raises",
            json!(["no"]),
            "exception",
            Some("ValueError"),
        ),
        ("things:nosuch", json!([]), "not_found", None),
        (
            "things:add",
            json!({"x": 1}),
            "invalid_params",
            Some("TypeError"),
        ),
        ("things:os_exit", json!([]), "crashed", None),
    ] {
        let answer = host.ask(&call(&context, 1, function, params));
        let error = &answer["error"];
        assert_eq!(error["code"], code, "{answer}");
        assert!(
            error["message"].is_string() && error["recoverable"].is_boolean(),
            "{answer}"
        );
        assert_eq!(error["type"].as_str(), name, "{answer}");
    }
    let answer = host.ask(&json!({"id": 1, "command": "py.call", "args": {"nosuch": 1}}));
    assert_eq!(answer["error"]["code"], "invalid_params", "{answer}");
    let answer = host.ask(&json!({"id": 1, "command": "py.call", "args": [1]}));
    assert!(answer["error"]["recoverable"] == true, "{answer}");
    assert!(host.finish().success());
}

#[test]
fn standard_output_carries_nothing_else() {
    let context = TestContext::new();
    let mut host = context.stdio();
    for n in 0..3 {
        let answer = host.ask(&call(&context, n, "things:noise", json!([])));
        assert_eq!(answer["result"]["result"], "quiet", "{answer}");
    }
    assert!(host.finish().success());
}

#[test]
fn independent_requests_run_side_by_side() {
    let context = TestContext::new().config("[python]\nworkers = 2\n");
    let mut host = context.stdio();
    let (started, go) = (context.path("started"), context.path("go"));
    host.send(&call(
        &context,
        "slow",
        "things:block",
        json!([started, go]),
    ));
    wait_for_file(&started);
    let answer = host.ask(&call(&context, "fast", "things:add", json!([1, 2])));
    assert_eq!(
        (&answer["id"], &answer["result"]["result"]),
        (&json!("fast"), &json!(3))
    );
    std::fs::write(go, "").unwrap();
    assert_eq!(host.json()["id"], "slow");
    assert!(host.finish().success());
}

#[test]
fn the_end_of_input_finishes_what_was_read_and_a_last_line_needs_no_end() {
    let context = TestContext::new();
    let mut host = context.stdio();
    host.send(&call(&context, 1, "things:sleep", json!([0.3])));
    host.write(
        call(&context, 2, "things:add", json!([1, 2]))
            .to_string()
            .as_bytes(),
    );
    host.close_input();
    let mut ids = [host.json()["id"].to_string(), host.json()["id"].to_string()];
    ids.sort();
    assert_eq!(ids, ["1", "2"]);
    assert!(host.finish().success());
    context.wait_until_alone(TWO_SECONDS);
}

#[test]
fn ping_cancel_and_progress_are_there_for_those_who_ask() {
    let context = TestContext::new();
    let mut host = context.stdio();
    let started = context.path("started");
    host.send(&call(&context, "long", "things:stubborn", json!([started])));
    wait_for_file(&started);
    let pong = host.ask(&json!({"id": "p", "method": "ping"}));
    assert_eq!(pong, json!({"id": "p", "result": {"pong": true}}));
    host.send(&json!({"method": "cancel", "params": {"id": "long"}}));
    let answer = host.json();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!("long"), &json!("cancelled"))
    );
    host.send(&json!({"method": "cancel", "params": {"id": "nobody"}}));
    let answer = host.ask(&json!({"id": 1, "method": "dance"}));
    assert_eq!(answer["error"]["code"], "unknown_operation", "{answer}");

    let mut steps = call(&context, 5, "things:steps", json!([2]));
    steps["args"]["stream"] = json!(true);
    let silent = host.ask(&steps);
    assert_eq!(
        silent["result"]["result"], 2,
        "old hosts never see progress: {silent}"
    );
    steps["progress"] = json!(true);
    let first = host.ask(&steps);
    assert_eq!(
        first,
        json!({"id": 5, "progress": {"value": 1, "total": 2, "message": "step 1"}})
    );
    host.json();
    assert_eq!(host.json()["result"]["result"], 2);
    assert!(host.finish().success());
}

#[test]
fn items_of_a_stream_are_lines_and_a_slow_host_holds_them_back() {
    let context = TestContext::new();
    let note = context.path("note");
    let mut child = context
        .pillion_command(&["stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut request = call(&context, 1, "things:chunks", json!([100, 1 << 20, note]));
    request["args"]["stream"] = json!(true);
    request["progress"] = json!(true);
    writeln!(child.stdin.as_mut().unwrap(), "{request}").unwrap();
    // Nothing is read: the generator must not run to its end.
    let made = standing_still(&note);
    assert!(made < 95, "{made} were made for nobody");
    let output = pillion_testing::lines::read_all(child.stdout.take().unwrap());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let text = output.join().unwrap();
    let items = text
        .lines()
        .filter(|line| line.starts_with(r#"{"id":1,"item":"#))
        .count();
    assert_eq!(items, 100);
    assert!(text.trim_end().ends_with('}') && text.contains(r#"{"id":1,"result":"#));
}

#[test]
fn a_host_that_stops_reading_ends_it() {
    let context = TestContext::new();
    let mut host = context.stdio();
    let mut request = call(&context, 1, "things:forever", json!([context.path("note")]));
    request["args"]["stream"] = json!(true);
    request["progress"] = json!(true);
    host.send(&request);
    host.json();
    host.child.kill().unwrap();
    context.wait_until_alone(TWO_SECONDS);
}

#[test]
fn a_signal_lets_what_was_read_be_answered() {
    let context = TestContext::new();
    let mut host = context.stdio();
    let (started, go) = (context.path("started"), context.path("go"));
    host.send(&call(&context, 1, "things:block", json!([started, go])));
    wait_for_file(&started);
    processes::terminate(host.child.id());
    std::fs::write(go, "").unwrap();
    assert_eq!(host.json()["id"], 1);
    assert!(host.wait().success());
    context.wait_until_alone(DEADLINE);
}

#[test]
fn a_large_answer_is_one_line() {
    let context = TestContext::new();
    let mut host = context.stdio();
    let answer = host.ask(&call(&context, 1, "things:large", json!([5 << 20])));
    assert_eq!(
        answer["result"]["result"].as_str().map(str::len),
        Some(5 << 20)
    );
    let answer = host.ask(&call(&context, 2, "things:large", json!([65 << 20])));
    assert_eq!(answer["error"]["code"], "response_too_large");
    assert!(host.finish().success());
}

#[test]
fn the_one_shot_form_has_its_exit_codes() {
    let context = TestContext::new();
    let project = context.project.to_str().unwrap();
    let one = |command: &str, args: &str| {
        context.pillion(&[
            "stdio",
            "--command",
            command,
            "--project",
            project,
            "--args",
            args,
        ])
    };
    let output = one("py.call", r#"{"function": "things:add", "params": [1, 2]}"#);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json()["result"], 3, "one JSON document");
    let output = context.pillion(&["stdio", "--command", "system.ping"]);
    assert_eq!(
        (output.code, output.json()["pong"].as_bool()),
        (Some(0), Some(true))
    );

    let failure = |output: &pillion_testing::CommandOutput| -> Value {
        assert_eq!(output.stdout, "", "{output}");
        let line = output.stderr.lines().last().unwrap_or_default();
        serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {output}"))
    };
    let output = one(
        "py.call",
        r#"{"function": "things:raises", "params": ["no"]}"#,
    );
    assert_eq!(output.code, Some(1), "{output}");
    assert_eq!(failure(&output)["error"], "ValueError");
    assert!(failure(&output)["message"].as_str().unwrap().contains("no"));
    let output = one("nosuch", "{}");
    // Hosts of the old child take it for a result.
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json()["error"], "UnknownCommand");
    for wrong in ["[]", "{", "3"] {
        let output = one("system.ping", wrong);
        assert_eq!(output.code, Some(1), "{wrong}: {output}");
        assert_eq!(failure(&output)["error"], "InvalidArgs");
    }
    let output = context.pillion(&["stdio", "--project", project]);
    assert_eq!(
        output.code,
        Some(2),
        "`--project` without `--command`: {output}"
    );
    context.wait_until_alone(TWO_SECONDS);
}

#[test]
fn standard_streams_may_be_files() {
    let context = TestContext::new();
    let input = context.write("input", "{\"id\":1,\"command\":\"system.ping\"}\n");
    let output = std::fs::File::create(context.base.join("output")).unwrap();
    let mut command = context.pillion_command(&["stdio"]);
    command
        .stdin(std::fs::File::open(input).unwrap())
        .stdout(output);
    assert!(command.status().unwrap().success());
    let text = std::fs::read_to_string(context.base.join("output")).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains(r#""pong":true"#));
}
