//! Patterns of a project, and what is wrong in it.

use serde_json::{Value, json};

use super::{Mapped, empty, shop_with_tools};

fn app() -> pillion_testing::TestContext {
    let context = empty();
    context.write(
        "pyproject.toml",
        "[project]\nname = \"app\"\n\n[project.scripts]\napp = \"app.main:main\"\n",
    );
    context.write(
        "app/bus.py",
        "class Bus:\n    def __init__(self):\n        self.all = {}\n\n    def on(self, event, f):\n        self.all.setdefault(event, []).append(f)\n\n    def emit(self, event):\n        for f in self.all.get(event, ()):\n            f()\n",
    );
    context.write("app/api/__init__.py", "");
    context.write("app/services/__init__.py", "");
    context.write("app/db/__init__.py", "");
    context.write(
        "tests/conftest.py",
        "import pytest\n\n\n@pytest.fixture\ndef bus():\n    ...\n",
    );
    context
}

/// `type location` of each.
fn shown(answer: &Value) -> Vec<String> {
    let all = answer["patterns"].as_array().unwrap().iter();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    all.map(|one| format!("{} {}", text(one, "type"), text(one, "location")))
        .collect()
}

#[test]
fn patterns_are_found_and_follow_the_files() {
    let mut mapped = Mapped::new(app());
    let answer = mapped.ask("patterns", json!({"language": "auto", "refresh": true}));
    assert_eq!(
        shown(&answer),
        [
            "cli_commands pyproject.toml:5",
            "cli_entry_point pyproject.toml:5",
            "event_bus app/bus.py:1",
            "layered app/api/__init__.py:1",
            "test_fixture tests/conftest.py:5",
            // What a contract calls them, once for each file.
            "test_suite tests/conftest.py:5",
        ]
    );
    assert_eq!(answer["total_patterns"], 6);
    assert_eq!(answer["language"], "python");
    assert_eq!(answer["project"], json!(mapped.context.project));
    assert_eq!(
        answer["patterns"][2],
        json!({
            "type": "event_bus", "location": "app/bus.py:1", "confidence": 0.95,
            "description": "`Bus` takes listeners with `on` and tells them with `emit`",
        })
    );
    assert_eq!(
        mapped.ask("patterns", json!({})),
        answer,
        "the same each time"
    );

    mapped
        .context
        .write("app/bus.py", "class Bus(metaclass=Singleton):\n    pass\n");
    let answer = mapped.ask("patterns", json!({"types": ["event_bus", "singleton"]}));
    assert_eq!(shown(&answer), ["singleton app/bus.py:1"]);
    let answer = mapped.ask("patterns", json!({"min_confidence": 0.97, "limit": 1}));
    assert_eq!(shown(&answer), ["cli_entry_point pyproject.toml:5"]);
    assert_eq!(
        (&answer["total_patterns"], &answer["truncated"]),
        (&json!(2), &json!(true))
    );
}

#[test]
fn a_language_that_is_not_known_is_a_mistake() {
    let context = empty();
    context.write("pom.xml", "");
    let mut mapped = Mapped::new(context);
    let error = mapped
        .try_ask("patterns", json!({"language": "cobol"}))
        .unwrap_err();
    assert_eq!(
        (&error["code"], &error["recoverable"]),
        (&json!("invalid_params"), &json!(true))
    );
}

#[test]
fn ty_and_ruff_look_at_the_whole_project() {
    let context = shop_with_tools();
    context.write("shop/wrong.py", "import os\n\nx: int = ''\n");
    let mut mapped = Mapped::new(context);
    let answer = mapped.ask("diagnostics", json!({"language": "python"}));
    assert_eq!(answer["tools"], json!(["ruff", "ty"]));
    assert_eq!(answer["file_count"], 7);
    let all = answer["diagnostics"].as_array().unwrap();
    let wrong: Vec<&Value> = all
        .iter()
        .filter(|d| d["file"] == "shop/wrong.py")
        .collect();
    let place = |d: &Value| (d["source"].clone(), d["rule"].clone(), d["line"].clone());
    assert_eq!(place(wrong[0]), (json!("ruff"), json!("F401"), json!(1)));
    assert_eq!(
        place(wrong[1]),
        (json!("ty"), json!("invalid-assignment"), json!(3))
    );
    assert_eq!(wrong[1]["severity"], "error");
    assert!(wrong[1]["column"].is_u64() && wrong[1]["message"].is_string());
    let count = |severity: &str| all.iter().filter(|d| d["severity"] == severity).count();
    assert_eq!(answer["error_count"], count("error"));
    assert_eq!(answer["warning_count"], count("warning"));
}

#[test]
fn what_agents_are_given_is_found() {
    let context = empty();
    context.write("pyproject.toml", "[project]\nname = \"tools\"\n");
    context.write(
        "server.py",
        "from mcp.server.fastmcp import FastMCP\n\nmcp = FastMCP(\"x\")\n\n\n@mcp.tool()\ndef add(a: int) -> int:\n    return a\n",
    );
    context.write("skills/one/SKILL.md", "# One\n");
    context.write("hooks/hooks.json", "{}\n");
    let mut mapped = Mapped::new(context);
    let types = ["mcp_tools", "plugin_hooks", "plugin_skills"];
    let answer = mapped.ask("patterns", json!({ "types": types }));
    assert_eq!(
        shown(&answer),
        [
            "mcp_tools server.py:7",
            "plugin_hooks hooks/hooks.json",
            "plugin_skills skills/",
        ]
    );
}
