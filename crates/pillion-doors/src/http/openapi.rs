//! `GET /openapi.json`, made from the catalogue.

use pillion_catalogue::{
    AnswerForm, Body, Definition, Errors, ExposedFunction, Field, Listing, MemberLimit, Members,
    Method, Route, Streams,
};
use serde_json::{Map, Value, json};

use super::components::Components;
use crate::DoorState;

/// The OpenAPI document of all operations.
pub(super) fn document(state: &DoorState) -> Value {
    let mut paths = Map::new();
    let mut components = Components::default();
    components.add("Detail", detail_schema());
    components.add("ValidationError", validation_schema());
    // They come first, so that each has its plain name here; the list itself is not asked for.
    let errors = schemars::schema_for!(Vec<pillion_catalogue::Error>);
    components.share(errors.to_value(), "http");
    for definition in state.catalogue.definitions() {
        paths.insert(
            format!("/v1/{}", definition.name),
            path(definition, &mut components),
        );
    }
    for (definition, route) in super::routes::all(state) {
        // Several methods may share a path.
        let method = route.method.as_str().to_lowercase();
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method] = alias(definition, &route, &mut components);
    }
    let contract = schemars::schema_for!(super::contract::Contract).to_value();
    let contract = components.share(contract, "http.contract");
    paths.insert(
        super::contract::PATH.into(),
        json!({ "get": {
            "operationId": "http.contract",
            "summary": "What is served.",
            "tags": ["contract"],
            "responses": { "200": answer("What is served.", &contract), "default": error() },
        }}),
    );
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "pillion",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Python, already running. Every operation is `POST /v1/{operation}` with its parameters as a JSON object.",
        },
        "paths": paths,
        "components": { "schemas": components.into_schemas() },
    })
}

/// Add the functions that are exposed.
pub(super) fn add_functions(document: &mut Value, listing: &Listing) {
    let mut components = Components::of(document["components"]["schemas"].take());
    for function in &listing.tools {
        let path = format!("/{}", function.name);
        document["paths"][path] = function_path(function, &mut components);
    }
    document["components"]["schemas"] = components.into_schemas().into();
}

