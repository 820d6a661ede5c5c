//! A server for models on loopback: it speaks as OpenAI and Anthropic do, streams, and behaves as
//! badly as a test wants it to.
//!
//! It runs in threads of the test's process. Which agent is asked it tells from the system
//! prompt, and what that agent answers is a function of the request, so that tests in which many
//! sessions talk at once need no order.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use pillion_testing::{DEADLINE, wait_for};
use serde_json::{Value, json};

/// Between two looks at a connection whose answer is held back.
const LOOK: Duration = Duration::from_millis(2);
/// What stands in the system prompt of each agent; the first of them to come up decides.
const MARKS: &[(&str, Agent)] = &[
    ("companion", Agent::Companion),
    ("roadmap manager", Agent::Manager),
    ("memo", Agent::Memo),
    ("expert", Agent::Expert),
];

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Agent {
    Companion,
    Manager,
    Memo,
    Expert,
}

impl Agent {
    /// The one whose system prompt this is: its own name comes before those of others. What is
    /// asked for as JSON is never the companion.
    fn of(system: &str, wants_json: bool) -> Self {
        let system = system.to_lowercase();
        let place = |mark: &str| system.find(mark);
        MARKS
            .iter()
            .filter(|(_, agent)| !(wants_json && *agent == Self::Companion))
            .filter_map(|(mark, agent)| Some((place(mark)?, *agent)))
            .min_by_key(|(place, _)| *place)
            .map_or(Self::Expert, |(_, agent)| agent)
    }

    /// Tokens that one call of it takes and gives.
    pub(super) fn usage(self) -> (u64, u64) {
        match self {
            Self::Companion => (101, 11),
            Self::Manager => (202, 22),
            Self::Memo => (303, 33),
            Self::Expert => (404, 44),
        }
    }
}

/// What the server does with a request.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Say these one after the other, and end well.
    Say(Vec<Piece>),
    /// Ask for a tool to be called.
    Call { name: String, arguments: Value },
    /// Refuse with this status and body.
    Refuse {
        status: u16,
        retry_after: Option<&'static str>,
        body: String,
    },
    /// Close the connection without a word.
    Drop,
    /// Say these, and close the connection in the middle.
    Break(Vec<Piece>),
    /// Never answer.
    Silence,
}

/// A part of an answer.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Text(String),
    /// Go on when the test says so.
    Hold(Gate),
}

impl Act {
    /// Say all of this at once.
    pub(super) fn say(text: impl Into<String>) -> Self {
        Self::Say(vec![Piece::Text(text.into())])
    }

    /// Say this, so many characters at a time.
    pub(super) fn split(text: &str, size: usize) -> Self {
        Self::Say(pieces(text, size))
    }

    /// Say the first text, wait for the gate, say the second.
    pub(super) fn held(first: &str, gate: &Gate, second: &str) -> Self {
        let text = |text: &str| Piece::Text(text.to_owned());
        Self::Say(vec![text(first), Piece::Hold(gate.clone()), text(second)])
    }

    pub(super) fn refuse(status: u16, body: impl Into<String>) -> Self {
        Self::Refuse {
            status,
            retry_after: None,
            body: body.into(),
        }
    }
}

/// A text in pieces of so many characters.
pub(super) fn pieces(text: &str, size: usize) -> Vec<Piece> {
    let letters: Vec<char> = text.chars().collect();
    let parts = letters.chunks(size).map(|part| part.iter().collect());
    parts.map(Piece::Text).collect()
}

/// Something that an answer waits for.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate(Arc<(AtomicBool, AtomicBool)>);

impl Gate {
    pub(super) fn open(&self) {
        self.0.0.store(true, Ordering::SeqCst);
    }

    /// Wait until an answer has come to this gate.
    pub(super) fn wait_until_reached(&self) {
        wait_for(DEADLINE, "the model's answer to come to its gate", || {
            let reached = self.0.1.load(Ordering::SeqCst);
            reached.then_some(()).ok_or("not yet")
        });
    }

    fn reach(&self) -> bool {
        self.0.1.store(true, Ordering::SeqCst);
        self.0.0.load(Ordering::SeqCst)
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It was answered to the end, or refused.
    Answered,
    /// The client closed the connection before.
    Left,
    /// We closed it.
    Broken,
}

/// A request as it came.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) agent: Agent,
    /// The how manyth of this agent, from 1.
    pub(super) number: usize,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
    ended: Mutex<Option<Ended>>,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The system prompt.
    pub(super) fn system(&self) -> String {
        system_of(&self.body)
    }

