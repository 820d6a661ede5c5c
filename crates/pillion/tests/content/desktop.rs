//! `pillion serve --desktop`: the engine of a desktop app, as the app starts it and asks it.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use pillion_testing::web::{HttpReply, Web};
use pillion_testing::{CommandOutput, DEADLINE, TestContext, processes, wait_for, wait_until};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn desktop(context: &TestContext) -> Web {
    Web::start(context.pillion_command(&["serve", "--desktop", "--port", "0"]))
}

fn post(web: &Web, path: &str, body: Value) -> HttpReply {
    web.request("POST", path, &[JSON], &body.to_string())
}

#[test]
fn it_is_healthy_and_tells_its_contract() {
    let context = TestContext::new();
    let web = desktop(&context);
    let health = web.get("/health");
    assert_eq!(
        (health.status, &health.json()["status"]),
        (200, &json!("healthy"))
    );
    let contract = web.get("/api/contract").json();
    assert_eq!(contract["contract_version"], "v1");
    assert_eq!(contract["api_version"], env!("CARGO_PKG_VERSION"));
    let routes = contract["routes"].as_array().unwrap();
    let named = |method: &str, path: &str| {
        let mut found = routes
            .iter()
            .filter(|route| route["method"] == method && route["path"] == path);
        let one = found.next().cloned().unwrap_or_default();
        assert!(found.next().is_none(), "{method} {path} twice");
        one
    };
    assert_eq!(named("GET", "/health")["stability"], "frozen");
    assert_eq!(named("GET", "/api/contract")["stability"], "frozen");
    let session = "/api/session/{session_id}";
    for (method, path, source) in [
        ("POST", "code/run", "exec.run"),
        ("POST", "code/jobs", "exec.start"),
        ("GET", "code/jobs/{job_id}", "exec.job"),
        ("POST", "code/jobs/{job_id}/cancel", "exec.cancel"),
        ("GET", "code/jobs/{job_id}/stream", "exec.stream"),
        ("POST", "notebook/cell/run", "notebook.run_cell"),
        ("POST", "notebook/cell/stream", "notebook.stream"),
        ("POST", "notebook/reset", "notebook.reset"),
        ("POST", "notebook/restart", "notebook.restart"),
        ("POST", "notebook/interrupt", "notebook.interrupt"),
        ("POST", "notebook/shutdown", "notebook.shutdown"),
        ("POST", "notebook/run", "notebook.run"),
        ("POST", "notebook/input", "notebook.input"),
        ("GET", "notebook", "notebook.status"),
    ] {
        assert_eq!(
            named(method, &format!("{session}/{path}"))["source"],
            source
        );
    }
    for (method, path) in [
        ("GET", "/stats"),
        ("GET", "/metrics"),
        ("POST", "/shutdown"),
    ] {
        assert!(named(method, path).is_object(), "{path}");
    }
    // Jupyter's clients have kernels here, and no sessions.
    assert_eq!(named("GET", "/api/kernels")["source"], "kernel.list");
    let of_jupyter = |route: &&Value| {
        let is_of_sessions = route["path"].as_str().unwrap().starts_with("/api/sessions");
        is_of_sessions && route["source"].as_str().unwrap().starts_with("kernel.")
    };
    assert_eq!(routes.iter().find(of_jupyter), None);
    assert_eq!(
        web.request("DELETE", "/api/sessions/x", &[], "").status,
        404
    );
    // What is told is what is described.
    let paths = web.get("/openapi.json").json()["paths"].clone();
    for route in routes {
        let path = route["path"].as_str().unwrap();
        if path.starts_with("/api/") {
            let method = route["method"].as_str().unwrap().to_lowercase();
            assert!(paths[path][&method].is_object(), "{method} {path}");
        }
    }
}

