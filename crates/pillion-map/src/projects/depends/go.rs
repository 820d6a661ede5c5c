//! `go.mod`: modules that are required, and those that are replaced by a folder.

use std::path::Path;

use super::{DependencyKind, Found};
use crate::projects::text;

/// The name of the module in a folder.
pub(super) fn name(folder: &Path) -> Option<String> {
    let text = text(&folder.join("go.mod"))?;
    let mut statements = statements(&text).into_iter();
    statements.find_map(|words| match &words[..] {
        ["module", name] => Some((*name).to_owned()),
        _ => None,
    })
}

pub(super) fn read(folder: &Path, found: &mut Found<'_>) {
    let Some(text) = text(&folder.join("go.mod")) else {
        return;
    };
    let all = statements(&text);
    let replaced = |name: &str| {
        let mut all = all.iter();
        all.any(|words| words.first() == Some(&"replace") && words.get(1) == Some(&name))
    };
    for words in &all {
        match &words[..] {
            // A replacement says more about the same module.
            ["require", name, ..] if !replaced(name) => {
                let on = found.names.go.get(*name).copied();
                found.add(
                    on,
                    DependencyKind::GoModule,
                    format!("go.mod: require {name}"),
                );
            }
            ["replace", name, .., "=>", path] | ["replace", name, .., "=>", path, _] => {
                let is_path = path.starts_with(['.', '/']);
                let on = match is_path {
                    true => found.at(folder, path),
                    false => found.names.go.get(*path).copied(),
                };
                let via = format!("go.mod: replace {name} => {path}");
                found.add(on, DependencyKind::GoModule, via);
            }
            _ => {}
        }
    }
}

/// The statements of the file, each as its words; those in brackets have their verb in
/// front.
fn statements(text: &str) -> Vec<Vec<&str>> {
    let mut all = Vec::new();
    let mut verb = None;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let words = line.split_whitespace();
        let mut words: Vec<&str> = words.map(|word| word.trim_matches(['"', '`'])).collect();
        match (&words[..], verb) {
            ([], _) => {}
            ([")"], _) => verb = None,
            ([name, "("], _) => verb = Some(*name),
            (_, Some(verb)) => {
                words.insert(0, verb);
                all.push(words);
            }
            (_, None) => all.push(words),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_stand_alone_or_in_brackets() {
        let text = "module \"a.b/c\" // ours\n\nrequire x/y v1\nrequire (\n\tp/q v2 // indirect\n)\nreplace x/y v1 => ../y\n";
        assert_eq!(
            statements(text),
            [
                vec!["module", "a.b/c"],
                vec!["require", "x/y", "v1"],
                vec!["require", "p/q", "v2"],
                vec!["replace", "x/y", "v1", "=>", "../y"],
            ]
        );
    }
}
