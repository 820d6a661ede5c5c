//! One more server in a configuration, and all else as it was.

use pillion::{Code, Error, Result};
use serde::Serialize;
use serde_json::{Map, Value};

use super::agents::Shape;

/// The name of our server in every configuration.
pub(super) const NAME: &str = "pillion";

/// The configuration with our entry; `old` is what is there, empty if nothing is.
pub(super) fn merged(shape: Shape, old: &str, entry: &Map<String, Value>) -> Result<String> {
    match shape {
        Shape::Json(key) => json(key, old, entry),
        Shape::Toml(key) => toml(key, old, entry),
    }
}

fn json(key: &str, old: &str, entry: &Map<String, Value>) -> Result<String> {
    let mut whole: Value = match old.trim() {
        "" => Value::Object(Map::new()),
        _ => serde_json::from_str(old).map_err(|error| {
            refused(&format!(
                "it is not plain JSON ({error}); comments and trailing commas would be lost"
            ))
        })?,
    };
    let servers = whole
        .as_object_mut()
        .map(|object| {
            object
                .entry(key)
                .or_insert_with(|| Value::Object(Map::new()))
        })
        .and_then(Value::as_object_mut)
        .ok_or_else(|| refused(&format!("`{key}` is no object there")))?;
    let entry = Value::Object(entry.clone());
    if servers.get(NAME) == Some(&entry) {
        return Ok(old.to_owned());
    }
    servers.insert(NAME.to_owned(), entry);
    Ok(pretty(&whole, indent(old)) + "\n")
}

/// How far the first indented line of a text is.
fn indent(text: &str) -> &str {
    let indented = |line: &&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
    match text.lines().find(indented) {
        Some(line) => &line[..line.len() - line.trim_start().len()],
        None => "  ",
    }
}

fn pretty(value: &Value, indent: &str) -> String {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
    // Writing a value into memory cannot fail.
    let _ = value.serialize(&mut serializer);
    String::from_utf8(text).unwrap_or_default()
}

/// The text is edited, so that comments stay; what it means then is checked.
fn toml(key: &str, old: &str, entry: &Map<String, Value>) -> Result<String> {
    let parsed = |text: &str| {
        ::toml::from_str::<::toml::Table>(text).map_err(|error| {
            let what = error.message().to_owned();
            refused(&format!("it cannot be read as TOML ({what})"))
        })
    };
    let before = parsed(old)?;
    let table = ::toml::Table::try_from(entry).map_err(Error::internal)?;
    let ours = |whole: &::toml::Table| {
        let servers = whole.get(key).and_then(::toml::Value::as_table);
        servers.and_then(|servers| servers.get(NAME)).cloned()
    };
    if ours(&before) == Some(::toml::Value::Table(table.clone())) {
        return Ok(old.to_owned());
    }
    let mut text = without_table(old, &format!("{key}.{NAME}"));
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(&format!("[{key}.{NAME}]\n"));
    for name in entry.keys() {
        if let Some(value) = table.get(name) {
            text.push_str(&format!("{name} = {value}\n"));
        }
    }
    let after = parsed(&text)?;
    if others(&before, key) != others(&after, key) || ours(&after).is_none() {
        return Err(refused("other settings would have changed with it"));
    }
    Ok(text)
}

/// A TOML text without a table and what is below it.
fn without_table(text: &str, name: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let head = line.trim();
        if let Some(header) = head.strip_prefix('[') {
            let header = header.trim_start_matches('[');
            let header = header.split(']').next().unwrap_or_default();
            let header: String = header.chars().filter(|c| !" \"'".contains(*c)).collect();
            inside = header == name || header.starts_with(&format!("{name}."));
        }
        if !inside {
            kept.push_str(line);
        }
    }
    kept
}

/// Everything but our server.
fn others(whole: &::toml::Table, key: &str) -> ::toml::Table {
    let mut whole = whole.clone();
    if let Some(::toml::Value::Table(servers)) = whole.get_mut(key) {
        servers.remove(NAME);
        if servers.is_empty() {
            whole.remove(key);
        }
    }
    whole
}

fn refused(why: &str) -> Error {
    Error::new(Code::Conflict, why.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Map<String, Value> {
        let entry = json!({ "command": "pillion", "args": ["mcp"] });
        entry.as_object().unwrap().clone()
    }

    #[test]
    fn other_servers_and_settings_stay() {
        let old = "{\n\t\"z\": 1.50,\n\t\"mcpServers\": {\"other\": {\"url\": \"x\"}},\n\t\"a\": null\n}\n";
        let shape = Shape::Json("mcpServers");
        let new = merged(shape, old, &entry()).unwrap();
        let value: Value = serde_json::from_str(&new).unwrap();
        assert_eq!(value["mcpServers"]["other"]["url"], "x");
        assert_eq!(value["mcpServers"]["pillion"]["args"], json!(["mcp"]));
        let keys: Vec<_> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["z", "mcpServers", "a"]);
        assert!(new.contains("\n\t\"z\""), "the indentation is kept: {new}");
        assert_eq!(
            merged(shape, &new, &entry()).unwrap(),
            new,
            "once is enough"
        );
    }

    #[test]
    fn what_would_be_destroyed_is_refused() {
        let shape = Shape::Json("servers");
        for old in ["{ // comment\n}", "{\"a\": 1,}", "[]", "{\"servers\": []}"] {
            let error = merged(shape, old, &entry()).unwrap_err();
            assert_eq!(error.code, Code::Conflict, "{old}");
        }
        let shape = Shape::Toml("mcp_servers");
        for old in ["a = ", "mcp_servers = { other = { command = \"x\" } }\n"] {
            assert!(merged(shape, old, &entry()).is_err(), "{old}");
        }
    }

    #[test]
    fn toml_keeps_its_comments_and_order() {
        let shape = Shape::Toml("mcp_servers");
        let fresh = merged(shape, "", &entry()).unwrap();
        assert_eq!(
            fresh,
            "[mcp_servers.pillion]\ncommand = \"pillion\"\nargs = [\"mcp\"]\n"
        );
        let old = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.\"pillion\"]\ncommand = \"old\"\n\n[mcp_servers.pillion.env]\nA = \"b\"\n\n[mcp_servers.other]\ncommand = \"y\"";
        let new = merged(shape, old, &entry()).unwrap();
        assert!(new.starts_with("# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\n"));
        assert!(new.ends_with(&fresh), "{new}");
        assert_eq!(
            merged(shape, &new, &entry()).unwrap(),
            new,
            "once is enough"
        );
    }
}