#[test]
fn its_pages_may_ask_and_no_others() {
    let context = TestContext::new();
    let web = desktop(&context);
    let path = "/api/session/s/code/run";
    for origin in ["null", "http://localhost:3000"] {
        let asks = [
            ("Origin", origin),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "content-type"),
        ];
        let may = web.request("OPTIONS", path, &asks, "");
        assert_eq!(may.status, 200, "{may:?}");
        assert_eq!(may.header("access-control-allow-origin"), Some(origin));
        let names = may.header("access-control-allow-headers").unwrap();
        assert!(names.contains("content-type"), "{names}");
        let health = web.request("GET", "/health", &[("Origin", origin)], "");
        assert_eq!(health.status, 200);
        assert_eq!(health.header("access-control-allow-origin"), Some(origin));
        assert_eq!(health.header("vary"), Some("Origin"));
    }
    let own = format!("http://127.0.0.1:{}", web.port);
    let rebound = format!("evil.example:{}", web.port);
    for header in [
        ("Origin", "https://evil.example"),
        ("Origin", own.as_str()),
        ("Host", rebound.as_str()),
        ("Host", "192.168.1.1"),
    ] {
        let refused = web.request("GET", "/health", &[header], "");
        assert_eq!(refused.status, 403, "{header:?}: {refused:?}");
        assert_eq!(refused.header("access-control-allow-origin"), None);
        let error = refused.json();
        assert_eq!(error["detail"], error["message"], "{error}");
        assert_eq!(error["code"], "unauthorized");
    }
}

