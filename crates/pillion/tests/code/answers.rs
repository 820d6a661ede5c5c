//! Answers that say more than nothing: modules and aliases, protocols, overloads, reasons,
//! names in their order, and findings with a summary.

use pillion_testing::TestContext;
use pillion_testing::project::{bare, members, places};
use serde_json::json;

fn program(files: &[(&str, &str)]) -> TestContext {
    let context = bare();
    context.write(
        "pyproject.toml",
        "[project]\nname = 'shop'\nversion = '1'\n",
    );
    for (name, text) in files {
        context.write(name, text);
    }
    context
}

#[test]
fn a_module_is_asked_about_wherever_it_is_spelled() {
    let context = program(&[
        ("shop/__init__.py", ""),
        ("shop/deep/__init__.py", ""),
        ("shop/deep/tool.py", "def helper(): ...\n"),
        (
            "one.py",
            "import shop.deep.tool\n\nshop.deep.tool.helper()\n",
        ),
        ("two.py", "from shop.deep import tool as t\n\nt.helper()\n"),
        (
            "three.py",
            "from shop.deep.tool import helper\n\ntool = 1\n",
        ),
    ]);
    let expected = [
        "one.py:1:18",
        "one.py:3:11",
        "shop/deep/tool.py:1:1",
        "three.py:1:16",
        "two.py:1:23",
        "two.py:1:31",
        "two.py:3:1",
    ];
    for at in [
        "shop.deep.tool",
        "one.py:1:18",
        "one.py:3:11",
        "three.py:1:16",
        "two.py:1:23",
        "two.py:1:31",
    ] {
        let answer = context.pillion_json(&["refs", at]);
        assert_eq!(places(&answer["locations"]), expected, "{at}");
    }
    // A part of the name before it is another module.
    let answer = context.pillion_json(&["refs", "one.py:1:13"]);
    let all = places(&answer["locations"]);
    assert!(
        all.contains(&"one.py:3:6".to_owned()) && !all.contains(&"one.py:1:18".to_owned()),
        "{all:?}"
    );
}

#[test]
fn another_name_of_something_is_that_something() {
    let context = program(&[
        ("lib.py", "def work(): ...\n\n\nwork()\n"),
        ("user.py", "from lib import work as labour\n\nlabour()\n"),
    ]);
    let expected = [
        "lib.py:1:5",
        "lib.py:4:1",
        "user.py:1:17",
        "user.py:1:25",
        "user.py:3:1",
    ];
    for at in ["work", "user.py:1:17", "user.py:1:25", "user.py:3:1"] {
        let answer = context.pillion_json(&["refs", at]);
        assert_eq!(places(&answer["locations"]), expected, "{at}");
    }
}

#[test]
fn classes_implement_protocols_without_saying_so() {
    let context = program(&[(
        "shapes.py",
        "from typing import Protocol\n\n\nclass Shape(Protocol):\n    name: str\n\n    def area(self) -> float: ...\n\n\n\
         class Square:\n    name = 'square'\n\n    def area(self) -> float:\n        return 1.0\n\n\n\
         class Named:\n    name = 'x'\n\n\nclass Circle(Named):\n    def area(self) -> float:\n        return 3.0\n",
    )]);
    let answer = context.pillion_json(&["implementations", "Shape"]);
    assert_eq!(
        members(&answer["locations"], "name"),
        ["Square", "Circle"],
        "{answer:#}"
    );
    let answer = context.pillion_json(&["implementations", "Shape.area"]);
    assert_eq!(
        places(&answer["locations"]),
        ["shapes.py:13:9", "shapes.py:22:9"],
        "{answer:#}"
    );
}

