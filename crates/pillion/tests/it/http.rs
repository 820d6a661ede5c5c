//! The HTTP door: who may come in, what they get, and how it streams.

use pillion_testing::web::Web;
use pillion_testing::{
    CommandOutput, DEADLINE, TWO_SECONDS, TestContext, processes, standing_still, wait_for_file,
    wait_until,
};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn an_operation_is_a_post() {
    let context = TestContext::new();
    let web = context.serve();
    assert_eq!(web.py("things:add", &json!([1, 2])).unwrap(), 3);
    let reply = web.post("system.ping", &json!({}));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.json()["pong"], true);
    let version = web.post("system.version", &json!({})).json();
    assert_eq!(version["transport"], "http");
    let kind = ("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(
        web.request("POST", "/v1/system.ping", &[kind], "{}").status,
        200
    );
    assert_eq!(
        web.request("POST", "/v1/system.ping", &[], "").status,
        200,
        "no body, no kind"
    );
}

#[test]
fn requests_that_name_no_python_get_that_of_the_server_and_others_their_own() {
    let context = TestContext::new();
    let venv = |name: &str| {
        let mut make = context.command("python3");
        make.args(["-m", "venv", "--without-pip", name]);
        let made = CommandOutput::of(make);
        assert_eq!(made.code, Some(0), "{made}");
        context.project.join(name)
    };
    let (servers, named) = (venv("of-the-server"), venv("named"));
    context.write(
        "where.py",
        "import sys\ndef prefix():\n    return sys.prefix\n",
    );
    // Also a relative path is the server's.
    for (variable, value) in [
        ("VIRTUAL_ENV", "of-the-server"),
        ("PILLION_PYTHON", "of-the-server/bin/python"),
    ] {
        let mut command = context.pillion_command(&["serve", "--port", "0", "--root", "."]);
        command.env(variable, value);
        let web = Web::start(command);
        let prefix = |more: Value| {
            let mut params = json!({"function": "where:prefix", "params": []});
            params
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            let reply = web.post("py.call", &params);
            assert_eq!(reply.status, 200, "{variable}: {}", reply.body);
            reply.json()["result"].clone()
        };
        assert_eq!(prefix(json!({})), servers.to_str().unwrap(), "{variable}");
        for key in ["python", "virtual_env"] {
            let theirs = prefix(json!({ key: named }));
            assert_eq!(theirs, named.to_str().unwrap(), "{variable}, {key}");
        }
    }
}

#[test]
fn errors_have_their_status_and_the_same_body() {
    let context = TestContext::new();
    let web = context.serve();
    let call = |function: &str| json!({"function": function});
    for (operation, params, status, code) in [
        ("no.such", json!({}), 404, "unknown_operation"),
        ("py.call", json!({}), 422, "invalid_params"),
        ("py.call", call("things:nosuch"), 404, "not_found"),
        ("py.call", call("things:raises"), 500, "exception"),
        ("py.call", call("things:memory_error"), 507, "memory"),
        ("py.call", call("things:os_exit"), 502, "crashed"),
        (
            "py.call",
            json!({"function": "things:sleep", "params": [60], "timeout_ms": 300}),
            504,
            "timeout",
        ),
    ] {
        let reply = web.post(operation, &params);
        let error = reply.json();
        assert_eq!(reply.status, status, "{operation} {params}: {error}");
        assert_eq!(error["code"], code);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        for member in ["kind", "message", "recoverable"] {
            assert!(!error[member].is_null(), "{member} in {error}");
        }
    }
}

