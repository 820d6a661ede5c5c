//! The contract's edges on HTTP and on the socket.

use pillion_testing::project::{TestProject, bare, fixture, members, places, post};
use serde_json::json;

const ROUTES: &[&str] = &["defs", "refs", "hover", "occurrences"];

#[test]
fn a_file_outside_of_the_root_is_forbidden() {
    let context = fixture("hover");
    std::fs::write(context.base.join("secret.py"), "x = 1\n").unwrap();
    let web = context.serve();
    for file in ["../secret.py", "/etc/hostname", "../nosuch.py"] {
        let place = json!({"file": file, "line": 1, "col": 1});
        for route in ROUTES {
            for (reply, way) in [
                (post(&web, &format!("/{route}"), &place), "old"),
                (web.post(&format!("code.{route}"), &place), "/v1"),
            ] {
                assert_eq!(reply.status, 403, "{way} {route} {file}: {reply:?}");
                assert_eq!(reply.json()["code"], "outside_root");
            }
        }
        let reply = post(&web, "/list", &json!({"path": file}));
        assert_eq!(reply.status, 403, "{reply:?}");
        let reply = post(&web, "/grep", &json!({"path": file, "pattern": "x"}));
        assert_eq!(reply.status, 403, "{reply:?}");
    }
}

#[test]
fn a_missing_file_is_400_on_the_old_routes_and_404_on_the_new() {
    let context = fixture("hover");
    let web = context.serve();
    let place = json!({"file": "nosuch.py", "line": 1, "col": 1});
    for route in ROUTES {
        let old = post(&web, &format!("/{route}"), &place);
        assert_eq!(
            (old.status, &old.json()["code"]),
            (400, &json!("not_found")),
            "{route}"
        );
        let new = web.post(&format!("code.{route}"), &place);
        assert_eq!(
            (new.status, &new.json()["code"]),
            (404, &json!("not_found")),
            "{route}"
        );
    }
    let folder = json!({"file": ".", "line": 1, "col": 1});
    let reply = post(&web, "/defs", &folder);
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (400, &json!("not_found"))
    );
    let missing = json!({"path": "nosuch"});
    assert_eq!(post(&web, "/list", &missing).status, 400);
    let no_root = json!({"root": "/nosuch", "file": "a.py", "line": 1, "col": 1});
    assert_eq!(post(&web, "/defs", &no_root).status, 400);
}

#[test]
fn a_body_that_does_not_fit_is_422() {
    let context = fixture("hover");
    let web = context.serve();
    for body in [
        json!({"file": "app.py", "line": 1, "col": 1, "colour": "red"}),
        json!({"file": "app.py", "line": 1}),
        json!({"line": 1, "col": 1}),
        json!({}),
        json!({"file": "app.py", "line": 0, "col": 1}),
        json!({"file": "app.py", "line": 1, "col": 0}),
        json!({"file": "app.py", "line": -1, "col": 1}),
        json!({"file": "app.py", "line": "1", "col": 1}),
        json!({"file": 3, "line": 1, "col": 1}),
        json!({"file": "app.py", "line": 1, "col": 1, "format": "xml"}),
        json!({"positions": []}),
        json!({"file": "app.py", "line": 1, "col": 1, "timeout_ms": 0}),
    ] {
        for route in ROUTES {
            let reply = post(&web, &format!("/{route}"), &body);
            assert_eq!(reply.status, 422, "{route} {body}: {reply:?}");
            assert_eq!(reply.json()["code"], "invalid_params", "{route} {body}");
        }
    }
    for (route, body) in [
        ("/list", json!({"path": "app.py", "deep": 1})),
        ("/list", json!({"path": "app.py", "depth": "all"})),
        ("/grep", json!({})),
        ("/grep", json!({"pattern": "x", "paths": []})),
    ] {
        let reply = post(&web, route, &body);
        assert_eq!(reply.status, 422, "{route} {body}: {reply:?}");
    }
}

