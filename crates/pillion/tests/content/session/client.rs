//! A desktop's client, which follows the contract to the letter: what it is sent is checked for
//! its shape before a test looks at it.

use std::io::{BufReader, Read};
use std::net::TcpStream;
use std::process::Command;

use pillion_testing::web::{HttpReply, Web, read_chunk, read_head};
use serde_json::{Value, json};

use super::events;

pub(super) const JSON: (&str, &str) = ("Content-Type", "application/json");
/// The routes that a desktop looks for before it begins.
const ROUTES: [(&str, &str); 5] = [
    ("POST", "/api/session/new"),
    ("POST", "/api/session/{session_id}/message/stream"),
    ("GET", "/api/session/{session_id}/dynamic_report"),
    ("POST", "/api/session/{session_id}/end"),
    ("GET", "/health"),
];
/// The events that it looks for.
const EVENTS: [&str; 8] = [
    "start",
    "companion_chunk",
    "companion_complete",
    "consultation_start",
    "consultation_complete",
    "consultation_error",
    "complete",
    "error",
];

/// A client, and the server that it has started. Dropping it ends the server.
pub(super) struct Client {
    pub(super) web: Web,
}

impl Client {
    pub(super) fn start(command: Command) -> Self {
        Self {
            web: Web::start(command),
        }
    }

    /// End the server as a desktop does, without a word.
    pub(super) fn kill(self) {
        pillion_testing::processes::kill(self.web.pid);
    }

    pub(super) fn get(&self, path: &str) -> HttpReply {
        self.web.get(path)
    }

    pub(super) fn post(&self, path: &str, body: Value) -> HttpReply {
        self.web.request("POST", path, &[JSON], &body.to_string())
    }

    pub(super) fn put(&self, path: &str, body: Value) -> HttpReply {
        self.web.request("PUT", path, &[JSON], &body.to_string())
    }

    pub(super) fn delete(&self, path: &str) -> HttpReply {
        self.web.request("DELETE", path, &[], "")
    }

    /// What a desktop asks before it begins.
    pub(super) fn preflight(&self) -> Value {
        let health = good(&self.get("/health"));
        assert_eq!(health["status"], "healthy", "{health}");
        let contract = good(&self.get("/api/contract"));
        assert_eq!(contract["contract_version"], "v1");
        assert!(contract["api_version"].is_string(), "{contract}");
        let routes = contract["routes"].as_array().unwrap();
        for route in routes {
            for member in ["method", "path", "stability", "source"] {
                assert!(route[member].is_string(), "{member}: {route}");
            }
        }
        for (method, path) in ROUTES {
            let found = routes
                .iter()
                .any(|route| route["method"] == method && route["path"] == path);
            assert!(found, "{method} {path}: {contract}");
        }
        let events = contract["sse_event_types"].as_array().unwrap();
        for name in EVENTS {
            assert!(events.contains(&json!(name)), "{name}: {contract}");
        }
        contract
    }

    /// A new session on a chapter.
    pub(super) fn create(&self, chapter: &str) -> String {
        self.create_with(json!({ "chapter_id": chapter }))
    }

    pub(super) fn create_with(&self, body: Value) -> String {
        let made = good(&self.post("/api/session/new", body));
        assert!(
            made["initial_message"]
                .as_str()
                .is_some_and(|text| !text.trim().is_empty()),
            "{made}"
        );
        for member in ["has_starter_code", "has_datasets"] {
            assert!(made["workspace"][member].is_boolean(), "{made}");
        }
        for file in made["workspace"]["files"].as_array().unwrap() {
            assert!(file["name"].is_string(), "{made}");
            assert_eq!(file["source"], "bundle", "{made}");
        }
        made["session_id"].as_str().unwrap().to_owned()
    }

    /// Say something, and read the stream to its end.
    pub(super) fn turn(&self, session: &str, message: &str) -> Turn {
        self.say(session, message).finish()
    }

    /// Say something, and follow the stream.
    pub(super) fn say(&self, session: &str, message: &str) -> Stream {
        self.try_say(session, message)
            .unwrap_or_else(|reply| panic!("{reply:?}"))
    }

    /// The same, where it may be refused.
    pub(super) fn try_say(&self, session: &str, message: &str) -> Result<Stream, HttpReply> {
        let path = format!("/api/session/{session}/message/stream");
        let body = json!({ "message": message }).to_string();
        self.stream("POST", &path, &body)
    }

    /// Come back to a stream, after so many of its events.
    pub(super) fn come_back(&self, session: &str, after: usize) -> Stream {
        let path = format!("/api/session/{session}/message/stream?after={after}");
        self.stream("GET", &path, "")
            .unwrap_or_else(|reply| panic!("{reply:?}"))
    }

