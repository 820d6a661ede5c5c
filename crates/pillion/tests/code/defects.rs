//! The defects of the old server, as far as they are about questions: one test for each.

use std::fs;

use pillion_testing::project::{TestProject, bare, fixture, members, place, places, post};
use pillion_testing::{CommandOutput, DEADLINE, processes, wait_for};
use serde_json::{Value, json};

const IMPL: &str = "def helper():\n    return 1\n";
const APP: &str = "from impl import helper\n\nhelper()\n";

fn pair() -> TestProject {
    TestProject::with(&[("impl.py", IMPL), ("app.py", APP)])
}

#[test]
fn columns_off_by_one_in_half_of_the_routes_and_line_0_on_first_lines() {
    let mut project = TestProject::with(&[("one.py", "x = 1; print(x)\n")]);
    let at = |col: u32| ("one.py", 1, col);
    for col in [1, 14, 15] {
        for operation in ["defs", "refs", "occurrences"] {
            let answer = project.ask_at(operation, at(col));
            let first = &answer["locations"][0];
            assert_eq!(place(first), "one.py:1:1", "{operation} at {col}: {answer}");
            assert_eq!(
                (&first["end_line"], &first["end_column"]),
                (&json!(1), &json!(2))
            );
        }
        let hover = project.ask_at("hover", at(col));
        assert_eq!(place(&hover["definition"]), "one.py:1:1");
    }
    let both = ["one.py:1:1", "one.py:1:14"];
    for operation in ["refs", "occurrences"] {
        assert_eq!(places(&project.ask_at(operation, at(1))["locations"]), both);
    }
    let listed = project.ask("list", json!({"path": "one.py"}));
    let symbol = &listed["symbols"][0];
    assert_eq!((&symbol["line"], &symbol["column"]), (&json!(1), &json!(1)));
    let found = project.ask("grep", json!({"pattern": "x = 1"}));
    assert_eq!(places(&found["matches"]), ["one.py:1:1"]);
    let wrong =
        TestProject::with(&[("w.py", "x: int = ''\n")]).ask("diagnostics", json!({"path": "w.py"}));
    assert_eq!(place(&wrong["diagnostics"][0]), "w.py:1:10", "{wrong}");
}

#[test]
fn definitions_stopped_at_the_import_line() {
    let mut project = pair();
    assert_eq!(project.defs("app.py", "import |helper"), ["impl.py:1:5"]);
    assert_eq!(project.defs("app.py", "\n|helper()"), ["impl.py:1:5"]);
}

#[test]
fn definitions_landed_in_a_bundled_stub_instead_of_the_source() {
    let mut project = TestProject::with(&[(
        "app.py",
        "import json\nfrom pathlib import Path\n\njson.loads(Path('x').read_text())\n",
    )]);
    for (needle, end, name) in [
        ("json.|loads", "/json/__init__.py", "def loads"),
        ("|Path('x')", "/pathlib.py", "class Path"),
        ("|read_text", "/pathlib.py", "def read_text"),
        ("import |json", "/json/__init__.py", ""),
    ] {
        let at = project.find("app.py", needle);
        let answer = project.ask_at("defs", at);
        let only = &answer["locations"][0];
        let file = only["file"]
            .as_str()
            .unwrap_or_else(|| panic!("{needle}: {answer}"));
        // Newer Pythons have a package `pathlib`.
        let file = file.replace("/pathlib/__init__.py", "/pathlib.py");
        assert!(file.ends_with(end), "{needle}: {answer:#}");
        assert_eq!(only["external"], true);
        assert!(
            only["preview"].as_str().unwrap().contains(name),
            "{answer:#}"
        );
    }
}

#[test]
fn list_grep_and_stats_were_missing() {
    let context = fixture("hover");
    let web = context.serve();
    assert_eq!(post(&web, "/list", &json!({"path": "app.py"})).status, 200);
    assert_eq!(post(&web, "/grep", &json!({"pattern": "add"})).status, 200);
    assert_eq!(web.get("/stats").status, 200);
}

