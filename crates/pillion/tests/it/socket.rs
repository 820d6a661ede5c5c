//! The socket door: framing, JSON-RPC 2.0, and peers that behave badly.

use std::io::{BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use pillion_testing::rpc::read_frame;
use pillion_testing::{DEADLINE, TestContext, wait_for_file, wait_until};
use serde_json::{Value, json};

fn frame(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Send bytes, stop sending, and read all that comes back.
fn exchange(stream: UnixStream, bytes: &[u8]) -> Vec<Value> {
    // A peer that was refused may be cut off while it still talks.
    let _ = (&stream).write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut reader = BufReader::new(stream);
    std::iter::from_fn(|| read_frame(&mut reader)).collect()
}

#[test]
fn the_required_methods_answer_as_the_contract_says() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let pong = rpc.call("system.ping", Value::Null).unwrap();
    assert_eq!(pong["pong"], true);
    let timestamp = pong["timestamp"].as_str().unwrap();
    assert!(timestamp.starts_with("20") && timestamp.contains('T') && timestamp.ends_with('Z'));
    let version = rpc.call("system.version", Value::Null).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version["protocol"], "json-rpc-2.0");
    assert_eq!(version["transport"], "unix-socket");
    assert!(!version["contract"].as_str().unwrap().is_empty());
    let status = rpc.call("system.status", Value::Null).unwrap();
    assert_eq!(status["pid"], daemon.pid);
    assert_eq!(status["socket"], context.socket().to_str().unwrap());
    assert_eq!(status["idle"], true);
    assert_eq!(
        status["workspaces"],
        json!([]),
        "nothing was started by asking"
    );
}

#[test]
fn every_way_to_write_a_frame_is_read() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let body = r#"{"jsonrpc":"2.0","method":"system.ping","id":1}"#;
    let n = body.len();
    for frame in [
        format!("Content-Length: {n}\r\n\r\n{body}"),
        format!("content-length:{n}\r\n\r\n{body}"),
        format!("CONTENT-LENGTH:   {n}  \r\n\r\n{body}"),
        format!("Content-Length: {n}\n\n{body}"),
        format!(
            "Content-Type: application/json; charset=utf-8\r\nContent-Length: {n}\r\n\r\n{body}"
        ),
        format!("Content-Length: {n}\r\nX-Unknown: yes\r\n\r\n{body}"),
    ] {
        let answers = exchange(daemon.raw(), frame.as_bytes());
        assert_eq!(answers.len(), 1, "{frame}");
        assert_eq!(answers[0]["result"]["pong"], true, "{frame}");
    }
}

#[test]
fn a_length_is_in_bytes_and_text_survives() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    for text in ["é", "日本語", "🦀 \u{0} \\ \" \u{2028}", ""] {
        assert_eq!(rpc.py("things:echo", json!([text])).unwrap(), text);
    }
}

#[test]
fn one_byte_at_a_time_is_enough() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let stream = daemon.raw();
    let bytes = [
        frame(r#"{"jsonrpc":"2.0","method":"system.ping","id":"é"}"#),
        frame(r#"{"jsonrpc":"2.0","method":"system.ping","id":"second"}"#),
    ]
    .concat();
    for byte in bytes {
        (&stream).write_all(&[byte]).unwrap();
    }
    let answers = exchange(stream, b"");
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["id"], "é");
    assert_eq!(answers[1]["id"], "second");
}

