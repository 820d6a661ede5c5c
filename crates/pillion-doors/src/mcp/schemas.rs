//! Schemas of operations in the form that MCP and the models behind it want.

use std::sync::Arc;

use pillion_catalogue::{Definition, Scope, Streams};
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// A parameter that makes no sense behind this door.
const HIDDEN: &str = "stream";

/// What is said about `root`.
const ROOT: &str = "Another project's folder.";

/// The name of a result that is no object, within the object that MCP wants.
pub(super) const WRAPPED: &str = "result";

/// What a tool takes: the parameters that are its own, and which project is meant. What else
/// can be said about a caller is understood as well, and not shown: an agent pays for every
/// word of a tool's description, and this door knows the agent.
pub(super) fn input(definition: &Definition) -> JsonObject {
    let mut schema = object(definition.own_schema().to_value());
    for name in ["$schema", "title", "description"] {
        schema.remove(name);
    }
    schema.insert("type".into(), json!("object"));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.remove(HIDDEN);
        if definition.scope != Scope::Nothing {
            let root = json!({ "type": "string", "description": ROOT });
            properties.entry("root").or_insert(root);
        }
    }
    drop_unused_definitions(&mut schema);
    let mut schema = Value::Object(schema);
    each(&mut schema, &|part| {
        // How we hold a number says nothing to a model.
        part.remove("format");
        if part.get("minimum") == Some(&json!(0)) {
            part.remove("minimum");
        }
    });
    object(schema)
}

/// What a tool gives, and whether the result stands within an object.
pub(super) fn output(definition: &Definition) -> (Arc<JsonObject>, bool) {
    let streams = definition.streams != Streams::Never;
    output_of(definition.output_schema().to_value(), streams)
}

/// The same for any schema of results.
///
/// Clients hold every answer against it, so it also allows an answer that was cut.
pub(super) fn output_of(mut result: Value, streams: bool) -> (Arc<JsonObject>, bool) {
    bare(&mut result);
    let mut result = object(result);
    let definitions = result.remove("$defs").map(object).unwrap_or_default();
    result.remove("$schema");
    let wraps = !is_object(&Value::Object(result.clone()), &definitions);
    if wraps {
        result = object(json!({
            "type": "object",
            "properties": { WRAPPED: result },
            "required": [WRAPPED],
        }));
    }
    let mut properties = match result.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    if streams {
        properties.insert("items".into(), json!({ "type": "array" }));
    }
    properties.insert("cut".into(), cut());
    // What is left says which results there are: required names, or one of several forms.
    result.remove("type");
    let mut schema = object(json!({
        "type": "object",
        "properties": properties,
        "anyOf": [result, { "required": ["cut"] }],
    }));
    if !definitions.is_empty() {
        schema.insert("$defs".into(), Value::Object(definitions));
    }
    (Arc::new(schema), wraps)
}

/// Whether all that a schema allows is an object.
fn is_object(schema: &Value, definitions: &Map<String, Value>) -> bool {
    if schema.get("type") == Some(&json!("object")) {
        return true;
    }
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.trim_start_matches("#/$defs/");
        let meant = definitions.get(name);
        return meant.is_some_and(|meant| is_object(meant, definitions));
    }
    let branches = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    branches
        .and_then(Value::as_array)
        .is_some_and(|branches| branches.iter().all(|branch| is_object(branch, definitions)))
}

/// Without words: programs check answers against it, and models read the answers.
fn bare(schema: &mut Value) {
    each(schema, &|part| {
        for name in [
            "title",
            "description",
            "examples",
            "format",
            "minimum",
            "default",
        ] {
            part.remove(name);
        }
    });
}

/// Change a schema and all schemas in it.
fn each(schema: &mut Value, change: &impl Fn(&mut JsonObject)) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    change(schema);
    for (name, part) in schema {
        match (name.as_str(), part) {
            ("properties" | "$defs", Value::Object(named)) => {
                named.values_mut().for_each(|part| each(part, change));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(list)) => {
                list.iter_mut().for_each(|part| each(part, change));
            }
            ("items" | "additionalProperties", part) => each(part, change),
            _ => {}
        }
    }
}

fn cut() -> Value {
    json!({
        "type": "object",
        "description": "Stands alone when the answer was too long; `fetch_output` gives the rest.",
        "properties": {
            "handle": { "type": "string" },
            "bytes": { "type": "integer" },
            "head": { "type": "integer" },
            "tail": { "type": "integer" },
        },
        "required": ["handle", "bytes"],
    })
}

fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(object) => object,
        // `true` and `false` are schemas too.
        _ => Map::new(),
    }
}

/// Definitions that nothing points to any more, also not through others.
fn drop_unused_definitions(schema: &mut JsonObject) {
    let Some(Value::Object(mut definitions)) = schema.remove("$defs") else {
        return;
    };
    let mut used = Map::new();
    let mut text = Value::Object(schema.clone()).to_string();
    loop {
        let names = definitions.keys();
        let mut next = names.filter(|name| text.contains(&format!("\"#/$defs/{name}\"")));
        let Some(name) = next.next().cloned() else {
            break;
        };
        if let Some(definition) = definitions.remove(&name) {
            text += &definition.to_string();
            used.insert(name, definition);
        }
    }
    if !used.is_empty() {
        schema.insert("$defs".into(), Value::Object(used));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_and_what_is_called_like_them_stays() {
        let mut schema = json!({
            "description": "x",
            "properties": { "description": { "type": "string", "description": "y" } },
        });
        bare(&mut schema);
        let bare = json!({ "properties": { "description": { "type": "string" } } });
        assert_eq!(schema, bare);
    }

    #[test]
    fn objects_are_seen_through_references_and_choices() {
        let definitions = object(json!({ "A": { "type": "object" }, "B": { "type": "array" } }));
        let a = json!({ "$ref": "#/$defs/A" });
        let b = json!({ "$ref": "#/$defs/B" });
        assert!(is_object(
            &json!({ "anyOf": [a, { "type": "object" }] }),
            &definitions
        ));
        assert!(!is_object(&json!({ "oneOf": [a, b] }), &definitions));
        assert!(!is_object(&json!({}), &definitions));
    }

    #[test]
    fn only_definitions_in_use_are_kept() {
        let mut schema = object(json!({
            "properties": { "a": { "$ref": "#/$defs/A" } },
            "$defs": {
                "A": { "items": { "$ref": "#/$defs/B" } },
                "B": { "type": "string" },
                "C": { "type": "string" },
            },
        }));
        drop_unused_definitions(&mut schema);
        let kept: Vec<_> = schema["$defs"].as_object().unwrap().keys().collect();
        assert_eq!(kept, ["A", "B"]);
    }
}
