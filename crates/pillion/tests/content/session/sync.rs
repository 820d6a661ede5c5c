//! What a session has is brought to a backend, sooner or later and in order.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use pillion_testing::DEADLINE;
use serde_json::{Value, json};

use super::client::good;
use super::world::{CHAPTER, World, eventually};

const TOKEN: &str = "backend-token-77d1-secret";

/// What a backend was sent.
#[derive(Debug, Clone)]
struct Sent {
    route: String,
    authorization: Option<String>,
    body: Value,
    status: u16,
}

#[derive(Default)]
struct Shared {
    sent: Mutex<Vec<Sent>>,
    /// Whether the session was made known.
    known: AtomicBool,
    /// What everything is answered with, if not as it should be.
    status: AtomicU16,
    over: AtomicBool,
}

/// A backend on loopback, which does not know a session before it is told of it.
struct Backend {
    shared: Arc<Shared>,
    port: u16,
    accepting: Option<JoinHandle<()>>,
}

impl Backend {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if theirs.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&theirs);
                if let Ok(stream) = stream {
                    std::thread::spawn(move || shared.serve(&stream));
                }
            }
        });
        Self {
            shared,
            port,
            accepting: Some(accepting),
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Answer everything with this status; 0 is as it should be.
    fn answer(&self, status: u16) {
        self.shared.status.store(status, Ordering::SeqCst);
    }

    /// What was taken of this route.
    fn taken(&self, route: &str) -> Vec<Value> {
        let sent = self.shared.sent.lock().unwrap();
        let taken = sent
            .iter()
            .filter(|one| one.route == route && one.status == 200);
        taken.map(|one| one.body.clone()).collect()
    }

    fn all(&self) -> Vec<Sent> {
        self.shared.sent.lock().unwrap().clone()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn serve(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let header = |name: &str| {
            let found = lines.iter().skip(1).filter_map(|line| line.split_once(':'));
            let mut found = found.filter(|(n, _)| n.eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.trim().to_owned())
        };
        let route = lines.first()?.rsplit_once(' ')?.0.to_owned();
        let length = header("content-length").map_or(0, |text| text.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let status = self.status_of(&route);
        let sent = Sent {
            route,
            authorization: header("authorization"),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            status,
        };
        self.sent.lock().unwrap().push(sent);
        let text = format!(
            "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nRetry-After: 0\r\n\
             Content-Length: 2\r\nConnection: close\r\n\r\n{{}}"
        );
        stream.write_all(text.as_bytes()).ok()
    }

    fn status_of(&self, route: &str) -> u16 {
        match self.status.load(Ordering::SeqCst) {
            0 if route.starts_with("POST /v1/chapters/") => {
                self.known.store(true, Ordering::SeqCst);
                200
            }
            0 if self.known.load(Ordering::SeqCst) => 200,
            0 => 404,
            status => status,
        }
    }
}

#[test]
fn turns_memory_and_report_are_brought_to_the_backend() {
    let world = World::new();
    let client = world.serve();
    let backend = Backend::start();
    let session = client.create_with(json!({ "chapter_id": CHAPTER,
        "backend_url": backend.url(), "auth_token": TOKEN }));
    client.turn(&session, "first");
    client.turn(&session, "second");
    let turns = format!("POST /v1/sessions/{session}/turns");
    let taken = eventually("both turns", || {
        let taken = backend.taken(&turns);
        (taken.len() >= 2).then_some(taken)
    });
    assert_eq!(taken.len(), 2, "each once: {taken:?}");
    assert!(
        taken[0].to_string().contains("first"),
        "in order: {taken:?}"
    );
    assert!(
        taken[1].to_string().contains("second"),
        "in order: {taken:?}"
    );
    for what in ["memory", "report"] {
        let route = format!("PUT /v1/sessions/{session}/{what}");
        eventually(what, || backend.taken(&route).pop());
    }
    let made: Vec<Sent> = backend
        .all()
        .into_iter()
        .filter(|one| one.route.starts_with("POST /v1/chapters/"))
        .collect();
    assert!(!made.is_empty());
    assert!(made[0].route.ends_with("/sessions"), "{made:?}");
    assert_eq!(made[0].body["course_id"], "basics", "{made:?}");
    for sent in backend.all() {
        let bearer = format!("Bearer {TOKEN}");
        assert_eq!(sent.authorization, Some(bearer), "{sent:?}");
    }
    drop(client);
    assert_eq!(world.places_of(TOKEN), Vec::<std::path::PathBuf>::new());
}

#[test]
fn what_a_backend_did_not_take_waits_for_it() {
    let world = World::new();
    let client = world.serve();
    let backend = Backend::start();
    backend.answer(503);
    let access = json!({ "backend_url": backend.url(), "auth_token": TOKEN });
    let mut new = access.clone();
    new["chapter_id"] = CHAPTER.into();
    let session = client.create_with(new);
    assert_eq!(
        client.turn(&session, "first").index(),
        1,
        "nobody waits for a backend"
    );
    assert_eq!(client.turn(&session, "second").index(), 2);
    eventually("a try", || (!backend.all().is_empty()).then_some(()));
    client.kill();
    world.context.wait_until_alone(DEADLINE);
    backend.answer(0);
    let client = world.serve();
    good(&client.reattach(&session, access));
    let turns = format!("POST /v1/sessions/{session}/turns");
    let taken = eventually("both turns", || {
        let taken = backend.taken(&turns);
        (taken.len() >= 2).then_some(taken)
    });
    assert!(taken[0].to_string().contains("first"), "{taken:?}");
    assert!(taken[1].to_string().contains("second"), "{taken:?}");
    assert_eq!(taken.len(), 2);
}