/// A bad header or an oversized frame: one error with a null id, then the end.
#[test]
fn a_stream_that_is_no_stream_of_frames_is_refused_once_and_closed() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let giant = format!("X: {}\r\nContent-Length: 2\r\n\r\n{{}}", "y".repeat(9000));
    let endless = "z".repeat(20_000);
    let good = String::from_utf8(frame(r#"{"jsonrpc":"2.0","method":"system.ping","id":1}"#));
    let good = good.unwrap();
    for (what, bytes) in [
        (
            "a negative length",
            format!("Content-Length: -5\r\n\r\n{good}"),
        ),
        ("no number", format!("Content-Length: five\r\n\r\n{good}")),
        ("zero", format!("Content-Length: 0\r\n\r\n{good}")),
        (
            "over the limit",
            format!("Content-Length: 104857601\r\n\r\n{good}"),
        ),
        (
            "over all limits",
            format!("Content-Length: 99999999999999999999\r\n\r\n{good}"),
        ),
        (
            "no length",
            format!("Content-Type: text/plain\r\n\r\n{good}"),
        ),
        ("a giant header", giant + &good),
        ("an endless header", endless + &good),
        ("garbage", format!("GET / HTTP/1.1\r\n\r\n{good}")),
        (
            "no header at all",
            format!("{{\"jsonrpc\":\"2.0\"}}\r\n\r\n{good}"),
        ),
    ] {
        let answers = exchange(daemon.raw(), bytes.as_bytes());
        assert_eq!(
            answers.len(),
            1,
            "{what}: never go on in the middle: {answers:?}"
        );
        assert_eq!(answers[0]["id"], Value::Null, "{what}");
        assert_eq!(answers[0]["error"]["code"], -32600, "{what}: {answers:?}");
        assert_eq!(
            answers[0]["error"]["data"]["code"], "invalid_request",
            "{what}"
        );
    }
    let noise: Vec<u8> = (0..10_000_u32).map(|n| (n * 7919 % 251) as u8).collect();
    assert!(exchange(daemon.raw(), &noise).len() <= 1);
    assert_eq!(
        daemon.connect().call("system.ping", Value::Null).unwrap()["pong"],
        true
    );
}

#[test]
fn what_was_asked_before_the_garbage_is_still_answered() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut bytes = frame(r#"{"jsonrpc":"2.0","method":"system.ping","id":1}"#);
    bytes.extend(b"Content-Length: nonsense\r\n\r\n");
    let answers = exchange(daemon.raw(), &bytes);
    let mut ids: Vec<_> = answers.iter().map(|a| a["id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["1", "null"], "{answers:?}");
}

#[test]
fn a_frame_that_is_no_request_is_answered_and_the_connection_goes_on() {
    let context = TestContext::new();
    let daemon = context.daemon();
    for (body, code, id) in [
        ("{", -32700, Value::Null),
        ("nonsense", -32700, Value::Null),
        ("\u{feff}{}", -32700, Value::Null),
        ("3", -32600, Value::Null),
        ("[]", -32600, Value::Null),
        ("{}", -32600, Value::Null),
        (r#"{"method":"system.ping","id":1}"#, -32600, json!(1)),
        (
            r#"{"jsonrpc":"1.0","method":"system.ping","id":1}"#,
            -32600,
            json!(1),
        ),
        (r#"{"jsonrpc":"2.0","method":1,"id":1}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":"x"}"#, -32600, json!("x")),
        (
            r#"{"jsonrpc":"2.0","method":"system.ping","params":3,"id":1}"#,
            -32600,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"system.ping","params":{"x":1},"id":1}"#,
            -32602,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"no.such","id":1}"#,
            -32601,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"system.ping","id":{}}"#,
            -32600,
            Value::Null,
        ),
    ] {
        let after = r#"{"jsonrpc":"2.0","method":"system.ping","id":"after"}"#;
        let answers = exchange(daemon.raw(), &[frame(body), frame(after)].concat());
        let find = |id: &Value| answers.iter().find(|answer| answer["id"] == *id);
        assert_eq!(answers.len(), 2, "{body}: {answers:?}");
        let refused = find(&id).unwrap_or_else(|| panic!("{body}: {answers:?}"));
        assert_eq!(refused["error"]["code"], code, "{body}: {refused}");
        assert!(refused["error"]["data"]["code"].is_string(), "{refused}");
        assert!(find(&json!("after")).unwrap()["result"].is_object());
    }
    let invalid_utf8 = exchange(daemon.raw(), b"Content-Length: 2\r\n\r\n\xff\xfe");
    assert_eq!(invalid_utf8[0]["error"]["code"], -32700);
}

#[test]
fn ids_come_back_as_they_were() {
    let context = TestContext::new();
    let daemon = context.daemon();
    for id in [
        "0",
        "-7",
        "1.5",
        "18446744073709551615",
        r#""text""#,
        r#""""#,
        "null",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"system.ping","id":{id}}}"#);
        let answers = exchange(daemon.raw(), &frame(&body));
        assert_eq!(answers[0]["id"].to_string(), id);
        assert!(answers[0]["result"].is_object());
    }
}

#[test]
fn parameters_may_be_absent_null_an_object_or_an_array() {
    let context = TestContext::new();
    let daemon = context.daemon();
    for params in [
        "",
        r#","params":null"#,
        r#","params":{}"#,
        r#","params":[]"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"system.ping"{params},"id":1}}"#);
        let answers = exchange(daemon.raw(), &frame(&body));
        assert!(answers[0]["result"].is_object(), "{body}: {answers:?}");
    }
}

