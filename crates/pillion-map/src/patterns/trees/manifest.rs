//! Programs that the files beside the sources name: `package.json` and `Cargo.toml`.

use std::path::Path;

use pillion_index::language::Language;

use super::super::Pattern;

/// A manifest that is longer is not read.
const MAX_MANIFEST: u64 = 1 << 20;
/// Programs that are told of a manifest.
const MAX_PROGRAMS: usize = 100;

/// The programs that the manifest at a root says there are.
pub fn programs(language: Language, root: &Path) -> Vec<Pattern> {
    let file = match language {
        Language::Typescript | Language::Javascript => "package.json",
        Language::Rust => "Cargo.toml",
        _ => return Vec::new(),
    };
    let path = root.join(file);
    let is_small = path.metadata().is_ok_and(|data| data.len() <= MAX_MANIFEST);
    let text = std::fs::read_to_string(path).ok().filter(|_| is_small);
    let text = text.unwrap_or_default();
    let named = match language {
        Language::Rust => bins(&text),
        _ => scripts(&text),
    };
    let programs = named.into_iter().take(MAX_PROGRAMS);
    programs
        .map(|(name, description)| Pattern {
            kind: "cli_entry_point",
            file: file.into(),
            line: line_of(&text, &name),
            confidence: 100,
            description,
        })
        .collect()
}

/// `bin` of `package.json`, and how the project is started.
fn scripts(text: &str) -> Vec<(String, String)> {
    let manifest: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let mut found = Vec::new();
    match manifest.get("bin") {
        Some(serde_json::Value::String(target)) => {
            let name = manifest.get("name").and_then(serde_json::Value::as_str);
            let name = name.unwrap_or("bin");
            found.push(("bin".to_owned(), format!("`{name}` runs `{target}`")));
        }
        Some(serde_json::Value::Object(all)) => {
            let all = all
                .iter()
                .filter_map(|(name, to)| Some((name, to.as_str()?)));
            found.extend(all.map(|(name, to)| (name.clone(), format!("`{name}` runs `{to}`"))));
        }
        _ => {}
    }
    let start = manifest.pointer("/scripts/start");
    if let Some(start) = start.and_then(serde_json::Value::as_str) {
        let what = format!("`npm start` runs `{start}`");
        found.push(("start".to_owned(), what));
    }
    found
}

/// `[[bin]]` of `Cargo.toml`.
fn bins(text: &str) -> Vec<(String, String)> {
    let table = text.parse::<toml::Table>().unwrap_or_default();
    let bins = table.get("bin").and_then(toml::Value::as_array);
    let bins = bins.into_iter().flatten().filter_map(|bin| {
        let name = bin.get("name")?.as_str()?;
        let path = bin.get("path").and_then(toml::Value::as_str);
        let what = match path {
            Some(path) => format!("`{name}` runs `{path}`"),
            None => format!("`{name}` is a program"),
        };
        Some((name.to_owned(), what))
    });
    bins.collect()
}

/// The line that names something, as a key or as a value.
fn line_of(text: &str, name: &str) -> u32 {
    let quoted = format!("\"{name}\"");
    let found = text.lines().position(|line| line.contains(&quoted));
    u32::try_from(found.unwrap_or(0) + 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(language: Language, file: &str, text: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(file), text).unwrap();
        let all = programs(language, root.path()).into_iter();
        all.map(|one| format!("{}: {}", one.line, one.description))
            .collect()
    }

    #[test]
    fn programs_are_named_by_manifests() {
        let scripts = |text: &str| told(Language::Typescript, "package.json", text);
        assert_eq!(
            scripts("{\"name\": \"shop\",\n\"bin\": \"./cli.js\"}"),
            ["2: `shop` runs `./cli.js`"]
        );
        assert_eq!(
            scripts(
                "{\"bin\": {\n\"a\": \"a.js\",\n\"b\": 1},\n\"scripts\": {\"start\": \"node .\"}}"
            ),
            ["2: `a` runs `a.js`", "4: `npm start` runs `node .`"]
        );
        for text in ["", "{", "[]", "{\"bin\": 1}", "{\"main\": \"index.js\"}"] {
            assert!(scripts(text).is_empty(), "{text}");
        }
        let bins = |text: &str| told(Language::Rust, "Cargo.toml", text);
        assert_eq!(
            bins(
                "[package]\nname = \"x\"\n[[bin]]\nname = \"shop\"\npath = \"src/a.rs\"\n[[bin]]\nname = \"two\"\n"
            ),
            ["4: `shop` runs `src/a.rs`", "7: `two` is a program"]
        );
        assert!(bins("[package]\nname = \"x\"\n").is_empty());
        assert!(bins("[[bin]\n").is_empty());
        assert!(told(Language::Go, "package.json", "{\"bin\": \"x\"}").is_empty());
    }
}
