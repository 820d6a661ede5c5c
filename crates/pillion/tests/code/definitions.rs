//! Where names are defined: every marker of every fixture.

use pillion_testing::project::{TestProject, bare, members, places};
use serde_json::json;

use super::markers;

#[test]
fn imports_of_all_kinds_lead_to_what_they_import() {
    markers::check(&mut TestProject::open("imports"));
}

#[test]
fn re_exports_and_star_imports_lead_to_the_source() {
    markers::check(&mut TestProject::open("reexports"));
}

#[test]
fn members_of_classes_are_found() {
    markers::check(&mut TestProject::open("classes"));
}

#[test]
fn comprehensions_walrus_match_and_generics_are_understood() {
    markers::check(&mut TestProject::open("expressions"));
}

#[test]
fn a_stub_beside_a_source_gives_way_to_the_source() {
    markers::check(&mut TestProject::open("stubs"));
}

#[test]
fn namespace_packages_circular_imports_and_conftest_are_understood() {
    markers::check(&mut TestProject::open("layout"));
}

#[test]
fn a_src_layout_is_understood() {
    markers::check(&mut TestProject::open("layout_src"));
}

#[test]
fn a_syntax_error_hides_only_itself() {
    let mut project = TestProject::open("broken");
    markers::check(&mut project);
    let place = project.find("half.py", "return |before(value)");
    for operation in ["defs", "refs", "hover", "occurrences"] {
        let answer = project.ask_at(operation, place);
        let errors = &answer["parse_errors"];
        assert_eq!(errors[0]["line"], 6, "{operation}: {answer}");
        assert_eq!(errors[0]["column"], 16, "{operation}: {answer}");
    }
    let listed = project.ask("list", json!({"path": "half.py"}));
    let names = members(&listed["symbols"], "name_path");
    for name in ["before", "unfinished", "after", "Whole", "Whole/method"] {
        assert!(names.iter().any(|n| n == name), "{name} in {names:?}");
    }
    assert_eq!(listed["parse_errors"][0]["file"], "half.py");
    let clean = project.ask_at("defs", ("app.py", 1, 18));
    assert_eq!(clean.get("parse_errors"), None, "{clean}");
}

#[test]
fn columns_count_characters_in_utf_8() {
    markers::check(&mut TestProject::open("encodings"));
}

#[test]
fn columns_count_characters_behind_a_byte_order_mark() {
    let bom = |_: &str, text: String| format!("\u{feff}{text}").into_bytes();
    markers::check(&mut TestProject::converted("encodings", bom));
}

#[test]
fn columns_count_characters_with_crlf_line_ends() {
    let crlf = |_: &str, text: String| text.replace('\n', "\r\n").into_bytes();
    markers::check(&mut TestProject::converted("encodings", crlf));
}

#[test]
fn columns_count_characters_with_lone_carriage_returns() {
    let cr = |_: &str, text: String| text.replace('\n', "\r").into_bytes();
    markers::check(&mut TestProject::converted("encodings", cr));
}

#[test]
fn a_form_feed_or_a_line_separator_begins_no_line() {
    let text = "x = '\u{2028}\u{85}\u{b}'\n\u{c}\ny = x\n";
    let mut project = TestProject::with(&[("a.py", text)]);
    assert_eq!(project.defs("a.py", "y = |x"), ["a.py:1:1"]);
    let at = ("a.py", 3, 1);
    assert_eq!(
        places(&project.ask_at("defs", at)["locations"]),
        ["a.py:3:1"]
    );
    let found = project.ask("grep", json!({"pattern": "y = x"}));
    assert_eq!(places(&found["matches"]), ["a.py:3:1"]);
}

#[test]
fn bytes_that_are_no_text_and_files_that_are_no_python_are_served_as_far_as_possible() {
    let context = bare();
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(context.project.join(name), bytes).unwrap();
    write("bad.py", b"a = '\xff\xfe'; b = a\nprint(b)\n");
    write("nul.py", b"q = 1\0\nprint(q)\n");
    write("README.md", b"# Read\n\nsee `x` and y\n");
    let mut project = TestProject::new(context);
    let answer = project.ask_at("defs", ("bad.py", 2, 7));
    assert_eq!(places(&answer["locations"]), ["bad.py:1:11"]);
    let answer = project.ask_at("defs", ("nul.py", 2, 7));
    assert_eq!(places(&answer["locations"]), ["nul.py:1:1"]);
    assert_eq!(answer["parse_errors"][0]["line"], 1);
    for operation in ["defs", "refs", "occurrences"] {
        let answer = project.ask_at(operation, ("README.md", 3, 6));
        assert_eq!(answer["locations"], json!([]), "{operation}");
    }
    let hover = project.ask_at("hover", ("README.md", 3, 6));
    assert_eq!(
        (&hover["name"], &hover["type"]),
        (&json!(null), &json!(null))
    );
}

#[test]
fn a_root_that_is_a_link_is_the_folder_it_leads_to() {
    let context = bare();
    context.write("impl.py", "def target():\n    return 1\n");
    context.write("app.py", "from impl import target\n\ntarget()\n");
    let alias = context.base.join("alias");
    std::os::unix::fs::symlink(&context.project, &alias).unwrap();
    let mut project = TestProject::new(context);
    for file in [
        json!("app.py"),
        json!(alias.join("app.py")),
        json!(project.root().join("app.py")),
    ] {
        let asked = json!({"root": alias, "file": file, "line": 3, "col": 1});
        let answer = project.ask("defs", asked);
        assert_eq!(places(&answer["locations"]), ["impl.py:1:5"], "{file}");
    }
}

