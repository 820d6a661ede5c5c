//! An agent's day: ten tasks on a real project, through MCP and nothing else, with what each costs.
//!
//! `cargo test -p pillion --test it an_agents_day -- --nocapture` prints the numbers that stand in
//! `docs/guides/mcp.md`. A token is taken for four bytes.

use std::fmt::Write;

use pillion_testing::agent::{McpAgent, text_of};
use pillion_testing::prerequisites::CLICK;
use pillion_testing::project::{bare, git};
use pillion_testing::{copy, set_up};
use serde_json::{Value, json};

use super::table::TOKEN;

/// One task, and what it cost.
struct Task {
    name: &'static str,
    calls: usize,
    asked: usize,
    answered: usize,
}

/// An agent that counts.
struct Day {
    agent: McpAgent,
    tasks: Vec<Task>,
}

impl Day {
    fn begin(&mut self, name: &'static str) {
        self.tasks.push(Task {
            name,
            calls: 0,
            asked: 0,
            answered: 0,
        });
    }

    /// Call a tool: what the agent reads.
    fn call(&mut self, tool: &str, arguments: Value) -> String {
        let asked = arguments.to_string().len() + tool.len();
        let result = self.agent.tool(tool, arguments);
        let text = text_of(&result).to_owned();
        assert_eq!(result["isError"], false, "{tool}: {text}");
        if let Some(task) = self.tasks.last_mut() {
            task.calls += 1;
            task.asked += asked;
            task.answered += text.len();
        }
        text
    }

    /// What all of it cost, as a table.
    fn report(&self, before: usize) -> String {
        let mut report =
            String::from("| task | calls | tokens asked | tokens answered |\n|---|---|---|---|\n");
        let _ = writeln!(report, "| read the tools | 1 | 0 | {} |", before / TOKEN);
        let row = |name: &str, calls, asked, answered| {
            format!(
                "| {name} | {calls} | {} | {} |\n",
                asked / TOKEN,
                answered / TOKEN
            )
        };
        for task in &self.tasks {
            report += &row(task.name, task.calls, task.asked, task.answered);
        }
        let sum = |of: fn(&Task) -> usize| self.tasks.iter().map(of).sum::<usize>();
        report
            + &row(
                "all ten",
                sum(|t| t.calls),
                sum(|t| t.asked),
                sum(|t| t.answered),
            )
    }
}

/// A test that the agent adds.
const ADDED: &str = "def test_a_stream_is_no_path():\n    assert not click.utils.is_path_of_stream(\"a\")\n    assert click.utils.is_path_of_stream(\"-\")\n";

