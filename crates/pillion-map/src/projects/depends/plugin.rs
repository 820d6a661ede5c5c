//! Manifests of agents' plugins: marketplaces that list plugins, plugins that name others,
//! servers that are started from another project.

use std::path::Path;

use serde_json::Value;

use super::{DependencyKind, Found};
use crate::projects::text;

/// Where manifests are.
const PLUGIN: &str = ".claude-plugin/plugin.json";
const MANIFESTS: &[&str] = &[
    PLUGIN,
    "plugin.json",
    ".claude-plugin/marketplace.json",
    ".mcp.json",
];
/// How manifests write the folder they are in.
const HERE: &str = "${CLAUDE_PLUGIN_ROOT}/";
/// What names other plugins.
const NAMES: &[&str] = &["dependencies", "requires", "depends_on"];
/// Deeper values are not looked at.
const MAX_DEPTH: usize = 16;

/// The name of the plugin in a folder.
pub(super) fn name(folder: &Path) -> Option<String> {
    let manifest: Value = serde_json::from_str(&text(&folder.join(PLUGIN))?).ok()?;
    manifest.get("name")?.as_str().map(ToOwned::to_owned)
}

pub(super) fn read(folder: &Path, found: &mut Found<'_>) {
    for file in MANIFESTS {
        let manifest = text(&folder.join(file));
        let manifest = manifest.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        if let Some(manifest) = manifest {
            paths(folder, file, &manifest, found, MAX_DEPTH);
            for key in NAMES {
                named(file, key, manifest.get(*key), found);
            }
            variables(&manifest, found);
        }
    }
}

/// Every text that is a path into another project.
fn paths(folder: &Path, file: &str, value: &Value, found: &mut Found<'_>, depth: usize) {
    if depth == 0 {
        return;
    }
    match value {
        Value::String(text) => {
            let path = text.strip_prefix(HERE).unwrap_or(text);
            let is_path = path.len() < text.len() || text.starts_with(['.', '/']);
            if is_path && let Some(on) = found.at(folder, path) {
                found.add(
                    Some(on),
                    DependencyKind::PluginRef,
                    format!("{file}: {text}"),
                );
            }
        }
        Value::Array(all) => all
            .iter()
            .for_each(|value| paths(folder, file, value, found, depth - 1)),
        Value::Object(all) => all
            .values()
            .for_each(|value| paths(folder, file, value, found, depth - 1)),
        _ => {}
    }
}

/// Variables of servers that are named after another project: `INTERMUTE_URL`.
fn variables(manifest: &Value, found: &mut Found<'_>) {
    let servers = manifest.get("mcpServers").and_then(Value::as_object);
    for server in servers.into_iter().flat_map(|servers| servers.values()) {
        let variables = server.get("env").and_then(Value::as_object);
        for key in variables.into_iter().flat_map(|all| all.keys()) {
            let on = found.names.by_variable(key);
            found.add(on, DependencyKind::PluginRef, format!("env.{key}"));
        }
    }
}

/// Plugins by name: in a list of names or of objects with one, or as the keys of an object.
fn named(file: &str, key: &str, value: Option<&Value>, found: &mut Found<'_>) {
    let names: Vec<&str> = match value {
        Some(Value::Array(all)) => all
            .iter()
            .filter_map(|one| one.as_str().or_else(|| one.get("name")?.as_str()))
            .collect(),
        Some(Value::Object(all)) => all.keys().map(String::as_str).collect(),
        _ => return,
    };
    for name in names {
        // Some write the marketplace, too: `name@marketplace`.
        let plugin = name.split('@').next().unwrap_or(name);
        let on = found.names.plugins.get(plugin).copied();
        let via = format!("{file}: {key} {name}");
        found.add(on, DependencyKind::PluginRef, via);
    }
}