#[test]
fn variables_say_where_and_empty_ones_say_nothing() {
    let mut context = TestContext::new();
    let log = context.project.join("logs/engine.log");
    context.set_env("LOG_FILE", &log);
    context.set_env("HOST", "localhost");
    context.set_env("PORT", "0");
    let web = Web::start(context.pillion_command(&["serve", "--desktop"]));
    assert_eq!(web.get("/health").status, 200);
    wait_until("the log", || log.exists());
    drop(web);
    for name in ["HOST", "PORT", "LOG_FILE"] {
        context.set_env(name, "");
    }
    // 8000 may be somebody's: a flag says which.
    let web = desktop(&context);
    assert_eq!(web.get("/health").status, 200);
    drop(web);
    context.set_env("PORT", "no port");
    let refused = context.pillion(&["serve", "--desktop"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("`PORT`"), "{refused}");
}

#[test]
fn off_loopback_there_is_a_token_and_it_is_all_that_counts() {
    let mut context = TestContext::new();
    let refused = context.pillion(&["serve", "--desktop", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("--token-file"), "{refused}");
    context.set_env("HOST", "0.0.0.0");
    let refused = context.pillion(&["serve", "--desktop", "--port", "0"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    context.remove_env("HOST");
    let file = context.write("token", "a-secret-of-ours\n");
    let mode = |bits| std::fs::set_permissions(&file, PermissionsExt::from_mode(bits)).unwrap();
    let words = ["serve", "--desktop", "--port", "0", "--token-file", "token"];
    mode(0o644);
    let refused = context.pillion(&words);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused.stderr.contains("can be read by others"),
        "{refused}"
    );
    mode(0o600);
    let web = Web::start(context.pillion_command(&words));
    // Also for a program of our own.
    let stranger = web.get("/health");
    assert_eq!(stranger.status, 401, "{stranger:?}");
    assert!(stranger.json()["detail"].is_string());
    for (given, status) in [("a-secret-of-ours", 200), ("another", 401)] {
        let bearer = format!("Bearer {given}");
        let reply = web.request("GET", "/health", &[("Authorization", &bearer)], "");
        assert_eq!(reply.status, status, "{reply:?}");
    }
    // A browser asks without it whether a page may send it.
    let asks = [
        ("Origin", "null"),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization"),
    ];
    assert_eq!(web.request("OPTIONS", "/health", &asks, "").status, 200);
    assert!(!web.said().contains("a-secret-of-ours"));
}

#[test]
fn code_of_a_session_runs_within_the_limits_of_the_contract() {
    let context = TestContext::new();
    // Sessions are those of lanes here: nobody has to open one first.
    let web = context.serve();
    let run = |body: Value| post(&web, "/api/session/learner/code/run", body);
    let fine = run(json!({"code": "open('kept', 'w').write('1')\nprint('hi')", "more": 1}));
    assert_eq!(fine.status, 200, "{fine:?}");
    let fine = fine.json();
    assert_eq!(fine["success"], true, "{fine}");
    let found = json!([
        fine["stdout"],
        fine["stderr"],
        fine["returncode"],
        fine["cancelled"]
    ]);
    assert_eq!(found, json!(["hi\n", "", 0, false]));
    assert_eq!(
        (&fine["outcome"], &fine["truncated"]),
        (&json!("ok"), &json!(false))
    );
    assert!(fine["execution_time_ms"].is_number() && fine["limits"].is_array());
    assert_eq!(fine["lane"], "user");
    // Neither the lane nor the session is the body's to say.
    let same = run(json!({
        "code": "print(open('kept').read())", "lane": "expert", "session": "other",
        "memory_limit_mb": null, "file": "x.py",
    }));
    assert_eq!(same.json()["stdout"], "1\n", "{same:?}");
    let late = run(json!({"code": "import time; time.sleep(60)", "timeout_seconds": 1})).json();
    assert_eq!(
        (&late["returncode"], &late["outcome"]),
        (&json!(-1), &json!("timeout"))
    );
    let long = "x".repeat(20_001);
    for (body, kind, member) in [
        (json!({}), "missing", "code"),
        (json!({"code": ""}), "string_too_short", "code"),
        (json!({"code": long}), "string_too_long", "code"),
        (json!({"code": 5}), "string_type", "code"),
        (
            json!({"code": "1", "timeout_seconds": 0}),
            "greater_than_equal",
            "timeout_seconds",
        ),
        (
            json!({"code": "1", "timeout_seconds": 121}),
            "less_than_equal",
            "timeout_seconds",
        ),
        (
            json!({"code": "1", "memory_limit_mb": 63}),
            "greater_than_equal",
            "memory_limit_mb",
        ),
        (
            json!({"code": "1", "memory_limit_mb": 64.5}),
            "int_type",
            "memory_limit_mb",
        ),
    ] {
        let reply = run(body);
        let one = reply.json()["detail"][0].clone();
        assert_eq!(reply.status, 422, "{one}");
        assert_eq!(one["type"], kind, "{one}");
        assert_eq!(one["loc"], json!(["body", member]), "{one}");
        assert!(
            one["msg"].is_string() && one.get("input").is_some(),
            "{one}"
        );
    }
    let broken = web.request("POST", "/api/session/learner/code/run", &[JSON], "{");
    assert_eq!(broken.status, 422);
    assert_eq!(broken.json()["detail"][0]["type"], "json_invalid");
}

#[test]
fn jobs_of_a_session_are_its_own() {
    let context = TestContext::new();
    let web = context.serve();
    let code = "import os, time\nprint('begun', flush=True)\n\
        while not os.path.exists('go'): time.sleep(0.01)";
    let jobs = "/api/session/learner/code/jobs";
    let started = post(&web, jobs, json!({"code": code, "timeout_seconds": 120}));
    assert_eq!(started.status, 200, "{started:?}");
    let job = started.json();
    assert_eq!(job["session_id"], "learner");
    let id = job["job_id"].as_str().unwrap().to_owned();
    let one = format!("{jobs}/{id}");
    wait_until("the job's beginning", || {
        web.get(&one).json()["status"] == "running"
    });
    assert_eq!(web.get(&one).json()["result"], Value::Null);
    let others = format!("/api/session/other/code/jobs/{id}");
    for (method, path) in [
        ("GET", others.clone()),
        ("POST", format!("{others}/cancel")),
        ("GET", format!("{others}/stream")),
        ("GET", format!("{jobs}/none")),
        ("GET", format!("{jobs}/none/stream")),
    ] {
        let reply = web.request(method, &path, &[], "");
        assert_eq!(reply.status, 404, "{method} {path}: {reply:?}");
        assert!(reply.json()["detail"].is_string(), "{reply:?}");
    }
    let go = json!({"code": "open('go', 'w')"});
    let went = post(&web, "/api/session/learner/code/run", go);
    assert_eq!(went.json()["success"], true, "{went:?}");
    // A stream ends with the job.
    let told = web.get(&format!("{one}/stream"));
    assert_eq!(told.header("content-type"), Some("text/event-stream"));
    assert_eq!(told.header("cache-control"), Some("no-cache"));
    assert_eq!(told.header("x-accel-buffering"), Some("no"));
    let frames = told
        .body
        .split("\n\n")
        .filter(|frame| frame.starts_with("data: "));
    let events: Vec<Value> = frames
        .map(|frame| serde_json::from_str(&frame[6..]).unwrap())
        .collect();
    let output = json!({"type": "output", "stream": "stdout", "text": "begun\n"});
    assert_eq!(events[0], output, "{events:?}");
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["status"]),
        (&json!("complete"), &json!("succeeded"))
    );
    assert_eq!(web.get(&one).json()["result"]["stdout"], "begun\n");
    let again = web
        .request("POST", &format!("{one}/cancel"), &[], "")
        .json();
    assert_eq!(
        (&again["cancelled"], &again["status"]),
        (&json!(false), &json!("succeeded"))
    );
    let endless = post(&web, jobs, json!({"code": "while True: pass"})).json();
    let endless = format!("{jobs}/{}", endless["job_id"].as_str().unwrap());
    let ended = web
        .request("POST", &format!("{endless}/cancel"), &[], "")
        .json();
    assert_eq!(
        (&ended["cancelled"], &ended["status"]),
        (&json!(true), &json!("cancelled"))
    );
}

#[test]
fn it_is_healthy_while_code_runs() {
    let context = TestContext::new();
    let web = desktop(&context);
    let code = "import os, time\nopen('begun', 'w')\n\
        while not os.path.exists('go'): time.sleep(0.01)";
    let run = |code: &str| {
        let params = json!({"code": code, "lane": "user", "timeout_seconds": 60});
        web.post("exec.run", &params).json()
    };
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| run(code));
        wait_until("the run's beginning", || {
            let begun = run("import os; print(os.path.exists('begun'))");
            begun["stdout"] == "True\n"
        });
        assert!(!busy.is_finished());
        assert_eq!(web.get("/health").json()["status"], "healthy");
        assert_eq!(run("open('go', 'w')")["success"], true);
        assert_eq!(busy.join().unwrap()["success"], true);
    });
}

