//! `GET /openapi.json`, made from the catalogue.

use pillion_catalogue::{Catalogue, Definition, Streams};
use serde_json::{Map, Value, json};

/// The OpenAPI document of all operations.
pub(super) fn document(catalogue: &Catalogue) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let error = schemas_of::<pillion_catalogue::Error>(&mut schemas);
    schemas.insert("Error".into(), error);
    for definition in catalogue.definitions() {
        paths.insert(
            format!("/v1/{}", definition.name),
            path(definition, &mut schemas),
        );
    }
    for (path, operation, method) in super::ALIASES {
        let method = match method {
            super::Method::Get => "get",
            super::Method::Post => "post",
        };
        let summary = format!("The same as `{operation}`.");
        let ok = json!({ "description": "The result.", "content": { "application/json": {} } });
        paths.insert(
            (*path).into(),
            json!({ method: {
                "summary": summary, "tags": ["alias"], "responses": { "200": ok },
            }}),
        );
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

fn path(definition: &Definition, schemas: &mut Map<String, Value>) -> Value {
    let area = definition.name.split('.').next().unwrap_or_default();
    let params = hoist(definition.params_schema().to_value(), schemas);
    let output = hoist(definition.output_schema().to_value(), schemas);
    let mut content = json!({ "application/json": { "schema": output } });
    if definition.streams != Streams::Never {
        content["text/event-stream"] = json!({ "schema": { "type": "string" } });
    }
    let error = json!({
        "description": "What happened, and what to do next.",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
    });
    json!({ "post": {
        "operationId": definition.name,
        "summary": definition.help(),
        "tags": [area],
        "x-safety": definition.safety,
        "x-streams": definition.streams,
        "requestBody": { "content": { "application/json": { "schema": params } } },
        "responses": {
            "200": { "description": "The result.", "content": content },
            "default": error,
        },
    }})
}

fn schemas_of<T: schemars::JsonSchema>(schemas: &mut Map<String, Value>) -> Value {
    hoist(schemars::schema_for!(T).to_value(), schemas)
}

/// Move a schema's own definitions to the document's, where references can find them.
fn hoist(mut schema: Value, schemas: &mut Map<String, Value>) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        if let Some(Value::Object(definitions)) = object.remove("$defs") {
            for (name, definition) in definitions {
                schemas.insert(name, repoint(definition));
            }
        }
    }
    repoint(schema)
}

/// `#/$defs/X` becomes `#/components/schemas/X`, everywhere.
fn repoint(value: Value) -> Value {
    match value {
        Value::Object(object) => object
            .into_iter()
            .map(|(key, value)| match value {
                Value::String(text) if key == "$ref" => (
                    key,
                    Value::String(text.replace("#/$defs/", "#/components/schemas/")),
                ),
                other => (key, repoint(other)),
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(repoint).collect(),
        other => other,
    }
}
