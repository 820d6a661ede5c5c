//! `pillion mcp` line by line.

use pillion_testing::agent::{McpAgent, error_of, text_of};
use pillion_testing::lines::LineProcess;
use pillion_testing::processes::{Process, kill};
use pillion_testing::{TestContext, wait_for_file};
use serde_json::{Value, json};

use super::with_tools;

#[test]
fn lines_that_are_no_messages_are_answered_and_the_session_goes_on() {
    let context = TestContext::new();
    let mut agent = McpAgent::new(LineProcess::start(context.pillion_command(&["mcp"])));
    let mut wrong = |line: &str| {
        agent.lines.write(format!("{line}\n").as_bytes());
        let answer = agent.lines.json();
        (
            answer["error"]["code"].as_i64().unwrap(),
            answer["id"].clone(),
        )
    };
    // Before the handshake too, where a notification would end others.
    assert_eq!(wrong("{nonsense"), (-32700, Value::Null));
    assert_eq!(wrong("\u{fffd}\0"), (-32700, Value::Null));
    agent.notify("notifications/initialized", json!({}));
    agent.shake_hands();
    let mut wrong = |line: &str| {
        agent.lines.write(format!("{line}\n").as_bytes());
        let answer = agent.lines.json();
        (
            answer["error"]["code"].as_i64().unwrap(),
            answer["id"].clone(),
        )
    };
    assert_eq!(wrong("[]"), (-32600, Value::Null));
    assert_eq!(wrong("17"), (-32600, Value::Null));
    assert_eq!(wrong(r#"{"id": 5, "method": "ping"}"#), (-32600, json!(5)));
    let no_name = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{}}"#;
    assert_eq!(wrong(no_name), (-32602, json!("x")));
    let no_method = r#"{"jsonrpc":"2.0","id":9,"method":"nosuch/method"}"#;
    assert_eq!(wrong(no_method), (-32601, json!(9)));
    agent.lines.write(b"\n  \n");
    assert_eq!(agent.request("ping", json!({}))["result"], json!({}));
    assert!(agent.lines.finish().success());
}

#[test]
fn what_was_read_is_answered_after_the_end_of_the_input() {
    let context = TestContext::new();
    let mut agent = context.agent(&[]);
    let call =
        json!({ "name": "py_call", "arguments": { "function": "things:add", "params": [1, 2] } });
    let id = agent.send("tools/call", call);
    agent.lines.close_input();
    let answer = agent.lines.json();
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["content"][0]["text"], "3", "{answer}");
    assert!(agent.lines.finish().success());
}

#[test]
fn the_handshake_needs_no_daemon_and_the_first_call_says_what_is_wrong() {
    let context = TestContext::new();
    // Something else is in the daemon's place, so that none can be started.
    std::fs::create_dir_all(context.socket().parent().unwrap()).unwrap();
    std::fs::write(context.socket(), "").unwrap();
    let mut agent = context.agent(&[]);
    assert!(agent.tools().contains(&"code_refs".to_owned()));
    let error = error_of(&agent.tool("py_call", json!({ "function": "math:pi" })));
    assert_eq!(error["type"], "TRANSIENT", "{error}");
    assert_eq!(error["code"], "unreachable", "{error}");
    // It is asked again, not remembered.
    std::fs::remove_file(context.socket()).unwrap();
    assert_eq!(agent.py("things:add", json!([1, 1])), 2);
    assert!(agent.lines.finish().success());
}

#[test]
fn a_daemon_that_died_is_replaced_and_only_reads_are_repeated() {
    let context = TestContext::new();
    let mut agent = context.agent(&[]);
    assert_eq!(agent.py("things:add", json!([1, 1])), 2);
    let daemon = || context.processes().into_iter().find(Process::is_daemon);
    kill(daemon().unwrap().pid);
    let status = agent.tool("system_status", json!({}));
    assert_eq!(status["isError"], false, "{status}");
    assert_eq!(agent.py("things:add", json!([2, 2])), 4);

    let (started, until) = (context.path("started"), context.path("until"));
    let call = json!({ "name": "py_call", "arguments": { "function": "things:block", "params": [&started, until] } });
    agent.send("tools/call", call);
    wait_for_file(&started);
    kill(daemon().unwrap().pid);
    let error = error_of(&agent.lines.json()["result"]);
    assert_eq!(error["code"], "unreachable", "{error}");
    assert_eq!(
        std::fs::read_to_string(&started).unwrap().lines().count(),
        1
    );
    assert!(agent.lines.finish().success());
}

#[test]
fn a_call_is_cancelled_by_its_notification_and_has_no_answer() {
    let context = TestContext::new();
    let mut agent = context.agent(&[]);
    let (started, until) = (context.path("started"), context.path("until"));
    let call = json!({ "name": "py_call", "arguments": { "function": "things:block", "params": [&started, until] } });
    let id = agent.send("tools/call", call);
    wait_for_file(&started);
    agent.notify(
        "notifications/cancelled",
        json!({ "requestId": id, "reason": "enough" }),
    );
    assert_eq!(agent.py("things:add", json!([1, 1])), 2);
    assert!(agent.lines.finish().success());
}