    /// All that is no system prompt: roles and texts.
    pub(super) fn messages(&self) -> Vec<(String, String)> {
        let messages = self.body["messages"].as_array().cloned();
        messages
            .unwrap_or_default()
            .iter()
            .map(|one| (role(one), text_of(&one["content"])))
            .filter(|(role, _)| !is_system(role))
            .collect()
    }

    /// Everything that was said to the model, as one text.
    pub(super) fn text(&self) -> String {
        let messages = self.messages().into_iter().map(|(_, text)| text);
        let all: Vec<String> = std::iter::once(self.system()).chain(messages).collect();
        all.join("\n")
    }

    /// The marker of the learner's newest message: `[[NAME-NUMBER]]`, the highest number.
    pub(super) fn marker(&self) -> Option<String> {
        let text = self.text();
        let found = text.split("[[").skip(1).filter_map(|rest| {
            let (name, _) = rest.split_once("]]")?;
            let number: usize = name.rsplit_once('-')?.1.parse().ok()?;
            Some((number, name.to_owned()))
        });
        found
            .max_by_key(|(number, _)| *number)
            .map(|(_, name)| name)
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        *self.ended.lock().unwrap()
    }

    /// Wait until it has ended so.
    pub(super) fn wait_for_end(&self, how: Ended) {
        let ended = wait_for(DEADLINE, "the end of a request to the model", || {
            self.ended().ok_or("it goes on")
        });
        assert_eq!(ended, how, "{self:?}");
    }
}

fn role(message: &Value) -> String {
    message["role"].as_str().unwrap_or_default().to_owned()
}

fn is_system(role: &str) -> bool {
    role == "system" || role == "developer"
}

