//! Prompts: work that goes well with these tools, for people to start by name.

use rmcp::ErrorData as McpError;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Value, json};

use super::tools::Tools;

/// A prompt. Its steps name operations; a step whose tool is not offered is left out.
struct Work {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// Name, what it is, whether it must be given.
    arguments: &'static [(&'static str, &'static str, bool)],
    goal: &'static str,
    steps: &'static [(&'static [&'static str], &'static str)],
}

const ALL: &[Work] = &[
    Work {
        name: "review-change",
        title: "Review the change in the working tree",
        about: "Find what an uncommitted change, or one since a commit, may break.",
        arguments: &[(
            "base",
            "The commit to compare with; HEAD if not given.",
            false,
        )],
        goal: "Review the change in this project since {base|HEAD}. Report only what you have checked.",
        steps: &[
            (
                &["map.live_changes"],
                "List the changed symbols with `{0}`.",
            ),
            (
                &["map.change_impact"],
                "Find the tests that reach the change with `{0}`, and run them.",
            ),
            (
                &["code.refs", "code.callers"],
                "For each function or class whose signature or meaning changed, look at every use with `{0}` and every caller with `{1}`: does each still fit?",
            ),
            (&["code.diagnostics"], "Run `{0}` on the changed files."),
            (
                &[],
                "Close with a list of findings: file and line, what breaks, how to repair it. Say so if there are none.",
            ),
        ],
    },
    Work {
        name: "rename-safely",
        title: "Rename a name everywhere",
        about: "Rename a function, class, method or variable, with a look at what cannot be known.",
        arguments: &[
            ("symbol", "What to rename, such as `Cart/total`.", true),
            ("new_name", "Its new name.", true),
        ],
        goal: "Rename `{symbol}` to `{new_name}` in this project.",
        steps: &[
            (
                &["code.symbols"],
                "Find its definition with `{0}`; ask if there are several.",
            ),
            (
                &["code.refs"],
                "Look at its uses with `{0}`. Possible ones are on objects whose type is not known: decide each by reading the code.",
            ),
            (
                &["code.rename"],
                "Make the patch with `{0}` without `apply`, and read what it leaves alone (strings, comments).",
            ),
            (
                &["code.rename", "code.undo"],
                "If all is well, call `{0}` with `apply`; `{1}` takes it back.",
            ),
            (
                &["code.grep", "code.diagnostics"],
                "Look for the old name in text with `{0}`, and run `{1}` on the changed files.",
            ),
        ],
    },
    Work {
        name: "find-dead-code",
        title: "Find code that nothing uses",
        about: "Find functions and classes that nothing reaches, and check each before it is removed.",
        arguments: &[(
            "path",
            "The folder to look at; the whole project if not given.",
            false,
        )],
        goal: "Find code that nothing uses in {path|this project}.",
        steps: &[
            (&["map.dead_code"], "Get candidates with `{0}`."),
            (
                &["code.list", "code.symbols"],
                "Where that has no answer, list definitions with `{0}` or `{1}`.",
            ),
            (
                &["code.refs"],
                "Check each candidate with `{0}`: a confirmed use ends it, a possible one must be read.",
            ),
            (
                &["code.grep"],
                "Look for its name in text with `{0}`: entry points, registrations by name, templates and configuration are uses too.",
            ),
            (
                &[],
                "Report what is dead, what is perhaps dead and why you cannot tell. Remove nothing unasked.",
            ),
            (
                &["code.safe_delete"],
                "When asked to remove one, use `{0}`: it refuses where uses are left.",
            ),
        ],
    },
];

/// All prompts.
pub(super) fn list() -> Vec<Prompt> {
    ALL.iter()
        .map(|work| {
            let arguments = work.arguments.iter().map(|(name, about, required)| {
                PromptArgument::new(*name)
                    .with_description(*about)
                    .with_required(*required)
            });
            Prompt::new(work.name, Some(work.about), Some(arguments.collect()))
                .with_title(work.title)
        })
        .collect()
}

/// One of them, with its arguments filled in.
pub(super) fn get(
    name: &str,
    arguments: &JsonObject,
    tools: &Tools,
) -> Result<GetPromptResult, McpError> {
    let refused = |what: String| McpError::invalid_params(what, Some(json!({ "prompt": name })));
    let work = ALL.iter().find(|work| work.name == name);
    let work = work.ok_or_else(|| refused(format!("there is no prompt `{name}`")))?;
    let given = |name: &str| arguments.get(name).and_then(Value::as_str);
    let mut text = work.goal.to_owned();
    for (argument, _, required) in work.arguments {
        if *required && given(argument).is_none() {
            return Err(refused(format!(
                "the prompt `{name}` wants the argument `{argument}`"
            )));
        }
        text = filled(&text, argument, given(argument));
    }
    text.push_str("\n\n");
    let offered = |operation: &&str| tools.of_operation(operation).is_some();
    let steps = work
        .steps
        .iter()
        .filter(|(needs, _)| needs.iter().all(offered));
    for (number, (needs, step)) in (1..).zip(steps) {
        let mut step = (*step).to_owned();
        for (at, operation) in needs.iter().enumerate() {
            let tool = tools.of_operation(operation).unwrap_or(operation);
            step = step.replace(&format!("{{{at}}}"), tool);
        }
        text.push_str(&format!("{number}. {step}\n"));
    }
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(work.about))
}

/// `{name}` or `{name|otherwise}` with what was given.
fn filled(text: &str, name: &str, given: Option<&str>) -> String {
    let Some(start) = text.find(&format!("{{{name}")) else {
        return text.to_owned();
    };
    let Some(length) = text[start..].find('}') else {
        return text.to_owned();
    };
    let otherwise = text[start..start + length].split_once('|');
    let value = given
        .or(otherwise.map(|(_, value)| value))
        .unwrap_or_default();
    format!("{}{value}{}", &text[..start], &text[start + length + 1..])
}

#[cfg(test)]
mod tests {
    use pillion_catalogue::Catalogue;

    use super::*;
    use crate::mcp::Profile;

    #[test]
    fn arguments_are_filled_in_and_steps_without_tools_left_out() {
        let tools = Tools::new(&Catalogue::default(), Profile::Full);
        let text = |name: &str, arguments: Value| {
            let arguments = arguments.as_object().unwrap().clone();
            get(name, &arguments, &tools).map(|prompt| {
                serde_json::to_value(&prompt).unwrap()["messages"][0]["content"]["text"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
        };
        let review = text("review-change", json!({})).unwrap();
        assert!(review.contains("since HEAD.") && review.contains("1. Close with"));
        let review = text("review-change", json!({ "base": "v1" })).unwrap();
        assert!(review.contains("since v1."));
        let rename = text("rename-safely", json!({ "symbol": "a", "new_name": "{x" })).unwrap();
        assert!(rename.starts_with("Rename `a` to `{x` in"));
        assert!(text("rename-safely", json!({ "symbol": "a" })).is_err());
        assert!(text("nosuch", json!({})).is_err());
        assert!(ALL.iter().all(|work| !work.goal.contains("{0}")));
    }
}