    /// A stream of events, or an ordinary answer.
    pub(super) fn stream(&self, method: &str, path: &str, body: &str) -> Result<Stream, HttpReply> {
        let headers = [JSON, ("Accept", "text/event-stream")];
        let headers = if body.is_empty() {
            &headers[1..]
        } else {
            &headers[..]
        };
        let mut reader = self.web.open(method, path, headers, body);
        let (status, headers) = read_head(&mut reader);
        let kind = headers.iter().find(|(name, _)| name == "content-type");
        let kind = kind.map_or("", |(_, value)| value.as_str());
        if !kind.starts_with("text/event-stream") {
            let mut body = String::new();
            reader.read_to_string(&mut body).unwrap();
            return Err(HttpReply {
                status,
                headers,
                body,
            });
        }
        assert_eq!(status, 200, "{headers:?}");
        Ok(Stream {
            reader,
            buffer: Vec::new(),
            events: Vec::new(),
        })
    }

    pub(super) fn history(&self, session: &str) -> Vec<Value> {
        let history = good(&self.get(&format!("/api/session/{session}/history")));
        let turns = history["turns"].as_array().unwrap().clone();
        for turn in &turns {
            assert!(turn["turn_index"].is_u64(), "{turn}");
            assert!(turn["user_message"].is_string(), "{turn}");
            assert!(turn["companion_response"].is_string(), "{turn}");
            assert!(turn["turn_outcome"].is_object(), "{turn}");
            let usage = turn.get("token_usage").filter(|usage| !usage.is_null());
            for (agent, used) in usage.and_then(Value::as_object).into_iter().flatten() {
                assert!(["CA", "RMA", "MA"].contains(&agent.as_str()), "{turn}");
                assert!(used["input_tokens"].is_u64(), "{turn}");
                assert!(used["output_tokens"].is_u64(), "{turn}");
            }
        }
        turns
    }

    /// Messages and replies of all turns.
    pub(super) fn said(&self, session: &str) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        self.history(session)
            .iter()
            .map(|turn| {
                (
                    text(&turn["user_message"]),
                    text(&turn["companion_response"]),
                )
            })
            .collect()
    }

    pub(super) fn state(&self, session: &str) -> Value {
        let state = good(&self.get(&format!("/api/session/{session}/state")))["state"].clone();
        assert_eq!(state["session_id"], session, "{state}");
        state
    }

    pub(super) fn report(&self, session: &str) -> String {
        let answer = good(&self.get(&format!("/api/session/{session}/dynamic_report")));
        answer["report"].as_str().unwrap().to_owned()
    }

    pub(super) fn skip(&self, session: &str, body: Value) -> HttpReply {
        self.post(&format!("/api/session/{session}/skip-task"), body)
    }

    pub(super) fn cancel(&self, session: &str) {
        let answer = good(&self.post(&format!("/api/session/{session}/message/cancel"), json!({})));
        assert_eq!(answer["cancelled"], true, "{answer}");
        assert_eq!(answer["session_id"], session, "{answer}");
    }

    pub(super) fn reattach(&self, session: &str, body: Value) -> HttpReply {
        self.post(&format!("/api/session/{session}/reattach"), body)
    }

    pub(super) fn sessions(&self) -> Vec<Value> {
        let sessions = good(&self.get("/api/sessions"))["sessions"].clone();
        let sessions = sessions.as_array().unwrap().clone();
        for one in &sessions {
            for member in ["session_id", "chapter_id", "created_at", "last_updated"] {
                assert!(one[member].is_string(), "{member}: {one}");
            }
            assert!(one["turn_index"].is_u64(), "{one}");
            let time = |member: &str| one[member].as_str().unwrap().to_owned();
            assert!(time("created_at") <= time("last_updated"), "{one}");
        }
        sessions
    }

    pub(super) fn end(&self, session: &str) -> String {
        let answer = good(&self.post(&format!("/api/session/{session}/end"), json!({})));
        answer["final_report"].as_str().unwrap().to_owned()
    }

    /// Upload files by a form.
    pub(super) fn upload(&self, session: &str, files: &[(&str, &str)]) -> HttpReply {
        let mut body = String::new();
        for (name, content) in files {
            body += &format!(
                "--XX\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\
                 Content-Type: application/octet-stream\r\n\r\n{content}\r\n"
            );
        }
        body += "--XX--\r\n";
        let kind = ("Content-Type", "multipart/form-data; boundary=XX");
        let path = format!("/api/session/{session}/upload");
        self.web.request("POST", &path, &[kind], &body)
    }

    /// Run code to its end.
    pub(super) fn run(&self, session: &str, body: Value) -> Value {
        good(&self.post(&format!("/api/session/{session}/code/run"), body))
    }
}

