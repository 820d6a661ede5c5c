//! `pillion reference`: pages that are made, not written. `cargo xtask generate` puts them
//! into `docs/reference/`, and the one for agents beside their skill.

mod skill;

use std::fmt::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pillion::{Caller, Code, Definition, Scope, definitions};
use pillion_protocol::vars;
use pillion_workspace::Config;
use serde_json::Value;

use super::output;

/// Print a reference page.
#[derive(Debug, Args)]
pub(crate) struct Reference {
    page: Page,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Page {
    Operations,
    Configuration,
    Environment,
    Cli,
    Errors,
    Skill,
}

impl Reference {
    pub(crate) fn run(self) -> ExitCode {
        let text = match self.page {
            Page::Operations => all_operations(),
            Page::Configuration => configuration(),
            Page::Environment => environment(),
            Page::Cli => cli(),
            Page::Errors => errors(),
            Page::Skill => skill::page(),
        };
        output::print(&text);
        ExitCode::SUCCESS
    }
}

fn all_operations() -> String {
    let mut text = String::from(
        "# Operations\n\nEvery operation is a JSON-RPC method on the socket and `pillion rpc --stdio`, `POST /v1/NAME` over HTTP, a `command` on `pillion stdio`, a tool of `pillion mcp` (with `_` for the dot), and `pillion AREA VERB` on the command line. Parameters are an object.\n\n## Who asks\n\nBeside its parameters a request says [who asks](../guides/calling.md#who-asks). An operation about a `project` knows all of it, one about a `folder` only `root` and `near`; `format` is known to those that write their answer as text, too; `timeout_ms` holds for every one. Among the parameters the same names are understood.\n",
    );
    fields(
        &mut text,
        "Member",
        &schemars::schema_for!(Caller).to_value(),
    );
    for definition in definitions() {
        operation(&mut text, &definition);
    }
    text
}

fn operation(text: &mut String, definition: &Definition) {
    let schema = definition.own_schema().to_value();
    let about = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let word = |value: &dyn erased::Word| value.word();
    let _ = write!(
        text,
        "\n## `{}`\n\n{about}\n\nSafety: `{}`. Streams: `{}`.{}\n",
        definition.name,
        word(&definition.safety),
        word(&definition.streams),
        match definition.scope {
            Scope::Nothing => "",
            Scope::Folder => " About a folder.",
            Scope::Project => " About a project.",
        },
    );
    fields(text, "Parameters", &schema);
    fields(
        text,
        "Result",
        answer(&definition.output_schema().to_value()),
    );
}

/// The answer to one question, where the schema also has those to several and as text.
fn answer(schema: &Value) -> &Value {
    let one = schema
        .get("anyOf")
        .and_then(Value::as_array)
        .and_then(|any| any.last());
    match one {
        Some(one) if schema.get("properties").is_none() => resolved(schema, one),
        _ => schema,
    }
}

/// What a `$ref` leads to.
fn resolved<'a>(whole: &'a Value, part: &'a Value) -> &'a Value {
    part.get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| whole.pointer(reference.strip_prefix('#')?))
        .unwrap_or(part)
}

/// The spelling of a plain enum on the wire.
mod erased {
    pub(super) trait Word {
        fn word(&self) -> String;
    }

    impl<T: serde::Serialize> Word for T {
        fn word(&self) -> String {
            serde_json::to_value(self)
                .ok()
                .and_then(|v| v.as_str().map(str::to_owned))
                .unwrap_or_default()
        }
    }
}

/// A table of an object's fields.
fn fields(text: &mut String, title: &str, schema: &Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    if properties.is_empty() {
        return;
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let _ = write!(text, "\n| {title} | type | |\n|---|---|---|\n");
    for (name, property) in properties {
        let about = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let star = if title == "Parameters" && required.contains(&name.as_str()) {
            " (required)"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "| `{name}`{star} | {} | {} |",
            type_of(property),
            about.replace('\n', " ").replace('|', "\\|")
        );
    }
}

fn type_of(property: &Value) -> String {
    if let Some(reference) = property.get("$ref").and_then(Value::as_str) {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    match property.get("type") {
        Some(Value::String(one)) if one == "array" => {
            format!(
                "array of {}",
                property.get("items").map_or_else(|| "any".into(), type_of)
            )
        }
        Some(Value::String(one)) => match property.pointer("/additionalProperties/$ref") {
            Some(_) => format!("{one} of {}", type_of(&property["additionalProperties"])),
            None => one.clone(),
        },
        Some(Value::Array(several)) => {
            let names: Vec<&str> = several
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| *name != "null")
                .collect();
            names.join(" or ")
        }
        _ => property
            .get("anyOf")
            .and_then(Value::as_array)
            .and_then(|any| any.first())
            .map_or_else(|| "any".into(), type_of),
    }
}

fn configuration() -> String {
    let schema = schemars::schema_for!(Config).to_value();
    let mut text = String::from(
        "# `pillion.toml`\n\nA file of this name in a project's root says what the project wants from pillion. Every key has a default; an unknown key is an error. What would run programs or open walls is only done where you [trust the folder](../guides/running.md#folders-from-elsewhere).\n\n```toml\n[python]\ninterpreter = \".venv/bin/python\"\nworkers = 2\npreload = [\"numpy\"]\n\n[sidecar.map]\ncommand = [\"python3\", \"-u\", \"-m\", \"mymap\", \"--sidecar\"]\nsafe_commands = [\"structure\"]\n```\n",
    );
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut sections = Vec::new();
    find_sections(&schema, &schema, "", &defaults, &mut sections);
    for section in sections {
        let names = section.names.join("`, `");
        let _ = write!(
            text,
            "\n## `{names}`\n\n| key | type | default | |\n|---|---|---|---|\n"
        );
        for (key, property) in properties(section.schema) {
            let about = property
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let default = section
                .defaults
                .get(key)
                .or_else(|| property.get("default"))
                .filter(|value| !value.is_null())
                .map_or_else(String::new, |value| format!("`{value}`"));
            let _ = writeln!(
                text,
                "| `{key}` | {} | {default} | {about} |",
                type_of(property)
            );
        }
    }
    text
}

/// One table of keys, for every section of the file that has these keys.
struct Section<'s> {
    names: Vec<String>,
    schema: &'s Value,
    defaults: &'s Value,
}

