//! Peers that ask and do not read, or ask too much: what waits is bounded in bytes, others are
//! served, and who reads on gets everything.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use pillion_testing::{DEADLINE, TestContext, wait_for, wait_for_file};
use serde_json::{Value, json};

/// Bytes of an answer, and how many are asked for: many times what may wait.
const SIZE: usize = 2 << 20;
const COUNT: usize = 60;
/// What may have been made for a peer that reads nothing: the room of a connection, and what
/// was begun before it was full.
const MADE: usize = COUNT / 2;

const BIG: &str = r#"
def big(note, size):
    with open(note, "a") as file:
        file.write(".")
    return "x" * size
"#;

fn context() -> TestContext {
    let context = TestContext::new().config("[python]\nworkers = 2\nqueue = 500\n");
    context.write("big.py", BIG);
    context
}

fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn read_frame(reader: &mut impl BufRead) -> Value {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let (_, length) = line.split_once(':').unwrap_or_else(|| panic!("`{line}`"));
    let mut body = vec![0; length.trim().parse().unwrap()];
    reader.read_line(&mut String::new()).unwrap();
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn call(context: &TestContext, id: usize, note: &str) -> Value {
    let params = json!({"function": "big:big", "params": [note, SIZE], "root": context.project});
    json!({"jsonrpc": "2.0", "id": id, "method": "py.call", "params": params})
}

/// How many answers were made, once it stays so many.
fn made(note: &str) -> usize {
    let mut last = (0, 0);
    wait_for(DEADLINE * 3, "no more to be made", || {
        let now = wait_for_file(note).len();
        last = if now == last.0 {
            (now, last.1 + 1)
        } else {
            (now, 0)
        };
        std::thread::sleep(std::time::Duration::from_millis(50));
        if last.1 == 30 {
            Ok(())
        } else {
            Err(now.to_string())
        }
    });
    last.0
}

/// The memory of a process in bytes: `VmRSS` now, `VmHWM` the most it had.
fn memory(pid: u32, which: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(which)).unwrap();
    let kilobytes = line.split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() << 10
}

/// The answers to all of them: each once, and whole.
fn all_of(mut next: impl FnMut() -> Value, result: impl Fn(&Value) -> Option<usize>) {
    let mut seen = HashSet::new();
    for _ in 0..COUNT {
        let answer = next();
        let id = answer["id"].as_u64().unwrap_or_else(|| panic!("{answer}"));
        assert!(seen.insert(id), "{id} twice");
        assert_eq!(result(&answer), Some(SIZE), "{id}");
    }
}

fn length(text: &Value) -> Option<usize> {
    text.as_str().map(str::len)
}

#[test]
fn a_socket_that_is_not_read() {
    let context = context();
    let daemon = context.daemon();
    let note = context.path("note");
    let mut other = daemon.connect();
    other.py("things:pid", json!([])).unwrap();
    let before = memory(daemon.pid, "VmRSS:");
    let mut stream = daemon.raw();
    for id in 0..COUNT {
        stream
            .write_all(&frame(&call(&context, id, &note)))
            .unwrap();
    }
    let made = made(&note);
    assert!(made < MADE, "{made} answers were made for nobody");
    // Far less than all of them.
    let grew = memory(daemon.pid, "VmHWM:").saturating_sub(before);
    assert!(grew < COUNT * SIZE, "{grew}");
    assert_eq!(
        other.py("things:add", json!([1, 2])).unwrap(),
        3,
        "others are served"
    );
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut reader = BufReader::new(stream);
    all_of(
        || read_frame(&mut reader),
        |answer| length(&answer["result"]["result"]),
    );
    assert_eq!(
        std::fs::read_to_string(note).unwrap().len(),
        COUNT,
        "each once"
    );
}

/// A child, with nobody who reads its output yet.
struct Unread(Child);

