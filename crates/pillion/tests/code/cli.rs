//! The command line: what programs read from it, and what people do.

use pillion_testing::project::{fixture, places};
use serde_json::json;

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
fn paths_of_every_answer_can_be_opened_from_here() {
    let context = fixture("outline");
    let said = |folder: &str, args: &[&str]| {
        let mut command = context.pillion_command(args);
        command.current_dir(context.base.join(folder));
        let output = pillion_testing::CommandOutput::of(command);
        assert_eq!(output.code, Some(0), "{args:?}: {output}");
        output.stdout
    };
    let project = context.project.display().to_string();
    let name = context.project.file_name().unwrap().to_str().unwrap();
    let below = format!("{name}/pkg");
    let structure = said(&below, &["map", "structure", "--text"]);
    assert!(structure.contains("\nservice.py\n"), "{structure}");
    assert!(structure.contains("../top.py\n"), "{structure}");
    // What is changed is counted, wherever one stands.
    let args = ["rename", "at_the_top", "on_top", "--apply", "--text"];
    let applied = said(&below, &args);
    assert!(applied.contains("changed ../top.py  +1 -1\n"), "{applied}");
    // A project that is named lies elsewhere.
    let args = ["map", "impact", "on_top", "--text", "--project", &project];
    let impact = said("", &args);
    assert!(
        impact.starts_with(&format!("on_top  {project}/top.py:1  ")),
        "{impact}"
    );
}

#[test]
fn every_command_can_be_asked_for_text() {
    let context = fixture("outline");
    for args in [
        &["call", "math:hypot", "[3, 4]"][..],
        &["exec", "-c", "print(1)"],
        &["jobs"],
        &["status"],
        &["list", "top.py"],
        &["undo", "--help"],
    ] {
        let output = context.pillion(&[args, &["--text"]].concat());
        assert_eq!(output.code, Some(0), "{args:?}: {output}");
    }
}

#[test]
fn a_list_in_json_is_the_old_flat_list_of_the_top_level() {
    let context = fixture("outline");
    let old = |list: serde_json::Value| {
        let keep = |one: &serde_json::Value| {
            json!({
                "path": one["path"], "kind": one["kind"], "name": one["name"], "line": one["line"],
            })
        };
        serde_json::Value::from_iter(list.as_array().unwrap().iter().map(keep))
    };
    let flat = json!([
        {"path": "pkg/service.py", "kind": "variable", "name": "TIMEOUT", "line": 5},
        {"path": "pkg/service.py", "kind": "function", "name": "fetch", "line": 8},
        {"path": "pkg/service.py", "kind": "class", "name": "QuerySet", "line": 13},
        {"path": "pkg/service.py", "kind": "function", "name": "old_style", "line": 37},
        {"path": "pkg/service.py", "kind": "type", "name": "Rows", "line": 42},
    ]);
    let listed = context.pillion_json(&["list", "pkg/service.py"]);
    assert_eq!(listed[2]["signature"], "class QuerySet", "{listed:#}");
    assert_eq!(
        (&listed[2]["line"], &listed[2]["end_line"]),
        (&json!(13), &json!(34))
    );
    assert_eq!(old(listed), flat);
    assert_eq!(
        old(context.pillion_json(&["list", "--json", "--shallow", "pkg"])),
        flat
    );
    let text = context.pillion(&["list", "--text", "--depth", "1", "top.py"]);
    assert_eq!(text.stdout, "top.py\n  1-2  def at_the_top()\n");
}

