//! `GET /openapi.json`, made from the catalogue.

use pillion_catalogue::{Definition, Function, Listing, Streams};
use serde_json::{Map, Value, json};

use crate::House;

/// The OpenAPI document of all operations.
pub(super) fn document(house: &House) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let error = schemas_of::<pillion_catalogue::Error>(&mut schemas);
    schemas.insert("Error".into(), error);
    for definition in house.catalogue.definitions() {
        paths.insert(
            format!("/v1/{}", definition.name),
            path(definition, &mut schemas),
        );
    }
    for (definition, route) in super::routes::all(house) {
        let operation = definition.name;
        let method = route.method.as_str().to_lowercase();
        let summary = format!("The same as `{operation}`.");
        let ok = json!({ "description": "The result.", "content": { "application/json": {} } });
        let parameters = route.parameters().map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
        });
        let mut one = json!({
            "summary": summary, "tags": ["alias"], "responses": { "200": ok },
        });
        if route.parameters().next().is_some() {
            one["parameters"] = parameters.collect();
        }
        // Several methods may share a path.
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method] = one;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "pillion",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Python, already running. Every operation is `POST /v1/{operation}` with its parameters as a JSON object.",
        },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

/// And the functions that are exposed.
pub(super) fn add_functions(document: &mut Value, listing: &Listing) {
    let mut schemas = Map::new();
    for function in &listing.tools {
        let path = format!("/{}", function.name);
        document["paths"][path] = function_path(function, &mut schemas);
    }
    if let Some(all) = document["components"]["schemas"].as_object_mut() {
        all.append(&mut schemas);
    }
}

fn function_path(function: &Function, schemas: &mut Map<String, Value>) -> Value {
    // Two functions may mean different things by one name.
    let mut hoisted = |schema: &Map<String, Value>, part: &str| {
        let prefix = format!("{}.{part}.", function.name);
        hoist(Value::Object(schema.clone()), &prefix, schemas)
    };
    let output = function.output_schema.as_ref();
    let output = output.map_or_else(|| json!({}), |output| hoisted(output, "output"));
    let input = hoisted(&function.input_schema, "input");
    let mut content = json!({ "application/json": { "schema": output } });
    if function.streams {
        content["text/event-stream"] = json!({ "schema": { "type": "string" } });
    }
    json!({ "post": {
        "operationId": function.name,
        "summary": function.description.lines().next().unwrap_or_default(),
        "description": function.description,
        "tags": [function.module],
        "x-safety": function.safety,
        "requestBody": { "content": { "application/json": { "schema": input } } },
        "responses": {
            "200": { "description": "What it returned.", "content": content },
            "default": error(),
        },
    }})
}

fn error() -> Value {
    json!({
        "description": "What happened, and what to do next.",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
    })
}

fn path(definition: &Definition, schemas: &mut Map<String, Value>) -> Value {
    let area = definition.name.split('.').next().unwrap_or_default();
    let params = hoist(definition.params_schema().to_value(), "", schemas);
    let output = hoist(definition.output_schema().to_value(), "", schemas);
    let mut content = json!({ "application/json": { "schema": output } });
    if definition.streams != Streams::Never {
        content["text/event-stream"] = json!({ "schema": { "type": "string" } });
    }
    json!({ "post": {
        "operationId": definition.name,
        "summary": definition.help(),
        "tags": [area],
        "x-safety": definition.safety,
        "x-streams": definition.streams,
        "requestBody": { "content": { "application/json": { "schema": params } } },
        "responses": {
            "200": { "description": "The result.", "content": content },
            "default": error(),
        },
    }})
}

fn schemas_of<T: schemars::JsonSchema>(schemas: &mut Map<String, Value>) -> Value {
    hoist(schemars::schema_for!(T).to_value(), "", schemas)
}

/// Move a schema's own definitions to the document's, where references can find them.
fn hoist(mut schema: Value, prefix: &str, schemas: &mut Map<String, Value>) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        if let Some(Value::Object(definitions)) = object.remove("$defs") {
            for (name, definition) in definitions {
                schemas.insert(format!("{prefix}{name}"), repoint(definition, prefix));
            }
        }
    }
    repoint(schema, prefix)
}

/// `#/$defs/X` becomes `#/components/schemas/X`, everywhere.
fn repoint(value: Value, prefix: &str) -> Value {
    match value {
        Value::Object(object) => object
            .into_iter()
            .map(|(key, value)| match value {
                Value::String(text) if key == "$ref" => {
                    let place = format!("#/components/schemas/{prefix}");
                    (key, Value::String(text.replace("#/$defs/", &place)))
                }
                other => (key, repoint(other, prefix)),
            })
            .collect(),
        Value::Array(items) => items
            .into_iter()
            .map(|item| repoint(item, prefix))
            .collect(),
        other => other,
    }
}
