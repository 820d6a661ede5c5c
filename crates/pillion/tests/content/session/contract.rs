//! The routes of the contract, row by row: what they take, what they give, how they refuse.

use std::collections::BTreeSet;

use pillion_testing::{CommandOutput, web::Web};
use serde_json::{Value, json};

use super::client::{JSON, detail, good, refused};
use super::model_server::{Act, Agent, ModelServer, memo_answer};
use super::world::{CHAPTER, World, write_all};

#[test]
fn a_desktop_finds_what_it_checks_before_it_begins() {
    let world = World::new();
    let client = world.serve();
    let contract = client.preflight();
    // It lists what is served, all of it and nothing else.
    let listed: BTreeSet<String> = contract["routes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|route| {
            let text = |name: &str| route[name].as_str().unwrap().to_owned();
            format!("{} {}", text("method"), text("path"))
        })
        .collect();
    let document = good(&client.get("/openapi.json"));
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            // All operations by their own names are one route.
            let path = if path.starts_with("/v1/") {
                "/v1/{operation}"
            } else {
                path
            };
            let route = format!("{} {path}", method.to_uppercase());
            assert!(listed.contains(&route), "{route} is served, but not listed");
        }
    }
    for route in &listed {
        let (method, path) = route.split_once(' ').unwrap();
        let path = path.replace(['{', '}'], "");
        if route.contains("/shutdown") || route.contains("system.shutdown") {
            continue;
        }
        let asked = if method == "GET" && !path.ends_with("stream") {
            client.get(&path)
        } else {
            // Of what changes something only whether it is there.
            client.web.request("OPTIONS", &path, &PREFLIGHT, "")
        };
        assert_ne!(asked.status, 405, "{route}");
        let missing = asked.status == 404 && asked.body.contains("no such page");
        assert!(!missing, "{route} is listed, but not served");
    }
    for path in ["/stats", "/metrics", "/docs"] {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
}

const PREFLIGHT: [(&str, &str); 3] = [
    ("Origin", "null"),
    ("Access-Control-Request-Method", "POST"),
    ("Access-Control-Request-Headers", "content-type"),
];

#[test]
fn a_session_is_made_on_a_chapter() {
    let world = World::new();
    let client = world.serve();
    let made = good(&client.post("/api/session/new", json!({ "chapter_id": CHAPTER })));
    assert_eq!(made["workspace"]["has_starter_code"], true, "{made}");
    assert_eq!(made["workspace"]["has_datasets"], true, "{made}");
    let files = made["workspace"]["files"].as_array().unwrap();
    let starter = json!({ "name": "starter.py", "source": "bundle" });
    assert!(files.contains(&starter), "{made}");
    assert!(!made.to_string().contains("solution"), "{made}");
    let session = made["session_id"].as_str().unwrap();
    assert!(
        !world
            .folder(session)
            .join("user_workspace/solution.py")
            .exists()
    );
    assert!(
        world
            .folder(session)
            .join("user_workspace/starter.py")
            .exists()
    );
    assert!(
        world
            .folder(session)
            .join("working_files/sales.csv")
            .exists()
    );
    // Without what is optional, and with what nobody knows.
    let alone = client.create_with(json!({ "chapter_id": "alone", "colour": "green",
        "desktop_context": { "bundle_paths": { "expert_bundle_paths": {} }, "more": [1] } }));
    let state = client.state(&alone);
    assert_eq!(state["chapter_id"], "alone", "{state}");
    assert_eq!(state["turn_index"], 0);
    // With a name of its own, once.
    let named = json!({ "chapter_id": CHAPTER, "session_id": "Mine_1.a-b" });
    assert_eq!(client.create_with(named.clone()), "Mine_1.a-b");
    client.turn("Mine_1.a-b", "hello");
    detail(&client.post("/api/session/new", named), 409);
    assert_eq!(client.history("Mine_1.a-b").len(), 1, "left as it was");
}