fn function_path(function: &ExposedFunction, components: &mut Components) -> Value {
    let mut shared = |schema: &Map<String, Value>, part: &str| {
        let owner = format!("{}.{part}", function.name);
        components.share(Value::Object(schema.clone()), &owner)
    };
    let output = function.output_schema.as_ref();
    let output = output.map_or_else(|| json!({}), |output| shared(output, "output"));
    let input = shared(&function.input_schema, "input");
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

fn path(definition: &Definition, components: &mut Components) -> Value {
    let area = definition.name.split('.').next().unwrap_or_default();
    let params = components.share(definition.params_schema().to_value(), definition.name);
    let output = components.share(definition.output_schema().to_value(), definition.name);
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

/// A path of an operation beside its own.
fn alias(definition: &Definition, route: &Route, components: &mut Components) -> Value {
    let own = components.share(definition.own_schema().to_value(), definition.name);
    let mut properties = match own.get("properties") {
        Some(Value::Object(properties)) => properties.clone(),
        _ => Map::new(),
    };
    let mut one = json!({
        "operationId": format!("{} {} {}", definition.name, route.method.as_str(), route.path),
        "summary": definition.help(),
        "description": format!("The same as `{}`.", definition.name),
        "tags": ["alias"],
        "x-stability": route.stability.word(),
        "responses": responses(definition, route, components),
    });
    let mut parameters = Vec::new();
    for part in route.parameters() {
        properties.shift_remove(route.parameter(part));
        parameters.push(json!({
            "name": part, "in": "path", "required": true,
            "schema": { "type": "string", "minLength": 1 },
        }));
    }
    for name in route.query {
        properties.shift_remove(*name);
        let schema = json!({ "type": "string" });
        parameters.push(json!({ "name": name, "in": "query", "schema": schema }));
    }
    if !parameters.is_empty() {
        one["parameters"] = parameters.into();
    }
    let reads = matches!(route.method, Method::Get | Method::Delete);
    if let Body::Files(field) = route.body {
        let file = json!({ "type": "string", "format": "binary" });
        let schema = json!({
            "type": "object", "required": [field],
            "properties": { field: { "type": "array", "items": file } },
        });
        let content = json!({ "multipart/form-data": { "schema": schema } });
        one["requestBody"] = json!({ "required": true, "content": content });
    } else if !reads {
        let schema = body(&own, properties, route);
        let is_required = schema.get("required").is_some();
        let content = json!({ "application/json": { "schema": schema } });
        one["requestBody"] = json!({ "required": is_required, "content": content });
    }
    one
}

/// The schema of a path's body.
fn body(own: &Value, mut properties: Map<String, Value>, route: &Route) -> Value {
    for (name, _) in route.fixed {
        properties.shift_remove(*name);
    }
    if route.members == Members::Listed {
        properties.retain(|name, _| route.fields.iter().any(|field| field.name == name));
    }
    let mut required: Vec<String> = match own.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
    .into_iter()
    .filter(|name| properties.contains_key(*name))
    .map(ToOwned::to_owned)
    .collect();
    for field in route.fields {
        let property = properties.entry(field.name).or_insert_with(|| json!({}));
        narrow(property, field);
        if field.is_required && !required.iter().any(|name| name == field.name) {
            required.push(field.name.to_owned());
        }
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if route.members == Members::All
        && let Some(more) = own.get("additionalProperties")
    {
        schema["additionalProperties"] = more.clone();
    }
    schema
}

/// What a path says about a member beyond what its operation does.
fn narrow(property: &mut Value, field: &Field) {
    let Some(object) = property.as_object_mut() else {
        return;
    };
    if let Some(default) = field.default.and_then(|d| serde_json::from_str(d).ok()) {
        object.insert("default".into(), default);
    }
    let kind = object.get_mut("type");
    if field.is_required
        && let Some(Value::Array(kinds)) = kind
    {
        kinds.retain(|kind| kind != "null");
    }
    let bounds = match field.limit {
        MemberLimit::None => return,
        MemberLimit::Length(least, most) => {
            [("minLength", json!(least)), ("maxLength", json!(most))]
        }
        MemberLimit::Range(least, most) => [("minimum", json!(least)), ("maximum", json!(most))],
    };
    object.extend(bounds.map(|(name, bound)| (name.to_owned(), bound)));
}

fn responses(definition: &Definition, route: &Route, components: &mut Components) -> Value {
    let output = components.share(definition.output_schema().to_value(), definition.name);
    let events = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    let mut responses = match route.answer {
        AnswerForm::Json => {
            let mut ok = answer("The result.", &output);
            if definition.streams != Streams::Never {
                ok["content"]["text/event-stream"] = events["text/event-stream"].clone();
            }
            json!({ "200": ok })
        }
        AnswerForm::Created => json!({ "201": answer("What was made.", &output) }),
        AnswerForm::Nothing => json!({ "204": { "description": "It is done." } }),
        AnswerForm::Events | AnswerForm::EventsAndResult => {
            json!({ "200": { "description": "Events: one JSON object each.", "content": events } })
        }
        AnswerForm::WebSocket(_) => {
            json!({ "101": { "description": "A conversation by WebSocket." } })
        }
    };
    match route.errors {
        Errors::Detail => {
            let of = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
            let wrong = json!({ "anyOf": [of("ValidationError"), of("Detail")] });
            responses["422"] = answer("Parameters that do not fit, and where.", &wrong);
            let failed = json!({ "anyOf": [of("Detail"), of("Error")] });
            responses["default"] = answer("What happened.", &failed);
        }
        Errors::Plain | Errors::NotFoundIs400 => responses["default"] = error(),
    }
    responses
}

fn answer(what: &str, schema: &Value) -> Value {
    json!({ "description": what, "content": { "application/json": { "schema": schema } } })
}

/// An error as the contract with desktop apps has it.
fn detail_schema() -> Value {
    json!({
        "type": "object",
        "required": ["detail", "code", "recoverable"],
        "properties": {
            "detail": { "type": "string", "description": "What happened." },
            "code": { "type": "string", "description": "The stable word that programs branch on." },
            "recoverable": { "type": "boolean", "description": "Whether the caller can go on." },
            "hint": { "type": "string", "description": "What to do next." },
        },
    })
}

/// Parameters that do not fit, as the contract with desktop apps has it.
fn validation_schema() -> Value {
    let one = json!({
        "type": "object",
        "required": ["type", "loc", "msg", "input"],
        "properties": {
            "type": { "type": "string", "description": "What is wrong, in a word." },
            "loc": { "type": "array", "items": { "type": ["string", "integer"] } },
            "msg": { "type": "string", "description": "What is wrong." },
            "input": { "description": "What was given, if it is short and no secret." },
        },
    });
    json!({
        "type": "object",
        "required": ["detail"],
        "properties": { "detail": { "type": "array", "items": one } },
    })
}
