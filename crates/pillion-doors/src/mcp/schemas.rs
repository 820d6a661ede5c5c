//! Schemas of operations in the form that MCP and the models behind it want.

use std::sync::Arc;

use pillion_catalogue::{Definition, SHARED, Scope, Streams, UNSHOWN};
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
    flatten(&mut schema);
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

/// What a schema names at its top, put in its place: many models refuse tools with a reference or
/// a choice there.
fn flatten(schema: &mut JsonObject) {
    let definitions = schema.get("$defs").cloned().map(object).unwrap_or_default();
    let name = schema.remove("$ref");
    let name = name.as_ref().and_then(Value::as_str);
    let name = name.and_then(|name| name.strip_prefix("#/$defs/"));
    let Some(Value::Object(meant)) = name.and_then(|name| definitions.get(name)) else {
        return;
    };
    schema.remove("unevaluatedProperties");
    if let Some(Value::Object(more)) = meant.get("properties") {
        let own = schema.entry("properties").or_insert_with(|| json!({}));
        if let Some(own) = own.as_object_mut() {
            // What is meant comes first: it says what the request is about.
            let mut all = more.clone();
            all.append(own);
            *own = all;
        }
    }
}

/// The same in few words: what is told once is not said again, and what most agents never need is
/// left out. It allows more than it names.
pub(super) fn short(definition: &Definition) -> JsonObject {
    let mut schema = input(definition);
    let definitions = schema.remove("$defs").map(object).unwrap_or_default();
    let mut schema = Value::Object(schema);
    // Definitions may name others, and themselves.
    for _ in 0..4 {
        each(&mut schema, &|part| inline(part, &definitions));
    }
    each(&mut schema, &|part| {
        simple(part);
        part.remove("additionalProperties");
        if let Some(properties) = part.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !UNSHOWN.contains(&name.as_str()));
            for (name, _) in SHARED {
                let shared = properties.get_mut(*name).and_then(Value::as_object_mut);
                shared.map(|shared| shared.remove("description"));
            }
        }
        if let Some(Value::String(about)) = part.get_mut("description") {
            let first = about.split("\n\n").next().unwrap_or_default();
            *about = first.trim_end_matches('.').replace('\n', " ");
        }
    });
    object(schema)
}

/// A definition in place of its name.
fn inline(part: &mut JsonObject, definitions: &Map<String, Value>) {
    let name = part.get("$ref").and_then(Value::as_str);
    let name = name.and_then(|name| name.strip_prefix("#/$defs/"));
    let Some(Value::Object(meant)) = name.and_then(|name| definitions.get(name)) else {
        return;
    };
    let meant = meant.clone();
    part.remove("$ref");
    for (name, value) in meant {
        part.entry(name).or_insert(value);
    }
}

/// What may be left away need not be null, what is nothing is no default, and a choice of words
/// is a list of them.
fn simple(part: &mut JsonObject) {
    part.remove("title");
    if let Some(Value::Array(types)) = part.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            part.insert("type".into(), one);
        }
    }
    for choice in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = part.get_mut(choice) else {
            continue;
        };
        branches.retain(|one| one != &json!({ "type": "null" }));
        let words = branches.iter().map(words).collect::<Option<Vec<_>>>();
        if let [Value::Object(only)] = &branches[..] {
            let only = only.clone();
            part.remove(choice);
            for (name, value) in only {
                part.entry(name).or_insert(value);
            }
            simple(part);
        } else if let Some(words) = words {
            part.remove(choice);
            part.remove("type");
            part.insert("enum".into(), words.concat().into());
        }
    }
    let nothing = [json!(null), json!(false), json!([]), json!("")];
    if part
        .get("default")
        .is_some_and(|default| nothing.contains(default))
    {
        part.remove("default");
    }
    if part.contains_key("enum") {
        part.remove("type");
    }
}

/// The words that a branch of a choice is, if it is nothing else.
fn words(branch: &Value) -> Option<Vec<Value>> {
    match (branch.get("const"), branch.get("enum")) {
        (Some(word), _) => Some(vec![word.clone()]),
        (None, Some(Value::Array(words))) => Some(words.clone()),
        _ => None,
    }
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

/// Change a schema and all schemas in it. One that allows everything becomes an object: some
/// clients take no other schemas.
fn each(schema: &mut Value, change: &impl Fn(&mut JsonObject)) {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
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
            ("prefixItems", Value::Array(list)) => {
                list.iter_mut().for_each(|part| each(part, change));
            }
            _ => {}
        }
    }
}

fn cut() -> Value {
    json!({
        "type": "object",
        "description": "There when the answer was too long: what of it is shown, and by which handles `fetch_output` gives the rest.",
        "properties": {
            "handle": { "type": "string" },
            "bytes": { "type": "integer" },
            "parts": { "type": "array", "items": { "type": "object" } },
        },
        "required": ["handle", "bytes", "parts"],
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
    fn what_stands_behind_a_name_at_the_top_is_put_in_its_place() {
        let mut schema = object(json!({
            "$ref": "#/$defs/Place",
            "unevaluatedProperties": false,
            "properties": { "add": { "type": "string" } },
            "$defs": { "Place": { "properties": { "at": { "type": "string" } } } },
        }));
        flatten(&mut schema);
        let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["at", "add"]);
        assert!(!schema.contains_key("$ref") && !schema.contains_key("unevaluatedProperties"));
    }

    #[test]
    fn few_words_are_left_and_no_null() {
        let mut part = object(json!({
            "anyOf": [{ "oneOf": [{ "const": "a", "description": "x" }, { "const": "b" }] }, { "type": "null" }],
            "default": null,
        }));
        simple(&mut part);
        assert_eq!(Value::Object(part), json!({ "enum": ["a", "b"] }));
        let mut part = object(json!({ "type": ["integer", "null"], "default": 3 }));
        simple(&mut part);
        assert_eq!(
            Value::Object(part),
            json!({ "type": "integer", "default": 3 })
        );
        let mut any = json!({ "properties": { "a": true, "b": { "items": true } } });
        each(&mut any, &|_| {});
        assert_eq!(
            any,
            json!({ "properties": { "a": {}, "b": { "items": {} } } })
        );
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