#[test]
fn overloads_are_told_with_their_heads() {
    let context = program(&[(
        "lib.py",
        "from typing import overload\n\n\n@overload\ndef f(x: int) -> int: ...\n@overload\ndef f(x: str) -> str: ...\n\
         def f(x):\n    \"\"\"The same.\"\"\"\n    return x\n\n\nf(1)\n",
    )]);
    let heads = json!(["def f(x: int) -> int", "def f(x: str) -> str"]);
    for at in ["f", "lib.py:13:1"] {
        assert_eq!(
            context.pillion_json(&["hover", at])["overloads"],
            heads,
            "{at}"
        );
        assert_eq!(
            context.pillion_json(&["at", at])["overloads"],
            heads,
            "{at}"
        );
        let text = context.pillion(&["hover", "--text", at]).stdout;
        assert!(text.contains("def f(x: str) -> str\n"), "{text}");
    }
}

#[test]
fn where_nothing_is_found_it_is_said_why() {
    let context = program(&[
        ("lib.py", "class Cart:\n    def total(self): ...\n"),
        (
            "user.py",
            "def pay(thing):\n    return thing.total()\n\n\nx = 1\n",
        ),
    ]);
    let why = |line: &str, col: &str| {
        let answer = context.pillion_json(&["defs", "user.py", line, col]);
        assert_eq!(answer["locations"], json!([]), "{answer:#}");
        (
            answer["why"].as_str().unwrap_or_default().to_owned(),
            match answer["candidates"].is_array() {
                true => places(&answer["candidates"]),
                false => Vec::new(),
            },
        )
    };
    assert_eq!(why("99", "1").0, "line 99 is missing: the file has 5 lines");
    assert_eq!(why("3", "1").0, "line 3 is blank");
    assert_eq!(why("5", "3").0, "no name is at column 3 of line 5: `x = 1`");
    assert!(why("5", "90").0.contains("has only 5 columns"));
    assert_eq!(why("1", "1").0, "`def` is a keyword");
    let (unknown, candidates) = why("2", "18");
    assert_eq!(
        unknown,
        "the type of what stands before `.total` is not known"
    );
    assert_eq!(candidates, ["lib.py:2:9"]);
    let text = context
        .pillion(&["defs", "--text", "user.py", "2", "18"])
        .stdout;
    assert!(text.contains("lib.py:2:9"), "{text}");
}

/// Whatever was asked, not only where something is defined.
#[test]
fn every_question_about_a_place_says_why_it_finds_nothing() {
    let context = program(&[
        ("lib.py", "class Cart:\n    def total(self): ...\n"),
        (
            "user.py",
            "def pay(thing):\n    return thing.total()\n\n\nLIMIT = len([])\n",
        ),
    ]);
    let questions = [
        ("at", "nothing there"),
        ("hover", "nothing there"),
        ("defs", "nothing found"),
        ("refs", "nothing found"),
        ("occurrences", "nothing found"),
        ("implementations", "nothing found"),
        ("callers", "no function there"),
        ("callees", "no function there"),
        ("type-hierarchy", "no class there"),
    ];
    for (question, what) in questions {
        for (at, why) in [
            ("user.py:99:1", "line 99 is missing: the file has 5 lines"),
            ("user.py:3:1", "line 3 is blank"),
            (
                "user.py:5:7",
                "no name is at column 7 of line 5: `LIMIT = len([])`",
            ),
            (
                "user.py:5:90",
                "line 5 has only 15 columns: `LIMIT = len([])`",
            ),
        ] {
            let answer = context.pillion_json(&[question, at]);
            assert_eq!(answer["why"], why, "{question} {at}: {answer:#}");
            let text = context.pillion(&[question, at, "--text"]);
            let said = format!("{what}: {why}\n");
            assert_eq!(text.stdout, said, "{question} {at}");
        }
        // One of several is answered like one alone.
        let several = context.pillion(&[question, "--at", "user.py:3:1", "--text"]);
        let said = format!("{what}: line 3 is blank\n");
        assert_eq!(several.stdout, said, "{question}");
    }
    // Who stands before the dot is not known: of this name there are others.
    for question in ["refs", "callers", "callees", "implementations"] {
        let answer = context.pillion_json(&[question, "user.py:2:18"]);
        let why = answer["why"].as_str().unwrap_or_default();
        assert!(
            why.contains("`.total` is not known"),
            "{question}: {answer:#}"
        );
        assert_eq!(places(&answer["candidates"]), ["lib.py:2:9"], "{question}");
    }
    // What is known, but none of what is asked about.
    for (question, at, why) in [
        (
            "callers",
            "user.py:5:1",
            "`LIMIT` is a variable, no function",
        ),
        (
            "type-hierarchy",
            "user.py:1:5",
            "`pay` is a function, no class",
        ),
    ] {
        assert_eq!(context.pillion_json(&[question, at])["why"], why);
    }
    let answer = context.pillion_json(&["occurrences", "user.py:5:9"]);
    let why = answer["why"].as_str().unwrap_or_default();
    assert!(
        why.starts_with("`len` is defined outside of the workspace"),
        "{answer:#}"
    );
    // Where there is something, nothing is said about nothing.
    for (question, at) in [
        ("at", "Cart"),
        ("refs", "Cart.total"),
        ("implementations", "Cart"),
        ("callers", "pay"),
    ] {
        let answer = context.pillion_json(&[question, at]);
        assert!(answer.get("why").is_none(), "{question}: {answer:#}");
    }
}