/// The body of an answer that must be good.
pub(super) fn good(reply: &HttpReply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

/// The detail of an error that must have this status and the contract's shape.
pub(super) fn detail(reply: &HttpReply, status: u16) -> String {
    assert_eq!(reply.status, status, "{reply:?}");
    let error = reply.json();
    assert!(error["code"].is_string(), "{error}");
    assert!(error["recoverable"].is_boolean(), "{error}");
    let detail = error["detail"].as_str();
    detail.unwrap_or_else(|| panic!("{error}")).to_owned()
}

/// The places of a body that validation refused.
pub(super) fn refused(reply: &HttpReply) -> Vec<Value> {
    assert_eq!(reply.status, 422, "{reply:?}");
    let error = reply.json();
    let details = error["detail"]
        .as_array()
        .unwrap_or_else(|| panic!("{error}"));
    assert!(!details.is_empty(), "{error}");
    for one in details {
        assert!(one["type"].is_string(), "{error}");
        assert!(one["msg"].is_string(), "{error}");
        assert!(one.get("input").is_some(), "{error}");
        assert!(one["loc"].is_array(), "{error}");
    }
    details.iter().map(|one| one["loc"].clone()).collect()
}

/// A stream that is being read.
pub(super) struct Stream {
    reader: BufReader<TcpStream>,
    buffer: Vec<u8>,
    /// What was read so far.
    pub(super) events: Vec<Value>,
}

impl Stream {
    /// The next event of a turn; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Value> {
        let event = self.next_of_any()?;
        events::check_fields(&event);
        Some(event)
    }

    /// The next event of any stream of the contract; `None` at the end.
    pub(super) fn next_of_any(&mut self) -> Option<Value> {
        loop {
            let frame = self.frame()?;
            if let Some(event) = events::decode(&frame) {
                self.events.push(event.clone());
                return Some(event);
            }
        }
    }

    /// Read until a comment, which must come before any event.
    pub(super) fn until_comment(&mut self) {
        let frame = self.frame().expect("a comment");
        assert_eq!(events::decode(&frame), None);
    }

    /// What stands before the next empty line; `None` at the end.
    fn frame(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\n\n") {
                let rest = self.buffer.split_off(end + 2);
                let frame = std::mem::replace(&mut self.buffer, rest);
                return Some(String::from_utf8(frame[..end].to_vec()).unwrap());
            }
            match read_chunk(&mut self.reader) {
                Some(mut chunk) => self.buffer.append(&mut chunk),
                None => {
                    let rest = String::from_utf8_lossy(&self.buffer);
                    assert_eq!(rest, "", "half a frame at the end");
                    return None;
                }
            }
        }
    }

    /// Read until an event of this type, which must come.
    pub(super) fn until(&mut self, kind: &str) -> Value {
        loop {
            match self.next() {
                Some(event) if event["type"] == kind => return event,
                Some(_) => {}
                None => panic!("no {kind}: {:?}", self.events),
            }
        }
    }

    /// Read any stream until an event of this type, which must come.
    pub(super) fn until_any(&mut self, kind: &str) -> Value {
        loop {
            match self.next_of_any() {
                Some(event) if event["type"] == kind => return event,
                Some(_) => {}
                None => panic!("no {kind}: {:?}", self.events),
            }
        }
    }

    /// Read until a cell has printed this. A kernel may cut what is printed anywhere: its
    /// output is sent by a clock of its own.
    pub(super) fn until_printed(&mut self, wanted: &str) {
        let mut printed = String::new();
        while printed != wanted {
            let piece = self.until_any("stream");
            printed.push_str(piece["text"].as_str().unwrap());
            assert!(
                wanted.starts_with(&printed),
                "{printed:?}: {:?}",
                self.events
            );
        }
    }

    /// Read to the end, and check that the events came as they should.
    pub(super) fn finish(mut self) -> Turn {
        while self.next().is_some() {}
        events::check(&self.events);
        Turn {
            events: self.events,
        }
    }

    /// Read to the end where the beginning was read by another.
    pub(super) fn rest(mut self) -> Vec<Value> {
        while self.next().is_some() {}
        self.events
    }
}

/// A turn that was read to its end.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) events: Vec<Value>,
}

impl Turn {
    /// The types of the events, of chunks in a row only one.
    pub(super) fn types(&self) -> Vec<&str> {
        let mut types: Vec<&str> = self.all_types();
        types.dedup_by(|a, b| a == b && *a == "companion_chunk");
        types
    }

    pub(super) fn all_types(&self) -> Vec<&str> {
        let types = self.events.iter().map(|event| event["type"].as_str());
        types.map(Option::unwrap).collect()
    }

    /// The events of this type.
    pub(super) fn of(&self, kind: &str) -> Vec<&Value> {
        let events = self.events.iter().filter(|event| event["type"] == kind);
        events.collect()
    }

    /// What the learner sees in the end.
    pub(super) fn shown(&self) -> String {
        events::shown(&self.events)
    }

    /// The index after a turn that must have been completed.
    pub(super) fn index(&self) -> u64 {
        let complete = self.of("complete");
        assert_eq!(complete.len(), 1, "{self:?}");
        complete[0]["turn_index"].as_u64().unwrap()
    }

    /// Tokens of an agent, in and out.
    pub(super) fn usage(&self, agent: &str) -> (u64, u64) {
        let used = self
            .of("token_usage")
            .into_iter()
            .filter(|event| event["agent"] == agent);
        used.fold((0, 0), |(input, output), event| {
            (
                input + event["input_tokens"].as_u64().unwrap(),
                output + event["output_tokens"].as_u64().unwrap(),
            )
        })
    }
}