/// Content is a text, or parts with texts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match &part["text"] {
                Value::String(text) => text.clone(),
                _ => text_of(&part["content"]),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn system_of(body: &Value) -> String {
    let own = text_of(&body["system"]);
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let others = messages
        .iter()
        .filter(|message| is_system(&role(message)))
        .map(|message| text_of(&message["content"]));
    std::iter::once(own)
        .chain(others)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Whether the request asks for JSON by its schema.
fn wants_json(body: &Value) -> bool {
    !body["response_format"].is_null()
        || !body["output_format"].is_null()
        || !body["output_config"]["format"].is_null()
        || forced_tool(body).is_some()
}

/// The tool that the answer must be a call of, which is another way to ask for JSON.
fn forced_tool(body: &Value) -> Option<String> {
    let choice = &body["tool_choice"];
    let name = choice["name"]
        .as_str()
        .or(choice["function"]["name"].as_str());
    name.map(str::to_owned)
}

type Behaviour = Arc<dyn Fn(&Asked) -> Act + Send + Sync>;

struct Shared {
    behaviours: Mutex<HashMap<Agent, Behaviour>>,
    seen: Mutex<Vec<Arc<Asked>>>,
    over: AtomicBool,
}

/// The server. Dropping it closes all connections.
pub(super) struct ModelServer {
    shared: Arc<Shared>,
    pub(super) port: u16,
    accepting: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// A server whose agents answer sensibly.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            behaviours: Mutex::default(),
            seen: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if theirs.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&theirs);
                if let Ok(stream) = stream {
                    std::thread::spawn(move || shared.serve(stream));
                }
            }
        });
        let server = Self {
            shared,
            port,
            accepting: Some(accepting),
        };
        server.on(Agent::Companion, |asked| {
            let text = format!("Reply {} of the companion.", asked.number);
            Act::split(&reply(&text, json!({})), 16)
        });
        server.on(Agent::Manager, |asked| {
            Act::say(manager_answer(asked.number, json!({})))
        });
        server.on(Agent::Memo, |asked| {
            Act::say(memo_answer(&format!("# Report {}", asked.number)))
        });
        server.on(Agent::Expert, |_| Act::say("The table has three rows."));
        server
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// From now on this agent behaves so.
    pub(super) fn on(
        &self,
        agent: Agent,
        behaviour: impl Fn(&Asked) -> Act + Send + Sync + 'static,
    ) {
        let mut behaviours = self.shared.behaviours.lock().unwrap();
        behaviours.insert(agent, Arc::new(behaviour));
    }

    /// From now on the companion says the first text, waits for the gate, and says the second.
    pub(super) fn held(&self, first: &'static str, second: &str) -> Gate {
        let gate = Gate::default();
        let (held, second) = (gate.clone(), second.to_owned());
        self.on(Agent::Companion, move |_| Act::held(first, &held, &second));
        gate
    }

    /// From now on this agent does these, one a call; the last of them for ever.
    pub(super) fn in_turn(&self, agent: Agent, acts: Vec<Act>) {
        let before = self.asked(agent).len();
        self.on(agent, move |asked| {
            let at = asked.number - before - 1;
            acts.get(at).or(acts.last()).unwrap().clone()
        });
    }

    /// All requests of an agent so far.
    pub(super) fn asked(&self, agent: Agent) -> Vec<Arc<Asked>> {
        let seen = self.shared.seen.lock().unwrap();
        let theirs = seen.iter().filter(|asked| asked.agent == agent);
        theirs.cloned().collect()
    }

    /// All requests so far.
    pub(super) fn all(&self) -> Vec<Arc<Asked>> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Wait for the request of this number of an agent.
    pub(super) fn wait_for(&self, agent: Agent, number: usize) -> Arc<Asked> {
        wait_for(DEADLINE, &format!("request {number} of {agent:?}"), || {
            let all = self.asked(agent);
            all.get(number - 1)
                .cloned()
                .ok_or_else(|| format!("{} came; of all {}", all.len(), self.all().len()))
        })
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // The listener looks at it when somebody comes.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let Some((asked, behaviour)) = self.read(&stream) else {
            return;
        };
        let act = behaviour(&asked);
        let ended = self.act(&act, &asked, &stream);
        *asked.ended.lock().unwrap() = Some(ended);
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }

    /// A request, and what is done with it: decided before anybody can know that it came.
    fn read(&self, stream: &TcpStream) -> Option<(Arc<Asked>, Behaviour)> {
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim_end() {
                "" if lines.is_empty() => return None,
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let path = lines[0].split(' ').nth(1)?.to_owned();
        let headers: Vec<(String, String)> = lines[1..]
            .iter()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let mut body = vec![0; length?.1.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        let body: Value = serde_json::from_slice(&body).ok()?;
        let agent = Agent::of(&system_of(&body), wants_json(&body));
        let behaviour = self.behaviours.lock().unwrap()[&agent].clone();
        let mut seen = self.seen.lock().unwrap();
        let number = seen.iter().filter(|one| one.agent == agent).count() + 1;
        let asked = Arc::new(Asked {
            agent,
            number,
            path,
            headers,
            body,
            ended: Mutex::default(),
        });
        seen.push(Arc::clone(&asked));
        Some((asked, behaviour))
    }

    fn act(&self, act: &Act, asked: &Asked, stream: &TcpStream) -> Ended {
        let dialect = match asked.path.as_str() {
            "/v1/messages" => Dialect::Anthropic,
            "/v1/chat/completions" | "/chat/completions" => Dialect::OpenAi,
            _ => return refuse(stream, 404, None, "no such path"),
        };
        let streams = asked.body["stream"] == true;
        match act {
            Act::Refuse {
                status,
                retry_after,
                body,
            } => refuse(stream, *status, *retry_after, body),
            Act::Drop => Ended::Broken,
            Act::Silence => self.hold(&Gate::default(), stream),
            Act::Call { name, arguments } => {
                let call = dialect.call(name, arguments, asked.agent, streams);
                whole(stream, streams, &call)
            }
            Act::Say(pieces) if streams => self.say(pieces, true, dialect, asked, stream),
            Act::Break(pieces) => self.say(pieces, false, dialect, asked, stream),
            Act::Say(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(more) => text += more,
                        Piece::Hold(gate) => {
                            if self.hold(gate, stream) == Ended::Left {
                                return Ended::Left;
                            }
                        }
                    }
                }
                let tool = forced_tool(&asked.body);
                whole(stream, false, &dialect.answer(&text, tool, asked.agent))
            }
        }
    }

    /// Stream an answer, to its end or not.
    fn say(
        &self,
        pieces: &[Piece],
        to_the_end: bool,
        dialect: Dialect,
        asked: &Asked,
        stream: &TcpStream,
    ) -> Ended {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                    Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
        let send = |text: &str| {
            let mut stream = stream;
            stream.write_all(text.as_bytes()).is_ok()
        };
        let write = |frames: &str| {
            let chunk = match frames {
                "" => "0\r\n\r\n".to_owned(),
                frames => format!("{:x}\r\n{frames}\r\n", frames.len()),
            };
            send(&chunk)
        };
        let tool = forced_tool(&asked.body);
        if !send(head) || !write(&dialect.begin(tool.as_deref(), asked.agent)) {
            return Ended::Left;
        }
        for piece in pieces {
            let heard = match piece {
                Piece::Text(text) => write(&dialect.part(text, tool.is_some())),
                Piece::Hold(gate) => self.hold(gate, stream) != Ended::Left,
            };
            if !heard {
                return Ended::Left;
            }
        }
        if !to_the_end {
            return Ended::Broken;
        }
        if write(&dialect.end(tool.is_some(), asked.agent)) && write("") {
            Ended::Answered
        } else {
            Ended::Left
        }
    }

    /// Wait for a gate, for the client to leave, or for our own end.
    fn hold(&self, gate: &Gate, stream: &TcpStream) -> Ended {
        let _ = stream.set_read_timeout(Some(LOOK));
        loop {
            if gate.reach() || self.over.load(Ordering::SeqCst) {
                return Ended::Answered;
            }
            match stream.peek(&mut [0]) {
                Ok(0) => return Ended::Left,
                Err(error) if !is_timeout(&error) => return Ended::Left,
                _ => {}
            }
        }
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

fn refuse(mut stream: &TcpStream, status: u16, retry_after: Option<&str>, body: &str) -> Ended {
    let again = retry_after.map_or(String::new(), |time| format!("Retry-After: {time}\r\n"));
    let text = format!(
        "HTTP/1.1 {status} Refused\r\nContent-Type: application/json\r\n{again}\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(text.as_bytes());
    Ended::Answered
}

fn whole(mut stream: &TcpStream, streams: bool, body: &str) -> Ended {
    let kind = if streams {
        "text/event-stream"
    } else {
        "application/json"
    };
    let text = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    match stream.write_all(text.as_bytes()) {
        Ok(()) => Ended::Answered,
        Err(_) => Ended::Left,
    }
}

/// How endpoints spell an answer.
#[derive(Debug, Clone, Copy)]
enum Dialect {
    OpenAi,
    Anthropic,
}

impl Dialect {
    fn frame(self, data: &Value) -> String {
        match self {
            Self::OpenAi => format!("data: {data}\n\n"),
            Self::Anthropic => {
                format!(
                    "event: {}\ndata: {data}\n\n",
                    data["type"].as_str().unwrap()
                )
            }
        }
    }

    fn delta(self, delta: Value, finish: Option<&str>) -> String {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        self.frame(&json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice] }))
    }

    fn begin(self, tool: Option<&str>, agent: Agent) -> String {
        match self {
            Self::OpenAi => match tool {
                None => self.delta(json!({ "role": "assistant", "content": "" }), None),
                Some(name) => {
                    let call = json!({ "index": 0, "id": "call_1", "type": "function",
                        "function": { "name": name, "arguments": "" } });
                    self.delta(json!({ "role": "assistant", "tool_calls": [call] }), None)
                }
            },
            Self::Anthropic => {
                let (input, _) = agent.usage();
                let message = json!({ "id": "m", "type": "message", "role": "assistant",
                    "content": [], "usage": { "input_tokens": input, "output_tokens": 1 } });
                let block = match tool {
                    None => json!({ "type": "text", "text": "" }),
                    Some(name) => {
                        json!({ "type": "tool_use", "id": "t", "name": name, "input": {} })
                    }
                };
                self.frame(&json!({ "type": "message_start", "message": message }))
                    + &self.frame(&json!({ "type": "content_block_start", "index": 0,
                        "content_block": block }))
            }
        }
    }

    fn part(self, text: &str, in_tool: bool) -> String {
        match (self, in_tool) {
            (Self::OpenAi, false) => self.delta(json!({ "content": text }), None),
            (Self::OpenAi, true) => {
                let call = json!({ "index": 0, "function": { "arguments": text } });
                self.delta(json!({ "tool_calls": [call] }), None)
            }
            (Self::Anthropic, false) => self.frame(&json!({ "type": "content_block_delta",
                "index": 0, "delta": { "type": "text_delta", "text": text } })),
            (Self::Anthropic, true) => self.frame(&json!({ "type": "content_block_delta",
                "index": 0, "delta": { "type": "input_json_delta", "partial_json": text } })),
        }
    }

    fn end(self, in_tool: bool, agent: Agent) -> String {
        let (input, output) = agent.usage();
        match self {
            Self::OpenAi => {
                let why = if in_tool { "tool_calls" } else { "stop" };
                let usage = json!({ "prompt_tokens": input, "completion_tokens": output,
                    "total_tokens": input + output });
                let usage = json!({ "id": "c", "object": "chat.completion.chunk",
                    "choices": [], "usage": usage });
                self.delta(json!({}), Some(why)) + &self.frame(&usage) + "data: [DONE]\n\n"
            }
            Self::Anthropic => {
                let why = if in_tool { "tool_use" } else { "end_turn" };
                self.frame(&json!({ "type": "content_block_stop", "index": 0 }))
                    + &self.frame(&json!({ "type": "message_delta",
                        "delta": { "stop_reason": why }, "usage": { "output_tokens": output } }))
                    + &self.frame(&json!({ "type": "message_stop" }))
            }
        }
    }

    /// A call of a tool, streamed or not.
    fn call(self, name: &str, arguments: &Value, agent: Agent, streams: bool) -> String {
        if streams {
            let arguments = self.part(&arguments.to_string(), true);
            return self.begin(Some(name), agent) + &arguments + &self.end(true, agent);
        }
        self.answer(&arguments.to_string(), Some(name.to_owned()), agent)
    }

    /// An answer that is not streamed.
    fn answer(self, text: &str, tool: Option<String>, agent: Agent) -> String {
        let (input, output) = agent.usage();
        let value = match self {
            Self::OpenAi => {
                let mut message = json!({ "role": "assistant", "content": text });
                if let Some(name) = &tool {
                    message = json!({ "role": "assistant", "content": null, "tool_calls": [
                        { "id": "call_1", "type": "function",
                          "function": { "name": name, "arguments": text } }] });
                }
                let why = if tool.is_some() { "tool_calls" } else { "stop" };
                json!({ "id": "c", "object": "chat.completion",
                    "choices": [{ "index": 0, "message": message, "finish_reason": why }],
                    "usage": { "prompt_tokens": input, "completion_tokens": output } })
            }
            Self::Anthropic => {
                let input_value = serde_json::from_str::<Value>(text).unwrap_or_default();
                let block = match &tool {
                    None => json!({ "type": "text", "text": text }),
                    Some(name) => {
                        json!({ "type": "tool_use", "id": "t", "name": name, "input": input_value })
                    }
                };
                let why = if tool.is_some() {
                    "tool_use"
                } else {
                    "end_turn"
                };
                json!({ "id": "m", "type": "message", "role": "assistant", "content": [block],
                    "stop_reason": why,
                    "usage": { "input_tokens": input, "output_tokens": output } })
            }
        };
        value.to_string()
    }
}

