//! Arguments that are JSON and that Python cannot read: told at once, and nobody dies of it.

use std::io::{BufRead, BufReader, Read, Write};

use pillion_testing::{DEADLINE, TestContext, processes};
use serde_json::{Value, json};

/// Too deep, too many digits.
fn bad() -> [String; 3] {
    let nested = |open: &str, close: &str| open.repeat(1_500) + "1" + &close.repeat(1_500);
    [
        nested("[", "]"),
        nested("{\"a\":", "}"),
        format!("[{}]", "7".repeat(5_000)),
    ]
}

/// Ask a daemon by its socket, with parameters as text.
struct Socket(BufReader<std::os::unix::net::UnixStream>);

impl Socket {
    fn ask(&mut self, id: &str, method: &str, params: &str) -> String {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let stream = self.0.get_mut();
        write!(stream, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut head = String::new();
        self.0.read_line(&mut head).unwrap();
        let length = head.split(':').nth(1).unwrap().trim().parse().unwrap();
        self.0.read_line(&mut head).unwrap();
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    }

    /// The error of a request.
    fn error(&mut self, method: &str, params: &str) -> Value {
        let answer: Value = serde_json::from_str(&self.ask("1", method, params)).unwrap();
        answer["error"]["data"].clone()
    }
}

const SIDECAR: &str = r#"
import json, sys
print(json.dumps({"status": "ready"}), flush=True)
for line in sys.stdin:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        fault = {"type": "InvalidJSON", "code": "invalid_json", "message": str(error)[:80],
                 "recoverable": True}
        print(json.dumps({"id": None, "error": fault}), flush=True)
        continue
    id, command = request["id"], request["command"]
    if command == "strict" and len(str(request["args"])) > 100:
        fault = {"code": "invalid_json", "message": "more than I can read", "recoverable": True}
        print(json.dumps({"id": None, "error": fault}), flush=True)
    elif command == "strange":
        print('{"id": %d, "error": {"code": 7, "message": null}}' % id, flush=True)
    elif command == "huge":
        print('{"id": %d, "error": {"code": "x", "message": "m", "data": 1e999}}' % id, flush=True)
    elif command == "deep":
        print('{"id": %d, "result": {"a": %s}}' % (id, "[" * 5000 + "]" * 5000), flush=True)
    else:
        print(json.dumps({"id": id, "result": {"ok": True}}), flush=True)
"#;

fn context() -> TestContext {
    let context = TestContext::new().trusted_config(
        "[python]\nworkers = 1\n[sidecar.strict]\ncommand = ['python3', '-u', 'strict.py']\n",
    );
    context.write("strict.py", SIDECAR);
    context
}

#[test]
fn a_worker_says_so_and_goes_on() {
    let context = context();
    let daemon = context.daemon();
    let stream = daemon.raw();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut socket = Socket(BufReader::new(stream));
    let mut rpc = daemon.connect();
    let before = rpc.py("things:pid", json!([])).unwrap();
    let root = json!(context.project);
    for bad in bad() {
        let params = format!(r#"{{"function":"things:echo","params":[{bad}],"root":{root}}}"#);
        let error = socket.error("py.call", &params);
        assert_eq!(error["code"], "invalid_params", "{error}");
        assert!(
            error["message"].as_str().unwrap().contains("Python"),
            "{error}"
        );
        let name =
            format!(r#"{{"modules":["things"],"name":"echo","params":[{bad}],"root":{root}}}"#);
        let error = socket.error("py.invoke", &name);
        assert_eq!(error["code"], "invalid_params", "{error}");
        let streamed =
            format!(r#"{{"function":"things:echo","params":[{bad}],"root":{root},"stream":true}}"#);
        let error = socket.error("py.call", &streamed);
        assert_eq!(error["code"], "invalid_params", "{error}");
    }
    // What comes back is looked at by Python itself.
    let params = format!(r#"{{"function":"things:nested","params":[100000],"root":{root}}}"#);
    let error = socket.error("py.call", &params);
    assert_eq!(error["code"], "invalid_result", "{error}");
    let huge = format!(r#"{{"function":"things:echo","params":[1e400],"root":{root}}}"#);
    // Beyond all floats is infinity, which has a form of its own.
    let answer = socket.ask("4", "py.call", &huge);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["result"], "Infinity", "{answer}");
    assert_eq!(
        rpc.py("things:pid", json!([])).unwrap(),
        before,
        "the same worker"
    );
}

#[test]
fn every_door_says_so() {
    let context = context();
    let bad = bad();
    let web = context.serve();
    let mut host = context.stdio();
    let mut agent = context.agent(&[]);
    let root = json!(context.project);
    for (n, bad) in bad.iter().enumerate() {
        let params = format!(r#"{{"function":"things:echo","params":[{bad}],"root":{root}}}"#);
        let kind = [("Content-Type", "application/json")];
        let reply = web.request("POST", "/v1/py.call", &kind, &params);
        assert_eq!(
            (reply.status, reply.json()["code"].as_str()),
            (422, Some("invalid_params"))
        );

        host.write(format!(r#"{{"id":{n},"command":"py.call","args":{params}}}"#).as_bytes());
        host.write(b"\n");
        let answer = host.json();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(n), &json!("invalid_params"))
        );

        let call = format!(
            r#"{{"jsonrpc":"2.0","id":"{n}","method":"tools/call","params":{{"name":"py_call","arguments":{params}}}}}"#
        );
        agent.lines.write(format!("{call}\n").as_bytes());
        let answer = agent.lines.json();
        assert_eq!(answer["id"], n.to_string(), "{answer}");
        let refused = answer["error"]["code"] == -32602;
        let failed = answer["result"]["isError"] == true
            && answer["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains("invalid_params");
        assert!(refused || failed, "{answer}");

        let output = context.pillion(&["--json", "call", "things:echo", &format!("[{bad}]")]);
        assert_eq!(output.code, Some(1), "{output}");
        assert_eq!(output.json()["code"], "invalid_params", "{output}");
    }
    let whole = "123456789012345678901234567890";
    let output = context.pillion(&["call", "things:echo", &format!("[{whole}]")]);
    assert_eq!(output.stdout.trim(), whole, "{output}");
    assert_eq!(agent.py("things:add", json!([1, 2])), 3);
    assert!(agent.lines.finish().success());
    let answer = host.ask(&json!({"id": 9, "command": "system.ping"}));
    assert_eq!(answer["result"]["pong"], true);
    assert!(host.finish().success());
}

#[test]
fn a_foreign_sidecar_is_not_asked_what_it_cannot_read() {
    let context = context();
    let daemon = context.daemon();
    let stream = daemon.raw();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut socket = Socket(BufReader::new(stream));
    let root = json!(context.project);
    let ask = |command: &str, args: &str| {
        format!(
            r#"{{"sidecar":"strict","command":"{command}","args":{{"x":{args}}},"root":{root}}}"#
        )
    };
    let mut pids = Vec::new();
    for (command, args) in bad().iter().map(|bad| ("echo", bad.as_str())) {
        let error = socket.error("sidecar.call", &ask(command, args));
        assert_eq!(error["code"], "invalid_params", "{error}");
    }
    // What it says about a line that it could not read is about the one that it was asked.
    let long = format!("\"{}\"", "x".repeat(200));
    let error = socket.error("sidecar.call", &ask("strict", &long));
    assert_eq!(error["code"], "invalid_params", "{error}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("more than I can read"),
        "{error}"
    );
    pids.push(daemon.sidecars()[0]["pid"].clone());
    // An answer that cannot be understood is one.
    for command in ["strange", "huge"] {
        let error = socket.error("sidecar.call", &ask(command, "1"));
        assert_eq!(error["code"], "invalid_result", "{command}: {error}");
    }
    let answer = socket.ask("1", "sidecar.call", &ask("deep", "1"));
    assert!(answer.contains(&"[".repeat(5_000)), "passed on as it came");
    let answer = socket.ask("2", "sidecar.call", &ask("echo", "1"));
    assert!(answer.contains(r#"{"ok": true}"#), "{answer}");
    pids.push(daemon.sidecars()[0]["pid"].clone());
    assert_eq!(pids[0], pids[1], "it was never killed");
    assert!(processes::is_alive(pids[0].as_u64().unwrap() as u32));
}

#[test]
fn a_lane_is_not_given_what_it_cannot_read() {
    let context = context();
    let daemon = context.daemon();
    let stream = daemon.raw();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut socket = Socket(BufReader::new(stream));
    let root = json!(context.project);
    for bad in bad() {
        for method in ["exec.run", "exec.start"] {
            let order = format!(
                r#"{{"function":"json:dumps","arguments":[{bad}],"lane":"expert","root":{root}}}"#
            );
            let error = socket.error(method, &order);
            assert_eq!(error["code"], "invalid_params", "{method}: {error}");
        }
    }
    let order =
        format!(r#"{{"function":"json:dumps","arguments":[[1]],"lane":"expert","root":{root}}}"#);
    let answer: Value = serde_json::from_str(&socket.ask("1", "exec.run", &order)).unwrap();
    assert_eq!(answer["result"]["outcome"], "ok", "{answer}");
}

#[test]
fn an_id_comes_back_as_it_came() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let stream = daemon.raw();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut socket = Socket(BufReader::new(stream));
    for id in [
        "9007199254740993",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1.10",
        "1e3",
        "-0.0",
        "\"123456789012345678901234567890\"",
    ] {
        let answer = socket.ask(id, "system.ping", "{}");
        assert!(answer.contains(&format!("\"id\":{id}}}")), "{id}: {answer}");
        let answer = socket.ask(id, "no.such", "{}");
        assert!(answer.contains(&format!("\"id\":{id}}}")), "{id}: {answer}");
        let answer = socket.ask(id, "system.ping", "3");
        assert!(answer.contains(&format!("\"id\":{id}}}")), "{id}: {answer}");
    }
}