impl Unread {
    fn start(context: &TestContext, words: &[&str]) -> Self {
        let mut command = context.pillion_command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// What it has when it has begun.
    fn memory(&self) -> usize {
        let status = format!("/proc/{}/cmdline", self.0.id());
        wait_for_file(status);
        memory(self.0.id(), "VmRSS:")
    }

    fn write(&mut self, text: &[u8]) {
        self.0.stdin.as_mut().unwrap().write_all(text).unwrap();
    }

    fn reader(&mut self) -> BufReader<std::process::ChildStdout> {
        BufReader::new(self.0.stdout.take().unwrap())
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        if std::thread::panicking() {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

fn read_line(reader: &mut impl BufRead) -> Value {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("`{line}`: {error}"))
}

#[test]
fn json_rpc_on_pipes_that_are_not_read() {
    let context = context();
    let note = context.path("note");
    let mut child = Unread::start(&context, &["rpc", "--stdio"]);
    let before = child.memory();
    for id in 0..COUNT {
        child.write(&frame(&call(&context, id, &note)));
    }
    let made = made(&note);
    assert!(made < MADE, "{made} answers were made for nobody");
    let grew = memory(child.0.id(), "VmHWM:").saturating_sub(before);
    assert!(grew < COUNT * SIZE, "{grew}");
    let mut reader = child.reader();
    all_of(
        || read_frame(&mut reader),
        |answer| length(&answer["result"]["result"]),
    );
}

/// The daemon behind it sees a relay that reads everything.
#[test]
fn exposed_functions_on_pipes_that_are_not_read() {
    let context = context();
    let note = context.path("note");
    let mut child = Unread::start(&context, &["expose", "big", "--rpc"]);
    for id in 0..COUNT {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "big", "params": [note, SIZE]});
        child.write(&frame(&call));
    }
    let made = made(&note);
    assert!(made < MADE, "{made} answers were made for nobody");
    let mut reader = child.reader();
    all_of(
        || read_frame(&mut reader),
        |answer| length(&answer["result"]),
    );
}

#[test]
fn lines_that_are_not_read() {
    let context = context();
    let note = context.path("note");
    let mut child = Unread::start(&context, &["stdio"]);
    let before = child.memory();
    for id in 0..COUNT {
        let line = json!({"id": id, "command": "py.call", "project": context.project,
            "args": {"function": "big:big", "params": [note, SIZE]}});
        child.write(format!("{line}\n").as_bytes());
    }
    let made = made(&note);
    assert!(made < MADE, "{made} answers were made for nobody");
    let grew = memory(child.0.id(), "VmHWM:").saturating_sub(before);
    assert!(grew < COUNT * SIZE, "{grew}");
    let mut reader = child.reader();
    assert_eq!(read_line(&mut reader)["status"], "ready");
    all_of(
        || read_line(&mut reader),
        |answer| length(&answer["result"]["result"]),
    );
}

#[test]
fn an_agent_that_does_not_read() {
    let context = context();
    let mut child = Unread::start(
        &context,
        &["mcp", "--profile", "full", "--max-output", "2000000"],
    );
    let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    child.write(format!("{hello}\n").as_bytes());
    let note = context.path("note");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}});
    child.write(format!("{ready}\n").as_bytes());
    // As text and as an object, so each is twice as large.
    let size = SIZE / 4;
    for id in 0..2 * COUNT {
        let arguments =
            json!({"function": "big:big", "params": [note, size], "root": context.project});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "py_call", "arguments": arguments}});
        child.write(format!("{call}\n").as_bytes());
    }
    // One that waits is heard when it is cancelled; so is one that has begun.
    let last = 2 * COUNT - 1;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": last}});
    child.write(format!("{cancel}\n").as_bytes());
    let made = made(&note);
    assert!(made < COUNT + MADE, "{made} answers were made for nobody");
    let mut reader = child.reader();
    assert_eq!(read_line(&mut reader)["id"], "hello");
    let mut seen = HashSet::new();
    while seen.len() < last {
        let answer = read_line(&mut reader);
        let id = answer["id"].as_u64().unwrap();
        assert!(seen.insert(id) && id as usize != last, "{id}");
        let text = &answer["result"]["structuredContent"]["result"];
        assert_eq!(length(text), Some(size), "{id}");
    }
}