#[test]
fn what_is_no_request_is_told_so() {
    let context = TestContext::new();
    let web = context.serve();
    let post = |headers: &[(&str, &str)], body: &str| {
        web.request("POST", "/v1/system.ping", headers, body)
    };
    for (headers, body, code) in [
        (&[JSON][..], "{", "invalid_json"),
        (&[JSON], "3", "invalid_request"),
        (&[JSON], "\"text\"", "invalid_request"),
        (&[], "{}", "invalid_request"),
        (&[("Content-Type", "text/plain")], "{}", "invalid_request"),
        (
            &[("Content-Type", "application/x-www-form-urlencoded")],
            "a=b",
            "invalid_request",
        ),
    ] {
        let reply = post(headers, body);
        assert_eq!(reply.status, 400, "{headers:?} {body}: {reply:?}");
        assert_eq!(reply.json()["code"], code, "{headers:?} {body}");
    }
    let reply = web.get("/no/such/page");
    assert_eq!(
        (reply.status, reply.json()["code"].as_str()),
        (404, Some("not_found"))
    );
    for (method, path) in [
        ("GET", "/v1/system.ping"),
        ("POST", "/health"),
        ("DELETE", "/docs"),
    ] {
        let reply = web.request(method, path, &[], "");
        assert_eq!(reply.status, 405, "{method} {path}");
        assert_eq!(
            reply.json()["code"],
            "invalid_request",
            "an error like all others"
        );
    }
    assert_eq!(post(&[JSON], "{}").status, 200);
}

/// Any web page can send requests to a loopback port.
#[test]
fn foreign_hosts_and_origins_are_refused() {
    let context = TestContext::new();
    let web = context.serve();
    let marker = context.path("ran");
    let body = json!({"function": "things:block", "params": [marker, "/"]}).to_string();
    let local = format!("127.0.0.1:{}", web.port);
    let post = |headers: &[(&str, &str)]| web.request("POST", "/v1/py.call", headers, &body);
    for headers in [
        &[JSON, ("Host", "evil.example")][..],
        &[JSON, ("Host", "127.0.0.1.evil.example")],
        &[JSON, ("Host", "localhost.evil.example:80")],
        &[JSON, ("Host", "")],
        &[JSON, ("Host", &local), ("Origin", "http://evil.example")],
        &[JSON, ("Host", &local), ("Origin", "null")],
        &[JSON, ("Host", &local), ("Origin", "file://")],
        &[
            JSON,
            ("Host", &local),
            ("Origin", "http://localhost.evil.example"),
        ],
    ] {
        let reply = post(headers);
        assert_eq!(reply.status, 403, "{headers:?}");
        assert_eq!(reply.json()["code"], "unauthorized", "{headers:?}");
        assert!(reply.header("access-control-allow-origin").is_none());
    }
    for path in ["/metrics", "/docs", "/openapi.json", "/health"] {
        let reply = web.request("GET", path, &[("Host", "evil.example")], "");
        assert_eq!(reply.status, 403, "{path}");
    }
    // What a page may send without asking first never runs.
    let plain = [("Content-Type", "text/plain"), ("Host", local.as_str())];
    assert_eq!(post(&plain).status, 400);
    assert!(!std::path::Path::new(&marker).exists(), "refused, but done");
    for headers in [
        &[JSON, ("Host", "localhost")][..],
        &[JSON, ("Host", "[::1]:80")],
        &[JSON, ("Host", &local), ("Origin", "http://localhost:3000")],
        &[JSON, ("Host", &local), ("Origin", "http://127.0.0.1:5173")],
    ] {
        assert_eq!(post(headers).status, 200, "{headers:?}");
    }
}

#[test]
fn a_stream_is_server_sent_events() {
    let context = TestContext::new();
    let web = context.serve();
    let numbers = json!({"function": "things:numbers", "params": [3], "stream": true});
    let events = web.stream("py.call", &numbers).collect::<Vec<_>>();
    assert_eq!(
        events[..3],
        [json!({"item": 0}), json!({"item": 1}), json!({"item": 2})]
    );
    assert_eq!(events[3]["result"]["result"], "done");
    assert_eq!(events.len(), 4);
    let steps = json!({"function": "things:steps", "params": [2], "stream": true});
    let events = web.stream("py.call", &steps).collect::<Vec<_>>();
    assert_eq!(events[1]["progress"]["message"], "step 2");
    let failing = json!({"function": "things:raises", "params": ["no"], "stream": true});
    let events = web.stream("py.call", &failing).collect::<Vec<_>>();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["error"]["code"], "exception", "{events:?}");
}

