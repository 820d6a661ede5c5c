//! Hosts that were written for the old Python child: only the command line is new.

use std::path::Path;

use pillion_testing::{CommandOutput, TestContext};
use serde_json::{Value, json};

use super::{empty, git, shop, shop_with_tools};

const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/code/map/old_host.py");

/// What the host gets: each a name, a command and its arguments.
fn answers(context: &TestContext, project: &Path, requests: &Value) -> Value {
    let mut host = context.command("python3");
    let pillion = context.pillion_command(&["stdio"]);
    host.arg(HOST).arg(project).arg(requests.to_string());
    host.arg(pillion.get_program()).args(pillion.get_args());
    let output = CommandOutput::of(host);
    assert_eq!(output.code, Some(0), "{output}");
    output.json()
}

/// The shape of a value: types in the place of what is in it, of lists the first item.
fn shape(value: &Value) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("bool"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("string"),
        Value::Array(all) => all.first().map_or(json!([]), |first| json!([shape(first)])),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), shape(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

/// Whether a shape has all that the contract names; more is allowed.
fn assert_fits(name: &str, found: &Value, contract: &Value) {
    match (found, contract) {
        (Value::Object(found), Value::Object(contract)) => {
            for (member, wanted) in contract {
                let is = found.get(member);
                let is = is.unwrap_or_else(|| panic!("{name}: no `{member}` in {found:?}"));
                assert_fits(&format!("{name}.{member}"), is, wanted);
            }
        }
        (Value::Array(_), Value::Array(contract)) if contract.is_empty() => {}
        (Value::Array(found), Value::Array(contract)) => {
            assert!(
                !found.is_empty(),
                "{name}: nothing in the list shows its shape"
            );
            assert_fits(&format!("{name}[]"), &found[0], &contract[0]);
        }
        _ => assert_eq!(found, contract, "{name}"),
    }
}

#[test]
fn every_command_is_answered_as_the_contract_says() {
    let context = shop_with_tools();
    git(&context, &["init", "-q", "-b", "main"]);
    git(&context, &["add", "."]);
    git(&context, &["commit", "-qm", "one"]);
    context.write(
        "shop/money.py",
        "import os\n\nRATE = 2\n\n\ndef add(items):\n    return sum(items) + RATE\n\n\ndef split(sum_, parts):\n    return [sum_ / parts] * parts\n",
    );
    context.write(
        "api/pyproject.toml",
        "[project]\nname = \"api\"\n[tool.uv.sources]\nshop = { path = \"..\" }\n",
    );
    context.write(
        "api/api/main.py",
        "from shop import Cart\n\nif __name__ == \"__main__\":\n    Cart()\n",
    );
    context.write("shop/loop.py", "from api.api import main\n");
    let requests = json!([
        ["structure", "structure", {"language": "python", "max_results": 100}],
        ["extract", "extract", {"file": "shop/cart.py"}],
        ["call_graph", "call_graph", {"language": "python"}],
        ["impact", "impact", {"target": "shop/money.py:add", "max_depth": 3}],
        ["change_impact", "change_impact", {"use_git": true, "git_base": "HEAD"}],
        ["explicit", "change_impact", {"files": ["shop/money.py"], "max_depth": 5}],
        ["in_file", "impact", {"target": "add", "target_file": "shop/money.py"}],
        ["dead_code", "dead_code", {"entry_points": ["split"]}],
        ["architecture", "architecture", null],
        ["diagnostics", "diagnostics", {}],
        ["cross_project_deps", "cross_project_deps", {"refresh": true}],
        ["detect_patterns", "detect_patterns", {"language": "auto", "refresh": null}],
        ["live_changes", "live_changes", {"baseline": "HEAD", "language": "python"}],
        ["reference_edges", "reference_edges", {"language": "auto", "max_files": 500}],
    ]);
    let answers = answers(&context, &context.project, &requests);
    let node = json!({
        "function": "string", "file": "string", "caller_count": "number", "truncated": "bool",
    });
    let mut tree = node.clone();
    tree["callers"] = json!([node]);
    let contract = json!({
        "structure": {
            "root": "string", "language": "string", "total": "number", "truncated": "bool",
            "files": [{"path": "string", "functions": [], "classes": [], "imports": ["string"]}],
        },
        "extract": {
            "functions": [{"name": "string", "line": "number", "params": ["string"]}],
            "classes": [{"name": "string", "line": "number", "methods": [{"name": "string"}]}],
            "imports": ["string"],
        },
        "call_graph": {"edges": [["string"]], "edge_count": "number"},
        "impact": {"targets": {"shop/money.py:add": tree}, "total_targets": "number"},
        "change_impact": {
            "changed_files": ["string"], "changed_functions": ["string"],
            "affected_tests": ["string"], "affected_count": "number",
            "skipped_count": "number", "total_tests": "number",
            "test_command": ["string"], "source": "string",
        },
        "dead_code": {
            "dead_functions": [{"file": "string", "function": "string"}], "by_file": {},
            "total_dead": "number", "total_functions": "number", "dead_percentage": "number",
        },
        "architecture": {
            "entry_layer": [{"file": "string", "function": "string"}],
            "leaf_layer": [{"file": "string", "function": "string"}],
            "middle_layer_count": "number",
            "directory_layers": [{
                "directory": "string", "calls_out": "number", "calls_in": "number",
                "inferred_layer": "string", "function_count": "number",
            }],
            "summary": {
                "entry_count": "number", "leaf_count": "number", "middle_count": "number",
                "circular_count": "number",
            },
        },
        "diagnostics": {
            "project": "string", "language": "string", "tools": ["string"],
            "diagnostics": [{
                "file": "string", "line": "number", "column": "number", "severity": "string",
                "message": "string", "rule": "string", "source": "string",
            }],
            "error_count": "number", "warning_count": "number", "file_count": "number",
        },
        "cross_project_deps": {
            "root": "string", "total_projects": "number", "total_edges": "number",
            "projects": [{
                "project": "string", "path": "string",
                "depends_on": [{"project": "string", "type": "string", "via": "string"}],
            }],
        },
        "detect_patterns": {
            "project": "string", "language": "string", "total_patterns": "number",
            "patterns": [{
                "type": "string", "location": "string", "confidence": "number",
                "description": "string",
            }],
        },
        "live_changes": {
            "project": "string", "baseline": "string",
            "total_files": "number", "total_symbols_affected": "number",
            "changes": [{
                "file": "string", "status": "string",
                "hunks": [{
                    "old_start": "number", "old_count": "number",
                    "new_start": "number", "new_count": "number",
                }],
            }],
        },
        "reference_edges": {
            "definitions": [{
                "file": "string", "name": "string", "line": "number", "kind": "string",
            }],
            "edges": [{
                "src_file": "string", "src_symbol": "string",
                "dst_file": "string", "dst_symbol": "string",
            }],
            "files_scanned": "number", "language": "string", "edge_count": "number",
            "truncated": "bool",
        },
    });
    for (name, wanted) in contract.as_object().unwrap() {
        let answer = &answers[name];
        assert!(answer.get("error").is_none(), "{name}: {answer:#}");
        let found = shape(&answer["result"]);
        assert_fits(name, &found, wanted);
    }
    assert!(answers["architecture"]["result"]["circular_dependencies"].is_array());
    let changed = &answers["change_impact"]["result"];
    assert_eq!(changed["source"], "git:HEAD", "{changed:#}");
    assert_eq!(changed["test_command"][0], "pytest", "{changed:#}");
    let functions = changed["changed_functions"].as_array().unwrap();
    assert!(functions.contains(&json!("add")), "{changed:#}");
    let defined = answers["reference_edges"]["result"]["definitions"].clone();
    let mut kinds = defined.as_array().unwrap().iter().map(|one| &one["kind"]);
    assert!(kinds.any(|kind| kind == "func"), "{defined:#}");
    let explicit = &answers["explicit"]["result"];
    assert_eq!(explicit["source"], "explicit", "{explicit:#}");
    assert_eq!(explicit["changed_files"], json!(["shop/money.py"]));
    assert_eq!(answers["in_file"]["result"]["total_targets"], 1);
    let edges = answers["call_graph"]["result"]["edges"].as_array().unwrap();
    assert!(edges.iter().all(|edge| edge.as_array().unwrap().len() == 4));
    let changed = &answers["live_changes"]["result"]["changes"];
    let money = changed.as_array().unwrap().iter();
    let money = money
        .clone()
        .find(|c| c["file"] == "shop/money.py")
        .unwrap();
    assert_eq!(
        money["symbols_affected"],
        json!([{"name": "add", "type": "function", "line": 6}])
    );
}

#[test]
fn mistakes_have_the_codes_that_hosts_know() {
    let context = shop();
    context.write("broken.py", "def f(:\n");
    let requests = json!([
        ["nosuch", "extract", {"file": "nosuch.py"}],
        ["broken", "extract", {"file": "broken.py"}],
        ["nobody", "impact", {"target": "nobody_has_this_name"}],
        ["language", "structure", {"language": "cobol"}],
        ["argument", "impact", {}],
        ["unknown", "conjure", {}],
        ["fine", "structure", {}],
    ]);
    let all = answers(&context, &context.project, &requests);
    let code = |name: &str| {
        let error = &all[name]["error"];
        assert_eq!(error["recoverable"], true, "{name}: {error}");
        assert!(error["message"].is_string(), "{name}: {error}");
        error["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(code("nosuch"), "file_not_found");
    assert_eq!(code("broken"), "parse_error");
    // To these hosts it is an answer.
    assert_eq!(
        all["nobody"]["result"],
        json!({"error": "Function 'nobody_has_this_name' not found in call graph"})
    );
    assert_eq!(code("language"), "invalid_params");
    assert_eq!(code("argument"), "invalid_params");
    assert_eq!(
        all["unknown"]["result"],
        json!({"error": "UnknownCommand", "message": "Unknown command: conjure"})
    );
    assert_eq!(all["fine"]["result"]["total"], 7);
    let nowhere = context.project.join("nosuch");
    let all = answers(&context, &nowhere, &json!([["gone", "structure", {}]]));
    assert_eq!(all["gone"]["error"]["code"], "file_not_found");
}

#[test]
fn one_command_can_be_done_alone() {
    let context = shop();
    let project = context.project.display().to_string();
    let one = |args: &[&str]| {
        let mut all = vec!["stdio", "--command"];
        all.extend(args);
        context.pillion(&all)
    };
    let args = r#"{"file": "shop/cart.py"}"#;
    let output = one(&["extract", "--project", &project, "--args", args]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json()["classes"][0]["name"], "Cart");
    let output = one(&["architecture", "--project", &project]);
    assert!(output.json()["directory_layers"].is_array(), "{output}");

    let args = r#"{"file": "nosuch.py"}"#;
    let output = one(&["extract", "--project", &project, "--args", args]);
    assert_eq!((output.code, &*output.stdout), (Some(1), ""), "{output}");
    let error: Value = serde_json::from_str(output.stderr.trim()).unwrap();
    assert_eq!(error["error"], "file_not_found", "{error}");
    let empty = empty();
    let output = empty.pillion(&["stdio", "--command", "conjure"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json()["error"], "UnknownCommand", "{output}");
    // Wrong usage is told apart from what went wrong.
    let output = empty.pillion(&["stdio", "--command", "structure"]);
    assert_eq!(output.code, Some(2), "{output}");
    let output = one(&["structure", "--project", &project, "--args", "["]);
    assert_eq!(output.code, Some(1), "{output}");
    let args = r#"{"target": "nobody_has_this_name"}"#;
    let output = one(&["impact", "--project", &project, "--args", args]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.json()["error"].is_string(), "{output}");
}