#[test]
fn one_search_blocked_all_other_requests() {
    let context = bare();
    context.write("app.py", APP);
    let line = "abababababababababababababababababababababababababababababababab\n";
    for number in 0..16 {
        context.write(&format!("text{number}.txt"), &line.repeat(40_000));
    }
    let project = TestProject::new(context);
    let mut rpc = project.daemon.connect();
    let search =
        json!({"root": project.root(), "pattern": "(?i)(a|b|ab)+c|(b|ba)+d", "regex": true});
    let search = rpc.send("code.grep", search);
    let ping = rpc.send("system.ping", json!({}));
    rpc.outcome(ping).unwrap();
    assert!(!rpc.is_answered(search), "the search is long enough");
    assert_eq!(rpc.outcome(search).unwrap()["total"], 0);
}

#[test]
fn stale_after_a_change() {
    let mut project = pair();
    assert_eq!(project.defs("app.py", "\n|helper()"), ["impl.py:1:5"]);
    // In another file, many times, each at once after the last.
    for lines in 1..30 {
        let text = format!("{}{IMPL}", "\n".repeat(lines));
        fs::write(project.root().join("impl.py"), text).unwrap();
        let expected = format!("impl.py:{}:5", lines + 1);
        assert_eq!(project.defs("app.py", "\n|helper()"), [expected]);
    }
}

#[test]
fn stale_after_an_atomic_replace() {
    let mut project = pair();
    assert_eq!(project.defs("app.py", "\n|helper()"), ["impl.py:1:5"]);
    for lines in 1..10 {
        let half = project.root().join("half.tmp");
        fs::write(&half, format!("{}{IMPL}", "\n".repeat(lines))).unwrap();
        fs::rename(&half, project.root().join("impl.py")).unwrap();
        let expected = format!("impl.py:{}:5", lines + 1);
        assert_eq!(project.defs("app.py", "\n|helper()"), [expected.as_str()]);
        let listed = project.ask("list", json!({"path": "impl.py"}));
        assert_eq!(listed["symbols"][0]["line"], lines + 1);
    }
}

#[test]
fn stale_after_a_second_write_of_the_same_size() {
    let mut project = TestProject::with(&[("app.py", "aa = 1\nbb = 2\nprint(aa)\n")]);
    let at = ("app.py", 3, 7);
    for _ in 0..10 {
        for (text, line) in [
            ("aa = 1\nbb = 2\nprint(bb)\n", 2),
            ("aa = 1\nbb = 2\nprint(aa)\n", 1),
        ] {
            project.context.write("app.py", text);
            let answer = project.ask_at("defs", at);
            assert_eq!(places(&answer["locations"]), [format!("app.py:{line}:1")]);
        }
    }
}

#[test]
fn stale_after_files_come_and_go() {
    let mut project = pair();
    project
        .context
        .write("more.py", "import impl\n\nimpl.helper()\n");
    let at = project.find("impl.py", "def |helper");
    assert_eq!(project.ask_at("refs", at)["total"], 4);
    fs::create_dir(project.root().join("pkg")).unwrap();
    fs::rename(
        project.root().join("more.py"),
        project.root().join("pkg/more.py"),
    )
    .unwrap();
    let files = members(&project.ask_at("refs", at)["locations"], "file");
    assert_eq!(files, ["app.py", "app.py", "impl.py", "pkg/more.py"]);
    fs::remove_dir_all(project.root().join("pkg")).unwrap();
    assert_eq!(project.ask_at("refs", at)["total"], 3);
}

#[test]
fn every_engine_failure_as_500_with_the_exceptions_text() {
    let context = bare().trusted_config("[code]\nengine = \"basedpyright\"\n");
    context.write("impl.py", IMPL);
    let web = context.serve();
    let asked = json!({"file": "impl.py", "line": 1, "col": 5});
    let reply = post(&web, "/defs", &asked);
    let error = reply.json();
    assert_eq!(error["code"], "start_failed", "{error}");
    assert_eq!(error["kind"], "environment", "{error}");
    assert!(error["hint"].is_string(), "{error}");
    assert_ne!(reply.status, 500);
    // What needs no engine is answered.
    assert_eq!(post(&web, "/list", &json!({"path": "impl.py"})).status, 200);
}