#[test]
fn hanging_up_ends_the_work() {
    let context = TestContext::new();
    let web = context.serve();
    let note = context.path("note");
    let forever = json!({"function": "things:forever", "params": [note], "stream": true});
    let mut events = web.stream("py.call", &forever);
    assert_eq!(events.next().unwrap(), json!({"item": 0}));
    drop(events);
    assert_eq!(wait_for_file(&note), "stopped");

    let started = context.path("started");
    let body = json!({"function": "things:stubborn", "params": [started]}).to_string();
    let connection = web.send(
        format!(
            "POST /v1/py.call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
    wait_for_file(&started);
    drop(connection);
    wait_until("the function to see the cancel", || {
        wait_for_file(&started).ends_with("cancelled")
    });
    assert_eq!(web.py("things:add", &json!([1, 1])).unwrap(), 2);
}

#[test]
fn a_slow_reader_of_events_holds_back_its_stream() {
    let context = TestContext::new().config("[python]\nworkers = 2\n");
    let web = context.serve();
    let note = context.path("note");
    let chunks = json!({
        "function": "things:chunks",
        "params": [100, 1 << 20, note],
        "stream": true,
        "timeout_ms": 600_000,
    });
    let mut events = web.stream("py.call", &chunks);
    let made = standing_still(&note);
    assert!(made < 95, "{made} were made for nobody");
    assert_eq!(
        web.py("things:add", &json!([1, 1])).unwrap(),
        2,
        "others are served"
    );
    for n in 0..100 {
        let event = events.next().unwrap();
        assert_eq!(
            event["item"].as_str().map(str::len),
            Some(1 << 20),
            "item {n}"
        );
    }
    assert!(events.next().unwrap()["result"].is_object());
}

#[test]
fn pages_about_it_all() {
    let context = TestContext::new();
    let web = context.serve();
    web.py("things:add", &json!([1, 1])).unwrap();
    let health = web.get("/health").json();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["workspace"], context.project.to_str().unwrap());
    let stats = web.get("/stats").json();
    let operations = stats["operations"].as_array().unwrap();
    let call = operations
        .iter()
        .find(|o| o["operation"] == "py.call")
        .unwrap();
    assert_eq!(call["requests"], 1);

    let metrics = web.get("/metrics");
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("text/plain")
    );
    assert!(
        metrics
            .body
            .contains("pillion_requests_total{operation=\"py.call\"} 1")
    );
    for line in metrics.body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(
            metrics.body.contains(&format!(
                "# TYPE {}",
                name.split('{').next().unwrap().trim_end_matches("_count")
            )),
            "{line}"
        );
    }

    let docs = web.get("/docs");
    assert!(
        docs.header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    assert!(
        docs.body.contains("py.call") && !docs.body.contains("src=\"http"),
        "self-contained"
    );
    // An index, types, and what must be there.
    for part in [
        "<a href=\"#py.call\"",
        "<td>string<td><b>required</b>",
        "<td>boolean<td>",
    ] {
        assert!(docs.body.contains(part), "{part}");
    }
    let home = web.get("/").json();
    assert_eq!(
        (&home["name"], &home["docs"]),
        (&json!("pillion"), &json!("/docs"))
    );
    assert_eq!(home["workspace"], context.project.to_str().unwrap());
    let browser = web.request("GET", "/", &[("Accept", "text/html,*/*")], "");
    assert_eq!(
        (browser.status, browser.header("location")),
        (303, Some("/docs"))
    );
}

#[test]
fn the_openapi_document_has_a_valid_shape() {
    let context = TestContext::new();
    let web = context.serve();
    let document = web.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let paths = document["paths"].as_object().unwrap();
    let listed = context.pillion_json(&["--json", "operations"]);
    let mut ids = Vec::new();
    for operation in listed.as_array().unwrap() {
        let name = operation["name"].as_str().unwrap();
        let post = &paths[&format!("/v1/{name}")]["post"];
        assert_eq!(post["operationId"], name);
        assert!(post["summary"].is_string());
        let content = &post["responses"]["200"]["content"];
        assert!(content["application/json"]["schema"].is_object(), "{name}");
        assert!(
            post["responses"]["default"]["description"].is_string(),
            "{name}"
        );
        assert!(
            post["responses"]["200"]["description"].is_string(),
            "{name}"
        );
        ids.push(name);
    }
    for alias in ["/health", "/stats", "/shutdown"] {
        assert!(paths.contains_key(alias), "{alias}");
    }
    check_references(&document, &document);
}

