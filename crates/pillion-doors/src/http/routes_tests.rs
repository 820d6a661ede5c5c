//! Paths of operations as clients meet them: on a real port, in every form that a path can have.

use std::sync::Arc;

use clap::Args;
use pillion_catalogue::{
    AnswerForm, Body, Catalogue, Code, Context, DoorMode, Error, Errors, Field, MemberLimit,
    Method, Offer, Operation, Operations, Peer, Result, Route, Safety, Streams,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::DoorState;
use crate::http::{Access, listen, serve};
use crate::mcp::McpSettings;

/// A route of the session contract.
const fn detailed(method: Method, path: &'static str) -> Route {
    Route {
        errors: Errors::Detail,
        ..Route::new(method, path)
    }
}

/// Say what a file of a session is, or change it.
#[derive(Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
struct File {
    /// Whose.
    session_id: String,
    /// Which.
    name: String,
    /// What is in it.
    #[serde(default)]
    content: Option<String>,
}

impl Operation for File {
    const NAME: &'static str = "test.file";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.routes(&[
        detailed(Method::Get, "/api/session/{session_id}/files/{name}"),
        detailed(Method::Put, "/api/session/{session_id}/files/{name}"),
        Route {
            answer: AnswerForm::Nothing,
            ..detailed(Method::Delete, "/api/session/{session_id}/files/{name}")
        },
    ]);
    type Service = ();
    type Output = Value;

    async fn run(self, _: Context<()>) -> Result<Value> {
        match self.session_id.as_str() {
            "none" => Err(Error::new(Code::NotFound, "no such session")),
            session => Ok(json!([session, self.name, self.content])),
        }
    }
}

/// Count the bytes of files.
#[derive(Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
struct Upload {
    /// Whose.
    session_id: String,
    /// The files.
    #[arg(skip)]
    files: Vec<Value>,
}

impl Operation for Upload {
    const NAME: &'static str = "test.upload";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.routes(&[Route {
        body: Body::Files("files"),
        ..detailed(Method::Post, "/api/session/{session_id}/upload")
    }]);
    type Service = ();
    type Output = Value;

    async fn run(self, _: Context<()>) -> Result<Value> {
        Ok(json!([self.session_id, self.files]))
    }
}

/// Tell a story in events.
#[derive(Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
struct Story {
    /// Whose.
    session_id: String,
}

impl Operation for Story {
    const NAME: &'static str = "test.story";
    const SAFETY: Safety = Safety::Read;
    const STREAMS: Streams = Streams::Always;
    const OFFER: Offer = Offer::PLAIN.routes(&[Route {
        answer: AnswerForm::Events,
        ..detailed(Method::Post, "/api/session/{session_id}/story")
    }]);
    type Service = ();
    type Output = bool;

    async fn run(self, cx: Context<()>) -> Result<bool> {
        if self.session_id == "none" {
            return Err(Error::new(Code::NotFound, "no such session"));
        }
        cx.emit(&json!({ "type": "start" })).await?;
        cx.emit(&json!({ "type": "complete" })).await?;
        Ok(true)
    }
}

/// Say something in a session, within the limits of its path.
#[derive(Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
struct Say {
    /// Whose.
    session: String,
    /// What.
    message: String,
    /// How often.
    #[serde(default)]
    times: Option<u64>,
    /// Who says it.
    #[serde(default)]
    who: Option<String>,
}

impl Operation for Say {
    const NAME: &'static str = "test.say";
    const SAFETY: Safety = Safety::Read;
    const STREAMS: Streams = Streams::Always;
    const OFFER: Offer = Offer::PLAIN.routes(&[
        Route::contract(Method::Post, "/api/session/{session_id}/say")
            .named(&[("session_id", "session")])
            .fields(&[
                Field::required("message", MemberLimit::Length(1, 10)),
                Field::optional("times", MemberLimit::Range(1, 3)).or("2"),
            ])
            .fixes(&[("who", "\"me\"")])
            .answers(AnswerForm::EventsAndResult)
            .frozen(),
        Route::contract(Method::Get, "/api/sessions").only_in(DoorMode::Desktop),
    ]);
    type Service = ();
    type Output = Value;

    async fn run(self, cx: Context<()>) -> Result<Value> {
        if self.message == "bad" {
            return Err(Error::new(Code::InvalidRequest, "no such word"));
        }
        cx.emit(&json!({ "type": "said", "text": self.message }))
            .await?;
        Ok(json!({ "session": self.session, "times": self.times, "who": self.who }))
    }
}

/// List what Jupyter's clients have open.
#[derive(Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
struct Opened {}

impl Operation for Opened {
    const NAME: &'static str = "test.opened";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer =
        Offer::PLAIN.routes(&[Route::new(Method::Get, "/api/sessions").only_in(DoorMode::Plain)]);
    type Service = ();
    type Output = Value;

    async fn run(self, _: Context<()>) -> Result<Value> {
        Ok(json!("jupyter"))
    }
}