#[test]
fn a_profile_is_an_exact_list_of_tools() {
    const CORE: [&str; 6] = [
        "project_registry",
        "resolve_project",
        "code_structure",
        "impact_analysis",
        "change_impact",
        "detect_patterns",
    ];
    let mut context = TestContext::new();
    // Tools whose operations are not there are not offered.
    let all = context.agent(&["--profile", "full"]).tools();
    let usual = context.agent(&[]).tools();
    let there = |names: &[&str]| -> Vec<String> {
        let names = names.iter().map(|name| (*name).to_owned());
        names.filter(|name| all.contains(name)).collect()
    };
    assert_eq!(context.agent(&["--profile", "core"]).tools(), there(&CORE));
    context.set_env("MCP_TOOL_PROFILE", "minimal");
    let mut minimal = context.agent(&[]);
    assert_eq!(minimal.tools(), there(&CORE[..3]));
    let refused = minimal.request("tools/call", json!({ "name": "py_call" }));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("`py_call`") && message.contains("`minimal`"),
        "{refused}"
    );
    drop(minimal);
    context.set_env("PILLION_TOOL_PROFILE", "full");
    assert_eq!(context.agent(&[]).tools(), all);

    context.set_env("PILLION_TOOL_PROFILE", "huge");
    let mut warned = context.agent(&[]);
    assert_eq!(warned.tools(), usual);
    let said = warned.lines.errors();
    assert!(
        said.contains("PILLION_TOOL_PROFILE") && said.contains("`huge`"),
        "{said}"
    );
    let output = context.pillion(&["mcp", "--profile", "huge"]);
    assert_eq!(output.code, Some(2), "{output}");
}

#[test]
fn calls_are_about_the_folder_where_the_agent_stands() {
    let context = with_tools();
    context.write("deep/er/other.py", "def here():\n    return 'deep'\n");
    let mut agent = context.agent(&[]);
    // Models write null where they mean nothing.
    let found = agent.tool("code_list", json!({ "path": "things.py", "root": null }));
    assert_eq!(found["isError"], false, "{found}");
    let deep = context.project.join("deep/er");
    let mut deeper = context.agent(&["--root", deep.to_str().unwrap()]);
    assert_eq!(deeper.py("other:here", json!([])), "deep");
    let refused = error_of(&deeper.tool("code_list", json!({ "path": "../../things.py" })));
    assert_eq!(refused["type"], "PERMISSION", "{refused}");
    // A function in a lane is looked for there, too, and its module goes along.
    context.write("sums.py", "def add(a, b):\n    return {'sum': a + b}\n");
    let arguments = json!({ "function": "sums:add", "arguments": [1, 2] });
    let result = agent.tool("exec_run", arguments);
    assert!(text_of(&result).contains(r#"{"sum":3}"#), "{result}");
    assert!(
        !text_of(&result).contains("sums.py"),
        "it made no file: {result}"
    );
    let arguments = json!({ "function": "sums:add", "arguments": "[1, 2]" });
    let refused = error_of(&agent.tool("exec_run", arguments));
    assert_eq!(refused["code"], "invalid_params", "{refused}");
    // A relative root is meant from there, not from where the daemon lives.
    let arguments = json!({ "function": "other:here", "root": "deep/er" });
    let result = agent.tool("py_call", arguments);
    assert_eq!(text_of(&result), r#""deep""#, "{result}");
}

#[test]
fn a_map_is_read_by_an_absolute_path_or_from_where_the_agent_stands() {
    let context = TestContext::new();
    context.write("pyproject.toml", "");
    context.write("mod.py", "def f():\n    return 1\n");
    let project = context.project.display().to_string();
    let mut agent = context.agent(&[]);
    for path in [".", "./", &project, project.trim_start_matches('/')] {
        let uri = format!("pillion://map/{path}");
        let read = agent.request("resources/read", json!({ "uri": uri }));
        let text = read["result"]["contents"][0]["text"].as_str();
        let map: Value = serde_json::from_str(text.unwrap_or_default()).unwrap_or_default();
        assert_eq!(map["root"], json!(project), "{uri}: {read}");
        assert_eq!(map["files"][0]["functions"], json!(["f"]), "{uri}: {map}");
    }
}

#[test]
fn an_answer_is_cut_at_the_budget() {
    let context = TestContext::new();
    let mut agent = context.agent(&["--profile", "full", "--max-output", "2000"]);
    let large = json!({ "function": "things:large", "params": [10_000] });
    let result = agent.tool("py_call", large.clone());
    let text = result["content"][0]["text"].as_str().unwrap();
    let cut = &result["structuredContent"]["cut"];
    assert!(text.len() < 2_500, "{}", text.len());
    assert!(cut["bytes"].as_u64().unwrap() > 10_000, "{cut}");
    assert!(text.contains(cut["handle"].as_str().unwrap()));
    // A host can say with the call how much it takes.
    let whole = agent.request(
        "tools/call",
        json!({ "name": "py_call", "arguments": large, "_meta": { "pillion/max_output": 100_000 } }),
    );
    let text = whole["result"]["structuredContent"]["result"].as_str();
    assert_eq!(text.map(str::len), Some(10_000));
    let deep = json!({ "function": "things:nested", "params": [500] });
    let error = error_of(&agent.tool("py_call", deep));
    assert_eq!(error["code"], "invalid_result", "{error}");
    let output = context.pillion(&["mcp", "--max-output", "10"]);
    assert_eq!(output.code, Some(2), "{output}");
}

#[test]
fn without_a_daemon_everything_ends_with_the_agent() {
    let context = TestContext::new();
    let mut agent = context.agent(&["--no-daemon"]);
    assert_eq!(agent.py("things:add", json!([1, 1])), 2);
    assert!(!context.processes().iter().any(Process::is_daemon));
    assert!(agent.lines.finish().success());
    context.wait_until_alone(pillion_testing::DEADLINE);
}
