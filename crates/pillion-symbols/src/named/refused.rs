//! What a name could have meant, where it fits nothing or too much.

use pillion_catalogue::{Code, Error};
use serde_json::json;

use super::find::{Finder, IndexedDefinition};
use super::grammar::{FORMS, Name, NameOrPlace};
use super::local::FoundParameter as Parameter;
use crate::project::View;

/// Candidates that are told.
const MOST: usize = 20;
/// Near names that are told.
const NEAR: usize = 5;
/// How near a name must be to be told.
const SIMILAR: f64 = 0.8;

/// A definition that a name may mean.
struct Candidate {
    /// What to write to mean this one alone.
    at: String,
    file: String,
    line: u32,
    column: u32,
    kind: &'static str,
    name_path: String,
}

impl Candidate {
    fn of(finder: &Finder<'_>, one: &IndexedDefinition) -> Option<Self> {
        let symbol = finder.symbol(one)?;
        let name_path = finder.name_path(one);
        Some(Self {
            at: format!("{}::{}", one.file, name_path.replace('/', ".")),
            file: one.file.to_string(),
            line: symbol.name_span.start.line + 1,
            column: symbol.name_span.start.column + 1,
            kind: symbol.kind.name(),
            name_path,
        })
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "at": self.at, "file": self.file, "line": self.line, "column": self.column,
            "kind": self.kind, "name_path": self.name_path,
        })
    }
}

/// A name that fits several definitions.
pub(super) fn ambiguous(view: &View, text: &str, found: &[IndexedDefinition]) -> Error {
    let finder = Finder::new(view);
    let all = found.iter().filter_map(|one| Candidate::of(&finder, one));
    let mut all: Vec<Candidate> = all.take(MOST).collect();
    let same = |a: &Candidate| all.iter().filter(|b| a.at == b.at).count() > 1;
    let doubled: Vec<bool> = all.iter().map(same).collect();
    // Where the same name stands twice in a file, only its place tells which.
    for (one, _) in all.iter_mut().zip(doubled).filter(|(_, doubled)| *doubled) {
        one.at = format!("{}:{}:{}", one.file, one.line, one.column);
    }
    refused(text, found.len(), &all, "definitions")
}

fn refused(text: &str, count: usize, all: &[Candidate], what: &str) -> Error {
    let example = all.first().map_or("file.py::name", |one| &one.at);
    let candidates: Vec<_> = all.iter().map(Candidate::json).collect();
    Error::new(Code::Conflict, format!("`{text}` fits {count} {what}"))
        .hint(format!("write which one, such as `{example}`"))
        .data(json!({ "candidates": candidates, "total": count }))
}

/// A parameter that several functions of the same name have.
pub(super) fn ambiguous_parameters(text: &str, name: &Name, found: &[Parameter]) -> Error {
    let last = name.parts.last().map_or("", String::as_str);
    let all = found.iter().take(MOST).map(|one| {
        let name_path = format!("{}/{last}", one.function);
        Candidate {
            at: format!("{}::{}", one.file, name_path.replace('/', ".")),
            file: one.file.clone(),
            line: one.span.start.line + 1,
            column: one.span.start.column + 1,
            kind: "parameter",
            name_path,
        }
    });
    refused(text, found.len(), &all.collect::<Vec<_>>(), "parameters")
}

/// The name of several modules.
pub(super) fn ambiguous_modules(text: &str, files: &[String]) -> Error {
    let candidates: Vec<_> = files
        .iter()
        .take(MOST)
        .map(|file| json!({ "at": file, "file": file, "line": 1, "column": 1, "kind": "module" }))
        .collect();
    Error::new(
        Code::Conflict,
        format!("`{text}` fits {} modules", files.len()),
    )
    .hint(format!("write which one, such as `{}`", files[0]))
    .data(json!({ "candidates": candidates, "total": files.len() }))
}

/// The name of a module, where a definition in one is meant.
pub(super) fn a_module(text: &str, file: &str) -> Error {
    let message = match text == file {
        true => format!("`{file}` is a module, no definition in one"),
        false => format!("`{text}` is the module `{file}`, no definition in one"),
    };
    Error::new(Code::NotFound, message).hint(format!(
        "list `{file}`, or name what it defines: `{file}::name`"
    ))
}

/// The name of a parameter, where a definition is meant.
pub(super) fn a_parameter(text: &str, parameter: &Parameter) -> Error {
    let Parameter { file, function, .. } = parameter;
    let function = function.replace('/', ".");
    Error::new(
        Code::NotFound,
        format!("`{text}` is a parameter of `{function}`, no definition of its own"),
    )
    .hint(format!("name the function: `{file}::{function}`"))
}

/// A name that fits nothing.
pub(super) fn unknown(view: &View, text: &str) -> Error {
    let finder = Finder::new(view);
    let mut all = match NameOrPlace::read(text) {
        Ok(NameOrPlace::Name(name)) if name.within.is_none() => finder.by_alias(&name),
        _ => Vec::new(),
    };
    if all.is_empty() {
        all = near(view, text);
    }
    let near: Vec<Candidate> = all
        .iter()
        .take(NEAR)
        .filter_map(|one| Candidate::of(&finder, one))
        .collect();
    let error = Error::new(Code::NotFound, format!("no definition `{text}`"));
    if near.is_empty() {
        return error.hint(FORMS);
    }
    let names: Vec<String> = near.iter().map(|one| format!("`{}`", one.at)).collect();
    let candidates: Vec<_> = near.iter().map(Candidate::json).collect();
    error
        .hint(format!("did you mean {}?", names.join(", ")))
        .data(json!({ "candidates": candidates }))
}

/// Definitions with names like the one that was written.
pub(super) fn near(view: &View, text: &str) -> Vec<IndexedDefinition> {
    let Ok(NameOrPlace::Name(name)) = NameOrPlace::read(text) else {
        return Vec::new();
    };
    let whole = name.parts.join("/").to_lowercase();
    let last = name.parts.last().map(|last| last.to_lowercase());
    let Some(last) = last else { return Vec::new() };
    let mut found: Vec<(f64, IndexedDefinition)> = Vec::new();
    for (file, facts) in view.index.iter() {
        for (index, symbol) in facts.symbols.iter().enumerate() {
            let own = symbol.name.to_lowercase();
            // Most names are of quite another length.
            if own.chars().count().abs_diff(last.chars().count()) > 2 + last.len() / 3 {
                continue;
            }
            let likeness = strsim::jaro_winkler(&own, &last);
            if likeness < SIMILAR {
                continue;
            }
            let path = facts.name_path(index).to_lowercase();
            let together = strsim::jaro_winkler(&path, &whole);
            let file = std::sync::Arc::clone(file);
            found.push((likeness + together, IndexedDefinition { file, index }));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut named = Vec::new();
    for (_, one) in found {
        let name = view
            .index
            .get(&one.file)
            .map(|facts| facts.name_path(one.index));
        let key = (one.file.clone(), name);
        if !named.iter().any(|(known, _)| *known == key) {
            named.push((key, one));
        }
        if named.len() == NEAR {
            break;
        }
    }
    named.into_iter().map(|(_, one)| one).collect()
}
