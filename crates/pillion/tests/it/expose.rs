//! `pillion expose`: functions of Python modules on every door.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use pillion_testing::agent::McpAgent;
use pillion_testing::processes::Process;
use pillion_testing::rpc::Rpc;
use pillion_testing::web::Web;
use pillion_testing::{CommandOutput, TestContext, set_up, wait_for_file};
use serde_json::{Value, json};

const SHOP: &str = include_str!("shop.py");

fn context() -> TestContext {
    let context = TestContext::new();
    context.write("shop.py", SHOP);
    context
}

/// Drive it with the official Python library.
fn stock_client(context: &TestContext, mode: &str, transport: &str, server: &str) -> String {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/clients/expose_client.py"
    );
    let mut command = context.command(set_up("dev-python/bin/python"));
    command
        .arg(Path::new(script))
        .args([mode, transport, server])
        .arg(&context.project);
    let output = CommandOutput::of(command);
    assert_eq!(output.code, Some(0), "{output}");
    output.stdout.trim().to_owned()
}

#[test]
fn a_stock_client_on_stdio() {
    let context = context();
    let pillion = env!("CARGO_BIN_EXE_pillion");
    let legacy = stock_client(&context, "legacy", "stdio", pillion);
    assert_eq!(legacy, "2025-11-25");
    assert_eq!(
        stock_client(&context, "auto", "stdio", pillion),
        "2026-07-28"
    );
}

#[test]
fn a_stock_client_on_http() {
    let context = context();
    let web = Web::start(context.pillion_command(&["expose", "shop", "--http", "0"]));
    let url = format!("http://127.0.0.1:{}/mcp", web.port);
    assert_eq!(stock_client(&context, "legacy", "http", &url), "2025-11-25");
    assert_eq!(stock_client(&context, "auto", "http", &url), "2026-07-28");
}

/// What a module says of the Python that it is in, and of its own text.
fn who(rate: u32) -> String {
    format!("import os\ndef pid() -> int: return os.getpid()\ndef rate() -> int: return {rate}\n")
}

/// What a function gives; that an edit is news is told in between.
fn given(agent: &mut McpAgent, name: &str) -> Value {
    let id = agent.send("tools/call", json!({ "name": name, "arguments": {} }));
    loop {
        let line = agent.lines.json();
        if line["id"] == id {
            return line["result"]["structuredContent"]["result"].clone();
        }
        assert_eq!(line["method"], "notifications/tools/list_changed", "{line}");
    }
}

