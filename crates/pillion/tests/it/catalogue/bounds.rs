//! No parameter makes an operation fall over, write, or answer without end.

use pillion::Safety;
use pillion_testing::THINGS;
use pillion_testing::project::{bare, git};
use serde_json::json;

use super::examples::{example, oddities, previews, write_shop};
use super::tree::Tree;

#[test]
fn odd_parameters_are_refused_or_answered_and_nothing_is_written() {
    let context = bare();
    context.write("things.py", THINGS);
    write_shop(&context);
    git(&context, &["init", "-q", "-b", "main"]);
    git(&context, &["add", "."]);
    git(&context, &["commit", "-q", "-m", "first"]);
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mut wrong = Vec::new();
    for definition in pillion::definitions() {
        if definition.safety != Safety::Read && !previews(&definition) {
            continue;
        }
        let before = Tree::of(&context.project);
        for mut params in oddities(&definition, &context) {
            // Some wait for what never comes.
            if params.get("timeout_ms").is_none() {
                params["timeout_ms"] = json!(1_000);
            }
            let said: String = params.to_string().chars().take(300).collect();
            match rpc.call(definition.name, params) {
                Ok(answer) if answer.to_string().len() > pillion::MAX_ANSWER => {
                    wrong.push(format!("{} {said}: too long", definition.name));
                }
                Err(error) if error["data"]["kind"] == "internal" => {
                    wrong.push(format!("{} {said}: {:#}", definition.name, error["data"]));
                }
                Ok(_) | Err(_) => {}
            }
        }
        let differences = before.differences(&Tree::of(&context.project));
        if !differences.is_empty() {
            wrong.push(format!("{}: {differences:?}", definition.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Operations on kernels that no client of Jupyter knows.
const OURS: [&str; 3] = ["kernel.connect_file", "kernel.install", "kernel.launch"];

/// What is misspelled would be left out in silence.
#[test]
fn members_that_an_operation_does_not_know_are_refused() {
    let context = bare();
    let daemon = context.daemon();
    let mut rpc = daemon.connect();
    let mut wrong = Vec::new();
    for definition in pillion::definitions() {
        // What clients of Jupyter ask has members that only some servers know.
        let is_jupyters = definition.name.starts_with("kernel.");
        if is_jupyters && !OURS.contains(&definition.name) {
            continue;
        }
        let mut params = example(&definition, &context);
        params["no_such_member"] = json!(1);
        let refused = rpc.call(definition.name, params).err();
        let is_told = refused.as_ref().is_some_and(|error| {
            let data = &error["data"];
            data["code"] == "invalid_params" && data.to_string().contains("no_such_member")
        });
        if !is_told {
            wrong.push(format!("{}: {refused:?}", definition.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