#[test]
fn batches_are_answered_as_json_rpc_says() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    rpc.write(&json!([
        {"jsonrpc": "2.0", "method": "system.ping", "id": "a"},
        {"jsonrpc": "2.0", "method": "system.ping"},
        {"jsonrpc": "2.0", "method": "no.such", "id": "b"},
        {"foo": "boo"},
        1,
        {"jsonrpc": "2.0", "method": "py.call", "id": "c", "params": {
            "function": "things:add", "params": [1, 2], "root": context.project}},
    ]));
    let answers = rpc.frame().unwrap();
    let answers = answers.as_array().unwrap();
    let by_id = |id: Value| answers.iter().filter(move |answer| answer["id"] == id);
    assert_eq!(answers.len(), 5, "{answers:?}");
    assert_eq!(by_id(json!("a")).next().unwrap()["result"]["pong"], true);
    assert_eq!(by_id(json!("b")).next().unwrap()["error"]["code"], -32601);
    assert_eq!(by_id(json!("c")).next().unwrap()["result"]["result"], 3);
    assert_eq!(by_id(Value::Null).count(), 2);
    assert!(by_id(Value::Null).all(|answer| answer["error"]["code"] == -32600));

    // Nothing but notifications: nothing comes back, so the next frame is the ping's.
    rpc.write(&json!([{"jsonrpc": "2.0", "method": "system.ping"}]));
    assert!(rpc.call("system.ping", Value::Null).is_ok());
    rpc.write(&json!([]));
    let refused = rpc.frame().unwrap();
    assert_eq!(
        refused["error"]["code"], -32600,
        "an empty batch: {refused}"
    );
    rpc.write(&json!([1, 2]));
    let refused = rpc.frame().unwrap();
    assert_eq!(refused.as_array().map(Vec::len), Some(2), "{refused}");
}

#[test]
fn a_notification_is_done_and_never_answered() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let (started, go) = (context.path("started"), context.path("go"));
    std::fs::write(&go, "").unwrap();
    rpc.notify(
        "py.call",
        json!({
            "function": "things:block", "params": [started, go], "root": context.project,
        }),
    );
    wait_for_file(&started);
    rpc.notify("no.such", json!({}));
    rpc.notify(
        "py.call",
        json!({"function": "things:raises", "root": context.project}),
    );
    rpc.notify("$/cancelRequest", json!({"id": 4711}));
    rpc.notify("$/unknown", json!({}));
    // The connection's end asserts that nothing but this came.
    assert_eq!(rpc.py("things:add", json!([1, 1])).unwrap(), 2);
}

#[test]
fn answers_come_in_any_order() {
    let context = TestContext::new().config("[python]\nworkers = 2\n");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let (started, go) = (context.path("started"), context.path("go"));
    let slow = rpc.send_py("things:block", json!([started, go]), json!({}));
    wait_for_file(&started);
    assert_eq!(rpc.py("things:add", json!([1, 1])).unwrap(), 2);
    assert!(!rpc.is_answered(slow));
    std::fs::write(go, "").unwrap();
    assert!(rpc.outcome(slow).is_ok());
}

#[test]
fn a_half_closed_connection_still_gets_its_answers() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let (started, go) = (context.path("started"), context.path("go"));
    let id = rpc.send_py("things:block", json!([started, go]), json!({}));
    rpc.stop_sending();
    wait_for_file(&started);
    // Long enough for the daemon to look several times whether anybody is still there.
    std::thread::sleep(std::time::Duration::from_millis(800));
    std::fs::write(go, "").unwrap();
    assert!(rpc.outcome(id).is_ok());
}

#[test]
fn half_a_frame_is_no_request() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let whole = frame(r#"{"jsonrpc":"2.0","method":"system.shutdown","id":1}"#);
    for cut in [5, 18, 25, whole.len() - 1] {
        let answers = exchange(daemon.raw(), &whole[..cut]);
        assert!(answers.is_empty(), "cut at {cut}: {answers:?}");
    }
    // A promise of much that is never kept costs nothing.
    let promises: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = daemon.raw();
            stream
                .write_all(b"Content-Length: 104857600\r\n\r\n{")
                .unwrap();
            stream
        })
        .collect();
    let status = daemon.connect().call("system.status", Value::Null).unwrap();
    assert!(
        status["memory_bytes"].as_u64().unwrap() < 100 << 20,
        "{status}"
    );
    drop(promises);
}