/// A state with all of these, run in a mode.
fn state(mode: DoorMode) -> DoorState {
    let mut catalogue = Catalogue::default();
    let operations = Operations::default()
        .with::<File>()
        .with::<Upload>()
        .with::<Story>()
        .with::<Say>()
        .with::<Opened>();
    catalogue.add(operations, &Arc::new(()));
    DoorState {
        catalogue: Arc::new(catalogue),
        shutdown: CancellationToken::new(),
        root: None,
        surroundings: pillion_catalogue::Caller::default(),
        peer: Peer::default(),
        exposed: None,
        mode,
        event_types: &["start", "complete"],
    }
}

/// A server in a mode.
async fn served(
    mode: DoorMode,
) -> (
    u16,
    CancellationToken,
    tokio::task::JoinHandle<std::io::Result<()>>,
) {
    let state = state(mode);
    let listener = listen(0..=0).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let shutdown = state.shutdown.clone();
    let access = Access::everybody();
    let serving = tokio::spawn(serve(listener, state, McpSettings::default(), access));
    (port, shutdown, serving)
}

/// What a server answers to bytes: status, head and body.
async fn ask(port: u16, method: &str, path: &str, kind: &str, body: &[u8]) -> (u16, String) {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, body.to_owned())
}

#[tokio::test]
async fn a_path_says_what_it_takes_and_how_it_answers() {
    let (port, shutdown, serving) = served(DoorMode::Plain).await;
    let json = "application/json";
    let file = "/api/session/s%201/files/a.py";

    let got = ask(port, "GET", file, json, b"").await;
    assert_eq!(got, (200, r#"["s 1","a.py",null]"#.to_owned()));
    let put = ask(port, "PUT", file, json, br#"{"content":"x"}"#).await;
    assert_eq!(put, (200, r#"["s 1","a.py","x"]"#.to_owned()));
    let gone = ask(port, "DELETE", file, json, b"").await;
    assert_eq!(gone, (204, String::new()));
    let (status, body) = ask(port, "GET", "/api/session/none/files/x", json, b"").await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["detail"]), (404, &json!("no such session")));
    let (status, body) = ask(port, "PUT", file, json, br#"{"contents":"x"}"#).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 422, "{body}");
    assert_eq!(body["detail"][0]["loc"], json!(["body", "contents"]));
    assert_eq!(body["detail"][0]["type"], "extra_forbidden");
    // Which file it is, the path says.
    let (status, _) = ask(port, "PUT", file, json, br#"{"name":"other"}"#).await;
    assert_eq!(status, 422);
    assert_eq!(ask(port, "POST", file, json, b"").await.0, 405);
    for path in ["/api/session/%ff/files/x", "/v1/%ff"] {
        let method = if path.starts_with("/v1") {
            "POST"
        } else {
            "GET"
        };
        let (status, body) = ask(port, method, path, json, b"").await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status, 400, "{body}");
        assert_eq!(body["code"], "invalid_request", "{body}");
    }

    let form = "multipart/form-data; boundary=XX";
    let upload = "/api/session/s/upload";
    let files = b"--XX\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.csv\"\r\n\r\n1,2\r\n--XX--\r\n";
    let (status, sent) = ask(port, "POST", upload, form, files).await;
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let expected = json!(["s", [{ "name": "a.csv", "base64": "MSwy" }]]);
    assert_eq!((status, sent), (200, expected));
    assert_eq!(ask(port, "POST", upload, json, b"{}").await.0, 422);

    let events = async |session: &str| {
        let path = format!("/api/session/{session}/story");
        let (status, body) = ask(port, "POST", &path, json, b"").await;
        assert_eq!(status, 200, "{body}");
        let frames = body.lines().filter_map(|line| line.strip_prefix("data: "));
        frames
            .map(|frame| serde_json::from_str(frame).unwrap())
            .collect::<Vec<Value>>()
    };
    let story = [json!({ "type": "start" }), json!({ "type": "complete" })];
    assert_eq!(events("s").await, story);
    let error = json!({ "type": "error", "message": "no such session" });
    assert_eq!(events("none").await, [error]);

    shutdown.cancel();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_path_of_the_contract_refuses_before_it_streams() {
    let (port, shutdown, serving) = served(DoorMode::Desktop).await;
    let say = async |body: &str| {
        let json = "application/json";
        ask(port, "POST", "/api/session/s/say", json, body.as_bytes()).await
    };
    let (status, events) = say(r#"{"message":"hi","who":"you","session":"t","more":1}"#).await;
    assert_eq!(status, 200);
    assert!(
        events.contains("data: {\"type\":\"said\",\"text\":\"hi\"}\n\n"),
        "{events}"
    );
    let complete = r#"data: {"type":"complete","session":"s","times":2,"who":"me"}"#;
    assert!(events.contains(complete), "{events}");
    for (body, kind, loc) in [
        ("{}", "missing", json!(["body", "message"])),
        (
            r#"{"message":""}"#,
            "string_too_short",
            json!(["body", "message"]),
        ),
        (
            r#"{"message":"a","times":4}"#,
            "less_than_equal",
            json!(["body", "times"]),
        ),
        (
            r#"{"message":"a","times":1.5}"#,
            "int_type",
            json!(["body", "times"]),
        ),
        ("[]", "model_attributes_type", json!(["body"])),
        ("{", "json_invalid", json!(["body"])),
    ] {
        let (status, answer) = say(body).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let found = (status, &answer["detail"][0]["type"]);
        assert_eq!(found, (422, &json!(kind)), "{body}: {answer}");
        assert_eq!(answer["detail"][0]["loc"], loc, "{body}");
    }
    // From there on, errors are events.
    let (status, events) = say(r#"{"message":"bad"}"#).await;
    assert_eq!(status, 200);
    assert!(
        events.contains(r#"data: {"type":"error","message":"no such word"}"#),
        "{events}"
    );
    shutdown.cancel();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_mode_has_its_paths_and_tells_of_them() {
    for (mode, of, other) in [
        (DoorMode::Desktop, "test.say", "test.opened"),
        (DoorMode::Plain, "test.opened", "test.say"),
    ] {
        let (port, shutdown, serving) = served(mode).await;
        let get = async |path: &str| {
            let (status, body) = ask(port, "GET", path, "", b"").await;
            assert_eq!(status, 200, "{path}: {body}");
            serde_json::from_str::<Value>(&body).unwrap()
        };
        let contract = get("/api/contract").await;
        assert_eq!(contract["contract_version"], "v1");
        assert_eq!(contract["sse_event_types"], json!(["start", "complete"]));
        let routes = contract["routes"].as_array().unwrap();
        let sessions: Vec<_> = routes
            .iter()
            .filter(|route| route["path"] == "/api/sessions")
            .map(|route| route["source"].as_str().unwrap())
            .collect();
        assert_eq!(sessions, [of], "not {other}");
        let say = json!({
            "method": "POST", "path": "/api/session/{session_id}/say",
            "stability": "frozen", "source": "test.say",
        });
        assert!(routes.contains(&say));
        let document = get("/openapi.json").await;
        let found = &document["paths"]["/api/sessions"]["get"];
        assert_eq!(found["description"], format!("The same as `{of}`."));
        assert!(found.get("requestBody").is_none());
        let say = &document["paths"]["/api/session/{session_id}/say"]["post"];
        let schema = &say["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(schema["required"], json!(["message"]));
        let members: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["message", "times"]);
        assert_eq!(schema["properties"]["message"]["maxLength"], 10);
        assert_eq!(schema["properties"]["times"]["default"], 2);
        assert_eq!(say["parameters"][0]["name"], "session_id");
        let (status, page) = ask(port, "GET", "/docs", "", b"").await;
        assert!(status == 200 && page.contains(&format!("#{of}\">")));
        shutdown.cancel();
        serving.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn pages_of_a_desktop_app_may_ask_and_no_others() {
    let (port, shutdown, serving) = served(DoorMode::Desktop).await;
    let ask = async |head: &str| {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .unwrap();
        let head = format!("{head}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status: u16 = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    };
    let preflight = |origin: &str| {
        format!(
            "OPTIONS /api/session/s/say HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type"
        )
    };
    for origin in ["null", "http://localhost:3000"] {
        let (status, answer) = ask(&preflight(origin)).await;
        assert_eq!(status, 200, "{answer}");
        for line in [
            &format!("access-control-allow-origin: {origin}\r\n"),
            "access-control-allow-methods: GET, POST, PUT, DELETE, OPTIONS\r\n",
            "access-control-allow-headers: content-type, authorization, pillion-caller\r\n",
            "vary: Origin\r\n",
        ] {
            assert!(answer.contains(line), "{line} {answer}");
        }
        let get = format!("GET /nothing HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {origin}");
        let (status, answer) = ask(&get).await;
        assert_eq!(status, 404);
        assert!(answer.contains(&format!("access-control-allow-origin: {origin}\r\n")));
        assert!(answer.contains("\"detail\":\"there is nothing at `/nothing`\""));
    }
    let from_the_internet = format!(
        "{}\r\nAccess-Control-Request-Private-Network: true",
        preflight("null")
    );
    let foreign = preflight("https://evil.example");
    let ours = preflight(&format!("http://127.0.0.1:{port}"));
    let rebound = format!("GET /api/contract HTTP/1.1\r\nHost: evil.example:{port}");
    for head in [from_the_internet, foreign, ours, rebound] {
        let (status, answer) = ask(&head).await;
        assert_eq!(status, 403, "{head}: {answer}");
        assert!(answer.contains("\"detail\":"), "{answer}");
        let is_null = head.contains("Origin: null");
        assert_eq!(answer.contains("access-control-allow-origin"), is_null);
        assert!(!answer.contains("access-control-allow-methods"), "{answer}");
    }
    shutdown.cancel();
    serving.await.unwrap().unwrap();
}
