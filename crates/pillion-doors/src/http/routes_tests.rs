//! Paths of operations as clients meet them: on a real port, in every form that a path can have.

use std::sync::Arc;

use clap::Args;
use pillion_catalogue::{
    Body, Catalogue, Code, Context, Error, Errors, Method, Mode, Offer, Operation, Operations,
    Peer, Reply, Result, Route, Safety, Streams,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::House;
use crate::http::{Access, listen, serve};
use crate::mcp::Settings;

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
            answer: Reply::Nothing,
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
        answer: Reply::Events,
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
    let mut catalogue = Catalogue::default();
    let operations = Operations::default()
        .with::<File>()
        .with::<Upload>()
        .with::<Story>();
    catalogue.add(operations, &Arc::new(()));
    let house = House {
        catalogue: Arc::new(catalogue),
        shutdown: CancellationToken::new(),
        root: None,
        surroundings: pillion_catalogue::Caller::default(),
        peer: Peer::default(),
        exposed: None,
        mode: Mode::Plain,
        event_types: &[],
    };
    let listener = listen(0..=0).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let shutdown = house.shutdown.clone();
    let serving = tokio::spawn(serve(
        listener,
        house,
        Settings::default(),
        Access::everybody(),
    ));
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
    assert!(
        body["detail"][0]["msg"]
            .as_str()
            .unwrap()
            .contains("contents")
    );
    // Which file it is, the path says.
    let (status, _) = ask(port, "PUT", file, json, br#"{"name":"other"}"#).await;
    assert_eq!(status, 422);
    assert_eq!(ask(port, "POST", file, json, b"").await.0, 405);

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
