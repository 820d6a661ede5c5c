//! What ty and ruff find wrong.

use pillion_testing::project::{TestProject, bare, git};
use serde_json::{Value, json};

const GOOD: &str = "def fine(value: int) -> int:\n    return value\n";
const WRONG: &str = "import os\n\nfrom good import fine\n\nfine(\"text\")\n";

fn told(answer: &Value) -> Vec<Value> {
    let all = answer["diagnostics"].as_array().unwrap();
    all.iter()
        .map(|d| json!([d["file"], d["line"], d["column"], d["source"], d["code"]]))
        .collect()
}

#[test]
fn both_tools_speak_in_the_same_words() {
    let mut project = TestProject::with(&[
        ("good.py", GOOD),
        ("wrong.py", WRONG),
        ("sub/half.py", "def f(:\n"),
    ]);
    let answer = project.ask("diagnostics", json!({"path": "wrong.py"}));
    let found = told(&answer);
    assert_eq!(
        found,
        [
            json!(["wrong.py", 1, 8, "ruff", "F401"]),
            json!(["wrong.py", 5, 6, "ty", "invalid-argument-type"]),
        ],
        "{answer:#}"
    );
    assert_eq!(answer["diagnostics"][1]["severity"], "error");
    assert_eq!(answer["diagnostics"][1]["end_column"], 12);
    let clean = project.ask("diagnostics", json!({"path": "good.py"}));
    assert_eq!((&clean["total"], &clean["files"]), (&json!(0), &json!(1)));
    let folder = project.ask("diagnostics", json!({"path": "sub"}));
    assert_eq!(folder["files"], 1);
    assert!(folder["total"].as_u64().unwrap() > 0, "{folder:#}");
    let all = project.ask("diagnostics", json!({"path": "."}));
    assert_eq!(all["files"], 3, "{all:#}");
    let one = project.ask("diagnostics", json!({"path": ".", "limit": 1}));
    assert_eq!(one["truncated"], true);
    let errors = project.ask("diagnostics", json!({"path": ".", "errors_only": true}));
    for found in errors["diagnostics"].as_array().unwrap() {
        assert_eq!(found["severity"], "error");
    }
}

#[test]
fn columns_of_findings_count_characters() {
    let text = "face = \"😀\"; x: int = \"é\"\nface = \"😀\"; import os\n";
    let mut project = TestProject::with(&[("e.py", text)]);
    let answer = project.ask("diagnostics", json!({"path": "e.py"}));
    let found = told(&answer);
    let ty = found.iter().find(|found| found[3] == "ty").unwrap();
    assert_eq!(
        *ty,
        json!(["e.py", 1, 22, "ty", "invalid-assignment"]),
        "{answer:#}"
    );
    let ruff = found.iter().find(|found| found[4] == "F401").unwrap();
    assert_eq!((&ruff[1], &ruff[2]), (&json!(2), &json!(20)), "{answer:#}");
}

#[test]
fn without_a_path_what_git_sees_as_changed_is_looked_at() {
    let context = bare();
    context.write("good.py", GOOD);
    context.write("old.py", WRONG);
    context.write("changed.py", GOOD);
    git(&context, &["init", "-q"]);
    git(&context, &["add", "."]);
    git(&context, &["commit", "-q", "-m", "all"]);
    context.write("changed.py", WRONG);
    let mut project = TestProject::new(context);
    let answer = project.ask("diagnostics", json!({}));
    assert_eq!(answer["files"], 1, "{answer:#}");
    let found = told(&answer);
    assert_eq!(found.len(), 2, "{answer:#}");
    assert!(found.iter().all(|found| found[0] == "changed.py"));
    project.context.write("new.py", "import sys\n");
    let answer = project.ask("diagnostics", json!({}));
    assert_eq!(answer["files"], 2, "{answer:#}");
}

#[test]
fn without_a_repository_the_caller_is_told_what_to_do() {
    let mut project = TestProject::with(&[("good.py", GOOD)]);
    let error = project.try_ask("diagnostics", json!({})).unwrap_err();
    assert_eq!(error["code"], "invalid_params", "{error}");
    assert!(error["hint"].is_string(), "{error}");
}

#[test]
fn since_a_clock_only_what_changed_is_looked_at() {
    let mut project = TestProject::with(&[("good.py", GOOD), ("old.py", WRONG)]);
    let before = project.ask("diagnostics", json!({"path": "good.py"}));
    let nothing = project.ask("diagnostics", json!({"since": before["clock"]}));
    assert_eq!(
        (&nothing["files"], &nothing["total"]),
        (&json!(0), &json!(0))
    );
    project.context.write("new.py", WRONG);
    let answer = project.ask("diagnostics", json!({"since": before["clock"]}));
    assert_eq!(answer["files"], 1, "{answer:#}");
    assert!(told(&answer).iter().all(|found| found[0] == "new.py"));
    // A change of what others use shows in those others when they are asked about.
    project.context.write(
        "good.py",
        "def fine(value: str) -> str:\n    return value\n",
    );
    let answer = project.ask("diagnostics", json!({"path": "old.py"}));
    assert!(
        told(&answer).iter().all(|found| found[3] != "ty"),
        "{answer:#}"
    );
    let error = project
        .try_ask("diagnostics", json!({"since": "yesterday"}))
        .unwrap_err();
    assert_eq!(error["code"], "invalid_params");
}

#[test]
fn one_mistake_is_told_once_and_shading_for_editors_is_none() {
    let mut project = TestProject::with(&[
        ("half.py", "def f(:\n    return 1\n"),
        ("unused.py", "def f(self, unused):\n    return 1\n"),
    ]);
    let answer = project.ask("diagnostics", json!({"path": "half.py"}));
    let places: Vec<Value> = answer["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| json!([found["line"], found["column"], found["code"]]))
        .collect();
    let mut once = places.clone();
    once.dedup();
    assert_eq!(places, once, "{answer:#}");
    assert!(!places.is_empty(), "{answer:#}");
    // No rule of the project says that every parameter is used.
    let answer = project.ask("diagnostics", json!({"path": "unused.py"}));
    assert_eq!(answer["total"], 0, "{answer:#}");
    project
        .context
        .write("wrong.py", "import nosuchmodule\n\nnosuchmodule.x\n");
    let text = project
        .context
        .pillion(&["diagnostics", "--text", "wrong.py"]);
    assert!(!text.stdout.contains("info:"), "{text}");
    assert!(text.stdout.contains("`nosuchmodule`"), "{text}");
}
