//! Who asks is a part of the request: said in the envelope, among the parameters as older clients
//! do, or by the door; and it means the same to every operation.

use std::fs;
use std::path::Path;

use pillion_testing::TestContext;
use serde_json::json;

/// Larger than any number of 64 bits, and larger than any float.
const LARGE: &str = "123456789012345678901234567890";

/// A project in a folder of the context, whose function says which one it is.
fn named_project(context: &TestContext, name: &str) -> std::path::PathBuf {
    let folder = context.base.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pyproject.toml"), "").unwrap();
    let code = format!("def name(): return {name:?}\ndef same(x): return str(x)\n");
    fs::write(folder.join("here.py"), code).unwrap();
    folder
}

#[test]
fn infinity_is_a_text_on_every_door() {
    let context = TestContext::new();
    for (text, number) in [
        ("inf", "\"Infinity\""),
        ("-inf", "\"-Infinity\""),
        ("nan", "null"),
    ] {
        let called = context.pillion(&["call", "builtins:float", &format!("[\"{text}\"]")]);
        assert_eq!(called.stdout.trim(), number, "{called}");
    }
    let mut agent = context.agent(&["--profile", "full"]);
    let call = r#"{"jsonrpc":"2.0","id":93,"method":"tools/call","params":{"name":"py_call","arguments":{"function":"builtins:float","params":["-inf"]}}}"#;
    agent.lines.write(format!("{call}\n").as_bytes());
    let answer = agent.lines.json();
    let result = &answer["result"]["structuredContent"]["result"];
    assert_eq!(result, "-Infinity", "{answer}");
}

#[test]
fn numbers_keep_their_digits_on_every_door() {
    let context = TestContext::new();
    let called = context.pillion(&["call", "builtins:str", &format!("[{LARGE}]")]);
    assert_eq!(called.stdout.trim(), format!("\"{LARGE}\""));
    let called = context.pillion(&["call", "builtins:str", "[1e400]"]);
    assert_eq!(called.stdout.trim(), "\"inf\"");
    let timed = [
        "call",
        "builtins:str",
        &format!("[{LARGE}]"),
        "--timeout-ms",
        "60000",
    ];
    assert_eq!(
        context.pillion(&timed).stdout.trim(),
        format!("\"{LARGE}\"")
    );
    // A result as well.
    let power = context.pillion(&["call", "builtins:pow", "[10, 30]"]);
    assert_eq!(power.stdout.trim(), format!("1{}", "0".repeat(30)));
    let run = [
        "job-start",
        "--function",
        "builtins:str",
        "--arguments",
        &format!("[{LARGE}]"),
    ];
    let job = context.pillion(&run);
    let end = context.pillion(&["--json", "job-stream", job.stdout.trim()]);
    assert!(end.stdout.contains(LARGE), "{end}");

    let mut agent = context.agent(&["--profile", "full"]);
    for (id, number, text) in [(90, LARGE, LARGE), (91, "1e400", "inf"), (92, "12", "12")] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"py_call","arguments":{{"function":"builtins:str","params":[{number}]}}}}}}"#
        );
        agent.lines.write(format!("{call}\n").as_bytes());
        let answer = agent.lines.json();
        assert_eq!(
            answer["result"]["structuredContent"]["result"], text,
            "{answer}"
        );
    }
    let power = agent.tool(
        "py_call",
        json!({"function": "builtins:pow", "params": [10, 30]}),
    );
    let shown = power["content"][0]["text"].as_str().unwrap();
    assert!(shown.contains(&format!("1{}", "0".repeat(30))), "{shown}");
    assert!(agent.lines.finish().success());

    let web = context.serve();
    let body = format!(r#"{{"function":"builtins:str","params":[{LARGE}],"timeout_ms":60000}}"#);
    let kind = [("Content-Type", "application/json")];
    let reply = web.request("POST", "/v1/py.call", &kind, &body);
    assert_eq!(reply.json()["result"], LARGE, "{reply:?}");
}