#[test]
fn a_session_is_made_from_bundles_of_the_desktop() {
    let world = World::new();
    let bundles = world.context.base.join("bundles");
    write_all(
        &bundles.join("chapter/content/curriculum/courses/c/chapters/bundled"),
        &[
            (
                "prompts/chapter_context.md",
                "# From prompts\n\nWHAT-PROMPTS-SAY\n",
            ),
            ("chapter_context.md", "# Beside\n\nWHAT-THE-FOLDER-SAYS\n"),
            ("task_list.md", "- **b1** Bundled task\n"),
            ("task_completion_principles.md", "Done is done.\n"),
            ("consultation_config.yaml", "available_experts: [guest]\n"),
        ],
    );
    write_all(
        &bundles.join("guest"),
        &[(
            "principles.md",
            "---\nexpert_id: guest\ntitle: Guest\n---\n\nBe kind.\n",
        )],
    );
    let client = world.serve();
    let context = json!({
        "bundle_paths": {
            "chapter_bundle_path": bundles.join("chapter"),
            "expert_bundle_paths": { "guest": bundles.join("guest") },
        },
        "prompt_sources": {},
        "chapter_scope": { "scope_id": "s", "course_id": "c" },
    });
    let session =
        client.create_with(json!({ "chapter_id": "c/bundled", "desktop_context": context }));
    client.turn(&session, "hello");
    let text = world.model.wait_for(Agent::Companion, 1).text();
    assert!(
        text.contains("WHAT-PROMPTS-SAY"),
        "`prompts/` comes first: {text}"
    );
    assert!(!text.contains("WHAT-THE-FOLDER-SAYS"), "{text}");
    let status = &client.state(&session)["subtask_status"];
    assert!(status["b1"]["status"].is_string(), "{status}");
    // A bundle that is not there is no session.
    let mut wrong = context;
    wrong["bundle_paths"]["chapter_bundle_path"] = json!(bundles.join("nowhere"));
    let wrong = json!({ "chapter_id": "c/bundled", "session_id": "w", "desktop_context": wrong });
    let refused = client.post("/api/session/new", wrong);
    assert!((400..500).contains(&refused.status), "{refused:?}");
    assert!(!world.folder("w").exists());
}

#[test]
fn wrong_chapters_are_refused() {
    let world = World::new();
    let client = world.serve();
    let new = |chapter: Value| client.post("/api/session/new", json!({ "chapter_id": chapter }));
    for chapter in [
        "",
        ".",
        "..",
        "../lists",
        "basics/..",
        "a/b/c",
        "/lists",
        "basics/",
        "a b",
        "a\\b",
        "basics/lists\n",
        "é",
        "a\u{0}b",
        "basics//lists",
    ] {
        detail(&new(json!(chapter)), 400);
    }
    for chapter in ["none", "basics/none", "none/lists", "..."] {
        detail(&new(json!(chapter)), 404);
    }
    for chapter in [json!(3), json!(null), json!(["basics/lists"]), json!({})] {
        assert_eq!(refused(&new(chapter)), [json!(["body", "chapter_id"])]);
    }
    let missing = client.post("/api/session/new", json!({}));
    assert_eq!(refused(&missing), [json!(["body", "chapter_id"])]);
    for body in ["{", "", "[]", "null", "\"x\""] {
        let reply = client
            .web
            .request("POST", "/api/session/new", &[JSON], body);
        refused(&reply);
    }
    // A chapter that lacks what it must have.
    let folder = world.context.base.join("curriculum/half");
    write_all(&folder, &[("chapter_context.md", "# Half\n")]);
    let half = new(json!("half"));
    assert!((400..500).contains(&half.status), "{half:?}");
    assert!(half.body.contains("task_list.md"), "{half:?}");
    assert_eq!(client.sessions(), Vec::<Value>::new(), "none was made");
}