/// A short name may mean something else to each operation.
#[test]
fn the_openapi_document_says_of_each_operation_what_it_says_itself() {
    let context = TestContext::new();
    let document = context.serve().get("/openapi.json").json();
    for definition in pillion::definitions() {
        let post = &document["paths"][format!("/v1/{}", definition.name)]["post"];
        let content = "/content/application~1json/schema";
        let parts = [
            ("/requestBody", definition.params_schema().to_value()),
            ("/responses/200", definition.output_schema().to_value()),
        ];
        for (part, own) in parts {
            let served = post.pointer(&format!("{part}{content}")).unwrap();
            assert_eq!(
                written_out(&document, served, &mut Vec::new()),
                written_out(&own, &own, &mut Vec::new()),
                "{}{part}",
                definition.name
            );
        }
    }
}

/// A schema with what it refers to in the place of each reference; one in a circle is a dot.
fn written_out(document: &Value, part: &Value, within: &mut Vec<String>) -> Value {
    match part {
        Value::Object(object) => {
            let reference = object.get("$ref").and_then(Value::as_str);
            let mut whole = serde_json::Map::new();
            if let Some(reference) = reference {
                let meant = match within.iter().any(|outer| outer == reference) {
                    true => json!("."),
                    false => {
                        let meant = document.pointer(&reference[1..]).unwrap();
                        within.push(reference.to_owned());
                        let meant = written_out(document, meant, within);
                        within.pop();
                        meant
                    }
                };
                whole.insert("$ref".into(), meant);
            }
            let own = |key: &str| ["$ref", "$defs", "$schema"].contains(&key);
            for (key, part) in object.iter().filter(|(key, _)| !own(key)) {
                whole.insert(key.clone(), written_out(document, part, within));
            }
            Value::Object(whole)
        }
        Value::Array(items) => items
            .iter()
            .map(|item| written_out(document, item, within))
            .collect(),
        other => other.clone(),
    }
}

/// Every `$ref` leads somewhere.
fn check_references(document: &Value, part: &Value) {
    match part {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get("$ref") {
                let pointer = reference.strip_prefix('#').expect("a local reference");
                assert!(
                    document.pointer(pointer).is_some(),
                    "{reference} leads nowhere"
                );
            }
            object
                .values()
                .for_each(|part| check_references(document, part));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|part| check_references(document, part)),
        _ => {}
    }
}

#[test]
fn a_port_of_a_range_is_taken_by_binding_it() {
    let context = TestContext::new();
    let first = context.serve();
    let taken = first.port.to_string();
    let output = context.pillion(&["--json", "serve", "--port", &taken]);
    assert_eq!(output.code, Some(1), "{output}");
    assert_eq!(output.json()["code"], "conflict", "{output}");
    let range = format!("{taken}-{}", first.port.saturating_add(200));
    let second = Web::start(context.pillion_command(&["serve", "--port", &range]));
    assert_ne!(first.port, second.port);
}