#[test]
fn a_relative_root_means_the_same_to_every_operation() {
    let context = TestContext::new();
    let one = named_project(&context, "one");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    // From where the caller says that it stands.
    let near = json!({"near": context.base, "root": "one"});
    let mut ask = |method, params| rpc.call_for(near.clone(), method, params).unwrap();
    let called = ask("py.call", json!({"function": "here:name"}));
    assert_eq!(called["result"], "one", "{called}");
    let ran = ask("exec.run", json!({"code": "print(1)"}));
    assert_eq!(ran["outcome"], "ok", "{ran}");
    let listed = ask("code.list", json!({"path": "here.py"}));
    assert_eq!(listed["symbols"][0]["name"], "name", "{listed}");
    let restarted = ask("py.restart", json!({"root": "one"}));
    assert!(restarted["restarted"].as_u64() > Some(0), "{restarted}");
    // Without a word, from where its process is: this one, here.
    let own = std::env::current_dir().unwrap();
    let up: String = own.components().skip(1).map(|_| "../").collect();
    let relative = format!("{up}{}", one.strip_prefix("/").unwrap().display());
    for method in ["py.call", "py.restart", "code.list", "exec.run"] {
        let (about, shown) = match method {
            "py.call" => (json!({"function": "here:name"}), "result"),
            "py.restart" => (json!({}), "restarted"),
            "code.list" => (json!({"path": "here.py"}), "symbols"),
            _ => (json!({"code": "1"}), "outcome"),
        };
        let mut about = about;
        about["root"] = json!(relative);
        let answer = rpc.call(method, about).unwrap();
        assert!(!answer[shown].is_null(), "{method}: {answer}");
    }
    let nowhere = rpc.call("exec.run", json!({"code": "1", "root": "no/such/folder"}));
    let error = nowhere.unwrap_err();
    assert_eq!(error["data"]["code"], "not_found", "{error}");
}

#[test]
fn the_envelope_says_who_asks_on_every_door() {
    let context = TestContext::new();
    let (one, two) = (
        named_project(&context, "one"),
        named_project(&context, "two"),
    );
    let caller = |root: &Path| json!({"root": root});
    let call = json!({"function": "here:name"});
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let called = rpc.call_for(caller(&one), "py.call", call.clone()).unwrap();
    assert_eq!(called["result"], "one", "{called}");
    // The parameters count first, as they always did.
    let mut both = call.clone();
    both["root"] = json!(two);
    let called = rpc.call_for(caller(&one), "py.call", both).unwrap();
    assert_eq!(called["result"], "two", "{called}");
    let wrong = rpc.call_for(json!({"rooot": "/"}), "system.ping", json!({}));
    let error = wrong.unwrap_err();
    assert_eq!(error["data"]["code"], "invalid_request", "{error}");
    let text = error["message"].as_str().unwrap();
    assert!(text.contains("rooot"), "{error}");
    let soon = json!({"root": one, "timeout_ms": 1});
    let sleep = json!({"function": "time:sleep", "params": [600]});
    let late = rpc.call_for(soon, "py.call", sleep).unwrap_err();
    assert_eq!(late["data"]["code"], "timeout", "{late}");
    // What is about nobody's folder takes no folder among its parameters.
    let ping = rpc.call("system.ping", json!({"root": one})).unwrap_err();
    assert_eq!(ping["data"]["code"], "invalid_params", "{ping}");

    let web = context.serve();
    let said = caller(&one).to_string();
    let headers = [
        ("Content-Type", "application/json"),
        ("Pillion-Caller", said.as_str()),
    ];
    let reply = web.request("POST", "/v1/py.call", &headers, &call.to_string());
    assert_eq!(reply.json()["result"], "one", "{reply:?}");
    let headers = [
        ("Content-Type", "application/json"),
        ("Pillion-Caller", "{"),
    ];
    let reply = web.request("POST", "/v1/py.call", &headers, &call.to_string());
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (400, &json!("invalid_request"))
    );

    let mut lines = context.stdio();
    let answer =
        lines.ask(&json!({"id": 1, "command": "py.call", "args": call, "caller": caller(&one)}));
    assert_eq!(answer["result"]["result"], "one", "{answer}");
    assert!(lines.finish().success());

    let mut agent = context.agent(&["--profile", "full"]);
    let params =
        json!({"name": "py_call", "arguments": call, "_meta": {"pillion/caller": caller(&two)}});
    let answer = agent.request("tools/call", params);
    assert_eq!(
        answer["result"]["structuredContent"]["result"], "two",
        "{answer}"
    );
    assert!(agent.lines.finish().success());
}

#[test]
fn agents_read_parameters_and_not_who_they_are() {
    let context = TestContext::new();
    let mut agent = context.agent(&["--profile", "full"]);
    let tools = agent.request("tools/list", json!({}))["result"]["tools"].clone();
    let known = [
        "near",
        "python",
        "virtual_env",
        "conda_prefix",
        "format",
        "timeout_ms",
    ];
    for tool in tools.as_array().unwrap() {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let said: Vec<_> = known
            .iter()
            .filter(|name| properties.contains_key(**name))
            .collect();
        // A picture has a format of its own.
        let own = tool["name"] == "map_graph" && said == [&"format"];
        assert!(said.is_empty() || own, "{}: {said:?}", tool["name"]);
    }
    // It is understood all the same, from agents that learned it from an older list.
    let call = json!({"function": "time:sleep", "params": [600], "timeout_ms": 1});
    let late = agent.tool("py_call", call);
    assert_eq!(late["isError"], true, "{late}");
    assert!(
        late["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("timeout"),
        "{late}"
    );
    assert!(agent.lines.finish().success());
}
