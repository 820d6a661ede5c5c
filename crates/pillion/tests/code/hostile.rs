//! Projects with files that nobody would write by hand: nested too deeply, with names that are
//! no text, behind links that lead elsewhere, too many to hold.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use pillion_testing::processes;
use pillion_testing::project::{TestProject, bare, members};
use pillion_testing::rpc::{Rpc, RpcOutcome};
use serde_json::{Value, json};

/// Ask an operation of any service.
fn ask(rpc: &mut Rpc, project: &TestProject, operation: &str, mut params: Value) -> RpcOutcome {
    if params.get("root").is_none() {
        params["root"] = json!(project.root());
    }
    rpc.call(operation, params)
}

/// Every question about code that can be asked about a project with these two files.
fn questions(deep: &str) -> Vec<(&'static str, Value)> {
    let at = json!({"file": "good.py", "line": 1, "col": 5});
    let there = json!({"file": deep, "line": 1, "col": 1});
    let rule = "id: r\nlanguage: python\nrule: {pattern: helper($A)}\nfix: helper($A, 1)\n";
    let with = |base: &Value, more: Value| {
        let mut all = base.clone();
        for (name, value) in more.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    };
    let mut all = Vec::new();
    for place in [&at, &there] {
        for operation in [
            "code.defs",
            "code.refs",
            "code.hover",
            "code.at",
            "code.occurrences",
            "code.callers",
            "code.callees",
            "code.implementations",
            "code.type_hierarchy",
        ] {
            all.push((operation, place.clone()));
        }
        all.push(("code.rename", with(place, json!({"new_name": "other"}))));
        all.push(("code.inline", place.clone()));
        all.push((
            "code.change_signature",
            with(place, json!({"add": [{"name": "b", "default": "1"}]})),
        ));
        all.push(("code.move", with(place, json!({"dest_file": "new.py"}))));
    }
    for file in ["good.py", deep] {
        all.extend([
            ("code.list", json!({"path": file})),
            ("code.diagnostics", json!({"path": file})),
            ("code.organize_imports", json!({"path": file})),
            ("map.extract", json!({"file": file})),
            ("map.structure", json!({"path": file})),
            ("map.call_graph", json!({"path": file})),
        ]);
        let lines = json!({"file": file, "start_line": 1, "end_line": 1});
        let name = json!({"method_name": "new"});
        all.push(("code.extract_method", with(&lines, name)));
        let columns = json!({"var_name": "new", "start_col": 1, "end_col": 3});
        all.push(("code.extract_var", with(&lines, columns)));
    }
    all.extend([
        ("code.list", json!({"recursive": true})),
        ("code.symbols", json!({"query": "helper"})),
        ("code.grep", json!({"pattern": "helper"})),
        ("code.codemod", json!({"rule": rule})),
        ("code.read_symbol", json!({"name_path": "helper"})),
        (
            "code.replace_body",
            json!({"name_path": "helper", "source": "return 2"}),
        ),
        ("code.safe_delete", json!({"name_path": "helper"})),
        ("code.diagnostics", json!({})),
        ("code.organize_imports", json!({"path": "."})),
        ("map.architecture", json!({})),
        ("map.call_graph", json!({})),
        ("map.dead_code", json!({})),
        ("map.diagnostics", json!({})),
        ("map.graph", json!({})),
        ("map.impact", json!({"target": "helper"})),
        ("map.patterns", json!({})),
        ("map.references", json!({})),
        ("map.structure", json!({})),
        ("map.change_impact", json!({"use_git": false})),
    ]);
    for language in ["typescript", "go", "rust", "java", "c"] {
        for operation in [
            "map.structure",
            "map.call_graph",
            "map.patterns",
            "map.dead_code",
        ] {
            all.push((operation, json!({"language": language})));
        }
    }
    all
}

const GOOD: &str = "def helper(a):\n    return a\n\n\nx = helper(1)\n";

