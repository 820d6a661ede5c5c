//! Requests by somebody who means harm, and names that lead elsewhere.

use serde_json::{Value, json};

use super::client::{Client, JSON, detail, refused};
use super::world::{CHAPTER, World, files_below, write_all};

/// Names that no session has, as they stand in a path.
const ODD: &[&str] = &[
    ".",
    "..",
    "%2e",
    "%2e%2e",
    "..%2foutside",
    "%2e%2e%2foutside",
    "..%5coutside",
    "%2fetc",
    "a%2fb",
    "a%00",
    "%00",
    "a%0ab",
    "%20",
    "a%20b",
    "~",
    "%ff%fe",
    "%c3%a9",
    "con:",
    "a;b",
    "*",
];

/// Everything below the base but what a server keeps for itself.
fn everything(world: &World) -> Vec<std::path::PathBuf> {
    let mut all = files_below(&world.context.base);
    for own in ["pillion", "run", "tmp"] {
        let own = world.context.base.join(own);
        all.retain(|path| !path.starts_with(&own));
    }
    all.sort();
    all
}

#[test]
fn names_of_sessions_lead_nowhere_else() {
    let world = World::new();
    // What would be found if they did.
    world.write_session("inside", &[("secret?", "SECRET-ANSWER")]);
    let outside = world.context.base.join("outside");
    pillion_testing::copy(&world.folder("inside"), &outside);
    std::fs::remove_dir_all(world.folder("inside")).unwrap();
    let client = world.serve();
    let before = everything(&world);
    for id in ODD {
        let path = |rest: &str| format!("/api/session/{id}/{rest}");
        let mut replies = Vec::new();
        for rest in [
            "history",
            "state",
            "dynamic_report",
            "workspace/files",
            "files",
        ] {
            replies.push(client.get(&path(rest)));
        }
        for rest in ["reattach", "end", "skip-task"] {
            replies.push(client.post(&path(rest), json!({})));
        }
        replies.push(client.put(&path("workspace/files/a.py"), json!({ "content": "x" })));
        replies.push(client.post(&path("code/run"), json!({ "code": "print(1)" })));
        for reply in &replies {
            assert!([400, 404, 405].contains(&reply.status), "{id}: {reply:?}");
            assert!(!reply.body.contains("SECRET-ANSWER"), "{id}: {reply:?}");
        }
        match client.stream("POST", &path("message/stream"), "{\"message\":\"hello\"}") {
            Ok(stream) => assert_eq!(stream.finish().types(), ["error"], "{id}"),
            Err(reply) => assert!([400, 404, 405].contains(&reply.status), "{id}: {reply:?}"),
        }
        let cancelled = client.post(&path("message/cancel"), json!({}));
        assert!(
            [200, 400, 404, 405].contains(&cancelled.status),
            "{id}: {cancelled:?}"
        );
    }
    assert_eq!(everything(&world), before, "nothing was written");
    assert_eq!(world.model.all().len(), 0);
}

#[test]
fn a_session_cannot_be_given_an_odd_name() {
    let world = World::new();
    let client = world.serve();
    let new = |id: Value| {
        client.post(
            "/api/session/new",
            json!({ "chapter_id": CHAPTER, "session_id": id }),
        )
    };
    let before = everything(&world);
    let long = "a".repeat(300);
    for id in [
        "",
        ".",
        "..",
        "../outside",
        "a/b",
        "/etc/x",
        "a\\b",
        "a b",
        "a\u{0}",
        "a\n",
        "é",
        "~",
        "a:b",
        "*",
        &long,
        "new/../x",
    ] {
        detail(&new(json!(id)), 400);
    }
    for id in [json!(3), json!([]), json!({})] {
        assert_eq!(refused(&new(id)), [json!(["body", "session_id"])]);
    }
    assert_eq!(everything(&world), before);
    // Odd, but allowed; and what has the name of a route is not mistaken for one.
    for id in ["-", "_", "a..b", "new", "0"] {
        assert_eq!(new(json!(id)).status, 200, "{id}");
        assert_eq!(client.turn(id, "hello").index(), 1, "{id}");
    }
    // One at a time, however many ask.
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let ask = |_| scope.spawn(|| new(json!("twin")).status);
        let asking: Vec<_> = (0..8).map(ask).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(
        codes.iter().filter(|code| **code == 200).count(),
        1,
        "{codes:?}"
    );
    assert_eq!(
        codes.iter().filter(|code| **code == 409).count(),
        7,
        "{codes:?}"
    );
}