#[test]
fn what_a_desktop_starts_as_uvicorn_is_pillion() {
    let context = TestContext::new();
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/desktop");
    let start = |words: &[&str]| {
        let mut command = context.command("python3");
        command
            .args(["-m", "uvicorn", "app.server.main:app"])
            .args(words)
            .env("PYTHONPATH", &tree)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PILLION_BIN", env!("CARGO_BIN_EXE_pillion"));
        command
    };
    let mut child = start(&["--host", "127.0.0.1", "--port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on http://127.0.0.1:"), "{line}");
    // The process that was started is pillion now.
    let program = std::fs::read_link(format!("/proc/{}/exe", child.id())).unwrap();
    let pillion = std::fs::canonicalize(env!("CARGO_BIN_EXE_pillion")).unwrap();
    assert_eq!(program, pillion);
    processes::terminate(child.id());
    let status = wait_for(DEADLINE, "its end", || {
        child.try_wait().unwrap().ok_or("it runs")
    });
    assert_eq!(status.code(), Some(0));
    let mut rest = String::new();
    said.read_line(&mut rest).unwrap();
    assert_eq!(rest, "", "nothing else is said");
    let refused = CommandOutput::of(start(&["--port", "no"]));
    assert_eq!(refused.code, Some(2), "{refused}");
}