#[test]
fn columns_count_characters_in_latin_1_with_a_coding_line() {
    let latin = |name: &str, text: String| {
        if name != "words.py" {
            return text.into_bytes();
        }
        let text = text.replace("coding: utf-8", "coding: latin-1");
        let byte = |c: char| u8::try_from(u32::from(c)).unwrap();
        text.chars().map(byte).collect()
    };
    markers::check(&mut TestProject::converted("encodings", latin));
}

#[test]
fn an_empty_file_has_nothing_and_is_no_error() {
    let mut project = TestProject::open("encodings");
    for operation in ["defs", "refs", "occurrences", "implementations"] {
        let answer = project.ask_at(operation, ("empty.py", 1, 1));
        assert_eq!(answer["locations"], json!([]), "{operation}");
    }
    let hover = project.ask_at("hover", ("empty.py", 1, 1));
    for member in ["name", "type", "signature", "docstring"] {
        assert_eq!(hover[member], json!(null), "{hover}");
    }
    let listed = project.ask("list", json!({"path": "empty.py"}));
    assert_eq!(
        (&listed["symbols"], &listed["total"]),
        (&json!([]), &json!(0))
    );
}

#[test]
fn a_file_of_50_000_lines_is_served() {
    let mut text = String::from("def target():\n    return 0\n");
    for number in 0..24_998 {
        text += &format!("def function_{number}():\n    return target() + {number}\n");
    }
    text += "target()\n";
    let mut project = TestProject::with(&[("large.py", &text), ("pyproject.toml", "")]);
    let last = u32::try_from(text.lines().count()).unwrap();
    let answer = project.ask_at("defs", ("large.py", last, 3));
    assert_eq!(places(&answer["locations"]), ["large.py:1:5"]);
    let listed = project.ask("list", json!({"path": "large.py", "limit": 10}));
    assert_eq!(
        (&listed["total"], &listed["truncated"]),
        (&json!(24_999), &json!(true))
    );
    assert_eq!(listed["symbols"].as_array().unwrap().len(), 10);
    let uses = project.ask(
        "refs",
        json!({"file": "large.py", "line": 1, "col": 5, "limit": 3}),
    );
    assert_eq!(
        (&uses["total"], &uses["truncated"]),
        (&json!(25_000), &json!(true))
    );
    assert_eq!(uses["locations"].as_array().unwrap().len(), 3);
}

#[test]
fn links_lead_to_their_target_inside_and_nowhere_outside() {
    let context = bare();
    context.write("real.py", "def target():\n    return 1\n\n\ntarget()\n");
    std::fs::write(context.base.join("secret.py"), "SECRET = 1\n").unwrap();
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, context.project.join(name)).unwrap();
    };
    link("real.py", "link.py");
    link("../secret.py", "out.py");
    let mut project = TestProject::new(context);
    let answer = project.ask_at("defs", ("link.py", 5, 1));
    assert_eq!(places(&answer["locations"]), ["real.py:1:5"]);
    let place = json!({"file": "out.py", "line": 1, "col": 1});
    let error = project.try_ask("defs", place).unwrap_err();
    assert_eq!(error["code"], "outside_root", "{error}");
    let error = project
        .try_ask("list", json!({"path": "out.py"}))
        .unwrap_err();
    assert_eq!(error["code"], "outside_root", "{error}");
    let found = project.ask("grep", json!({"pattern": "SECRET"}));
    assert_eq!(found["total"], 0, "{found}");
}

#[test]
fn a_file_that_cannot_be_read_is_told_and_disturbs_nobody() {
    use std::os::unix::fs::PermissionsExt;
    let context = bare();
    context.write("open.py", "def fine():\n    return 1\n\n\nfine()\n");
    let closed = context.write("closed.py", "def hidden():\n    return 1\n");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    pillion_testing::mind_permissions();
    let mut project = TestProject::new(context);
    let place = json!({"file": "closed.py", "line": 1, "col": 5});
    let outcome = project.try_ask("defs", place);
    assert_eq!(outcome.unwrap_err()["code"], "not_found");
    assert_eq!(project.defs("open.py", "\n|fine()"), ["open.py:1:5"]);
}

#[test]
fn a_file_that_vanishes_between_two_questions_is_gone() {
    let mut project = TestProject::with(&[
        ("part.py", "def gone():\n    return 1\n"),
        ("app.py", "from part import gone\n\ngone()\n"),
    ]);
    assert_eq!(project.defs("app.py", "\n|gone()"), ["part.py:1:5"]);
    std::fs::remove_file(project.root().join("part.py")).unwrap();
    let left = project.defs("app.py", "\n|gone()");
    assert!(
        !left.iter().any(|place| place.starts_with("part.py")),
        "{left:?}"
    );
    let place = json!({"file": "part.py", "line": 1, "col": 5});
    let error = project.try_ask("defs", place).unwrap_err();
    assert_eq!(error["code"], "not_found", "{error}");
}