#[test]
fn files_that_nest_too_deeply_are_parse_errors_and_the_rest_is_answered() {
    let n = 12_000;
    let around = |before: &str, middle: &str, after: &str| {
        format!("{}{middle}{}", before.repeat(n), after.repeat(n))
    };
    let blocks: String = (0..400)
        .map(|i| format!("{}def f():\n", " ".repeat(i)))
        .collect();
    let project = TestProject::with(&[
        ("good.py", GOOD),
        ("app.py", "from good import helper\n\nhelper(2)\n"),
    ]);
    let files = [
        ("minus.py", format!("helper = {}1\n", "-".repeat(n))),
        ("lists.py", format!("helper = {}\n", around("[", "", "]"))),
        (
            "calls.py",
            format!("helper = {}\n", around("helper(", "1", ")")),
        ),
        (
            "ternaries.py",
            format!("helper = {}1\n", "a if b else ".repeat(n)),
        ),
        (
            "attributes.py",
            format!("helper = a{}\n", ".helper".repeat(n)),
        ),
        ("sums.py", format!("helper = a{}\n", "+helper".repeat(n))),
        (
            "quoted.py",
            format!("def helper(a: '{}'): pass\n", around("list[", "int", "]")),
        ),
        (
            "blocks.py",
            format!("{blocks}{}helper()\n", " ".repeat(400)),
        ),
        (
            "deep.ts",
            format!("let helper = {};\n", around("[", "1", "]")),
        ),
        ("deep.js", around("function helper(a) { ", "", "}")),
        (
            "deep.go",
            format!("package p\nvar helper = {}\n", around("f(", "1", ")")),
        ),
        ("deep.rs", around("fn helper() { ", "", "}")),
        ("deep.java", around("class A { ", "", "}")),
        (
            "deep.c",
            format!("int helper = {};\n", around("(", "1", ")")),
        ),
    ];
    for (name, text) in &files {
        project.context.write(name, text);
    }
    let pid = project.daemon.pid;
    let mut rpc = project.daemon.connect();
    for (operation, params) in questions("minus.py") {
        let told = params.to_string();
        let outcome = ask(&mut rpc, &project, operation, params);
        assert!(processes::is_alive(pid), "{operation} {told}: {outcome:?}");
        if let Err(error) = &outcome {
            assert_ne!(
                error["data"]["code"], "internal_error",
                "{operation} {told}: {error}"
            );
        }
    }
    // Neither do the tools fall over them that are asked about all files at once.
    for (operation, params) in [
        ("code.diagnostics", json!({"path": "."})),
        ("map.diagnostics", json!({})),
    ] {
        let found = ask(&mut rpc, &project, operation, params).unwrap();
        let all = found["diagnostics"].as_array().unwrap();
        let named = |one: &&Value| one["file"] == "minus.py" && one["source"] == "pillion";
        assert!(all.iter().any(|one| named(&one)), "{operation}: {found:#}");
    }
    let sorted = ask(
        &mut rpc,
        &project,
        "code.organize_imports",
        json!({"path": "."}),
    )
    .unwrap();
    let left = sorted["warnings"].to_string();
    assert!(
        left.contains("minus.py: left alone, it nests too deeply"),
        "{sorted:#}"
    );
    for name in ["minus", "lists", "calls", "ternaries", "attributes", "sums"] {
        let params = json!({"path": format!("{name}.py")});
        let listed = ask(&mut rpc, &project, "code.list", params).unwrap();
        let why = listed["parse_errors"][0]["message"]
            .as_str()
            .unwrap_or_default();
        assert!(why.contains("nests too deeply"), "{name}: {listed}");
    }
    let rename = json!({"file": "good.py", "line": 1, "col": 5, "new_name": "other"});
    let renamed = ask(&mut rpc, &project, "code.rename", rename).unwrap();
    assert_eq!(renamed["files"], json!(["app.py", "good.py"]), "{renamed}");
    let left = members(&renamed["possible"], "file");
    assert!(left.contains(&"calls.py".to_owned()), "{left:?}");
    let found = ask(
        &mut rpc,
        &project,
        "code.symbols",
        json!({"query": "helper"}),
    )
    .unwrap();
    assert!(
        members(&found["symbols"], "file").contains(&"good.py".to_owned()),
        "{found}"
    );
    let at = json!({"file": "app.py", "line": 3, "col": 1});
    let defs = ask(&mut rpc, &project, "code.defs", at).unwrap();
    assert_eq!(defs["locations"][0]["file"], "good.py", "{defs}");
    assert!(processes::is_alive(pid));
}

