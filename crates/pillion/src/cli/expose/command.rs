//! Exposed functions as commands: flags made from the schemas of their arguments.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use pillion::{Code, Error, Part, Result};
use pillion_catalogue::{ExposedFunction, FunctionRequest, Functions, Listing};
use pillion_python::ExposedModules;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::backend::Backend;
use crate::cli::operations::show_part;
use crate::cli::{Global, output};

/// Arguments without a flag, in the order of the parameters.
const BY_PLACE: &str = "\0by place";

/// Arguments by their names, as they were typed.
type Arguments = BTreeMap<String, Box<RawValue>>;

/// Call the function that `words` say.
pub(super) async fn run(
    backend: &Backend,
    functions: &ExposedModules,
    words: Vec<String>,
    global: &Global,
) -> Result<ExitCode> {
    let exposed = super::list(backend, functions).await?;
    let name = format!("pillion expose {} --", functions.modules.join(" "));
    let line = std::iter::once(name.clone()).chain(words);
    let matches = match command(&name, &exposed).try_get_matches_from(line) {
        Ok(matches) => matches,
        Err(shown) => {
            let _ = shown.print();
            return Ok(ExitCode::from(u8::try_from(shown.exit_code()).unwrap_or(2)));
        }
    };
    let chosen = matches.subcommand();
    let Some((tool, given)) = chosen.and_then(|(name, given)| {
        let tool = exposed.tools.iter().find(|tool| tool.name == name)?;
        Some((tool, given))
    }) else {
        return Err(Error::new(Code::InvalidParams, "no function was named"));
    };
    let arguments = to_raw_value(&arguments(tool, given)?).map_err(Error::internal)?;
    let asking = functions.call(&tool.name, Some(&arguments), true)?;
    call(backend, asking, global.json).await
}

