//! Schemas of operations in the form that MCP and the models behind it want.

use std::sync::Arc;

use pillion_catalogue::{Definition, Streams};
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// Parameters that this door fills in, or that make no sense behind it. They are not
/// shown: an agent pays for every word of a tool's description.
const HIDDEN: &[&str] = &["near", "virtual_env", "conda_prefix", "format", "stream"];

/// The name of a result that is no object, within the object that MCP wants.
pub(super) const WRAPPED: &str = "result";

/// What a tool takes: an object, without what is hidden.
pub(super) fn input(definition: &Definition) -> JsonObject {
    let mut schema = object(definition.params_schema().to_value());
    for name in ["$schema", "title", "description"] {
        schema.remove(name);
    }
    schema.insert("type".into(), json!("object"));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.retain(|name, _| !HIDDEN.contains(&name.as_str()));
    }
    drop_unused_definitions(&mut schema);
    schema
}

/// The names of all its parameters, with those that are hidden.
pub(super) fn parameters(definition: &Definition) -> Vec<String> {
    let schema = definition.params_schema().to_value();
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default()
}

/// What a tool gives, and whether the result stands within an object.
///
/// Clients hold every answer against it, so it also allows an answer that was cut.
pub(super) fn output(definition: &Definition) -> (Arc<JsonObject>, bool) {
    let mut schema = object(definition.output_schema().to_value());
    schema.remove("$schema");
    schema.remove("title");
    let definitions = schema.remove("$defs");
    let is_object = schema.get("type") == Some(&json!("object"));
    if !is_object {
        schema = object(json!({
            "type": "object",
            "properties": { WRAPPED: schema },
            "required": [WRAPPED],
        }));
    }
    let required = schema.remove("required").unwrap_or_else(|| json!([]));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        if definition.streams != Streams::Never {
            properties.insert("items".into(), items());
        }
        properties.insert("cut".into(), cut());
    }
    let either = json!([{ "required": required }, { "required": ["cut"] }]);
    schema.insert("anyOf".into(), either);
    if let Some(definitions) = definitions {
        schema.insert("$defs".into(), definitions);
    }
    (Arc::new(schema), !is_object)
}

fn items() -> Value {
    json!({ "type": "array", "description": "What came before the result, one by one." })
}

fn cut() -> Value {
    json!({
        "type": "object",
        "description": "Instead of everything else, when the answer is too long to be shown: `fetch_output` gives the rest.",
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
        let next = names.filter(|name| text.contains(&format!("\"#/$defs/{name}\"")));
        let Some(name) = next.cloned().next() else {
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