#[test]
fn symbols_of_the_very_name_come_first_and_noise_is_left_out() {
    let context = program(&[(
        "lib.py",
        "def flask_app(): ...\ndef fetch_all_task(): ...\nclass MyFlask: ...\nclass Flask: ...\nflask = 1\n",
    )]);
    let answer = context.pillion_json(&["symbols", "flask"]);
    assert_eq!(
        members(&answer["symbols"], "name"),
        ["flask", "Flask", "flask_app", "MyFlask"]
    );
    let answer = context.pillion_json(&["symbols", "fatask"]);
    assert_eq!(members(&answer["symbols"], "name"), ["fetch_all_task"]);
}

#[test]
fn findings_have_a_summary_and_an_exit_code() {
    let context = program(&[
        ("wrong.py", "import os\n\nx: int = \"text\"\n"),
        ("fine.py", "x = 1\n"),
        ("untidy.py", "import os\n"),
    ]);
    let found = context.pillion(&["diagnostics", "--text", "wrong.py"]);
    assert_eq!(found.code, Some(1), "{found}");
    let lines: Vec<&str> = found.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{found}");
    assert_eq!(lines[2], "1 error, 1 warning in 1 file");
    let answer = context.pillion(&["diagnostics", "wrong.py"]);
    assert_eq!(
        (answer.code, &answer.json()["errors"]),
        (Some(1), &json!(1))
    );
    let fine = context.pillion(&["diagnostics", "--text", "fine.py"]);
    assert_eq!(
        (fine.code, fine.stdout.as_str()),
        (Some(0), "nothing wrong in 1 file\n")
    );
    // That nothing was looked at is not that nothing is wrong.
    std::fs::create_dir(context.project.join("empty")).unwrap();
    let none = context.pillion(&["diagnostics", "--text", "empty"]);
    assert!(none.stdout.starts_with("nothing was checked: "), "{none}");
    // Warnings alone are no failure.
    assert_eq!(context.pillion(&["diagnostics", "untidy.py"]).code, Some(0));
    // The whole project is told of in the same way.
    let all = context.pillion(&["map", "diagnostics", "--text"]);
    assert_eq!(all.code, Some(1), "{all}");
    assert!(!all.stdout.contains("info:"), "{all}");
}

#[test]
fn rules_of_the_users_own_are_not_the_projects() {
    let mut context = program(&[("fine.py", "def f( ):\n    return 'x'\n")]);
    let config = context.base.join("config");
    std::fs::create_dir_all(config.join("ruff")).unwrap();
    std::fs::write(config.join("ruff/ruff.toml"), "lint.select = ['ALL']\n").unwrap();
    context.set_env("XDG_CONFIG_HOME", &config);
    let answer = context.pillion_json(&["diagnostics", "fine.py"]);
    assert_eq!(answer["total"], 0, "{answer:#}");
    context.write("ruff.toml", "lint.select = ['D']\n");
    let answer = context.pillion_json(&["diagnostics", "fine.py"]);
    assert!(answer["total"].as_u64().unwrap() > 0, "{answer:#}");
}
