//! Text in files.

use pillion_testing::project::{TestProject, members, place, places};
use serde_json::{Value, json};

fn project() -> TestProject {
    TestProject::with(&[
        ("a.py", "first = 1\nneedle = 2\nlast = 3\n# Needle\n"),
        ("b.txt", "😀é needle, and a needle\n"),
        ("deep/c.py", "x = 'n.edle'\nneedle()\n"),
        ("ignored/d.py", "needle\n"),
        ("deep/.gitignore", "e.py\n"),
        ("deep/e.py", "needle\n"),
        (".gitignore", "ignored\n"),
        ("crlf.py", "one\r\nneedle\r\nthree\r\n"),
        ("data.bin", "needle\0needle\n"),
    ])
}

fn found(project: &mut TestProject, params: Value) -> Vec<String> {
    let answer = project.ask("grep", params);
    let found = places(&answer["matches"]);
    assert_eq!(answer["total"], found.len(), "{answer:#}");
    assert_eq!(answer["truncated"], false);
    found
}

#[test]
fn plain_text_is_found_with_columns_in_characters() {
    let mut project = project();
    let all = found(&mut project, json!({"pattern": "needle"}));
    assert_eq!(
        all,
        ["a.py:2:1", "b.txt:1:4", "crlf.py:2:1", "deep/c.py:2:1"],
        "not what is ignored, not binary files"
    );
    let dots = found(&mut project, json!({"pattern": "n.edle"}));
    assert_eq!(dots, ["deep/c.py:1:6"], "a dot is a dot");
    let any_case = found(
        &mut project,
        json!({"pattern": "NEEDLE", "ignore_case": true}),
    );
    assert_eq!(any_case.len(), 5, "{any_case:?}");
    let below = found(&mut project, json!({"pattern": "needle", "path": "deep"}));
    assert_eq!(below, ["deep/c.py:2:1"]);
    let one = found(&mut project, json!({"pattern": "needle", "path": "a.py"}));
    assert_eq!(one, ["a.py:2:1"]);
    let none = found(&mut project, json!({"pattern": "haystack"}));
    assert!(none.is_empty());
}

#[test]
fn regular_expressions_are_asked_for() {
    let mut project = project();
    let all = found(&mut project, json!({"pattern": "^n.*e\\b", "regex": true}));
    assert_eq!(all, ["a.py:2:1", "crlf.py:2:1", "deep/c.py:2:1"]);
    let ends = found(&mut project, json!({"pattern": "needle$", "regex": true}));
    assert_eq!(
        ends,
        ["b.txt:1:18", "crlf.py:2:1"],
        "a line end is no character"
    );
    let bad = json!({"pattern": "(", "regex": true});
    let error = project.try_ask("grep", bad).unwrap_err();
    assert_eq!(error["code"], "invalid_params", "{error}");
    assert!(error["hint"].is_string());
    let empty = project.try_ask("grep", json!({"pattern": ""})).unwrap_err();
    assert_eq!(empty["code"], "invalid_params", "{empty}");
}

#[test]
fn context_lines_stand_before_and_after() {
    let mut project = project();
    let answer = project.ask(
        "grep",
        json!({"pattern": "needle", "path": "a.py", "context": 1}),
    );
    let only = &answer["matches"][0];
    assert_eq!(
        json!([only["text"], only["before"], only["after"]]),
        json!(["needle = 2", ["first = 1"], ["last = 3"]])
    );
    let answer = project.ask(
        "grep",
        json!({"pattern": "needle", "path": "crlf.py", "context": 5}),
    );
    let only = &answer["matches"][0];
    assert_eq!(
        json!([only["text"], only["before"], only["after"]]),
        json!(["needle", ["one"], ["three"]])
    );
    let plain = project.ask("grep", json!({"pattern": "needle", "path": "a.py"}));
    assert_eq!(plain["matches"][0]["before"], json!([]));
}

#[test]
fn context_of_neighbours_belongs_to_the_match_it_stands_beside() {
    let mut project =
        TestProject::with(&[("n.py", "hit 1\nhit 2\nmiss 3\nhit 4\nmiss 5\nmiss 6\n")]);
    let answer = project.ask("grep", json!({"pattern": "hit", "context": 1}));
    let told: Vec<Value> = answer["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| json!([m["line"], m["before"], m["after"]]))
        .collect();
    // Every match has its whole context, also lines that others have too.
    assert_eq!(
        told,
        [
            json!([1, [], ["hit 2"]]),
            json!([2, ["hit 1"], ["miss 3"]]),
            json!([4, ["miss 3"], ["miss 5"]]),
        ],
        "{answer:#}"
    );
}

#[test]
fn a_maximum_cuts_off_and_the_total_still_counts() {
    let mut project = project();
    let answer = project.ask("grep", json!({"pattern": "needle", "max": 2}));
    assert_eq!(
        (&answer["total"], &answer["truncated"]),
        (&json!(4), &json!(true))
    );
    assert_eq!(members(&answer["matches"], "file"), ["a.py", "b.txt"]);
    assert_eq!(place(&answer["matches"][1]), "b.txt:1:4");
}

#[test]
fn text_of_a_file_in_another_encoding_is_found() {
    let context = pillion_testing::project::bare();
    let text: Vec<u8> = "# coding: latin-1\nname = 'größe'\n"
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    std::fs::write(context.project.join("old.py"), text).unwrap();
    std::fs::write(context.project.join("bom.py"), "\u{feff}first = 1\n").unwrap();
    let mut project = TestProject::new(context);
    let all = found(&mut project, json!({"pattern": "größe"}));
    assert_eq!(all, ["old.py:2:9"]);
    let all = found(&mut project, json!({"pattern": "^first", "regex": true}));
    assert_eq!(all, ["bom.py:1:1"], "a byte order mark is no character");
}