#[test]
fn bodies_are_bounded_together() {
    let context = TestContext::new();
    let web = context.serve();
    let head = format!(
        "POST /v1/system.ping HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        100 << 20
    );
    // Each within the limit of a body, and none of them finished.
    let piece = vec![b' '; 1 << 20];
    let mut open = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(("127.0.0.1", web.port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // One that is refused hangs up.
        let _ = (0..90).try_for_each(|_| stream.write_all(&piece));
        open.push(stream);
    }
    let mut last = String::new();
    let _ = open.pop().unwrap().read_to_string(&mut last);
    // A connection that is closed with something unread may lose its answer.
    assert!(
        last.is_empty() || last.starts_with("HTTP/1.1 503"),
        "{last}"
    );
    let peak = memory(web.pid, "VmHWM:");
    assert!(peak < 400 << 20, "{peak}");
    assert_eq!(
        web.post("system.ping", &json!({})).status,
        200,
        "small ones are answered"
    );
    drop(open);
    let large = format!(
        "{{\"function\": \"things:echo\", \"params\": [\"{}\"]}}",
        "x".repeat(1 << 20)
    );
    let kind = [("Content-Type", "application/json")];
    wait_for(DEADLINE, "room for a large one", || {
        match web.request("POST", "/v1/py.call", &kind, &large).status {
            200 => Ok(()),
            status => Err(status.to_string()),
        }
    });
}

#[test]
fn a_large_answer_over_http_is_whole() {
    let context = context();
    let web = context.serve();
    let note = context.path("note");
    let reply = web.post(
        "py.call",
        &json!({"function": "big:big", "params": [note, SIZE]}),
    );
    assert_eq!(reply.status, 200);
    let size: usize = reply.header("content-length").unwrap().parse().unwrap();
    assert_eq!(size, reply.body.len());
    assert_eq!(length(&reply.json()["result"]), Some(SIZE));
}

/// 256 requests that are worked on, and what comes then.
fn full(context: &TestContext, stream: &mut (impl Read + Write)) -> usize {
    let until = context.path("until");
    for id in 0..256 {
        let params = json!({"function": "things:block", "params": [context.path("started"), until],
            "root": context.project});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "py.call", "params": params});
        stream.write_all(&frame(&call)).unwrap();
    }
    256
}

#[test]
fn the_257th_request_is_refused_and_cancels_are_read() {
    let context = context();
    let daemon = context.daemon();
    let mut stream = daemon.raw();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    full(&context, &mut stream);
    let ping = |id: Value| json!({"jsonrpc": "2.0", "id": id, "method": "system.ping"});
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for id in ["257th", "258th"] {
        stream.write_all(&frame(&ping(json!(id)))).unwrap();
        let answer = read_frame(&mut reader);
        assert_eq!(answer["id"], id, "{answer}");
        assert_eq!(answer["error"]["data"]["code"], "busy", "{answer}");
    }
    // In a batch, too: each on its own.
    let cancel = json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 200}});
    stream
        .write_all(&frame(&json!([ping(json!("b")), cancel])))
        .unwrap();
    let (mut refused, mut cancelled) = (false, false);
    while !(refused && cancelled) {
        let answer = read_frame(&mut reader);
        if let Some(batch) = answer.as_array() {
            assert_eq!(batch[0]["error"]["data"]["code"], "busy", "{answer}");
            refused = true;
        } else {
            assert_eq!(
                (&answer["id"], &answer["error"]["data"]["code"]),
                (&json!(200), &json!("cancelled"))
            );
            cancelled = true;
        }
    }
    // There is a place again.
    stream.write_all(&frame(&ping(json!("again")))).unwrap();
    let answer = read_frame(&mut reader);
    assert_eq!(
        (&answer["id"], &answer["result"]["pong"]),
        (&json!("again"), &json!(true))
    );
    std::fs::write(context.path("until"), "").unwrap();
    let mut left: HashSet<u64> = (0..256).filter(|id| *id != 200).collect();
    while !left.is_empty() {
        let answer = read_frame(&mut reader);
        assert!(answer["error"].is_null(), "{answer}");
        assert!(left.remove(&answer["id"].as_u64().unwrap()), "{answer}");
    }
}