#[test]
fn an_engine_that_dies_is_started_again() {
    let mut project = pair();
    assert_eq!(project.defs("app.py", "\n|helper()"), ["impl.py:1:5"]);
    let ty = || -> Vec<Value> {
        let all = project.daemon.sidecars();
        all.into_iter()
            .filter(|sidecar| sidecar["name"] == "ty")
            .collect()
    };
    let before = ty()[0]["pid"].as_u64().unwrap();
    processes::kill(u32::try_from(before).unwrap());
    wait_for(DEADLINE, "the death to be noticed", || {
        let now = ty();
        let same = now
            .iter()
            .any(|sidecar| sidecar["pid"].as_u64() == Some(before));
        if same { Err(json!(now)) } else { Ok(()) }
    });
    let changed = format!("\n{IMPL}");
    project.context.write("impl.py", &changed);
    assert_eq!(project.defs("app.py", "\n|helper()"), ["impl.py:2:5"]);
}

#[test]
fn references_silently_capped() {
    let context = bare();
    context.write("impl.py", IMPL);
    for number in 0..150 {
        context.write(
            &format!("users/user{number}.py"),
            "import impl\n\nimpl.helper()\nimpl.helper()\n",
        );
    }
    let mut project = TestProject::new(context);
    let answer = project.ask_at("refs", ("impl.py", 1, 5));
    assert_eq!(
        (&answer["total"], &answer["confirmed"]),
        (&json!(301), &json!(301))
    );
    assert_eq!(answer["truncated"], true, "and it says so");
    let all = project.ask(
        "refs",
        json!({"file": "impl.py", "line": 1, "col": 5, "limit": 1000}),
    );
    assert_eq!(all["locations"].as_array().unwrap().len(), 301);
    assert_eq!(all["truncated"], false);
    let renamed = project.ask(
        "occurrences",
        json!({"file": "impl.py", "line": 1, "col": 5, "limit": 1000}),
    );
    assert_eq!(renamed["total"], 301);
}

#[test]
fn the_projects_venv_ignored() {
    let context = bare();
    let mut venv = context.command("python3");
    venv.args(["-m", "venv", "--without-pip", ".venv"]);
    let made = CommandOutput::of(venv);
    assert_eq!(made.code, Some(0), "{made}");
    let lib = context.project.join(".venv/lib");
    let version = fs::read_dir(&lib)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .file_name();
    let packages = lib.join(version).join("site-packages");
    fs::create_dir(packages.join("handmade")).unwrap();
    let text = "def tool(value: int) -> int:\n    \"\"\"Made by hand.\"\"\"\n    return value\n";
    fs::write(packages.join("handmade/__init__.py"), text).unwrap();
    context.write("app.py", "from handmade import tool\n\ntool(1)\n");
    let mut project = TestProject::new(context);
    let at = project.find("app.py", "\n|tool(1)");
    let answer = project.ask_at("defs", at);
    let only = &answer["locations"][0];
    let file = packages.join("handmade/__init__.py");
    assert_eq!(only["external"], true, "{answer:#}");
    assert_eq!(only["file"], json!(file));
    assert_eq!((&only["line"], &only["column"]), (&json!(1), &json!(5)));
    let hover = project.ask_at("hover", at);
    assert_eq!(hover["docstring"], "Made by hand.", "{hover:#}");
    let renamed = project.ask_at("occurrences", at);
    assert_eq!(renamed["locations"], json!([]), "it is not ours to rename");
    let listed = project.ask("list", json!({"recursive": true}));
    assert_eq!(listed["symbols"], json!([]));
    let wrong = project.ask("diagnostics", json!({"path": "app.py"}));
    assert_eq!(wrong["total"], 0, "{wrong:#}");
}

#[test]
fn list_missed_async_functions() {
    let mut project = TestProject::with(&[(
        "a.py",
        "async def one():\n    pass\n\n\nclass C:\n    async def two(self):\n        pass\n",
    )]);
    let listed = project.ask("list", json!({"path": "a.py"}));
    assert_eq!(members(&listed["symbols"], "name"), ["one", "C", "two"]);
}

#[test]
fn shutdown_answered_500_and_left_a_half_dead_process() {
    let context = fixture("hover");
    let web = context.serve();
    let place = json!({"file": "app.py", "line": 1, "col": 8});
    assert_eq!(post(&web, "/defs", &place).status, 200);
    let reply = web.request("POST", "/shutdown", &[], "");
    assert_eq!(
        (reply.status, reply.json()),
        (
            200,
            json!({"acknowledged": true, "status": "shutting_down"})
        )
    );
    context.wait_until_alone(DEADLINE);
}