#[test]
fn an_agents_day_costs_little() {
    let mut context = bare();
    copy(&CLICK.fetched(), &context.project);
    git(&context, &["init", "-q"]);
    git(&context, &["add", "-A", "--force"]);
    git(&context, &["commit", "-qm", "as it came"]);
    let python = set_up("dev-python/bin/python");
    context.set_env("PILLION_PYTHON", python.to_str().unwrap());
    context.set_env("PYTHONDONTWRITEBYTECODE", "1");
    let mut day = Day {
        agent: context.agent(&[]),
        tasks: Vec::new(),
    };
    let table = Value::from(day.agent.table()).to_string().len();

    day.begin("find where a name is defined");
    let found = day.call("code_symbols", json!({ "query": "safecall" }));
    assert!(found.contains("src/click/utils.py:"), "{found}");

    day.begin("understand a function");
    let about = day.call(
        "code_at",
        json!({ "at": "Context.lookup_default", "limit": 5 }),
    );
    assert!(about.contains("def lookup_default"), "{about}");

    day.begin("read one method of a long file");
    let source = day.call(
        "code_read_symbol",
        json!({ "at": "Parameter.consume_value" }),
    );
    assert!(source.contains("ParameterSource.COMMANDLINE"), "{source}");

    day.begin("list every use of a function");
    let uses = day.call("code_refs", json!({ "at": "src/click/termui.py::style" }));
    assert!(uses.contains(" confirmed, "), "{uses}");

    day.begin("see who a change would reach");
    let reach = day.call(
        "map_impact",
        json!({ "target": "make_str", "max_depth": 2 }),
    );
    assert!(reach.contains("make_str"), "{reach}");

    day.begin("rename a function everywhere");
    let rename = json!({ "at": "src/click/utils.py::make_str", "new_name": "to_text" });
    let patch = day.call("code_rename", rename.clone());
    assert!(patch.contains("+def to_text("), "{patch}");
    let mut rename = rename;
    rename["apply"] = json!(true);
    day.call("code_rename", rename);

    day.begin("move a function to another module");
    day.call(
        "code_move",
        json!({ "at": "src/click/utils.py::safecall", "dest_file": "src/click/_compat.py", "apply": true }),
    );
    let moved = day.call("code_symbols", json!({ "query": "safecall" }));
    assert!(moved.contains("src/click/_compat.py:"), "{moved}");

    day.begin("find and fix an error");
    let at = "src/click/utils.py::make_default_short_help";
    let source = day.call("code_read_symbol", json!({ "at": at }));
    let body = source
        .split_once('\n')
        .map(|(_, body)| body.to_owned())
        .unwrap();
    let body: String = dedented(&body);
    let broken = body.replace("help.split()", "helq.split()");
    assert_ne!(broken, body, "{source}");
    day.call(
        "code_replace_body",
        json!({ "at": at, "source": broken, "apply": true }),
    );
    let wrong = day.call(
        "code_diagnostics",
        json!({ "path": "src/click/utils.py", "errors_only": true }),
    );
    assert!(wrong.contains("helq"), "{wrong}");
    day.call(
        "code_replace_body",
        json!({ "at": at, "source": body, "apply": true }),
    );
    let wrong = day.call(
        "code_diagnostics",
        json!({ "path": "src/click/utils.py", "errors_only": true }),
    );
    assert!(!wrong.contains("helq"), "{wrong}");

    day.begin("add a function and its test, and run it");
    day.call("code_insert_after", json!({
        "at": "src/click/utils.py::to_text",
        "source": "def is_path_of_stream(path: str) -> bool:\n    \"\"\"Whether a path stands for a standard stream.\"\"\"\n    return path == \"-\"\n",
        "apply": true,
    }));
    day.call(
        "code_insert_after",
        json!({
            "at": "tests/test_utils.py::test_echo", "source": ADDED, "apply": true,
        }),
    );
    let ran = day.call("py_call", json!({
        "function": "pytest:main",
        "params": [["-q", "-p", "no:cacheprovider", "-o", "addopts=", "tests/test_utils.py", "-k", "stream_is_no_path"]],
        "path": ["src"],
    }));
    assert_eq!(ran, "0");

    day.begin("check what the day's changes reach");
    let reached = day.call("map_change_impact", json!({ "git_base": "HEAD" }));
    assert!(reached.contains("tests/test_utils.py"), "{reached}");

    let report = day.report(table);
    println!("{report}");
    let answered: usize = day.tasks.iter().map(|task| task.answered).sum();
    let calls: usize = day.tasks.iter().map(|task| task.calls).sum();
    assert_eq!(day.tasks.len(), 10);
    assert!(calls <= 18, "{report}");
    assert!(answered / TOKEN <= 4_500, "{report}");
    for task in &day.tasks {
        assert!(task.answered / TOKEN <= 1_000, "{}: {report}", task.name);
    }
}

/// A source as if it stood at the margin.
fn dedented(text: &str) -> String {
    let deep = |line: &str| line.len() - line.trim_start().len();
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let margin = lines().map(deep).min().unwrap_or(0);
    let lines = text
        .lines()
        .map(|line| line.get(margin..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n") + "\n"
}
