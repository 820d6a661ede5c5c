//! `GET /docs`: a page about all operations. It loads nothing from anywhere.

use std::fmt::Write;

use pillion_catalogue::{Listing, Safety};
use serde_json::{Map, Value, json};

use super::routes;
use crate::DoorState;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h2{margin-top:2.5rem;border-bottom:1px solid #ddd}code,pre{font:14px/1.4 ui-monospace,monospace;background:#f5f5f5;border-radius:4px}\
code{padding:.1em .3em}pre{padding:.8rem;overflow:auto}table{border-collapse:collapse}td,th{padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid #eee}\
.tag{font-size:.8rem;border:1px solid #bbb;border-radius:1em;padding:.05em .6em;margin-left:.5em}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}code,pre{background:#262626}h2{border-color:#444}td,th{border-color:#333}}";

/// The head of every page.
fn head() -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>pillion</title><style>{STYLE}</style><h1>pillion</h1>"
    )
}

/// The page about functions that are exposed.
pub(super) fn functions(listing: &Listing) -> String {
    let mut html = head();
    html.push_str(
        "<p>Functions of Python modules. Each is <code>POST /{function}</code> with its arguments \
         as a JSON object; <a href=\"/openapi.json\">openapi.json</a> has the schemas.</p>",
    );
    for function in &listing.tools {
        section(
            &mut html,
            &function.name,
            function.safety,
            &function.description,
            &function.input_schema,
        );
    }
    html
}

/// The page about operations.
pub(super) fn page(state: &DoorState) -> String {
    let mut html = head();
    html.push_str(
        "<p>Python, already running. Every operation is <code>POST /v1/{operation}</code> with its parameters \
         as a JSON object; <a href=\"/openapi.json\">openapi.json</a> has the schemas, \
         <a href=\"/metrics\">metrics</a> the numbers.</p>\
         <pre>curl -s localhost:PORT/v1/py.call -H 'content-type: application/json' \\\n     -d '{\"function\": \"math:hypot\", \"params\": [3, 4]}'</pre>",
    );
    let nothing = Map::new();
    index(&mut html, state);
    paths(&mut html, state);
    for definition in state.catalogue.definitions() {
        let schema = definition.params_schema().to_value();
        let about = schema.get("description").and_then(Value::as_str);
        let schema = schema.as_object().unwrap_or(&nothing);
        section(
            &mut html,
            definition.name,
            definition.safety,
            about.unwrap_or_default(),
            schema,
        );
    }
    html
}

/// Links to all operations, by area.
fn index(html: &mut String, state: &DoorState) {
    html.push_str("<h2 id=index>Operations</h2>");
    let mut area = "";
    for definition in state.catalogue.definitions() {
        let (own, verb) = definition
            .name
            .split_once('.')
            .unwrap_or(("", definition.name));
        if own != area {
            area = own;
            let _ = write!(html, "<p><b>{own}</b>");
        }
        let name = definition.name;
        let help = escape(&definition.help()).replace('"', "&quot;");
        let _ = write!(html, " <a href=\"#{name}\" title=\"{help}\">{verb}</a>");
    }
}

/// What a member of parameters is, in a word or two.
fn kind(property: &Value, schema: &Map<String, Value>) -> String {
    if let Some(Value::String(name)) = property.get("type") {
        let items = property.get("items").map(|items| kind(items, schema));
        return match items {
            Some(items) if name == "array" => format!("array of {items}"),
            _ => name.clone(),
        };
    }
    if let Some(Value::Array(names)) = property.get("type") {
        let names = names.iter().filter_map(Value::as_str);
        let names: Vec<&str> = names.filter(|name| *name != "null").collect();
        return match (&*names, property.get("items")) {
            (["array"], Some(items)) => format!("array of {}", kind(items, schema)),
            _ => names.join(" or "),
        };
    }
    if let Some(values) = property.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        return values.join(" or ");
    }
    if let Some(value) = property.get("const") {
        return value.to_string();
    }
    if let Some(path) = property.get("$ref").and_then(Value::as_str) {
        let name = path.rsplit('/').next().unwrap_or_default();
        let meant = schema.get("$defs").and_then(|all| all.get(name));
        return meant.map_or_else(|| name.to_owned(), |meant| kind(meant, schema));
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(all) = property.get(choice).and_then(Value::as_array) {
            let kinds = all.iter().map(|one| kind(one, schema));
            let mut kinds: Vec<String> = kinds.filter(|kind| kind != "null").collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
    }
    match property.get("properties") {
        Some(_) => "object".to_owned(),
        None => "any".to_owned(),
    }
}

/// What `/` tells: what this is, and where to go on.
pub(super) fn home(state: &DoorState) -> Value {
    json!({
        "name": "pillion",
        "version": env!("CARGO_PKG_VERSION"),
        "workspace": state.root.as_ref().map(|root| root.display().to_string()),
        "docs": "/docs",
        "openapi": "/openapi.json",
        "health": "/health",
        "operations": "/v1/{operation}",
        "mcp": "/mcp",
    })
}

/// The paths that operations have beside their own.
fn paths(html: &mut String, state: &DoorState) {
    let mut all: Vec<_> = routes::all(state)
        .map(|(definition, route)| (route.path, route.method.as_str(), definition.name))
        .collect();
    all.sort_unstable();
    html.push_str("<h2>Paths</h2><table>");
    for (path, method, name) in all {
        let _ = write!(
            html,
            "<tr><td><code>{method} {path}</code><td><a href=\"#{name}\">{name}</a>"
        );
    }
    html.push_str("</table>");
}

fn section(
    html: &mut String,
    name: &str,
    safety: Safety,
    about: &str,
    schema: &Map<String, Value>,
) {
    let safety = format!("{safety:?}").to_lowercase();
    let _ = write!(
        html,
        "<h2 id=\"{name}\"><code>{name}</code><span class=tag>{safety}</span></h2>"
    );
    for paragraph in about.split("\n\n") {
        let _ = write!(html, "<p>{}</p>", escape(paragraph));
    }
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    html.push_str("<table><tr><th>parameter<th>type<th><th>");
    for (key, property) in properties {
        let text = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let need = if required.contains(&key.as_str()) {
            "<b>required</b>"
        } else {
            ""
        };
        let _ = write!(
            html,
            "<tr><td><code>{}</code><td>{}<td>{need}<td>{}",
            escape(key),
            escape(&kind(property, schema)),
            escape(text)
        );
    }
    html.push_str("</table>");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
