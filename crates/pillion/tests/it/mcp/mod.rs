//! The door for agents: by hand, by the official libraries, and by the official suite.

mod clients;
mod conformance;
mod crowds;
mod day;
mod install;
mod lines;
mod table;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::code::project::bare;
use crate::context::TestContext;
use crate::context::lines::Lines;

/// An agent on `pillion mcp`, speaking by hand.
pub(crate) struct Agent {
    pub(crate) lines: Lines,
    next: u64,
}

impl TestContext {
    /// `pillion mcp` with these arguments, after the handshake.
    pub(crate) fn agent(&self, args: &[&str]) -> Agent {
        let all: Vec<_> = std::iter::once("mcp").chain(args.iter().copied()).collect();
        let mut agent = Agent::new(Lines::start(self.pillion_command(&all)));
        let hello = agent.shake_hands();
        assert_eq!(hello["result"]["serverInfo"]["name"], "pillion", "{hello}");
        agent
    }
}

impl Agent {
    pub(crate) fn new(lines: Lines) -> Self {
        Self { lines, next: 0 }
    }

    pub(crate) fn shake_hands(&mut self) -> Value {
        let hello = self.request(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        self.notify("notifications/initialized", json!({}));
        hello
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.lines
            .send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Send a request; its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.lines
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Send a request and wait for the next line, which must be its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.lines.json();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The result of a tool.
    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let answer = self.request("tools/call", params);
        answer["result"].clone()
    }

    /// What a Python function gives.
    pub(crate) fn py(&mut self, function: &str, params: Value) -> Value {
        let result = self.tool("py_call", json!({ "function": function, "params": params }));
        assert_eq!(result["isError"], false, "{result}");
        serde_json::from_str(text_of(&result)).unwrap()
    }

    /// The names of all tools.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }
}

/// A context with ty at hand, for questions about code.
pub(crate) fn with_tools() -> TestContext {
    let context = bare();
    context.write("things.py", include_str!("../things.py"));
    context
}

/// The text that an agent reads.
pub(crate) fn text_of(result: &Value) -> &str {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result}"))
}

/// The error that a tool's result carries.
pub(crate) fn error_of(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

/// A file of what `cargo xtask test` sets up.
pub(crate) fn set_up(name: &str) -> PathBuf {
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
    let path = PathBuf::from(target).join(name);
    assert!(
        path.exists(),
        "`{}` is missing: `cargo xtask test` makes it",
        path.display()
    );
    path
}