#[test]
fn a_position_past_the_end_or_on_nothing_is_empty() {
    let context = fixture("hover");
    let web = context.serve();
    let things = std::fs::read_to_string(context.project.join("things.py")).unwrap();
    let lines = things.lines().count();
    for (line, col) in [
        (lines + 1, 1),
        (9_999_999, 1),
        (1, 9_999_999),
        (2, 1),
        (u32::MAX as usize, u32::MAX),
    ] {
        let place = json!({"file": "things.py", "line": line, "col": col});
        for route in ["defs", "refs", "occurrences"] {
            let reply = post(&web, &format!("/{route}"), &place);
            assert_eq!(reply.status, 200, "{route} {line}:{col}: {reply:?}");
            let answer = reply.json();
            assert_eq!(answer["locations"], json!([]), "{route} {line}:{col}");
            assert_eq!(
                (&answer["total"], &answer["truncated"]),
                (&json!(0), &json!(false))
            );
        }
        let hover = post(&web, "/hover", &place);
        assert_eq!(hover.status, 200, "{line}:{col}: {hover:?}");
        assert_eq!(hover.json()["name"], json!(null), "{line}:{col}");
        for operation in [
            "implementations",
            "callers",
            "callees",
            "type_hierarchy",
            "at",
        ] {
            let reply = web.post(&format!("code.{operation}"), &place);
            assert_eq!(reply.status, 200, "{operation} {line}:{col}: {reply:?}");
        }
    }
}

/// Every wrong input of a refactoring that the contract names, on its own routes.
#[test]
fn wrong_refactorings_get_the_status_of_their_mistake() {
    let context = bare();
    let text =
        "import os\n\n\nclass Cart:\n    total = 1\n\n\ndef pay(cart):\n    return len(cart)\n";
    context.write("shop.py", text);
    let web = context.serve();
    let rename = |line: u32, col: u32, name: &str| json!({ "file": "shop.py", "line": line, "col": col, "new_name": name });
    let to = |line: u32, col: u32, file: &str| json!({ "file": file, "line": line, "col": col, "dest_file": "other.py" });
    let lines = |first: u32, last: u32, key: &str, name: &str| json!({ "file": "shop.py", "start_line": first, "end_line": last, key: name });
    for (route, body, status, code) in [
        // A position past the end or on nothing.
        ("/rename", rename(99, 1, "x"), 400, "not_found"),
        ("/rename", rename(1, 99, "x"), 400, "not_found"),
        ("/rename", rename(2, 1, "x"), 400, "not_found"),
        ("/rename", rename(4, 1, "x"), 400, "not_found"),
        ("/move", to(99, 1, "shop.py"), 400, "not_found"),
        ("/move", to(2, 1, "shop.py"), 400, "not_found"),
        (
            "/extract-method",
            lines(98, 99, "method_name", "x"),
            400,
            "not_found",
        ),
        (
            "/extract-method",
            lines(2, 2, "method_name", "x"),
            400,
            "not_found",
        ),
        (
            "/extract-var",
            lines(99, 99, "var_name", "x"),
            400,
            "not_found",
        ),
        (
            "/extract-var",
            lines(2, 2, "var_name", "x"),
            400,
            "not_found",
        ),
        // A file that is not there, or not ours.
        (
            "/rename",
            json!({ "file": "no.py", "line": 1, "col": 1, "new_name": "x" }),
            400,
            "not_found",
        ),
        ("/move", to(1, 1, "no.py"), 400, "not_found"),
        (
            "/organize-imports",
            json!({ "path": "no.py" }),
            400,
            "not_found",
        ),
        ("/move", to(1, 1, "/etc/hostname"), 403, "outside_root"),
        // Names that are none, keywords, taken, or not ours.
        ("/rename", rename(4, 7, "1bad name"), 422, "invalid_params"),
        ("/rename", rename(4, 7, ""), 422, "invalid_params"),
        ("/rename", rename(4, 7, "class"), 422, "invalid_params"),
        ("/rename", rename(9, 12, "size"), 422, "invalid_params"),
        ("/rename", rename(4, 7, "pay"), 409, "conflict"),
        (
            "/extract-method",
            lines(9, 9, "method_name", "1bad"),
            422,
            "invalid_params",
        ),
        (
            "/extract-method",
            lines(9, 9, "method_name", "Cart"),
            409,
            "conflict",
        ),
        (
            "/extract-var",
            lines(9, 9, "var_name", "class"),
            422,
            "invalid_params",
        ),
        // Bodies that do not fit.
        (
            "/rename",
            json!({ "file": "shop.py", "line": 4 }),
            422,
            "invalid_params",
        ),
        (
            "/move",
            json!({ "file": "shop.py", "line": 4, "col": 7 }),
            422,
            "invalid_params",
        ),
        ("/codemod", json!({}), 422, "invalid_params"),
    ] {
        let reply = post(&web, route, &body);
        assert_eq!(reply.status, status, "{route} {body}: {reply:?}");
        assert_eq!(reply.json()["code"], code, "{route} {body}: {reply:?}");
    }
    assert_eq!(
        std::fs::read_to_string(context.project.join("shop.py")).unwrap(),
        text
    );
}

