//! What is exposed, as people read it.

use std::process::ExitCode;

use pillion_catalogue::{ExposedFunction, Failed, Listing};
use serde_json::Value;

use crate::cli::output::{note, say, say_json, warn};

/// Show what there is to call, and how.
pub(super) fn show(exposed: &Listing, modules: &[String], json: bool) -> ExitCode {
    if json {
        say_json(&serde_json::to_string(exposed).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    for tool in &exposed.tools {
        let kind = if tool.streams { "  (stream)" } else { "" };
        say(&format!("{}{}{kind}", tool.name, parameters(tool)));
        if let Some(line) = tool.description.lines().next() {
            say(&format!("    {line}"));
        }
    }
    for Failed { module, error } in &exposed.failed {
        warn(&format!("{module}: {error}"));
    }
    let Some(first) = exposed.tools.first() else {
        note("nothing is exposed: these modules have no public functions");
        return ExitCode::SUCCESS;
    };
    let modules = modules.join(" ");
    let name = &first.name;
    say(&format!(
        "\nan agent:      pillion expose {modules}\n\
         HTTP:          pillion expose {modules} --http 8000, then POST /{name}\n\
         JSON-RPC:      pillion expose {modules} --rpc, or --unix PATH; method `{name}`\n\
         this terminal: pillion expose {modules} -- {name} --help"
    ));
    ExitCode::SUCCESS
}

/// `(a: integer, b: integer = 2)`.
fn parameters(tool: &ExposedFunction) -> String {
    let none = serde_json::Map::new();
    let properties = tool.input_schema.get("properties");
    let properties = properties.and_then(Value::as_object).unwrap_or(&none);
    let all: Vec<String> = properties
        .iter()
        .map(|(name, schema)| {
            let kind = schema.get("type").and_then(Value::as_str);
            let kind = kind.map(|kind| format!(": {kind}")).unwrap_or_default();
            match schema.get("default") {
                Some(default) => format!("{name}{kind} = {default}"),
                None => format!("{name}{kind}"),
            }
        })
        .collect();
    format!("({})", all.join(", "))
}
