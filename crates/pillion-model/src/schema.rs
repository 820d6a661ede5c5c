//! What providers ask of a schema beyond its being one.

use serde_json::Value;

/// The schema with every object closed (`additionalProperties: false`), as providers want it
/// that hold a model to it; nothing if one of its objects has members of any name.
pub(crate) fn closed(schema: &Value) -> Option<Value> {
    let mut copy = schema.clone();
    close(&mut copy).then_some(copy)
}

/// Whether all members of all objects are required, as OpenAI's strict mode wants.
pub(crate) fn all_required(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let required = members.get("required").and_then(Value::as_array);
            let has = |name: &String| required.is_some_and(|list| list.iter().any(|r| r == name));
            let properties = members.get("properties").and_then(Value::as_object);
            properties.is_none_or(|named| named.keys().all(has))
                && members.values().all(all_required)
        }
        Value::Array(items) => items.iter().all(all_required),
        _ => true,
    }
}

fn close(schema: &mut Value) -> bool {
    match schema {
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| kind == "object") {
                if !members.get("properties").is_some_and(Value::is_object) {
                    return false;
                }
                let more = members
                    .entry("additionalProperties")
                    .or_insert(Value::Bool(false));
                if *more != Value::Bool(false) {
                    return false;
                }
            }
            members.values_mut().all(close)
        }
        Value::Array(items) => items.iter_mut().all(close),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_closed_unless_they_are_open_on_purpose() {
        let nested = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}
        }, "required": ["list"]});
        let made = closed(&nested).unwrap();
        assert_eq!(made["additionalProperties"], false);
        assert_eq!(
            made["properties"]["list"]["items"]["additionalProperties"],
            false
        );
        assert!(!all_required(&made));
        let map = json!({"type": "object", "properties": {
            "map": {"type": "object", "additionalProperties": {"type": "string"}}
        }});
        assert_eq!(closed(&map), None);
        let strict = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
        assert!(all_required(&strict));
    }
}
