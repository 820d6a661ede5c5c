//! Which agents work where, from a real service on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Mapped, empty};

/// A service that answers paths with what it is told, and notes what it was asked for.
struct Service {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Service {
    fn new(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &answer, &noted);
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

fn serve(stream: TcpStream, answer: &dyn Fn(&str) -> (u16, String), asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else {
        return;
    };
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    let (status, body) = answer(&path);
    let mut stream = stream;
    // In pieces, as servers that do not know how long it will be write it.
    let head = format!("HTTP/1.1 {status} X\r\nTransfer-Encoding: chunked\r\n\r\n");
    let _ = stream.write_all(head.as_bytes());
    for piece in body.as_bytes().chunks(16) {
        let _ = stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes());
        let _ = stream.write_all(piece);
        let _ = stream.write_all(b"\r\n");
    }
    let _ = stream.write_all(b"0\r\n\r\n");
}

fn two_agents(path: &str) -> (u16, String) {
    let body = match path {
        "/api/agents" => json!({"agents": [
            {"agent_id": "2", "name": "Zoe", "status": "idle", "project": "elsewhere"},
            {"agent_id": "1", "name": "Ada", "status": "active", "project": "my shop",
             "session_id": "s", "last_seen": "2026-01-02T03:04:05Z"},
        ]}),
        "/api/reservations?project=my%20shop" => json!({"reservations": [
            {"agent_id": "1", "path_pattern": "src/**", "exclusive": true},
            {"agent_id": "9", "path_pattern": "docs/**"},
            // Given back, or over: they hold nobody up any more.
            {"agent_id": "1", "path_pattern": "a/**", "is_active": false},
            {"agent_id": "1", "path_pattern": "b/**", "released_at": "2026-01-02T03:04:05Z"},
            {"agent_id": "1", "path_pattern": "c/**", "expires_at": "2020-01-02T03:04:05Z"},
        ]}),
        _ => json!([]),
    };
    (200, body.to_string())
}

fn asked(mapped: &mut Mapped, url: Option<&str>) -> Value {
    let mut params = json!({"root": mapped.context.project});
    if let Some(url) = url {
        params["url"] = json!(url);
    }
    mapped.rpc.call("map.agents", params).unwrap()
}

#[test]
fn agents_have_their_projects_and_reservations() {
    let context = empty();
    context.write("my shop/go.mod", "module x\n");
    let mut mapped = Mapped::new(context);
    let service = Service::new(two_agents);
    let answer = asked(&mut mapped, Some(&service.url));
    assert_eq!(
        answer,
        json!({
            "agents": [
                {"agent_id": "2", "name": "Zoe", "status": "idle", "project": "elsewhere"},
                {
                    "agent_id": "1", "name": "Ada", "status": "active", "project": "my shop",
                    "project_path": mapped.context.project.join("my shop"),
                    "session_id": "s", "last_seen": "2026-01-02T03:04:05Z",
                    "reservations": [
                        {"agent_id": "1", "path_pattern": "src/**", "exclusive": true},
                    ],
                },
            ],
            "agents_available": true,
            "project_count": 1,
        })
    );
    assert_eq!(
        service.asked(),
        [
            "/api/agents",
            "/api/reservations?project=elsewhere",
            "/api/reservations?project=my%20shop",
        ]
    );
}

#[test]
fn what_goes_wrong_is_a_part_of_the_answer() {
    let context = empty();
    context.write("shop/go.mod", "module x\n");
    let mut mapped = Mapped::new(context);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let broken = Service::new(|_| (500, String::new()));
    let garbled = Service::new(|_| (200, "<html>".to_owned()));
    let strange = Service::new(|_| (200, "{\"agents\": 3}".to_owned()));
    let urls = [
        (None, "INTERMUTE_URL"),
        (Some(&*gone), "cannot be asked"),
        (Some(&*broken.url), "500"),
        (Some(&*garbled.url), "no JSON"),
        (Some(&*strange.url), "no list"),
        (Some("https://localhost"), "http://"),
    ];
    for (url, why) in urls {
        let answer = asked(&mut mapped, url);
        assert_eq!(answer["agents"], json!([]), "{answer}");
        assert_eq!(answer["agents_available"], false, "{answer}");
        assert_eq!(answer["project_count"], 1, "{answer}");
        let error = answer["agents_error"].as_str().unwrap();
        assert!(error.contains(why), "{url:?}: {error}");
    }
}

#[test]
fn agents_without_reservations_are_still_agents() {
    let service = Service::new(|path| match path {
        "/api/agents" => two_agents(path),
        _ => (404, String::new()),
    });
    let mut mapped = Mapped::new(empty());
    let answer = asked(&mut mapped, Some(&service.url));
    assert_eq!(answer["agents"].as_array().unwrap().len(), 2);
    assert_eq!(answer["agents_available"], true);
    assert!(
        answer["agents_error"].as_str().unwrap().contains("404"),
        "{answer}"
    );
}

#[test]
fn the_callers_environment_names_the_service() {
    let service = Service::new(two_agents);
    let mut context = empty();
    // The daemon is there already, and was not told.
    let daemon = context.daemon();
    context.set_env("INTERMUTE_URL", &service.url);
    let text = context.pillion(&["map", "agents", "--text"]).stdout;
    assert!(text.contains("Ada"), "{text}");
    assert!(text.ends_with("2 agents, 0 projects\n"), "{text}");
    drop(daemon);
}