/// `more` over `base`, member by member.
pub(super) fn merged(mut base: Value, more: Value) -> Value {
    let more = more.as_object().cloned().unwrap_or_default();
    base.as_object_mut().unwrap().extend(more);
    base
}

/// An outcome of a turn in which nothing unlocks, but for these members.
pub(super) fn outcome(more: Value) -> Value {
    let outcome = json!({
        "what_user_attempted": "asked a question",
        "what_user_observed": "an answer",
        "ca_teaching_mode": "socratic",
        "ca_next_suggestion": "try it",
        "checkpoint_reached": false,
        "blocker_type": "none",
        "student_sentiment": "engaged",
        "progress_record": "a beginning",
        "evidence_for_subtasks": [],
        "expert_consultation_needed": false,
        "expert_consultation_reason": "",
        "student_wants_to_skip": false,
    });
    merged(outcome, more)
}

/// What a companion says: text, and its outcome behind a fence.
pub(super) fn reply(text: &str, more: Value) -> String {
    let tail = serde_json::to_string_pretty(&outcome(more)).unwrap();
    format!("{text}\n\n```json\n{tail}\n```\n")
}

/// What a manager says: a packet that can be told by its number, and more members beside it.
pub(super) fn manager_answer(number: usize, more: Value) -> String {
    let packet = json!({
        "current_focus": format!("focus {number}"),
        "guidance_for_ca": format!("guidance {number}"),
        "recommended_targets": ["t1"],
        "nice_check": [],
        "instruction_version": 1,
        "lock_until": "checkpoint_reached",
        "allow_setup_helper_code": false,
        "setup_helper_scope": "none",
        "task_type": "core",
        "suggest_checkpoint_confirmation": false,
    });
    merged(
        json!({ "instruction_packet": packet, "state_update": {} }),
        more,
    )
    .to_string()
}

/// What a memo agent says: this report, and a digest.
pub(super) fn memo_answer(report: &str) -> String {
    json!({
        "updated_report": report,
        "digest": {
            "key_observations": ["asks well"],
            "student_struggles": [],
            "student_strengths": ["patience"],
            "student_sentiment": "engaged",
            "blocker_type": "none",
            "progress_delta": "none",
            "diagnostic_log": [],
            "achievement_log": [],
            "skipped_tasks": [],
        },
        "error_entries": [],
    })
    .to_string()
}