#[test]
fn a_request_as_large_as_allowed_is_read() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let text = "x".repeat(20 << 20);
    assert_eq!(
        rpc.py("things:echo", json!([text])).unwrap().as_str(),
        Some(&*text)
    );
}

#[test]
fn the_failure_of_a_start_keeps_its_own_code() {
    let context = TestContext::new().trusted_config("[python]\ninterpreter = 'nosuch/python'\n");
    let daemon = context.daemon();
    let error = daemon.connect().py("things:pid", json!([])).unwrap_err();
    assert_eq!(error["data"]["code"], "python_not_found", "{error}");
    assert_eq!(error["code"], -32013, "not masked as an unknown method");
    assert_eq!(error["data"]["recoverable"], true);
    assert!(error["data"]["hint"].is_string());
}

#[test]
fn the_socket_is_private() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let context = TestContext::new();
    let daemon = context.daemon();
    let socket = context.socket().symlink_metadata().unwrap();
    assert_eq!(socket.mode() & 0o777, 0o600);
    let folder = context.base.join("run/pillion").symlink_metadata().unwrap();
    assert_eq!(folder.mode() & 0o777, 0o700);
    // How it is for somebody else, once every door is wide open.
    if pillion_testing::can_be_others("a connection of another user") {
        for path in ["", "run", "run/pillion", "run/pillion/daemon.sock"] {
            let mode = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(context.base.join(path), mode).unwrap();
        }
        let mut client = context.command("python3");
        client.arg("-c").arg(
            "import os, socket, sys\nos.setuid(65534)\ns = socket.socket(socket.AF_UNIX)\n\
             s.connect(sys.argv[1])\n\
             body = b'{\"jsonrpc\":\"2.0\",\"method\":\"system.ping\",\"id\":1}'\n\
             try:\n    s.sendall(b'Content-Length: %d\\r\\n\\r\\n%s' % (len(body), body))\n    print(s.recv(1000))\n\
             except OSError as error:\n    print(b'')\n",
        );
        client.arg(context.socket());
        let output = pillion_testing::CommandOutput::of(client);
        assert_eq!(
            output.stdout.trim(),
            "b''",
            "another user was served\n{output}"
        );
    }
    assert!(daemon.connect().call("system.ping", Value::Null).is_ok());
}

#[test]
fn many_connections_are_served_at_once() {
    let context = TestContext::new();
    let daemon = context.daemon();
    let mut all: Vec<_> = (0..200).map(|_| daemon.connect()).collect();
    for rpc in &mut all {
        rpc.send("system.ping", Value::Null);
    }
    drop(all);
    wait_until("all of them to be over", || {
        daemon.connect().call("system.stats", Value::Null).unwrap()["running"] == 1
    });
}

#[test]
fn rpc_on_standard_streams_is_the_same_door() {
    let context = TestContext::new();
    let mut rpc = context.rpc_stdio();
    let version = rpc.call("system.version", Value::Null).unwrap();
    assert_eq!(version["transport"], "stdio");
    // Its root stands for those who name none.
    let called = rpc.call(
        "py.call",
        json!({"function": "things:add", "params": [1, 2]}),
    );
    assert_eq!(called.unwrap()["result"], 3);
    let id = rpc.send_py("things:numbers", json!([3]), json!({"stream": true}));
    assert_eq!(rpc.outcome(id).unwrap()["result"], "done");
    assert_eq!(rpc.parts(id).len(), 3);
    let error = rpc.call("no.such", Value::Null).unwrap_err();
    assert_eq!(error["code"], -32601);
    let noise = rpc.py("things:noise", json!([]));
    assert_eq!(noise.unwrap(), "quiet");
    // The end of its input ends it; what was asked is still answered.
    rpc.send_py("things:sleep", json!([0.2]), json!({}));
    drop(rpc);
    context.wait_until_alone(DEADLINE);
}

#[test]
fn rpc_on_standard_streams_refuses_garbage_and_ends() {
    let context = TestContext::new();
    let mut child = context
        .pillion_command(&["rpc", "--stdio"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"garbage\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(text.contains(r#""id":null"#), "{text}");
    assert!(child.wait().unwrap().success());
}