#[test]
fn two_requests_with_one_id() {
    let context = context();
    let daemon = context.daemon();
    let mut stream: UnixStream = daemon.raw();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (started, until) = (context.path("started"), context.path("until"));
    let params = json!({"function": "things:block", "params": [started, until],
        "root": context.project});
    let first = json!({"jsonrpc": "2.0", "id": "x", "method": "py.call", "params": params});
    let second = json!({"jsonrpc": "2.0", "id": "x", "method": "system.ping"});
    stream.write_all(&frame(&first)).unwrap();
    stream.write_all(&frame(&second)).unwrap();
    let answer = read_frame(&mut reader);
    assert_eq!(
        answer["error"]["data"]["code"], "invalid_request",
        "{answer}"
    );
    assert_eq!(answer["id"], "x");
    std::fs::write(&until, "").unwrap();
    let answer = read_frame(&mut reader);
    assert!(
        answer["id"] == "x" && answer["result"]["result"].is_u64(),
        "{answer}"
    );
    // The id is free again.
    stream.write_all(&frame(&second)).unwrap();
    let answer = read_frame(&mut reader);
    assert_eq!(answer["result"]["pong"], true, "{answer}");
}

#[test]
fn two_requests_of_an_agent_with_one_id() {
    let context = context();
    let mut agent = context.agent(&["--profile", "full"]);
    let (started, until) = (context.path("started"), context.path("until"));
    let arguments = json!({"function": "things:block", "params": [started, until],
        "root": context.project});
    let call = json!({"jsonrpc": "2.0", "id": 7777, "method": "tools/call",
        "params": {"name": "py_call", "arguments": arguments}});
    agent.lines.send(&call);
    agent
        .lines
        .send(&json!({"jsonrpc": "2.0", "id": 7777, "method": "ping"}));
    let answer = agent.lines.json();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(7777), &json!(-32600)),
        "{answer}"
    );
    std::fs::write(&until, "").unwrap();
    let answer = agent.lines.json();
    assert_eq!(answer["id"], 7777, "{answer}");
    assert!(
        answer["result"]["structuredContent"]["result"].is_u64(),
        "{answer}"
    );
    let again = agent
        .lines
        .ask(&json!({"jsonrpc": "2.0", "id": 7777, "method": "ping"}));
    assert_eq!(
        (&again["id"], again["result"].is_object()),
        (&json!(7777), true),
        "{again}"
    );
    assert!(agent.lines.finish().success());
}

/// Nobody can read an answer of a batch before the last one is there.
#[test]
fn the_answers_of_a_batch_are_bounded_together() {
    let context = context();
    let daemon = context.daemon();
    let mut stream = daemon.raw();
    stream.set_read_timeout(Some(3 * DEADLINE)).unwrap();
    let note = context.path("note");
    let calls = (0..COUNT).map(|id| call(&context, id, &note));
    stream.write_all(&frame(&calls.collect())).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let batch = read_frame(&mut reader);
    let batch = batch.as_array().unwrap();
    assert_eq!(batch.len(), COUNT, "each has an answer");
    let (good, bad): (Vec<_>, Vec<_>) = batch.iter().partition(|a| a["error"].is_null());
    assert!(good.len() * SIZE <= 64 << 20 && !good.is_empty() && !bad.is_empty());
    for answer in bad {
        assert_eq!(answer["error"]["data"]["code"], "response_too_large");
    }
    stream
        .write_all(&frame(&json!([call(&context, 0, &note)])))
        .unwrap();
    let batch = read_frame(&mut reader);
    assert_eq!(
        length(&batch[0]["result"]["result"]),
        Some(SIZE),
        "there is room again"
    );
}