#[test]
fn a_flat_list_is_never_cut_off_in_silence() {
    let context = pillion_testing::project::bare();
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
    let answer = pillion_testing::CommandOutput::of(below).json();
    assert_eq!(
        places(&answer["locations"]),
        ["src/engine_room/boiler.py:1:5"]
    );
    // From elsewhere, with an absolute path: the nearest project root above the file.
    let file = context.project.join("tests/test_boiler.py");
    let mut elsewhere = context.pillion_command(&["defs", file.to_str().unwrap(), "3", "25"]);
    elsewhere.current_dir(&context.base);
    let answer = pillion_testing::CommandOutput::of(elsewhere).json();
    assert_eq!(
        places(&answer["locations"]),
        ["src/engine_room/boiler.py:1:5"]
    );
    let root = context.project.to_str().unwrap();
    let mut named = context.pillion_command(&["grep", "--root", root, "degrees + 1"]);
    named.current_dir(&context.base);
    let answer = pillion_testing::CommandOutput::of(named).json();
    assert_eq!(
        places(&answer["matches"]),
        ["src/engine_room/boiler.py:3:12"]
    );
}

#[test]
fn a_folder_is_listed_with_all_below_it_unless_it_is_shallow() {
    let context = pillion_testing::project::bare();
    context.write("top.py", "def first(): ...\n");
    context.write("pkg/deep/low.py", "def second(): ...\n");
    let names =
        |args: &[&str]| pillion_testing::project::members(&context.pillion_json(args), "name");
    assert_eq!(names(&["list", "."]), ["second", "first"]);
    assert_eq!(names(&["list", "pkg"]), ["second"]);
    assert_eq!(names(&["list", "pkg", "-r"]), ["second"]);
    assert_eq!(names(&["list", ".", "--shallow"]), ["first"]);
    // On other doors it is asked for.
    let web = context.serve();
    let reply = pillion_testing::project::post(&web, "/list", &json!({"path": "pkg"}));
    assert_eq!(reply.json()["total"], 0);
}

#[test]
fn a_path_that_leads_nowhere_from_here_is_meant_from_the_named_root() {
    let context = pillion_testing::project::bare();
    context.write("pkg/low.py", "def second(): ...\n\n\nunknown\n");
    let root = context.project.to_str().unwrap();
    for args in [
        &["list", "pkg/low.py", "--root", root][..],
        &["defs", "pkg/low.py", "1", "5", "--root", root],
        &["defs", "pkg/low.py:1:5", "--root", root],
        &["defs", "low.py::second", "--root", root],
        &["grep", "second", "pkg/low.py", "--root", root],
        &["rename", "pkg/low.py", "1", "5", "third", "--root", root],
        &["diagnostics", "pkg/low.py", "--root", root],
    ] {
        let mut command = context.pillion_command(args);
        command.current_dir(&context.base);
        let output = pillion_testing::CommandOutput::of(command);
        let code = i32::from(args[0] == "diagnostics");
        assert_eq!(output.code, Some(code), "{args:?}: {output}");
        assert!(output.stdout.contains("pkg/low.py"), "{args:?}: {output}");
    }
}

/// A shop with a folder below its root, and what stands there.
fn shop() -> pillion_testing::TestContext {
    let context = pillion_testing::project::bare();
    context.write(
        "pyproject.toml",
        "[project]\nname = 'shop'\nversion = '1'\n",
    );
    context.write(
        "shop/cart.py",
        "def total(rate):\n    # sum\n    return rate\n\n\n\n\nLAST = total(1)\n",
    );
    context.write(
        "tests/test_cart.py",
        "from shop.cart import total\n\ntotal(2)\n",
    );
    context
}

fn text_in(context: &pillion_testing::TestContext, folder: &str, args: &[&str]) -> String {
    let mut command = context.pillion_command(args);
    command
        .arg("--text")
        .current_dir(context.project.join(folder));
    let output = pillion_testing::CommandOutput::of(command);
    assert_eq!(output.code, Some(0), "{args:?}: {output}");
    output.stdout
}