#[test]
fn several_positions_are_answered_each_for_itself() {
    let context = fixture("hover");
    let web = context.serve();
    let body = json!({"positions": [
        {"file": "app.py", "line": 1, "col": 8},
        {"file": "nosuch.py", "line": 1, "col": 1},
        {"file": "../out.py", "line": 1, "col": 1},
        {"file": "app.py", "line": 0, "col": 1},
        {"file": "things.py", "line": 7, "col": 5},
    ]});
    let reply = post(&web, "/defs", &body);
    assert_eq!(reply.status, 200, "{reply:?}");
    let results = reply.json()["results"].clone();
    assert_eq!(places(&results[0]["locations"]), ["things.py:1:1"]);
    assert_eq!(results[1]["error"]["code"], "not_found", "{results:#}");
    assert_eq!(results[2]["error"]["code"], "outside_root", "{results:#}");
    assert_eq!(results[3]["error"]["code"], "invalid_params", "{results:#}");
    assert_eq!(places(&results[4]["locations"]), ["things.py:7:5"]);
    let both = json!({"file": "app.py", "line": 1, "col": 8, "positions": body["positions"]});
    assert_eq!(post(&web, "/defs", &both).status, 422);
    let neither = post(&web, "/defs", &json!({"positions": [{"at": "things"}]}));
    assert_eq!(neither.status, 422);
    let told = neither.json()["message"].to_string();
    assert!(told.contains("a position is text such as"), "{told}");
    let first_is_missing = json!({"positions": [
        {"file": "nosuch.py", "line": 1, "col": 1},
        {"file": "app.py", "line": 1, "col": 8},
    ]});
    let results = post(&web, "/hover", &first_is_missing).json()["results"].clone();
    assert_eq!(results[0]["error"]["code"], "not_found");
    assert_eq!(results[1]["name"], "things");
}

#[test]
fn an_answer_can_be_text() {
    let mut project = TestProject::open("hover");
    let place = json!({"file": "app.py", "line": 1, "col": 8, "format": "text"});
    let defs = project.ask("defs", place.clone());
    assert_eq!(
        defs,
        json!({"text": "things.py:1:1  \"\"\"Things to look at.\"\"\"  (module)"})
    );
    for operation in [
        "refs",
        "hover",
        "occurrences",
        "implementations",
        "callers",
        "callees",
        "type_hierarchy",
        "at",
    ] {
        let answer = project.ask(operation, place.clone());
        let members: Vec<_> = answer.as_object().unwrap().keys().collect();
        assert_eq!(members, ["text"], "{operation}: {answer}");
    }
    let listed = project.ask("list", json!({"path": "app.py", "format": "text"}));
    assert!(
        listed["text"].as_str().unwrap().starts_with("app.py\n"),
        "{listed}"
    );
    let found = project.ask("grep", json!({"pattern": "LIMIT = 3", "format": "text"}));
    assert_eq!(found, json!({"text": "things.py:3:1  LIMIT = 3"}));
}

#[test]
fn every_door_gives_the_same_answer() {
    let context = fixture("references");
    let (daemon, web) = (context.daemon(), context.serve());
    let place = json!({"file": "model.py", "line": 1, "col": 7});
    let mut with_root = place.clone();
    with_root["root"] = json!(context.project);
    for operation in [
        "code.defs",
        "code.refs",
        "code.hover",
        "code.occurrences",
        "code.at",
    ] {
        let verb = operation.strip_prefix("code.").unwrap();
        let mut all = vec![
            daemon.connect().call(operation, with_root.clone()).unwrap(),
            context.rpc_stdio().call(operation, place.clone()).unwrap(),
            web.post(operation, &place).json(),
            context.pillion_json(&[verb, "model.py", "1", "7"]),
            context.pillion_json(&["--no-daemon", "code", verb, "model.py", "1", "7"]),
        ];
        let mut host = context.stdio();
        let question =
            json!({"id": 1, "command": operation, "project": context.project, "args": place});
        all.push(host.ask(&question)["result"].clone());
        assert!(host.finish().success());
        // Each engine has a clock of its own.
        for answer in &mut all {
            assert!(answer["clock"].is_string(), "{operation}: {answer}");
            answer["clock"] = json!(null);
        }
        for answer in &all[1..] {
            assert_eq!(answer, &all[0], "{operation}");
        }
    }
}

