//! Who uses a name, what a rename would touch, and what a name is.

use pillion_testing::project::{TestProject, bare, members, place, places};
use serde_json::json;

use super::markers;

#[test]
fn uses_are_confirmed_or_possible_and_all_of_them_are_told() {
    markers::check(&mut TestProject::open("references"));
}

#[test]
fn a_limit_cuts_uses_off_and_says_so() {
    let mut project = TestProject::open("references");
    let (file, line, col) = project.find("model.py", "def |close(self, reason):\n#");
    let at = json!({"file": file, "line": line, "col": col});
    let asked = |more: serde_json::Value| {
        let mut params = at.clone();
        let more = more.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(more);
        params
    };
    let all = project.ask("refs", at.clone());
    let shape = json!([
        all["total"],
        all["confirmed"],
        all["possible"],
        all["truncated"]
    ]);
    assert_eq!(shape, json!([5, 4, 1, false]), "{all:#}");

    let two = project.ask("refs", asked(json!({"limit": 2})));
    assert_eq!(two["locations"].as_array().unwrap().len(), 2);
    let shape = json!([
        two["total"],
        two["confirmed"],
        two["possible"],
        two["truncated"]
    ]);
    assert_eq!(shape, json!([5, 4, 1, true]), "{two:#}");

    let sure = project.ask("refs", asked(json!({"confirmed_only": true})));
    assert_eq!((&sure["total"], &sure["possible"]), (&json!(4), &json!(0)));

    let uses = project.ask("refs", asked(json!({"include_declaration": false})));
    assert_eq!(uses["total"], 4, "{uses:#}");
    let found = places(&uses["locations"]);
    assert!(
        !found.contains(&format!("{file}:{line}:{col}")),
        "{found:?}"
    );
    // Confirmed uses come first, each sort by file and line.
    let sorts = members(&all["locations"], "confidence");
    assert_eq!(sorts.last().map(String::as_str), Some("possible"));
    assert!(sorts[..4].iter().all(|sort| sort == "confirmed"));
    let last = &all["locations"][4];
    assert_eq!(last["container"], "untyped", "{last}");
}

#[test]
fn the_same_uses_are_found_from_a_use() {
    let mut project = TestProject::open("references");
    let from = project.find("model.py", "def |helper");
    let all = places(&project.ask_at("refs", from)["locations"]);
    assert_eq!(all.len(), 4, "{all:?}");
    for needle in ["\n|helper(konto)", "model.|helper(konto)", "Konto, |helper"] {
        let from = project.find("app.py", needle);
        let found = places(&project.ask_at("refs", from)["locations"]);
        assert_eq!(found, all, "from {needle}");
    }
}

#[test]
fn a_rename_touches_the_whole_family_and_no_stranger() {
    markers::check(&mut TestProject::open("occurrences"));
}

#[test]
fn occurrences_have_totals_and_limits() {
    let mut project = TestProject::open("occurrences");
    let (file, line, col) = project.find("family.py", "def |shared");
    let answer = project.ask(
        "occurrences",
        json!({"file": file, "line": line, "col": col, "limit": 1}),
    );
    assert_eq!(answer["total"], 4, "{answer:#}");
    assert_eq!(answer["truncated"], true);
    assert_eq!(answer["locations"].as_array().unwrap().len(), 1);
}

#[test]
fn a_name_is_of_a_kind() {
    markers::check(&mut TestProject::open("hover"));
}

#[test]
fn hover_tells_signature_documentation_and_place() {
    let mut project = TestProject::open("hover");
    let at = project.find("app.py", "things.|add(1");
    let hover = project.ask_at("hover", at);
    assert_eq!(hover["name"], "add");
    assert_eq!(hover["type"], "function");
    assert_eq!(
        hover["signature"],
        "def add(left: int, right: int = 0) -> int"
    );
    assert_eq!(
        hover["docstring"],
        "Add two numbers.\n\nThey have to be whole."
    );
    assert_eq!(place(&hover["definition"]), "things.py:7:5");

    let at = project.find("app.py", "thing.|lift(1)");
    let hover = project.ask_at("hover", at);
    assert_eq!(hover["name_path"], "Thing/lift");
    assert_eq!(hover["docstring"], "Lift it.");

    let at = project.find("app.py", "import |things");
    let hover = project.ask_at("hover", at);
    assert_eq!(hover["name"], "things");
    assert_eq!(hover["docstring"], "Things to look at.");
    assert_eq!(place(&hover["definition"]), "things.py:1:1");

    let at = project.find("things.py", "right: int = 0) |-> int");
    let hover = project.ask_at("hover", at);
    for member in ["name", "type", "signature", "docstring", "definition"] {
        assert_eq!(hover[member], json!(null), "{member}: {hover}");
    }
}

#[test]
fn everything_about_a_place_comes_in_one_answer() {
    let mut project = TestProject::open("references");
    let (file, line, col) = project.find("app.py", "konto.|close(");
    let asked = json!({"file": file, "line": line, "col": col, "limit": 2, "lines": 3});
    let all = project.ask("at", asked);
    assert_eq!(all["name"], "close");
    assert_eq!(all["type"], "method");
    assert_eq!(all["name_path"], "Account/close");
    assert_eq!(places(&all["definitions"]), ["model.py:6:9"]);
    let source = all["source"].as_str().unwrap();
    assert!(
        source.starts_with("    def close(self, reason):\n"),
        "{source}"
    );
    assert_eq!(source.lines().count(), 3);
    assert_eq!(all["source_truncated"], true);
    assert_eq!(
        (&all["confirmed"], &all["possible"]),
        (&json!(4), &json!(1))
    );
    assert_eq!(all["truncated"], true);
    assert_eq!(all["references"].as_array().unwrap().len(), 2);
    assert_eq!(all["enclosing"], json!(null));

    let at = project.find("app.py", "thing.|close(");
    let inside = project.ask_at("at", at);
    assert_eq!(inside["enclosing"]["name_path"], "untyped", "{inside:#}");
}

#[test]
fn of_what_a_fixture_gives_the_class_is_known() {
    let mut project = TestProject::new(bare());
    let files = [
        (
            "shop.py",
            "class Shop:\n    def run(self): pass\nclass Till:\n    def run(self): pass\n",
        ),
        (
            "conftest.py",
            "import pytest\nfrom shop import Till\n@pytest.fixture\ndef till():\n    return Till()\n",
        ),
        (
            "test_shop.py",
            "def test_till(till):\n    till.run()\ndef test_other(other):\n    other.run()\n",
        ),
    ];
    for (file, text) in files {
        std::fs::write(project.root().join(file), text).unwrap();
    }
    let at = project.find("shop.py", "Shop:\n    def |run");
    let uses = project.ask_at("refs", at);
    let possible = uses["locations"].as_array().unwrap().iter();
    let possible = possible.filter(|use_| use_["confidence"] == "possible");
    let lines: Vec<_> = possible.map(|use_| use_["line"].clone()).collect();
    assert_eq!(lines, [json!(4)]);
}