#[test]
fn an_unknown_session_is_not_found_but_for_the_stream_and_cancel() {
    let world = World::new();
    let client = world.serve();
    let path = |rest: &str| format!("/api/session/nobody/{rest}");
    for rest in [
        "dynamic_report",
        "dynamic-report",
        "history",
        "state",
        "workspace",
        "workspace/files",
        "workspace/files/a.py",
        "files",
        "code/jobs/1",
    ] {
        detail(&client.get(&path(rest)), 404);
    }
    for (rest, body) in [
        ("reattach", json!({})),
        ("skip-task", json!({})),
        ("end", json!({})),
        ("code/run", json!({ "code": "1" })),
        ("code/jobs", json!({ "code": "1" })),
        ("code/jobs/1/cancel", json!({})),
    ] {
        detail(&client.post(&path(rest), body), 404);
    }
    detail(&client.delete(&path("workspace/files/a.py")), 404);
    detail(&client.delete(&path("files/a.csv")), 404);
    detail(
        &client.put(&path("workspace/files/a.py"), json!({ "content": "" })),
        404,
    );
    detail(&client.upload("nobody", &[("a.csv", "1")]), 404);
    let turn = client.turn("nobody", "hello");
    assert_eq!(turn.types(), ["error"], "{turn:?}");
    client.cancel("nobody");
    assert!(!world.folder("nobody").exists());
}

#[test]
fn messages_have_one_to_ten_thousand_characters() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let place = [json!(["body", "message"])];
    let long = "a".repeat(10_001);
    for message in ["", &long] {
        let reply = client.try_say(&session, message).err().unwrap();
        assert_eq!(refused(&reply), place);
    }
    let path = format!("/api/session/{session}/message/stream");
    for body in [
        json!({}),
        json!({ "message": 3 }),
        json!({ "message": null }),
    ] {
        assert_eq!(refused(&client.post(&path, body)), place);
    }
    assert_eq!(world.model.all().len(), 0);
    // Characters, not bytes.
    let most = "列".repeat(10_000);
    client.turn(&session, &most);
    assert_eq!(client.said(&session)[0].0, most);
}

#[test]
fn reports_histories_and_states_are_told() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    assert_eq!(client.report(&session), "");
    assert_eq!(client.history(&session), Vec::<Value>::new());
    world.model.on(Agent::Memo, |_| {
        Act::say(memo_answer("# Prices\n\n- likes pears"))
    });
    let turn = client.turn(&session, "what is a list?");
    // It is final when the turn is complete.
    assert_eq!(client.report(&session), "# Prices\n\n- likes pears");
    let other = good(&client.get(&format!("/api/session/{session}/dynamic-report")));
    assert_eq!(other["report"], "# Prices\n\n- likes pears");
    let history = client.history(&session);
    assert_eq!(history.len(), 1);
    assert_eq!(history[0]["turn_index"], 0);
    assert_eq!(history[0]["user_message"], "what is a list?");
    let told = history[0]["companion_response"].as_str().unwrap();
    assert_eq!(told.trim(), turn.shown().trim());
    assert_eq!(history[0]["turn_outcome"]["progress_record"], "a beginning");
    let (input, output) = Agent::Companion.usage();
    let used = json!({ "input_tokens": input, "output_tokens": output });
    assert_eq!(history[0]["token_usage"]["CA"], used, "{history:?}");
    let state = client.state(&session);
    assert_eq!(state["turn_index"], 1);
    for (member, kind) in [
        ("subtask_status", "object"),
        ("end_suggested", "boolean"),
        ("end_confirmed", "boolean"),
        ("constraints", "object"),
        ("current_instruction_version", "number"),
        ("attempts_since_last_progress", "number"),
        ("last_progress_turn", "number"),
        ("consecutive_skips", "number"),
        ("skip_log", "array"),
        ("awaiting_skip_reason", "boolean"),
    ] {
        let value = &state[member];
        let found = match value {
            Value::Object(_) => "object",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::Array(_) => "array",
            _ => "another",
        };
        assert_eq!(found, kind, "{member}: {state}");
    }
    let constraints = json!({ "max_input_length": 10000,
        "batch_error_log_every_n_turns": 5, "max_attempts_before_unlock": 3 });
    assert_eq!(state["constraints"], constraints);
    assert!(
        state
            .as_object()
            .unwrap()
            .contains_key("current_subtask_id"),
        "{state}"
    );
    // Beside it are the titles of the tasks.
    let stand = good(&client.get(&format!("/api/session/{session}/state")));
    let task = |id: &str, title: &str| json!({ "id": id, "title": title });
    assert_eq!(
        stand["tasks"],
        json!([
            task("t1", "Make a list"),
            task("t2", "Add it up"),
            task("t3", "Explain it")
        ])
    );
}