#[test]
fn paths_of_an_answer_can_be_opened_from_where_one_stands() {
    let context = shop();
    let text = text_in(&context, "tests", &["defs", "total"]);
    assert!(text.starts_with("../shop/cart.py:1:5"), "{text}");
    let text = text_in(&context, "shop", &["refs", "total"]);
    assert!(
        text.contains("\ncart.py\n") && text.contains("\n../tests/test_cart.py\n"),
        "{text}"
    );
    let text = text_in(&context, "shop", &["grep", "LAST"]);
    assert!(text.starts_with("cart.py:8:1"), "{text}");
    let text = text_in(&context, ".", &["grep", "LAST"]);
    assert!(text.starts_with("shop/cart.py:8:1"), "{text}");
    // For programs they are relative to the root, wherever one stands.
    let mut command = context.pillion_command(&["defs", "total"]);
    command.current_dir(context.project.join("tests"));
    let answer = pillion_testing::CommandOutput::of(command).json();
    assert_eq!(places(&answer["locations"]), ["shop/cart.py:1:5"]);
}

#[test]
fn lines_around_a_match_have_numbers_and_groups_are_apart() {
    let context = shop();
    let text = text_in(&context, ".", &["grep", "-C", "1", "total"]);
    assert_eq!(
        text,
        "shop/cart.py:1:5  def total(rate):\nshop/cart.py-2-      # sum\n--\nshop/cart.py-7-  \n\
         shop/cart.py:8:8  LAST = total(1)\n--\ntests/test_cart.py:1:23  from shop.cart import total\n\
         tests/test_cart.py-2-  \ntests/test_cart.py:3:1  total(2)\n"
    );
    let text = text_in(&context, ".", &["grep", "-m", "1", "total"]);
    assert!(text.contains("... and 3 more (raise `--max`)"), "{text}");
    let text = text_in(&context, ".", &["refs", "--limit", "1", "total"]);
    assert!(text.contains("more (raise `--limit`)"), "{text}");
}

#[test]
fn what_is_written_is_told_in_a_few_lines_unless_the_diff_is_wanted() {
    let context = shop();
    let text = text_in(&context, ".", &["rename", "total", "sum_up"]);
    assert!(text.contains("+def sum_up(rate):"), "{text}");
    let text = text_in(&context, ".", &["rename", "total", "sum_up", "--apply"]);
    assert!(!text.contains("@@"), "{text}");
    assert!(
        text.starts_with("changed shop/cart.py  +2 -2\nchanged tests/test_cart.py  +2 -2\n"),
        "{text}"
    );
    assert!(text.contains("applied to 2 files; `undo "), "{text}");
    let text = text_in(
        &context,
        ".",
        &["rename", "sum_up", "total", "--apply", "--diff"],
    );
    assert!(
        text.contains("+def total(rate):") && text.contains("applied to 2 files"),
        "{text}"
    );
}

#[test]
fn commands_have_one_spelling_and_older_ones_are_understood() {
    let context = shop();
    for command in ["safe-delete", "safe_delete"] {
        let refused = context.pillion(&[command, "total", "--text"]);
        assert_eq!(refused.code, Some(1), "{refused}");
        assert!(
            refused.stderr.contains("`total` is used 3 times"),
            "{refused}"
        );
        // The places that it counts.
        assert!(
            refused
                .stderr
                .contains("  tests/test_cart.py:3:1  total(2)"),
            "{refused}"
        );
    }
    let body = "def total(rate):\n    return 0\n";
    for command in [
        &["replace-body"][..],
        &["replace_body"],
        &["code", "replace_body"],
    ] {
        let words: Vec<&str> = command.iter().copied().chain(["total", body]).collect();
        assert!(text_in(&context, ".", &words).contains("+    return 0"));
    }
    let text = text_in(&context, ".", &["insert-after", "total", "LIMIT = 3"]);
    assert!(text.contains("+LIMIT = 3"), "{text}");
    let text = text_in(
        &context,
        ".",
        &["insert-before", "total", "LIMIT = 3", "--timeout", "60"],
    );
    assert!(text.contains("+LIMIT = 3"), "{text}");
}