/// The sections of the file: structs in structs, and structs by name.
fn find_sections<'s>(
    whole: &'s Value,
    schema: &'s Value,
    path: &str,
    defaults: &'s Value,
    found: &mut Vec<Section<'s>>,
) {
    let inner = |property: &'s Value| {
        let name = property.get("$ref")?.as_str()?.strip_prefix('#')?;
        let schema = whole.pointer(name)?;
        schema.get("properties").is_some().then_some(schema)
    };
    for (key, property) in properties(schema) {
        let named = property.get("additionalProperties").and_then(inner);
        let (schema, path) = match (inner(property), named) {
            (Some(schema), _) => (schema, format!("{path}{key}")),
            (None, Some(schema)) => (schema, format!("{path}{key}.NAME")),
            (None, None) => continue,
        };
        let defaults = defaults.get(key).unwrap_or(&Value::Null);
        let has_keys = properties(schema).any(|(_, property)| inner(property).is_none());
        if has_keys {
            let name = format!("[{path}]");
            match found.iter_mut().find(|known| known.schema == schema) {
                Some(known) => known.names.push(name),
                None => found.push(Section {
                    names: vec![name],
                    schema,
                    defaults,
                }),
            }
        }
        find_sections(whole, schema, &format!("{path}."), defaults, found);
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn environment() -> String {
    let mut text =
        String::from("# Environment variables\n\n| variable | what it does |\n|---|---|\n");
    for var in vars::ALL {
        let _ = writeln!(text, "| `{}` | {} |", var.name, var.help);
    }
    text
}

fn errors() -> String {
    let mut text = String::from(
        "# Errors\n\nEvery door shows the same object: `code`, `kind`, `message`, `hint`, `recoverable`, `data`. JSON-RPC carries it in `error.data`, HTTP as the body, the line contract in `error`, the command line as `error:` and `hint:` or, with `--json`, whole.\n\n| code | kind | recoverable | JSON-RPC | HTTP |\n|---|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let kind = serde_json::to_value(code.kind()).unwrap_or_default();
        let _ = writeln!(
            text,
            "| `{code}` | {} | {} | {} | {} |",
            kind.as_str().unwrap_or_default(),
            if code.recoverable() { "yes" } else { "no" },
            code.jsonrpc(),
            code.http_status()
        );
    }
    text
}

fn cli() -> String {
    let mut text = "# Command line
"
    .to_owned();
    let mut command = super::command().term_width(100);
    command.build();
    let _ = write!(
        text,
        "\n```text\n{}\n```\n",
        command.render_long_help().to_string().trim_end()
    );
    for sub in in_order(&mut command) {
        page(&mut text, sub, "pillion");
    }
    text
}

fn page(text: &mut String, command: &mut clap::Command, parent: &str) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let name = format!("{parent} {}", command.get_name());
    let help = command
        .clone()
        .term_width(100)
        .render_long_help()
        .to_string();
    // Global options are the same everywhere and shown once.
    let help = help.split("\nGlobal options:").next().unwrap_or_default();
    let _ = write!(text, "\n## `{name}`\n\n```text\n{}\n```\n", help.trim_end());
    for sub in in_order(command) {
        page(text, sub, &name);
    }
}

/// The commands below another, as its help lists them.
fn in_order(command: &mut clap::Command) -> Vec<&mut clap::Command> {
    let mut all: Vec<_> = command.get_subcommands_mut().collect();
    all.sort_by_key(|sub| sub.get_display_order());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_that_to_one_question() {
        let schema = serde_json::json!({
            "anyOf": [{"properties": {"text": {}}}, {"$ref": "#/$defs/One"}],
            "$defs": {"One": {"properties": {"found": {"type": "integer"}}}},
        });
        assert!(answer(&schema).pointer("/properties/found").is_some());
        let plain = serde_json::json!({"properties": {"pong": {"type": "boolean"}}});
        assert_eq!(answer(&plain), &plain);
    }
}