#[test]
fn sessions_are_listed_newest_first() {
    let world = World::new();
    let client = world.serve();
    assert_eq!(client.sessions(), Vec::<Value>::new());
    let names = ["first", "second", "third"];
    for name in names {
        client.create_with(json!({ "chapter_id": CHAPTER, "session_id": name }));
    }
    client.turn("second", "hello");
    let listed = client.sessions();
    let mut ids: Vec<&str> = listed
        .iter()
        .map(|one| one["session_id"].as_str().unwrap())
        .collect();
    // By when they were made, or by when they were last used.
    let newest = ids[0];
    assert!(["third", "second"].contains(&newest), "{listed:?}");
    assert_ne!(ids[2], newest);
    assert_eq!(
        ids.iter().rposition(|id| *id == "first"),
        Some(2),
        "{listed:?}"
    );
    ids.sort_unstable();
    assert_eq!(ids, names);
    let second = listed
        .iter()
        .find(|one| one["session_id"] == "second")
        .unwrap();
    assert_eq!(
        (&second["turn_index"], &second["chapter_id"]),
        (&json!(1), &json!(CHAPTER))
    );
}

#[test]
fn a_session_is_ended_again_and_again() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let early = client.end(&session);
    assert!(!early.trim().is_empty());
    client.turn(&session, "hello");
    let report = client.end(&session);
    assert!(!report.trim().is_empty());
    assert_eq!(client.end(&session), report);
    let written = world.folder(&session).join("final_learning_report.md");
    assert_eq!(
        std::fs::read_to_string(written).unwrap().trim_end(),
        report.trim_end()
    );
    assert_eq!(client.history(&session).len(), 1);
}

#[test]
fn courses_and_chapters_are_listed() {
    let world = World::new();
    let client = world.serve();
    let courses = good(&client.get("/api/courses"));
    assert!(courses.to_string().contains("\"basics\""), "{courses}");
    let chapters = good(&client.get("/api/courses/basics/chapters"));
    assert!(chapters.to_string().contains("lists"), "{chapters}");
    let all = good(&client.get("/api/chapters"));
    assert!(
        all.to_string().contains("lists") && all.to_string().contains("alone"),
        "{all}"
    );
    detail(&client.get("/api/courses/none/chapters"), 404);
    detail(&client.get("/api/courses/%2e%2e/chapters"), 400);
}

