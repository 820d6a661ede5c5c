//! A JSON-RPC client that asserts the rules: one answer for each request, and no other.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{DEADLINE, TestContext, Wait};

/// How often is looked whether to wait on.
const LOOK: Duration = Duration::from_millis(100);

/// One connection. When it goes it hangs up politely, and asserts that each of its requests
/// has been answered exactly once and nothing else came.
pub struct Rpc {
    output: Option<Box<dyn Write>>,
    /// Set for sockets: how to stop sending but not reading.
    socket: Option<UnixStream>,
    child: Option<Child>,
    frames: Receiver<Value>,
    project: PathBuf,
    next_id: u64,
    open: HashSet<u64>,
    answers: HashMap<u64, Value>,
    parts: BTreeMap<u64, Vec<Value>>,
    abandoned: bool,
}

/// A result, or the `error` member.
pub type RpcOutcome = Result<Value, Value>;

impl TestContext {
    /// `pillion rpc --stdio`.
    pub fn rpc_stdio(&self) -> Rpc {
        let command = self.pillion_command(&["rpc", "--stdio", "--root", "."]);
        Rpc::stdio(command, &self.project)
    }
}

impl Rpc {
    /// A child that speaks on its standard input and output.
    pub fn stdio(mut command: Command, project: &Path) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut rpc = Self::new(output, Box::new(input), project);
        rpc.child = Some(child);
        rpc
    }

    /// A connection by a socket.
    pub fn socket(stream: UnixStream, project: &Path) -> Self {
        let (reader, writer) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
        let mut rpc = Self::new(reader, Box::new(writer), project);
        rpc.socket = Some(stream);
        rpc
    }

    fn new(reader: impl Read + Send + 'static, output: Box<dyn Write>, project: &Path) -> Self {
        let (sender, frames) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            while let Some(frame) = read_frame(&mut reader) {
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        Self {
            output: Some(output),
            socket: None,
            child: None,
            frames,
            project: project.to_owned(),
            next_id: 1,
            open: HashSet::new(),
            answers: HashMap::new(),
            parts: BTreeMap::new(),
            abandoned: false,
        }
    }

    /// Send a request; says its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.open.insert(id);
        let mut request = json!({"jsonrpc": "2.0", "method": method, "id": id});
        if !params.is_null() {
            request["params"] = params;
        }
        self.write(&request);
        id
    }

    /// Send a request on behalf of this caller, and wait for its outcome.
    pub fn call_for(&mut self, caller: Value, method: &str, params: Value) -> RpcOutcome {
        let id = self.next_id;
        self.next_id += 1;
        self.open.insert(id);
        self.write(&json!({
            "jsonrpc": "2.0", "method": method, "id": id, "params": params, "caller": caller,
        }));
        self.outcome(id)
    }

    /// Send a request and wait for its outcome.
    pub fn call(&mut self, method: &str, params: Value) -> RpcOutcome {
        let id = self.send(method, params);
        self.outcome(id)
    }

    /// Send a call of a function in the project.
    pub fn send_py(&mut self, function: &str, params: Value, more: Value) -> u64 {
        let mut all = json!({"function": function, "params": params, "root": self.project});
        let object = all.as_object_mut().unwrap();
        object.extend(
            more.as_object()
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone())),
        );
        self.send("py.call", all)
    }

    /// Call a function in the project; gives what the function returned.
    pub fn py(&mut self, function: &str, params: Value) -> RpcOutcome {
        self.py_with(function, params, json!({}))
    }

    /// The same with more parameters of `py.call`.
    pub fn py_with(&mut self, function: &str, params: Value, more: Value) -> RpcOutcome {
        let id = self.send_py(function, params, more);
        self.outcome(id).map(|called| called["result"].clone())
    }

    /// Send a command to a sidecar of the project; gives what it answered.
    pub fn sidecar(&mut self, sidecar: &str, command: &str, args: Value) -> RpcOutcome {
        let id = self.send_sidecar(sidecar, command, args, json!({}));
        self.outcome(id).map(|called| called["result"].clone())
    }

    /// Send a command to a sidecar of the project; says its id.
    pub fn send_sidecar(&mut self, sidecar: &str, command: &str, args: Value, more: Value) -> u64 {
        let mut all = json!({
            "sidecar": sidecar, "command": command, "args": args, "root": self.project,
        });
        let object = all.as_object_mut().unwrap();
        object.extend(
            more.as_object()
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone())),
        );
        self.send("sidecar.call", all)
    }

    /// Send something that gets no answer.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Ask to stop working on a request.
    pub fn cancel(&mut self, id: u64) {
        self.notify("$/cancelRequest", json!({"id": id}));
    }

    /// Send any JSON as a frame.
    pub fn write(&mut self, message: &Value) {
        let body = message.to_string();
        self.write_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    /// Send bytes as they are.
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        let output = self.output.as_mut().expect("sending has stopped");
        output.write_all(bytes).unwrap();
        output.flush().unwrap();
    }

    /// Wait for the answer to a request.
    pub fn outcome(&mut self, id: u64) -> RpcOutcome {
        loop {
            if let Some(answer) = self.answers.get(&id) {
                assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
                let error = answer.get("error");
                assert!(
                    error.is_some() != answer.get("result").is_some(),
                    "{answer}"
                );
                return error.map_or_else(|| Ok(answer["result"].clone()), |e| Err(e.clone()));
            }
            assert!(
                self.take_frame(),
                "the connection ended without an answer to {id}"
            );
        }
    }

    /// Whether the answer to a request has already come.
    pub fn is_answered(&mut self, id: u64) -> bool {
        while let Ok(frame) = self.frames.try_recv() {
            self.sort(frame);
        }
        self.answers.contains_key(&id)
    }

    /// The `$/progress` of a request so far.
    pub fn parts(&self, id: u64) -> &[Value] {
        self.parts.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Wait for the nth `$/progress` of a request, from 0.
    pub fn part(&mut self, id: u64, n: usize) -> Value {
        while self.parts(id).len() <= n {
            assert!(
                !self.answers.contains_key(&id),
                "answered: {}",
                self.answers[&id]
            );
            assert!(self.take_frame(), "the connection ended");
        }
        self.parts(id)[n].clone()
    }

    /// The next frame, whatever it is; `None` at the end of the connection.
    pub fn frame(&mut self) -> Option<Value> {
        let mut wait = Wait::new(DEADLINE);
        loop {
            match self.frames.recv_timeout(LOOK) {
                Ok(frame) => return Some(frame),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if wait.is_over() => {
                    panic!("no frame came; open: {:?}", self.open)
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Stop sending; answers still come.
    pub fn stop_sending(&mut self) {
        self.output = None;
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Hang up without waiting for anything.
    pub fn hang_up(mut self) {
        self.abandoned = true;
        self.output = None;
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// The process behind it.
    pub fn child(&self) -> u32 {
        self.child
            .as_ref()
            .expect("a child behind the connection")
            .id()
    }

    fn take_frame(&mut self) -> bool {
        match self.frame() {
            Some(frame) => {
                self.sort(frame);
                true
            }
            None => false,
        }
    }

    fn sort(&mut self, frame: Value) {
        if frame["method"] == "$/progress" {
            let id = frame["params"]["id"].as_u64().unwrap();
            assert!(
                self.open.contains(&id),
                "news about a request that is over: {frame}"
            );
            self.parts
                .entry(id)
                .or_default()
                .push(frame["params"].clone());
            return;
        }
        let id = frame["id"].as_u64();
        let known = id.is_some_and(|id| self.open.remove(&id));
        assert!(
            known,
            "nobody asked for this, or it was answered before: {frame}"
        );
        self.answers.insert(id.unwrap(), frame);
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.abandoned {
            self.stop_sending();
            while self.take_frame() {}
            assert!(self.open.is_empty(), "never answered: {:?}", self.open);
        }
        if let Some(mut child) = self.child.take() {
            self.output = None;
            if std::thread::panicking() {
                let _ = child.kill();
            }
            let status = child.wait().unwrap();
            assert!(
                self.abandoned || std::thread::panicking() || status.success(),
                "`pillion rpc` ended with {status}"
            );
        }
    }
}

/// The next frame of a stream; `None` at its end.
pub fn read_frame(reader: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = Some(value.trim().parse().unwrap());
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length.expect("a Content-Length header")];
    reader.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}
