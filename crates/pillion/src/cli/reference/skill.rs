//! The reference page for agents, beside their skill: what they can ask, group by group.

use std::collections::BTreeMap;
use std::fmt::Write;

use pillion::{Definition, definitions};
use serde_json::Value;

use super::super::operations;
use super::{answer, fields, resolved, type_of};

/// A part of the page for agents.
struct Group {
    title: &'static str,
    about: &'static str,
    /// How the names of its operations begin.
    prefix: &'static str,
    /// Parameters that all of them have; an agent needs to read of them once.
    shared: &'static [&'static str],
}

const GROUPS: &[Group] = &[
    Group {
        title: "Code",
        about: "About one place, one name or one file of Python, and changes to it. `--python` names the Python whose packages are known.",
        prefix: "code.",
        shared: SHARED,
    },
    Group {
        title: "Maps",
        about: "About a whole project. `--project DIR` names it, `--language` its language: `python`, `typescript`, `javascript`, `go`, `rust`, `java`, `c`, or `auto`.",
        prefix: "map.",
        shared: SHARED,
    },
    Group {
        title: "Python",
        about: "Running code of the project.",
        prefix: "py.call",
        shared: &[],
    },
];

/// What every question about code has, and every map.
const SHARED: &[&str] = &[
    "root",
    "near",
    "format",
    "timeout_ms",
    "python",
    "virtual_env",
    "conda_prefix",
    "project",
    "language",
    "refresh",
];

impl Group {
    fn has(&self, name: &str) -> bool {
        name == self.prefix || self.prefix.ends_with('.') && name.starts_with(self.prefix)
    }
}

/// What an agent can ask for, with the shapes of the answers.
pub(super) fn page() -> String {
    let mut text = String::from(
        "# Reference\n\nWhat can be asked, as commands and as operations of the other doors. Lines and columns count from 1, columns in characters; a range ends one past its last character; paths are relative to the workspace root. `--json` prints the whole answer, `--root DIR` names the workspace, `--timeout S` how many seconds it may take.\n",
    );
    let mut types = BTreeMap::new();
    for group in GROUPS {
        let _ = write!(text, "\n## {}\n\n{}\n", group.title, group.about);
        for definition in definitions() {
            if group.has(definition.name) {
                question(&mut text, group, &definition, &mut types);
            }
        }
    }
    text.push_str("\n## Types\n\nWhat parameters and answers are made of.\n");
    for (name, schema) in &types {
        let about = schema.get("description").and_then(Value::as_str);
        let _ = write!(text, "\n### {name}\n\n{}\n", about.unwrap_or_default());
        fields(&mut text, "Field", schema);
    }
    text
}

fn question(
    text: &mut String,
    group: &Group,
    definition: &Definition,
    types: &mut BTreeMap<String, Value>,
) {
    let mut params = definition.params_schema().to_value();
    let about = params.get("description").and_then(Value::as_str);
    let usage = definition
        .command()
        .bin_name(format!("pillion {}", operations::typed(definition)))
        .render_usage()
        .to_string();
    let _ = write!(
        text,
        "\n### `{}`\n\n{}\n\n```text\n{}\n```\n",
        definition.name,
        about.unwrap_or_default(),
        usage.trim_start_matches("Usage: ").trim()
    );
    // The types of shared parameters are not worth a table.
    if let Some(properties) = params
        .pointer_mut("/properties")
        .and_then(Value::as_object_mut)
    {
        properties.retain(|name, _| !group.shared.contains(&name.as_str()));
    }
    let output = definition.output_schema().to_value();
    let result = answer(&output);
    fields(text, "Parameters", &params);
    fields(text, "Result", result);
    for (schema, part) in [(&params, &params), (&output, result)] {
        named_types(schema, part, types);
    }
}

/// The types with fields that a type's fields name, and those that they name.
fn named_types(whole: &Value, part: &Value, types: &mut BTreeMap<String, Value>) {
    let properties = part.get("properties").and_then(Value::as_object);
    for property in properties.into_iter().flat_map(|p| p.values()) {
        let several = property.get("anyOf").and_then(Value::as_array);
        let inner = property
            .get("items")
            .or(property.get("additionalProperties"))
            .or(several.and_then(|any| any.first()));
        for named in [Some(property), inner].into_iter().flatten() {
            let found = resolved(whole, named);
            let name = type_of(named);
            if named.get("$ref").is_some()
                && found.get("properties").is_some()
                && !types.contains_key(&name)
            {
                types.insert(name, found.clone());
                named_types(whole, found, types);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_for_agents_has_every_question_and_the_types_of_its_answers() {
        let page = page();
        for definition in definitions() {
            let name = definition.name;
            let areas = ["code.", "map."];
            let wanted = areas.iter().any(|area| name.starts_with(area)) || name == "py.call";
            let heading = format!("\n### `{name}`\n");
            assert_eq!(page.contains(&heading), wanted, "{name}");
        }
        let place = |part: &str| page.find(part).unwrap_or_else(|| panic!("no `{part}`"));
        let order = [
            "\n## Code\n",
            "`code.undo`",
            "\n## Maps\n",
            "`map.impact`",
            "\n## Python\n",
        ];
        assert!(order.map(place).is_sorted(), "{page}");
        for part in [
            "pillion grep [OPTIONS] <PATTERN> [PATH]",
            "| `matches` | array of Match |",
            "\n### Match\n",
            "pillion map impact [OPTIONS] <TARGET>",
            "| `callers` | array of Affected |",
            "| `before` | array of string | Lines before it. |",
        ] {
            assert!(page.contains(part), "`{part}` is not in\n{page}");
        }
        for shared in ["near", "virtual_env", "refresh"] {
            let row = format!("\n| `{shared}` |");
            let maps = page.find("\n## Python\n").unwrap_or(page.len());
            assert!(!page[..maps].contains(&row), "`{shared}` is said once");
        }
    }
}
