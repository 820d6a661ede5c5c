//! The command line: what programs read from it, and what people do.

use serde_json::json;

use super::project::{fixture, places};

#[test]
fn answers_are_json_where_no_terminal_reads_them() {
    let context = fixture("hover");
    let piped = context.pillion(&["defs", "app.py", "1", "8"]);
    assert_eq!(piped.code, Some(0), "{piped}");
    assert_eq!(places(&piped.json()["locations"]), ["things.py:1:1"]);
    let asked = context.pillion_json(&["--json", "defs", "app.py", "1", "8"]);
    assert_eq!(asked["locations"], piped.json()["locations"]);
    let long = context.pillion_json(&["code", "defs", "app.py", "1", "8"]);
    assert_eq!(long["locations"], piped.json()["locations"]);
    let text = context.pillion(&["defs", "--text", "app.py", "1", "8"]);
    assert_eq!(
        text.stdout,
        "things.py:1:1  \"\"\"Things to look at.\"\"\"  (module)\n"
    );
    // Everything else reads as it did.
    let status = context.pillion(&["status"]);
    assert!(status.stdout.starts_with("pillion "), "{status}");
}

#[test]
fn a_list_in_json_is_the_old_flat_list_of_the_top_level() {
    let context = fixture("outline");
    let flat = json!([
        {"path": "pkg/service.py", "kind": "variable", "name": "TIMEOUT", "line": 5},
        {"path": "pkg/service.py", "kind": "function", "name": "fetch", "line": 8},
        {"path": "pkg/service.py", "kind": "class", "name": "QuerySet", "line": 13},
        {"path": "pkg/service.py", "kind": "function", "name": "old_style", "line": 37},
        {"path": "pkg/service.py", "kind": "type", "name": "Rows", "line": 42},
    ]);
    assert_eq!(context.pillion_json(&["list", "pkg/service.py"]), flat);
    assert_eq!(context.pillion_json(&["list", "--json", "pkg"]), flat);
    let text = context.pillion(&["list", "--text", "--depth", "1", "top.py"]);
    assert_eq!(text.stdout, "top.py\n  1-2  def at_the_top()\n");
}

#[test]
fn a_flat_list_is_never_cut_off_in_silence() {
    let context = super::project::bare();
    let many: String = (0..500).map(|n| format!("NAME_{n} = {n}\n")).collect();
    context.write("many.py", &many);
    let all = context.pillion_json(&["list", "many.py"]);
    assert_eq!(all.as_array().unwrap().len(), 500);
}

#[test]
fn the_exit_code_says_what_happened() {
    let context = fixture("hover");
    let code = |args: &[&str]| context.pillion(args).code;
    assert_eq!(code(&["defs", "app.py", "1", "8"]), Some(0));
    assert_eq!(
        code(&["defs", "app.py", "9999", "1"]),
        Some(0),
        "nothing is no error"
    );
    assert_eq!(code(&["grep", "nosuchtext"]), Some(0));
    assert_eq!(code(&["defs", "nosuch.py", "1", "1"]), Some(1));
    assert_eq!(code(&["defs", "../..", "1", "1"]), Some(1));
    assert_eq!(code(&["defs", "app.py", "0", "1"]), Some(1));
    assert_eq!(code(&["defs", "app.py"]), Some(2));
    assert_eq!(code(&["defs", "app.py", "one", "1"]), Some(2));
    assert_eq!(code(&["defs", "app.py", "1", "1", "--nosuch"]), Some(2));
    assert_eq!(
        code(&["defs", "app.py", "1", "1", "--json", "--text"]),
        Some(2)
    );
    assert_eq!(code(&["symbols", "x", "--kind", "wish"]), Some(2));
}

#[test]
fn an_error_is_json_or_two_lines_for_people() {
    let context = fixture("hover");
    let error = context.pillion(&["defs", "nosuch.py", "1", "1"]);
    assert_eq!(error.json()["code"], "not_found");
    let text = context.pillion(&["defs", "--text", "nosuch.py", "1", "1"]);
    assert_eq!((text.code, text.stdout.as_str()), (Some(1), ""));
    assert!(text.stderr.starts_with("error: "), "{text}");
    assert!(text.stderr.contains("\nhint: "), "{text}");
}

#[test]
fn paths_are_meant_from_where_one_stands() {
    let context = fixture("layout_src");
    let mut below = context.pillion_command(&["defs", "test_boiler.py", "3", "25"]);
    below.current_dir(context.project.join("tests"));
    let answer = crate::context::Output::of(below).json();
    assert_eq!(
        places(&answer["locations"]),
        ["src/engine_room/boiler.py:1:5"]
    );
    // From elsewhere, with an absolute path: the nearest project root above the file.
    let file = context.project.join("tests/test_boiler.py");
    let mut elsewhere = context.pillion_command(&["defs", file.to_str().unwrap(), "3", "25"]);
    elsewhere.current_dir(&context.base);
    let answer = crate::context::Output::of(elsewhere).json();
    assert_eq!(
        places(&answer["locations"]),
        ["src/engine_room/boiler.py:1:5"]
    );
    let root = context.project.to_str().unwrap();
    let mut named = context.pillion_command(&["grep", "--root", root, "degrees + 1"]);
    named.current_dir(&context.base);
    let answer = crate::context::Output::of(named).json();
    assert_eq!(
        places(&answer["matches"]),
        ["src/engine_room/boiler.py:3:12"]
    );
}