#[test]
fn a_signal_and_a_request_end_it() {
    let context = TestContext::new();
    let web = context.serve();
    let (started, go) = (context.path("started"), context.path("go"));
    let body = json!({"function": "things:block", "params": [started, go]}).to_string();
    let mut connection = web.send(
        format!(
            "POST /v1/py.call HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    );
    wait_for_file(&started);
    processes::terminate(web.pid);
    std::fs::write(go, "").unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut connection, &mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    drop(web);
    context.wait_until_alone(DEADLINE);

    let web = context.serve();
    web.py("things:pid", &json!([])).unwrap();
    let reply = web.request("POST", "/shutdown", &[], "");
    assert_eq!(
        reply.json(),
        json!({"acknowledged": true, "status": "shutting_down"})
    );
    context.wait_until_alone(TWO_SECONDS * 2);
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let context = TestContext::new();
    let web = context.serve();
    let reply = web.request(
        "POST",
        "/v1/system.ping",
        &[JSON],
        &"x".repeat((100 << 20) + 1),
    );
    assert_eq!(reply.status, 413);
    assert_eq!(
        reply.json()["code"],
        "invalid_request",
        "an error like all others"
    );
    assert_eq!(web.post("system.ping", &json!({})).status, 200);
}

/// What two readers could understand in two ways is not answered at all.
#[test]
fn a_request_that_says_two_things_is_refused() {
    let context = TestContext::new();
    let web = context.serve();
    let status = |head: &str| {
        let mut connection = web.send(head.as_bytes());
        let mut text = String::new();
        std::io::Read::read_to_string(&mut connection, &mut text).unwrap();
        let status = text.split(' ').nth(1).unwrap_or("none").to_owned();
        (status, text)
    };
    let ping = "POST /v1/system.ping HTTP/1.1\r\nConnection: close\r\n";
    let host = "Host: localhost\r\n";
    let json = "Content-Type: application/json\r\n";
    let body = "Content-Length: 2\r\n\r\n{}";
    for bad in [
        format!("{ping}{host}{host}{json}{body}"),
        format!("{ping}{host}Host: evil.example\r\n{json}{body}"),
        format!("{ping}Host: evil.example\r\n{host}{json}{body}"),
        format!("{ping}{json}{body}"),
        format!("{ping}{host}{json}{json}{body}"),
        format!(
            "{ping}{host}Origin: http://localhost\r\nOrigin: http://evil.example\r\n{json}{body}"
        ),
        format!("{ping}{host}{json}Content-Length: 3\r\n{body}"),
        format!("{ping}{host}{json}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n{body}"),
        format!(
            "POST http://evil.example/v1/system.ping HTTP/1.1\r\nConnection: close\r\n{host}{json}{body}"
        ),
        format!(
            "POST http://127.0.0.1/v1/system.ping HTTP/1.1\r\nConnection: close\r\n{host}{json}{body}"
        ),
    ] {
        let (status, text) = status(&bad);
        assert_eq!(status, "400", "{bad}\n{text}");
    }
    for good in [
        format!("{ping}{host}{json}{body}"),
        format!(
            "POST http://localhost/v1/system.ping HTTP/1.1\r\nConnection: close\r\n{host}{json}{body}"
        ),
        format!("{ping}{host}{json}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"),
    ] {
        let (status, text) = status(&good);
        assert_eq!(status, "200", "{good}\n{text}");
    }
}

#[test]
fn two_requests_of_a_session_with_one_id() {
    let context = TestContext::new();
    let web = context.serve();
    let accept = ("Accept", "application/json, text/event-stream");
    let post = |session: Option<&str>, message: &Value| {
        let mut headers = vec![JSON, accept];
        headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
        web.request("POST", "/mcp", &headers, &message.to_string())
    };
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let reply = post(None, &hello);
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(Some(&session), &ready).status, 202);
    let (started, until) = (context.path("started"), context.path("until"));
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "py_call", "arguments": {"function": "things:block", "params": [started, until]}}});
    std::thread::scope(|scope| {
        let first = scope.spawn(|| post(Some(&session), &call));
        wait_for_file(&started);
        let list = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list"});
        let second = post(Some(&session), &list);
        assert_eq!(second.status, 400, "{second:?}");
        assert_eq!(
            (&second.json()["id"], &second.json()["error"]["code"]),
            (&json!(5), &json!(-32600))
        );
        std::fs::write(&until, "").unwrap();
        let first = first.join().unwrap();
        assert_eq!(first.status, 200, "{first:?}");
        assert!(first.body.contains("\"isError\":false"), "{first:?}");
        assert_eq!(post(Some(&session), &list).status, 200, "it is free again");
    });
}
