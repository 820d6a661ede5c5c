//! The schemas that an OpenAPI document has once for all of its paths.
//!
//! A schema brings definitions of its own, by short names such as `Outcome`. Where another one
//! calls something else so, that has the name of its owner before it: what a program reads
//! behind a reference is always what the operation itself says.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// Where a schema has definitions of its own, and how it refers to them.
const OWN: &str = "#/$defs/";
/// How a path refers to what the document has.
const SHARED: &str = "#/components/schemas/";

/// The schemas of a document.
#[derive(Debug, Default)]
pub(super) struct Components {
    schemas: Map<String, Value>,
    /// What each short name means, with everything it refers to, and what that is called here.
    forms: HashMap<String, Vec<(Value, String)>>,
    taken: HashSet<String>,
}

impl Components {
    /// Those that a document has already. Their names are taken.
    pub(super) fn of(document: Value) -> Self {
        let schemas = match document {
            Value::Object(schemas) => schemas,
            _ => Map::new(),
        };
        Self {
            taken: schemas.keys().cloned().collect(),
            schemas,
            forms: HashMap::new(),
        }
    }

    /// Add one under this name, which no definition has then.
    pub(super) fn add(&mut self, name: &str, schema: Value) {
        self.taken.insert(name.to_owned());
        self.schemas.insert(name.to_owned(), schema);
    }

    /// Move a schema's own definitions here, where references can find them. What it gives back
    /// refers to them; `owner` stands before names that mean something else already.
    pub(super) fn share(&mut self, mut schema: Value, owner: &str) -> Value {
        let mut definitions = Map::new();
        if let Some(object) = schema.as_object_mut() {
            object.remove("$schema");
            if let Some(Value::Object(own)) = object.remove("$defs") {
                definitions = own;
            }
        }
        let names = definitions.keys().map(|name| {
            let form = expanded(&definitions[name], &definitions, &mut vec![name.as_str()]);
            (name.clone(), self.name_of(name, form, owner))
        });
        let names: HashMap<String, String> = names.collect();
        for (name, definition) in definitions {
            let shared = &names[&name];
            if !self.schemas.contains_key(shared) {
                let definition = pointed(definition, &names);
                self.schemas.insert(shared.clone(), definition);
            }
        }
        pointed(schema, &names)
    }

    /// What something of this short name and form is called here.
    fn name_of(&mut self, short: &str, form: Value, owner: &str) -> String {
        let forms = self.forms.entry(short.to_owned()).or_default();
        if let Some((_, known)) = forms.iter().find(|(known, _)| *known == form) {
            return known.clone();
        }
        let owned = format!("{owner}.{short}");
        let further = (2_u32..).map(|number| format!("{owned}.{number}"));
        let mut candidates = [short.to_owned(), owned.clone()].into_iter().chain(further);
        let taken = &mut self.taken;
        // There is always a number that nobody has.
        let free = candidates.find(|name| taken.insert(name.clone()));
        let free = free.unwrap_or(owned);
        forms.push((form, free.clone()));
        free
    }

    /// All of them.
    pub(super) fn into_schemas(self) -> Map<String, Value> {
        self.schemas
    }
}

/// The definition that a reference names.
fn target<'a>(key: &str, value: &'a Value) -> Option<&'a str> {
    value.as_str().filter(|_| key == "$ref")?.strip_prefix(OWN)
}

/// A schema with what it refers to in the place of each reference. A reference back to what
/// it stands in stays.
fn expanded<'a>(value: &'a Value, all: &'a Map<String, Value>, within: &mut Vec<&'a str>) -> Value {
    match value {
        Value::Object(object) => {
            let parts = object.iter().map(|(key, value)| {
                let part = match target(key, value).filter(|name| !within.contains(name)) {
                    Some(name) => {
                        within.push(name);
                        let part = all.get(name).map(|meant| expanded(meant, all, within));
                        within.pop();
                        part.unwrap_or_else(|| value.clone())
                    }
                    None => expanded(value, all, within),
                };
                (key.clone(), part)
            });
            parts.collect()
        }
        Value::Array(items) => items
            .iter()
            .map(|item| expanded(item, all, within))
            .collect(),
        other => other.clone(),
    }
}

/// The same schema, with references to what the document has.
fn pointed(value: Value, names: &HashMap<String, String>) -> Value {
    match value {
        Value::Object(object) => object
            .into_iter()
            .map(|(key, value)| {
                let shared = target(&key, &value).and_then(|name| names.get(name));
                let value = match shared {
                    Some(name) => Value::String(format!("{SHARED}{name}")),
                    None => pointed(value, names),
                };
                (key, value)
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(|item| pointed(item, names)).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reference(name: &str) -> Value {
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    fn shared(name: &str) -> Value {
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    #[test]
    fn what_is_the_same_is_there_once_and_what_is_not_has_its_owners_name() {
        let mut components = Components::default();
        let text = json!({ "$ref": "#/$defs/Outcome", "$defs": {
            "Outcome": { "items": reference("Kind") }, "Kind": { "type": "string" } } });
        let number = json!({ "$ref": "#/$defs/Outcome", "$defs": {
            "Outcome": { "items": reference("Kind") }, "Kind": { "type": "number" } } });
        assert_eq!(components.share(text.clone(), "a"), shared("Outcome"));
        // The outcome is written in the same words, and is of another kind.
        assert_eq!(components.share(number.clone(), "b"), shared("b.Outcome"));
        assert_eq!(components.share(text, "c"), shared("Outcome"));
        assert_eq!(components.share(number, "d"), shared("b.Outcome"));
        let schemas = components.into_schemas();
        assert_eq!(schemas["Outcome"], json!({ "items": shared("Kind") }));
        assert_eq!(schemas["b.Outcome"], json!({ "items": shared("b.Kind") }));
        assert_eq!(schemas["b.Kind"], json!({ "type": "number" }));
        assert_eq!(schemas.len(), 4);
    }

    #[test]
    fn names_that_are_taken_and_references_in_a_circle() {
        let mut components = Components::default();
        components.add("Detail", json!({ "type": "object" }));
        let one = |kind: &str| {
            json!({ "items": reference("Detail"), "$defs": {
            "Detail": { "type": kind, "items": reference("Detail") } } })
        };
        let owned = components.share(one("array"), "a");
        assert_eq!(owned, json!({ "items": shared("a.Detail") }));
        let second = components.share(one("object"), "a");
        assert_eq!(second, json!({ "items": shared("a.Detail.2") }));
        let schemas = components.into_schemas();
        assert_eq!(schemas["Detail"], json!({ "type": "object" }));
        let circle = json!({ "type": "array", "items": shared("a.Detail") });
        assert_eq!(schemas["a.Detail"], circle);
    }
}