#[test]
fn names_that_are_no_text_are_named_in_every_answer() {
    let context = bare();
    context.write("good.py", GOOD);
    for name in [&b"caf\xe9.py"[..], b"r\xe9sum\xe9.txt"] {
        let path = context.project.join(OsStr::from_bytes(name));
        fs::write(path, "helper = 1\n").unwrap();
    }
    let folder = context.project.join(OsStr::from_bytes(b"d\xe9p"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("inner.py"), "helper = 2\n").unwrap();
    let project = TestProject::new(context);
    let mut rpc = project.daemon.connect();
    let rule = "id: r\nlanguage: python\nrule: {pattern: helper($A)}\n";
    let at = json!({"file": "good.py", "line": 1, "col": 5});
    let rename = json!({"file": "good.py", "line": 1, "col": 5, "new_name": "other"});
    for (operation, params) in [
        ("code.list", json!({})),
        ("code.symbols", json!({"query": "helper"})),
        ("code.refs", at.clone()),
        ("code.occurrences", at.clone()),
        ("code.rename", rename),
        ("code.codemod", json!({"rule": rule})),
        ("code.read_symbol", json!({"name_path": "helper"})),
        ("map.structure", json!({})),
        ("map.call_graph", json!({})),
        ("map.graph", json!({})),
        ("map.impact", json!({"target": "helper"})),
        ("map.dead_code", json!({})),
        ("map.patterns", json!({})),
    ] {
        let answer = ask(&mut rpc, &project, operation, params).unwrap();
        let unread = &answer["unread"];
        assert_eq!(unread["total"], 2, "{operation}: {answer}");
        let files = members(&unread["files"], "file");
        assert_eq!(files, [r"caf\xe9.py", r"d\xe9p/"], "{operation}");
        assert_eq!(unread["files"][0]["why"], "its name is not UTF-8");
    }
    let found = ask(
        &mut rpc,
        &project,
        "code.grep",
        json!({"pattern": "helper"}),
    )
    .unwrap();
    assert_eq!(found["unread"]["total"], 3, "{found}");
    let text = json!({"query": "helper", "format": "text"});
    let text = ask(&mut rpc, &project, "code.symbols", text).unwrap();
    assert!(
        text["text"]
            .as_str()
            .unwrap()
            .contains(r"not read: caf\xe9.py"),
        "{text}"
    );
    // What goes away is not named any more.
    fs::remove_dir_all(folder).unwrap();
    let caf = project.root().join(OsStr::from_bytes(b"caf\xe9.py"));
    fs::rename(caf, project.root().join("cafe.py")).unwrap();
    let listed = ask(&mut rpc, &project, "code.list", json!({})).unwrap();
    assert_eq!(listed.get("unread"), None, "{listed}");
}

#[test]
fn a_link_that_leads_outside_is_left_alone_and_listed() {
    let context = bare();
    context.write("good.py", GOOD);
    let outside = context.base.join("outside.py");
    let text = "from good import helper\n\nhelper(3)\n";
    fs::write(&outside, text).unwrap();
    symlink(&outside, context.project.join("linked.py")).unwrap();
    fs::create_dir(context.base.join("beyond")).unwrap();
    fs::write(context.base.join("beyond/inner.py"), text).unwrap();
    symlink("../beyond", context.project.join("folder")).unwrap();
    symlink("good.py", context.project.join("alias.py")).unwrap();
    let mut project = TestProject::new(context);
    // So that whoever answers knows of the file behind the link.
    let at = json!({"file": "good.py", "line": 1, "col": 5});
    let rename =
        json!({"file": "good.py", "line": 1, "col": 5, "new_name": "other", "apply": true});
    let _ = project.ask("refs", at.clone());
    let renamed = project.ask("rename", rename);
    assert_eq!(renamed["files"], json!(["good.py"]), "{renamed}");
    let good = fs::read_to_string(project.root().join("good.py")).unwrap();
    assert!(
        good.contains("def other(a)") && good.contains("x = other(1)"),
        "{good}"
    );
    for file in ["outside.py", "beyond/inner.py"] {
        let behind = fs::read_to_string(project.context.base.join(file)).unwrap();
        assert_eq!(behind, text, "{file}: nothing is written through a link");
    }
    for left in renamed["possible"].as_array().unwrap() {
        let why = left["why"].as_str().unwrap();
        assert!(why.contains("leads out of the workspace"), "{left}");
    }
    let change = json!({"file": "good.py", "line": 1, "col": 5, "add": [{"name": "b", "default": "1"}], "apply": true});
    project.ask("change_signature", change);
    assert_eq!(fs::read_to_string(&outside).unwrap(), text);
}