#[test]
fn a_location_has_the_members_of_the_contract() {
    let mut project = TestProject::open("references");
    let answer = project.ask_at("defs", ("model.py", 25, 21));
    assert_eq!(
        answer["locations"],
        json!([{
            "file": "model.py", "line": 1, "column": 7, "end_line": 1, "end_column": 14,
            "name": "Account", "kind": "class", "preview": "class Account:",
        }])
    );
    let none = json!({"file": "model.py", "line": 1, "col": 7, "limit": 0});
    for operation in ["refs", "occurrences"] {
        let answer = project.ask(operation, none.clone());
        assert_eq!(
            (&answer["locations"], &answer["truncated"]),
            (&json!([]), &json!(true))
        );
    }
}

#[test]
fn fifty_first_questions_share_one_engine() {
    let context = fixture("references");
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let asked = json!({"root": context.project, "file": "model.py", "line": 1, "col": 7});
    let all: Vec<u64> = (0..50)
        .map(|_| rpc.send("code.refs", asked.clone()))
        .collect();
    for id in all {
        assert_eq!(rpc.outcome(id).unwrap()["total"], 6);
    }
    let sidecars = daemon.sidecars();
    assert_eq!(members(&json!(sidecars), "name"), ["ty"]);
    assert_eq!(sidecars[0]["generation"], 1);
}

#[test]
fn a_root_may_lie_below_folders_with_any_name() {
    let context = bare();
    let web_root = context.base.join("build/dist/env/venv/site-packages");
    std::fs::create_dir_all(web_root.join("pkg")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(web_root.join(name), text).unwrap();
    write("pkg/__init__.py", "");
    write("pkg/impl.py", "def first():\n    return 1\n");
    write("app.py", "from pkg.impl import first\n\nfirst()\n");
    let mut project = TestProject::new(context);
    let asked = json!({"root": web_root, "file": "app.py", "line": 3, "col": 1});
    let answer = project.ask("defs", asked.clone());
    assert_eq!(
        places(&answer["locations"]),
        ["pkg/impl.py:1:5"],
        "{answer:#}"
    );
    let listed = project.ask("list", json!({"root": web_root, "recursive": true}));
    assert_eq!(members(&listed["symbols"], "name"), ["first"]);
    write("pkg/impl.py", "# moved\n\n\ndef first():\n    return 1\n");
    let answer = project.ask("defs", asked);
    assert_eq!(
        places(&answer["locations"]),
        ["pkg/impl.py:4:5"],
        "{answer:#}"
    );
}

#[test]
fn errors_of_the_old_routes_also_say_detail() {
    let context = fixture("hover");
    let web = context.serve();
    for (route, body, status) in [
        (
            "/defs",
            json!({"file": "nosuch.py", "line": 1, "col": 1}),
            400,
        ),
        (
            "/defs",
            json!({"file": "../x.py", "line": 1, "col": 1}),
            403,
        ),
        ("/defs", json!({"file": "app.py"}), 422),
        ("/nosuch", json!({}), 404),
    ] {
        let reply = post(&web, route, &body);
        assert_eq!(reply.status, status, "{reply:?}");
        let error = reply.json();
        assert_eq!(error["detail"], error["message"], "{error}");
        assert!(error["code"].is_string(), "{error}");
    }
    let answer = web.request("POST", "/shutdown", &[], "").json();
    assert_eq!(answer["status"], "shutting_down", "{answer}");
    assert_eq!(answer["acknowledged"], true, "{answer}");
}

#[test]
fn the_end_of_a_range_behind_its_line_is_the_end_of_the_line() {
    let context = bare();
    context.write("shop.py", "def pay(a, b):\n    return a + b\n");
    let web = context.serve();
    let body = json!({
        "file": "shop.py", "start_line": 2, "start_col": 12, "end_line": 2, "end_col": 80,
        "var_name": "sum_of",
    });
    let reply = post(&web, "/extract-var", &body);
    assert_eq!(reply.status, 200, "{reply:?}");
    let patch = reply.json()["patches"]["shop.py"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(patch.contains("+    sum_of = a + b"), "{patch}");
}