/// Requests of a page whose name was made to lead here.
#[test]
fn the_host_must_be_loopback() {
    let world = World::new();
    let client = world.serve();
    let body = json!({ "chapter_id": CHAPTER, "session_id": "rebound" }).to_string();
    let port = client.web.port;
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1.evil.example".to_owned(),
        "localhost.evil.example".to_owned(),
        "0.0.0.0".to_owned(),
        String::new(),
        "169.254.169.254".to_owned(),
        "127.0.0.1@evil.example".to_owned(),
    ] {
        let headers = [JSON, ("Host", host.as_str())];
        let reply = client
            .web
            .request("POST", "/api/session/new", &headers, &body);
        assert!([400, 403].contains(&reply.status), "{host}: {reply:?}");
        for path in ["/health", "/api/contract", "/api/sessions", "/openapi.json"] {
            let reply = client.web.request("GET", path, &headers[1..], "");
            assert!(
                [400, 403].contains(&reply.status),
                "{host} {path}: {reply:?}"
            );
        }
    }
    assert!(!world.folder("rebound").exists());
    for host in [
        format!("localhost:{port}"),
        "127.0.0.1".into(),
        format!("[::1]:{port}"),
    ] {
        let reply = client.web.request("GET", "/health", &[("Host", &host)], "");
        assert_eq!(reply.status, 200, "{host}");
    }
}

/// What a page may send to any host without asking first.
#[test]
fn forms_and_plain_text_of_pages_do_nothing() {
    let world = World::new();
    let client = world.serve();
    let body = json!({ "chapter_id": CHAPTER, "session_id": "simple" }).to_string();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        let reply =
            client
                .web
                .request("POST", "/api/session/new", &[("Content-Type", kind)], &body);
        assert!((400..500).contains(&reply.status), "{kind}: {reply:?}");
    }
    assert!(!world.folder("simple").exists());
}

#[test]
fn requests_that_are_too_much_are_refused() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let alive = |client: &Client| {
        assert_eq!(client.get("/health").json()["status"], "healthy");
    };
    // More is announced than anybody may send, and then nothing comes.
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let head = "POST /api/session/new HTTP/1.1\r\nHost: localhost\r\n\
                        Content-Type: application/json\r\nContent-Length: 2000000000\r\n\r\n{";
            client.web.send(head.as_bytes())
        })
        .collect();
    alive(&client);
    drop(waiting);
    let deep = format!(
        "{{\"chapter_id\":{}1{}}}",
        "[".repeat(9000),
        "]".repeat(9000)
    );
    let reply = client
        .web
        .request("POST", "/api/session/new", &[JSON], &deep);
    assert!((400..500).contains(&reply.status), "{}", reply.status);
    for body in [
        "{\"message\":\"\\ud800\"}",
        "{\"message\":\"a\",\"message\":\"b\"}",
        "nonsense",
    ] {
        let path = format!("/api/session/{session}/message/stream");
        let reply = client.stream("POST", &path, body);
        if let Err(reply) = reply {
            assert!([400, 422].contains(&reply.status), "{body}: {reply:?}");
        }
    }
    alive(&client);
    client.web.request(
        "GET",
        &format!("/api/session/{}/state", "a".repeat(5000)),
        &[],
        "",
    );
    alive(&client);
}

#[test]
fn headers_said_twice_are_refused() {
    let world = World::new();
    let client = world.serve();
    let host = format!("127.0.0.1:{}", client.web.port);
    for headers in [
        vec![("Host", host.as_str()), ("Host", "evil.example")],
        vec![("Origin", "null"), ("Origin", "http://evil.example")],
    ] {
        let reply = client.web.request("GET", "/api/sessions", &headers, "");
        assert!([400, 403].contains(&reply.status), "{headers:?}: {reply:?}");
    }
}

/// A chapter is content of others: what it names must be its own.
#[test]
fn chapters_do_not_reach_out_of_their_bundle() {
    let world = World::new();
    let secret = world.context.write("secret.md", "SECRET-OF-THE-HOST");
    let folder = world.context.base.join("curriculum/sly");
    write_all(
        &folder,
        &[
            ("task_list.md", "- **s1** Sly\n"),
            ("task_completion_principles.md", "x\n"),
        ],
    );
    std::os::unix::fs::symlink(&secret, folder.join("chapter_context.md")).unwrap();
    std::fs::create_dir(folder.join("scripts")).unwrap();
    std::os::unix::fs::symlink(&secret, folder.join("scripts/data.txt")).unwrap();
    let client = world.serve();
    let made = client.post("/api/session/new", json!({ "chapter_id": "sly" }));
    if made.status == 200 {
        let session = made.json()["session_id"].as_str().unwrap().to_owned();
        client.turn(&session, "hello");
        let told = world
            .model
            .all()
            .iter()
            .any(|asked| asked.text().contains("SECRET-OF"));
        assert!(!told);
    } else {
        assert!((400..500).contains(&made.status), "{made:?}");
    }
    let found = world.places_of("SECRET-OF-THE-HOST");
    assert_eq!(found, [secret], "it was copied");
}