#[test]
fn only_the_desktops_origins_are_let_in() {
    let world = World::new();
    let client = world.serve();
    let path = "/api/session/new";
    let body = json!({ "chapter_id": CHAPTER }).to_string();
    for origin in ["null", "http://localhost:3000"] {
        let asked = [("Origin", origin), PREFLIGHT[1], PREFLIGHT[2]];
        let reply = client.web.request("OPTIONS", path, &asked, "");
        assert!([200, 204].contains(&reply.status), "{origin}: {reply:?}");
        assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
        let allowed = |name: &str| reply.header(name).unwrap_or_default().to_lowercase();
        assert!(
            allowed("access-control-allow-methods").contains("post"),
            "{reply:?}"
        );
        assert!(
            allowed("access-control-allow-headers").contains("content-type"),
            "{reply:?}"
        );
        let reply = client
            .web
            .request("POST", path, &[JSON, ("Origin", origin)], &body);
        assert_eq!(reply.status, 200, "{origin}: {reply:?}");
        assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
        let vary = reply.header("vary").unwrap_or_default().to_lowercase();
        assert!(vary.contains("origin"), "{reply:?}");
        let error = client
            .web
            .request("GET", "/api/session/x/state", &[("Origin", origin)], "");
        assert_eq!(error.status, 404);
        assert_eq!(
            error.header("access-control-allow-origin"),
            Some(origin),
            "errors are read too"
        );
    }
    let before = client.sessions().len();
    for origin in [
        "http://evil.example",
        "http://localhost:3001",
        "https://localhost:3000",
        "http://localhost:3000.evil.example",
        "http://127.0.0.1:3000",
        "file://",
        "NULL",
        "",
    ] {
        let asked = [("Origin", origin), PREFLIGHT[1], PREFLIGHT[2]];
        for reply in [
            client.web.request("OPTIONS", path, &asked, ""),
            client
                .web
                .request("POST", path, &[JSON, ("Origin", origin)], &body),
            client
                .web
                .request("GET", "/health", &[("Origin", origin)], ""),
        ] {
            assert!((400..500).contains(&reply.status), "{origin}: {reply:?}");
            assert_eq!(
                reply.header("access-control-allow-origin"),
                None,
                "{origin}"
            );
        }
    }
    assert_eq!(client.sessions().len(), before, "refused, but done");
}

#[test]
fn a_token_is_asked_for_where_there_is_one() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let file = world
        .context
        .write("token", "it-is-me-0123456789abcdef0123456789\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = world.command();
    command.arg("--token-file").arg(&file);
    let web = Web::start(command);
    let ask = |headers: &[(&str, &str)]| web.request("GET", "/api/sessions", headers, "").status;
    assert_eq!(ask(&[]), 401);
    assert_eq!(ask(&[("Authorization", "Bearer another")]), 401);
    let right = (
        "Authorization",
        "Bearer it-is-me-0123456789abcdef0123456789",
    );
    assert_eq!(ask(&[right]), 200);
    assert_eq!(ask(&[right, ("Origin", "null")]), 200);
    assert_eq!(ask(&[right, ("Origin", "http://evil.example")]), 403);
    drop(web);
    // Beyond loopback there must be one.
    let mut command = world
        .context
        .pillion_command(&["serve", "--desktop", "--port", "0"]);
    command.args(["--host", "0.0.0.0"]);
    let refused = CommandOutput::of(command);
    assert_ne!(refused.code, Some(0), "{refused}");
    assert!(refused.stderr.contains("token"), "{refused}");
}

#[test]
fn the_environment_of_the_launch_is_heard() {
    let model = ModelServer::start();
    let mut world = World::without_model(model);
    let log = world.context.base.join("desktop.log");
    world.context.set_env("LOG_FILE", &log);
    world.context.set_env("HOST", "127.0.0.1");
    world.context.set_env("PORT", "0");
    let web = Web::start(world.context.pillion_command(&["serve", "--desktop"]));
    assert_eq!(web.get("/health").json()["status"], "healthy");
    drop(web);
    assert!(log.exists());
    // Code runs with the Python that the desktop brings along.
    let mut which = world.context.command("python3");
    which.args(["-c", "import sys; print(sys.executable)"]);
    let python = CommandOutput::of(which).stdout;
    let runtime = world.context.base.join("runtime");
    std::fs::create_dir_all(runtime.join("bin")).unwrap();
    std::os::unix::fs::symlink(python.trim(), runtime.join("bin/python3")).unwrap();
    world.context.set_env("PYTHON_RUNTIME_ROOT", &runtime);
    let client = world.serve();
    let session = client.create(CHAPTER);
    let code = json!({ "code": "import sys; print(sys.executable)" });
    let run = client.run(&session, code);
    let expected = format!("{}\n", runtime.join("bin/python3").display());
    assert_eq!(run["stdout"], expected, "{run}");
}