/// What all agents are given who ask at once.
fn asked_at_once(agents: &mut [McpAgent], name: &str) -> Vec<Value> {
    std::thread::scope(|scope| {
        let asked: Vec<_> = agents
            .iter_mut()
            .map(|agent| scope.spawn(move || given(agent, name)))
            .collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn twenty_agents_share_one_python_and_all_see_an_edit() {
    let context = context();
    context.write("who.py", &who(1));
    // All of them come while nothing runs yet.
    let mut agents: Vec<McpAgent> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..20)
            .map(|_| scope.spawn(|| context.exposing(&["who"])))
            .collect();
        started.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let pids: HashSet<u64> = asked_at_once(&mut agents, "pid")
        .iter()
        .map(|pid| pid.as_u64().unwrap())
        .collect();
    let running = context.processes();
    let count = |is: fn(&Process) -> bool| running.iter().filter(|p| is(p)).count();
    assert_eq!(count(Process::is_daemon), 1, "{running:?}");
    // As many as the daemon's pool has for one client; not one for each agent.
    let workers = count(Process::is_worker);
    assert!((1..=4).contains(&workers), "{workers} workers: {running:?}");
    assert!(pids.len() <= workers, "{pids:?}");
    for rate in [2, 3] {
        context.write("who.py", &who(rate));
        let seen = asked_at_once(&mut agents, "rate");
        assert!(seen.iter().all(|one| *one == rate), "{rate}: {seen:?}");
    }
}

#[test]
fn an_agent_is_told_of_an_edit() {
    let context = context();
    let mut agent = context.exposing(&["shop"]);
    assert_eq!(
        agent.tools(),
        ["total", "latest", "count", "greet", "fetch_output"]
    );
    context.write("shop.py", "def other(): ...\n");
    // Nobody calls anything: the edit alone is the news.
    let news = agent.lines.json();
    assert_eq!(news["method"], "notifications/tools/list_changed", "{news}");
    assert_eq!(agent.tools(), ["other", "fetch_output"]);
}

#[test]
fn an_agent_is_told_of_an_edit_that_keeps_size_and_time() {
    let context = TestContext::new();
    let file = context.write("shop.py", "def alpha(): ...\n");
    let mut agent = context.exposing(&["shop"]);
    assert_eq!(agent.tools(), ["alpha", "fetch_output"]);
    // As `cp -p` and `rsync` leave it, in one step.
    let new = context.write("shop.new", "def gamma(): ...\n");
    let time = file.metadata().unwrap().modified().unwrap();
    let opened = std::fs::File::open(&new).unwrap();
    opened.set_modified(time).unwrap();
    std::fs::rename(new, file).unwrap();
    let news = agent.lines.json();
    assert_eq!(news["method"], "notifications/tools/list_changed", "{news}");
    assert_eq!(agent.tools(), ["gamma", "fetch_output"]);
}

#[test]
fn the_same_name_in_two_modules_is_told_apart() {
    let context = context();
    context.write("a.py", "def f(x: int) -> str: return f'a{x}'\n");
    context.write(
        "b.py",
        "def f(x: int) -> str: return f'b{x}'\ndef g(): ...\n",
    );
    let mut agent = context.exposing(&["a", "b"]);
    assert_eq!(agent.tools(), ["a_f", "b_f", "g", "fetch_output"]);
    let text = |result: Value| result["content"][0]["text"].clone();
    assert_eq!(text(agent.tool("a_f", json!({ "x": 1 }))), "a1");
    assert_eq!(text(agent.tool("b_f", json!({ "x": 2 }))), "b2");
    for (name, hint) in [("f", "a_f"), ("nosuch", "a_f")] {
        let call = json!({ "name": name, "arguments": { "x": 2 } });
        let unclear = agent.request("tools/call", call)["error"].clone();
        assert_eq!(unclear["code"], -32602, "{unclear}");
        assert!(
            unclear["data"]["hint"].as_str().unwrap().contains(hint),
            "{unclear}"
        );
    }
    let listed = context.pillion_json(&["py", "expose", "a", "b"]);
    assert_eq!(listed["tools"][1]["qualified"], "b_f", "{listed}");
}

#[test]
fn a_module_that_cannot_be_imported_is_told() {
    let context = context();
    context.write("bad.py", "1 / 0\n");
    let mut both = context.exposing(&["shop", "bad"]);
    assert!(both.tools().contains(&"greet".to_owned()));
    context.write("bad.py", "def mended(): ...\n");
    let news = both.lines.json();
    assert_eq!(news["method"], "notifications/tools/list_changed", "{news}");
    assert!(both.tools().contains(&"mended".to_owned()));
    context.write("bad.py", "1 / 0\n");
    let mut alone = context.exposing(&["bad"]);
    let refused = alone.request("tools/list", json!({}));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("ZeroDivisionError"), "{refused}");
    context.write("bad.py", "def good(): ...\n");
    let news = alone.lines.json();
    assert_eq!(news["method"], "notifications/tools/list_changed", "{news}");
    assert_eq!(alone.tools(), ["good", "fetch_output"]);
}

#[test]
fn beside_the_tools_of_pillion() {
    let context = context();
    // A name that an operation has keeps its meaning.
    context.write("more.py", "def py_call() -> str: return 'mine'\n");
    let mut agent = context.agent(&["--expose", "shop", "--expose", "more"]);
    let tools = agent.tools();
    for name in ["greet", "py_call", "more_py_call", "code_refs"] {
        let times = tools.iter().filter(|tool| *tool == name).count();
        assert_eq!(times, 1, "{name} in {tools:?}");
    }
    let greeted = agent.tool("greet", json!({ "name": "you" }));
    assert_eq!(greeted["content"][0]["text"], "hello\n\"you\"");
    let mine = agent.tool("more_py_call", json!({}));
    assert_eq!(mine["structuredContent"]["result"], "mine");
    assert_eq!(agent.py("things:add", json!([1, 2])), 3);
}

#[test]
fn a_call_can_be_cancelled_and_the_next_one_answered() {
    let context = context();
    let mut agent = context.exposing(&["things"]);
    let (started, until) = (context.path("started"), context.path("until"));
    let arguments = json!({ "started": started, "until": until });
    let block = agent.send(
        "tools/call",
        json!({ "name": "block", "arguments": arguments }),
    );
    wait_for_file(&started);
    agent.notify("notifications/cancelled", json!({ "requestId": block }));
    let sum = agent.tool("add", json!({ "a": 1, "b": 2 }));
    assert_eq!(sum["structuredContent"]["result"], 3, "{sum}");
}

#[test]
fn http_has_a_route_for_each_function() {
    let context = context();
    let web = Web::start(context.pillion_command(&["expose", "shop", "--http", "0"]));
    let json = [("Content-Type", "application/json")];
    let post = |path: &str, body: &str| web.request("POST", path, &json, body);
    let greeted = post("/greet", r#"{"name": "you"}"#);
    assert_eq!(
        (greeted.status, greeted.body.as_str()),
        (200, r#""hello\n\"you\"""#)
    );
    assert_eq!(post("/shop.greet", "[\"x\"]").body, r#""hello\n\"x\"""#);
    assert_eq!(post("/count", r#"{"n": 3}"#).body, "[0,1,2]");
    let wrong = post("/count", r#"{"n": "x"}"#);
    assert_eq!(wrong.status, 422, "{wrong:?}");
    assert!(wrong.body.contains("`n` must be an integer"), "{wrong:?}");
    assert_eq!(post("/nosuch", "{}").status, 404);
    // Nothing else is behind this door.
    assert_eq!(
        post("/v1/py.call", r#"{"function": "os:getpid"}"#).status,
        404
    );
    assert_eq!(post("/shutdown", "{}").status, 404);

    let events = [json[0], ("Accept", "text/event-stream")];
    let streamed = web.request("POST", "/count", &events, r#"{"n": 2}"#);
    let items: Vec<&str> = streamed
        .body
        .lines()
        .filter(|line| line.contains("item") || line.contains("result"))
        .collect();
    assert_eq!(
        items,
        [
            r#"data: {"item":0}"#,
            r#"data: {"item":1}"#,
            r#"data: {"result":"done"}"#
        ]
    );

    let page = web.get("/docs").body;
    assert!(page.contains("<code>greet</code>"), "{page}");
    assert!(!page.contains("py.call"), "{page}");
    let document: Value = serde_json::from_str(&web.get("/openapi.json").body).unwrap();
    let route = &document["paths"]["/total"]["post"];
    assert_eq!(route["summary"], "The price of some orders.", "{document}");
    let body = &route["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(body["required"], json!(["orders"]), "{route}");
    context.write("shop.py", "def greet() -> int: return 7\n");
    assert_eq!(post("/greet", "{}").body, "7");
    let document: Value = serde_json::from_str(&web.get("/openapi.json").body).unwrap();
    assert!(document["paths"]["/total"].is_null(), "{document}");
}

/// What every JSON-RPC door does with exposed functions.
fn speaks_rpc(context: &TestContext, rpc: &mut Rpc) {
    assert_eq!(
        rpc.call("greet", json!({ "name": "x" })).unwrap(),
        "hello\n\"x\""
    );
    assert_eq!(
        rpc.call("shop.greet", json!(["x"])).unwrap(),
        "hello\n\"x\""
    );
    let streamed = rpc.send("count", json!({ "n": 2 }));
    assert_eq!(rpc.outcome(streamed).unwrap(), "done");
    let items = rpc.parts(streamed);
    let items: Vec<&Value> = items
        .iter()
        .map(|part| &part["item"])
        .filter(|item| !item.is_null())
        .collect();
    assert_eq!(items, [&json!(0), &json!(1)]);
    let wrong = rpc.call("greet", json!({ "name": 1 })).unwrap_err();
    assert_eq!(wrong["data"]["code"], "invalid_params", "{wrong}");
    let other = rpc.call("py.call", json!({ "function": "os:getpid" }));
    let other = other.unwrap_err();
    assert_eq!(
        (&other["code"], &other["data"]["code"]),
        (&json!(-32601), &json!("unknown_operation"))
    );
    // What it says about itself, and nothing that would run code.
    assert_eq!(rpc.call("system.ping", json!({})).unwrap()["pong"], true);
    let version = rpc.call("system.version", json!({})).unwrap();
    assert_eq!(version["protocol"], "json-rpc-2.0", "{version}");
    let status = rpc.call("system.status", json!({})).unwrap();
    assert_eq!(status["idle"], true, "{status}");
    for none in ["system.stats", "system.nosuch", "exec.run", "nosuch"] {
        let unknown = rpc.call(none, json!({})).unwrap_err();
        assert_eq!(unknown["code"], -32601, "{none}: {unknown}");
    }
    context.write("shop.py", "def greet() -> int: return 7\n");
    assert_eq!(rpc.call("greet", Value::Null).unwrap(), 7);
    context.write("shop.py", SHOP);
}

#[test]
fn json_rpc_has_a_method_for_each_function() {
    let context = context();
    let command = context.pillion_command(&["expose", "shop", "--rpc"]);
    speaks_rpc(&context, &mut Rpc::stdio(command, &context.project));

    let socket = context.base.join("run/shop.sock");
    let mut server = context
        .pillion_command(&["expose", "shop", "--unix"])
        .arg(&socket)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    pillion_testing::wait_until("the socket", || socket.exists());
    let stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    speaks_rpc(&context, &mut Rpc::socket(stream, &context.project));
    pillion_testing::processes::terminate(server.id());
    assert!(server.wait().unwrap().success());
    assert!(!socket.exists());
}

/// `pillion expose shop --unix`, once it listens.
fn on_a_socket(context: &TestContext, more: &[&str]) -> (std::process::Child, PathBuf) {
    let socket = context.base.join("run/shop.sock");
    let server = context
        .pillion_command(&["expose", "shop", "--unix"])
        .arg(&socket)
        .args(more)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    pillion_testing::wait_until("the socket", || socket.exists());
    (server, socket)
}

#[test]
fn a_server_on_a_socket_ends_when_it_is_told_or_not_used() {
    let context = context();
    let (mut server, socket) = on_a_socket(&context, &[]);
    let stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    let mut rpc = Rpc::socket(stream, &context.project);
    let told = rpc.call("system.shutdown", json!({})).unwrap();
    assert_eq!(told["acknowledged"], true, "{told}");
    assert!(server.wait().unwrap().success());
    assert!(!socket.exists());

    // A call that takes longer than that is work, and an open connection is none.
    let (mut server, socket) = on_a_socket(&context, &["--idle-timeout", "0.5"]);
    let stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    let mut rpc = Rpc::socket(stream, &context.project);
    context.write(
        "shop.py",
        "import time\ndef slow() -> int:\n    time.sleep(1.5)\n    return 7\n",
    );
    assert_eq!(rpc.call("slow", json!({})).unwrap(), 7);
    assert!(server.wait().unwrap().success());
    assert!(!socket.exists());
    let output = context.pillion(&["expose", "shop", "--rpc", "--idle-timeout", "1"]);
    assert_eq!(output.code, Some(1), "{output}");
}

#[test]
fn functions_are_commands() {
    let context = context();
    let run = |words: &[&str]| {
        let all: Vec<_> = ["expose", "shop"].iter().chain(words).copied().collect();
        context.pillion(&all)
    };
    let said = |words: &[&str]| {
        let output = run(words);
        assert_eq!(output.code, Some(0), "{output}");
        output.stdout
    };
    assert_eq!(
        said(&["--", "greet", "--name", "you"]),
        "\"hello\\n\\\"you\\\"\"\n"
    );
    assert_eq!(said(&["--", "count", "2"]), "0\n1\n\"done\"\n");
    let orders = r#"[{"item": "tea", "count": 2}]"#;
    assert_eq!(
        said(&["--", "total", "--orders", orders, "--rate", "0"]),
        "20.0\n"
    );
    let help = said(&["--", "total", "--help"]);
    for part in [
        "The price of some orders.",
        "--rate <NUMBER>",
        "What was ordered.",
    ] {
        assert!(help.contains(part), "{part} in {help}");
    }
    let listed = said(&["--list"]);
    assert!(
        listed.contains("count(n: integer)  (stream)\n    Count up."),
        "{listed}"
    );
    let wrong = run(&["--", "count", "--n", "x"]);
    assert_eq!(wrong.code, Some(1), "{wrong}");
    assert!(wrong.stderr.contains("`n` must be an integer"), "{wrong}");
    assert_eq!(run(&["--", "nosuch"]).code, Some(2));
    let nothing = context.pillion(&["expose", "nosuch", "--list"]);
    assert_eq!(nothing.code, Some(1), "{nothing}");
}