async fn call(backend: &Backend, asking: FunctionRequest, json: bool) -> Result<ExitCode> {
    #[derive(serde::Deserialize)]
    struct Invoked<'a> {
        #[serde(borrow)]
        result: &'a RawValue,
        streams: bool,
    }
    let unread = CancellationToken::new();
    let call = backend.asking(asking, true, |part: Part| {
        if !show_part(&part, json) {
            unread.cancel();
        }
    });
    let result = tokio::select! {
        outcome = call => outcome?,
        // `... | head`: it has what it wanted.
        () = unread.cancelled() => return Ok(ExitCode::SUCCESS),
        _ = tokio::signal::ctrl_c() => return Err(Error::new(Code::Cancelled, "interrupted")),
    };
    let invoked: Invoked<'_> = serde_json::from_str(result.get()).map_err(Error::internal)?;
    match invoked {
        _ if json => output::say_json(result.get()),
        // The items were the result.
        Invoked { result, streams } if streams && result.get() == "null" => {}
        Invoked { result, .. } => output::say_json(result.get()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The command line of all functions.
fn command(name: &str, exposed: &Listing) -> Command {
    let functions = exposed.tools.iter().map(|tool| {
        let flags = properties(tool).map(|(name, schema)| flag(name, schema));
        let rest = Arg::new(BY_PLACE)
            .value_name("VALUE")
            .num_args(0..)
            .allow_negative_numbers(true)
            .help("Arguments without a flag, in the order of the parameters");
        // A parameter may have the name of the flag.
        let has_own = properties(tool).any(|(name, _)| name == "help");
        Command::new(tool.name.clone())
            .about(tool.description.clone())
            .disable_help_flag(has_own)
            .args(flags)
            .arg(rest)
    });
    Command::new(name.to_owned())
        .bin_name(name.to_owned())
        .subcommands(functions)
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand_help_heading("Functions")
        .subcommand_value_name("FUNCTION")
        .max_term_width(100)
}

fn properties(tool: &ExposedFunction) -> impl Iterator<Item = (&String, &Value)> {
    let properties = tool.input_schema.get("properties");
    properties.and_then(Value::as_object).into_iter().flatten()
}

fn flag(name: &str, schema: &Value) -> Arg {
    let mut help = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if let Some(default) = schema.get("default") {
        help = format!("{help} [default: {default}]").trim().to_owned();
    }
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        let all: Vec<String> = options.iter().map(plain).collect();
        help = format!("{help} [one of: {}]", all.join(", "))
            .trim()
            .to_owned();
    }
    // `--is-deep` for `is_deep`, but not `---x` for `_x`.
    let typed = match name.starts_with('_') {
        true => name.to_owned(),
        false => name.replace('_', "-"),
    };
    let mut flag = Arg::new(name.to_owned())
        .long(typed.clone())
        .help(help)
        .action(ArgAction::Append)
        .allow_hyphen_values(true)
        .value_name(kind(schema).to_uppercase());
    if typed != name {
        flag = flag.alias(name.to_owned());
    }
    match kind(schema) {
        "boolean" => flag.num_args(0..=1).default_missing_value("true"),
        _ => flag,
    }
}

fn kind(schema: &Value) -> &str {
    schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("value")
}

/// The arguments that a parsed command line means. Whether they fit is said by the function.
fn arguments(tool: &ExposedFunction, given: &ArgMatches) -> Result<Arguments> {
    let mut arguments = Arguments::new();
    let mut places = given.get_many::<String>(BY_PLACE).unwrap_or_default();
    for (name, schema) in properties(tool) {
        let named: Vec<&String> = given.get_many(name).unwrap_or_default().collect();
        let value = match (named.as_slice(), kind(schema)) {
            ([], _) => match places.next() {
                Some(text) => value(text, schema),
                None => continue,
            },
            ([text], "array") if text.trim_start().starts_with('[') => value(text, schema),
            (several, "array") => {
                let anything = json!({});
                let item = schema.get("items").unwrap_or(&anything);
                let items: Vec<_> = several.iter().map(|text| value(text, item)).collect();
                to_raw_value(&items).map_err(Error::internal)?
            }
            ([text], _) => value(text, schema),
            _ => {
                let what = format!("`--{name}` is given more than once");
                return Err(Error::new(Code::InvalidParams, what));
            }
        };
        arguments.insert(name.clone(), value);
    }
    match places.next() {
        Some(text) => {
            let what = format!("`{text}` is one argument too many");
            Err(Error::new(Code::InvalidParams, what))
        }
        None => Ok(arguments),
    }
}

/// What a word of the command line means where this schema stands: JSON, unless it is text.
/// It stays the text it is: a number may have more digits than we can count.
fn value(text: &str, schema: &Value) -> Box<RawValue> {
    let json = |value: &Value| to_raw_value(value).unwrap_or_default();
    let options = schema.get("enum").and_then(Value::as_array);
    let option = options.and_then(|all| all.iter().find(|option| plain(option) == text));
    if let Some(option) = option {
        return json(option);
    }
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    let only_text = match alternatives {
        Some(all) => all.iter().all(|one| matches!(kind(one), "string" | "null")),
        None => kind(schema) == "string",
    };
    let text_value = || json(&Value::String(text.to_owned()));
    if only_text {
        return text_value();
    }
    RawValue::from_string(text.trim().to_owned()).unwrap_or_else(|_| text_value())
}

/// A value as people type it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> ExposedFunction {
        let tool = json!({
            "name": "f", "qualified": "m_f", "module": "m", "function": "f",
            "description": "Do it.", "streams": false, "safety": "execute",
            "input_schema": { "type": "object", "properties": {
                "count": { "type": "integer" },
                "name": { "type": "string" },
                "is_deep": { "type": "boolean" },
                "sizes": { "type": "array", "items": { "type": "number" } },
                "which": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "kind": { "enum": ["a", 2] },
                "any": {},
                "help": { "type": "string" },
                "_x": { "type": "string" },
            }},
        });
        serde_json::from_value(tool).unwrap()
    }

    fn read(words: &[&str]) -> Value {
        let exposed = Listing {
            tools: vec![tool()],
            files: vec![],
            failed: vec![],
            version: String::new(),
        };
        let line = ["x", "f"].iter().chain(words);
        let matches = command("x", &exposed).try_get_matches_from(line).unwrap();
        let (_, given) = matches.subcommand().unwrap();
        let read = arguments(&exposed.tools[0], given);
        read.map_or_else(|error| json!(error.message), |read| json!(read))
    }

    #[test]
    fn words_become_what_the_schema_says() {
        for (words, expected) in [
            (&["--count", "3"][..], json!({ "count": 3 })),
            (&["--count", "-3"], json!({ "count": -3 })),
            (&["--count", "x"], json!({ "count": "x" })),
            (&["--name", "3"], json!({ "name": "3" })),
            (&["--is-deep"], json!({ "is_deep": true })),
            (&["--is_deep", "false"], json!({ "is_deep": false })),
            (
                &["--sizes", "1", "--sizes", "2.5"],
                json!({ "sizes": [1, 2.5] }),
            ),
            (&["--sizes", "[1, 2]"], json!({ "sizes": [1, 2] })),
            (&["--which", "null"], json!({ "which": "null" })),
            (&["--kind", "2"], json!({ "kind": 2 })),
            (&["--kind", "a"], json!({ "kind": "a" })),
            (&["--any", "{\"x\": 1}"], json!({ "any": { "x": 1 } })),
            (&["--any", "word"], json!({ "any": "word" })),
            (&["--help", "me"], json!({ "help": "me" })),
            (&["--_x", "y"], json!({ "_x": "y" })),
            (&["3", "4"], json!({ "count": 3, "name": "4" })),
            (&["--count", "3", "4"], json!({ "count": 3, "name": "4" })),
        ] {
            assert_eq!(read(words), expected, "{words:?}");
        }
        let twice = read(&["--count", "1", "--count", "2"]);
        assert_eq!(twice, "`--count` is given more than once");
        let many = read(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
        assert_eq!(many, "`10` is one argument too many");
    }
}
