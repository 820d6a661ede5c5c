//! An agent on `pillion mcp` or `pillion expose`, speaking by hand.

use serde_json::{Value, json};

use crate::TestContext;
use crate::lines::LineProcess;

/// A connection to a server for agents.
pub struct McpAgent {
    /// What it and the server say to each other.
    pub lines: LineProcess,
    next: u64,
}

impl TestContext {
    /// `pillion mcp` with these arguments, after the handshake.
    pub fn agent(&self, args: &[&str]) -> McpAgent {
        self.agent_on("mcp", args)
    }

    /// `pillion expose` with these arguments, after the handshake.
    pub fn exposing(&self, args: &[&str]) -> McpAgent {
        self.agent_on("expose", args)
    }

    fn agent_on(&self, command: &str, args: &[&str]) -> McpAgent {
        let all: Vec<_> = [command].iter().chain(args).copied().collect();
        let mut agent = McpAgent::new(LineProcess::start(self.pillion_command(&all)));
        let hello = agent.shake_hands();
        assert_eq!(hello["result"]["serverInfo"]["name"], "pillion", "{hello}");
        agent
    }
}

impl McpAgent {
    /// An agent that speaks in these lines.
    pub fn new(lines: LineProcess) -> Self {
        Self { lines, next: 0 }
    }

    /// Say hello; the answer.
    pub fn shake_hands(&mut self) -> Value {
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

    /// Send something that gets no answer.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.lines
            .send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Send a request; its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.lines
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Send a request and wait for the next line, which must be its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.lines.json();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The result of a tool.
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let answer = self.request("tools/call", params);
        answer["result"].clone()
    }

    /// What a Python function gives.
    pub fn py(&mut self, function: &str, params: Value) -> Value {
        let result = self.tool("py_call", json!({ "function": function, "params": params }));
        assert_eq!(result["isError"], false, "{result}");
        serde_json::from_str(text_of(&result)).unwrap()
    }

    /// The names of all tools.
    pub fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    /// The tools as they are listed.
    pub fn table(&mut self) -> Vec<Value> {
        let listed = self.request("tools/list", json!({}));
        listed["result"]["tools"].as_array().unwrap().clone()
    }
}

/// The text that an agent reads.
pub fn text_of(result: &Value) -> &str {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result}"))
}

/// The error that a tool's result carries.
pub fn error_of(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}
