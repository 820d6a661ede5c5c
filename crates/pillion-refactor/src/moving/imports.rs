//! Import lines: as values, and how a file gets one more.

use pillion_index::modules::Modules;
use pillion_index::scopes::{ImportStmt, ImportedName, MODULE, Role, What, When};
use ruff_text_size::{TextRange, TextSize};

use super::Edits;
use super::text::Text;

/// `from module import name as alias`, or `import name as alias`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) module: Option<String>,
    pub(super) name: String,
    pub(super) alias: Option<String>,
    /// Whether only type checkers need it.
    pub(super) for_types: bool,
}

impl Line {
    pub(super) fn plain(name: &ImportedName, for_types: bool) -> Self {
        Self {
            module: None,
            name: name.name.clone(),
            alias: name.alias.clone(),
            for_types,
        }
    }

    pub(super) fn from(module: &str, name: &ImportedName, for_types: bool) -> Self {
        Self {
            module: Some(module.to_owned()),
            ..Self::plain(name, for_types)
        }
    }

    /// A name that is taken from a module as it is.
    pub(super) fn of_name(module: &str, name: &str) -> Self {
        Self {
            module: Some(module.to_owned()),
            name: name.to_owned(),
            alias: None,
            for_types: false,
        }
    }

    pub(super) fn of(statement: &ImportStmt, name: &ImportedName) -> Self {
        match &statement.from {
            Some((module, _)) => Self::from(module, name, statement.for_types),
            None => Self::plain(name, statement.for_types),
        }
    }

    /// The name that the file gets by it.
    pub(super) fn bound(&self) -> &str {
        match (&self.alias, &self.module) {
            (Some(alias), _) => alias,
            (None, Some(_)) => &self.name,
            (None, None) => self.name.split('.').next().unwrap_or_default(),
        }
    }

    fn names(&self) -> String {
        super::with_alias(&self.name, self.alias.as_deref())
    }

    pub(super) fn text(&self) -> String {
        match &self.module {
            Some(module) => format!("from {module} import {}", self.names()),
            None => format!("import {}", self.names()),
        }
    }
}

/// What a line binds, however it is written.
pub(super) fn meaning(modules: &Modules, file: &str, line: &Line) -> (String, Option<String>) {
    let key = |module: &str| {
        let target = modules.find(file, module);
        target.map_or_else(|| module.to_owned(), |target| format!("/{}", target.key))
    };
    match &line.module {
        Some(module) => (key(module), Some(line.name.clone())),
        None => (key(&line.name), None),
    }
}

/// Give a file import lines that it does not have, in front of what needs them when the file
/// runs: `before`, or a use of their names that is there already.
pub(super) fn add(text: &Text, lines: &[Line], before: Option<TextSize>, edits: &mut Edits) {
    let mut new: Vec<String> = Vec::new();
    let mut for_types: Vec<String> = Vec::new();
    let missing: Vec<&Line> = lines
        .iter()
        .filter(|line| !has(text, line, before))
        .collect();
    let used = missing
        .iter()
        .filter_map(|line| first_use(text, line, edits));
    let before = used.chain(before).min();
    for line in missing {
        let beside = beside(text, line, before, edits);
        if line.module.as_deref() == Some("__future__") && beside.is_none() {
            first(text, line, edits);
            continue;
        }
        match (beside, line.for_types) {
            (Some(at), _) => edits.replace(TextRange::empty(at), format!(", {}", line.names())),
            (None, true) => for_types.push(line.text()),
            (None, false) => new.push(line.text()),
        }
    }
    if !for_types.is_empty() {
        let is_known = text.scopes.module_bindings().contains_key("TYPE_CHECKING");
        if !is_known {
            new.push("from typing import TYPE_CHECKING".into());
        }
        new.push(format!(
            "\nif TYPE_CHECKING:\n    {}",
            for_types.join("\n    ")
        ));
    }
    if new.is_empty() {
        return;
    }
    let block = new.join("\n");
    let (at, place) = end_of_imports(text, before);
    let inserted = match place {
        Place::AfterImport => format!("\n{block}"),
        Place::AfterDocstring => format!("\n\n{block}"),
        Place::First if text.scopes.statements.is_empty() => format!("{block}\n"),
        Place::First => format!("{block}\n\n"),
    };
    edits.replace(TextRange::empty(at), inserted);
}

/// Before everything but the documentation.
fn first(text: &Text, line: &Line, edits: &mut Edits) {
    let first = text.scopes.statements.first();
    match first.filter(|first| first.what == What::Docstring) {
        Some(docstring) => {
            let at = end_of_line(text, docstring.range.end());
            edits.replace(TextRange::empty(at), format!("\n{}", line.text()));
        }
        None => {
            let at = first.map_or(TextSize::of(text.source.text()), |first| {
                first.range.start()
            });
            edits.replace(TextRange::empty(at), format!("{}\n", line.text()));
        }
    }
}

/// Where a file first uses the name of a line when it is imported, of what stays in it.
fn first_use(text: &Text, line: &Line, edits: &Edits) -> Option<TextSize> {
    let uses = text.scopes.uses_of(MODULE, line.bound());
    let uses = uses.filter(|use_| use_.when == When::Import && use_.role == Role::Read);
    let stays = uses.filter(|use_| !edits.removes(use_.range));
    stays.map(|use_| use_.range.start()).min()
}

/// Whether a file has an import line already, for all of it.
fn has(text: &Text, line: &Line, before: Option<TextSize>) -> bool {
    let is_late = |range: TextRange| before.is_some_and(|before| range.end() > before);
    let mut statements = text.scopes.imports.iter().filter(|s| !is_late(s.range));
    statements.any(|statement| {
        let fits =
            statement.at_top && !statement.for_types || line.for_types && statement.for_types;
        fits && statement.names.iter().any(|name| {
            let theirs = Line::of(statement, name);
            (&theirs.module, &theirs.name, &theirs.alias) == (&line.module, &line.name, &line.alias)
        })
    })
}

/// The end of an import of other names from the same module.
fn beside(text: &Text, line: &Line, before: Option<TextSize>, edits: &Edits) -> Option<TextSize> {
    let module = line.module.as_ref()?;
    let statement = text.scopes.imports.iter().find(|statement| {
        statement.at_top
            && before.is_none_or(|before| statement.range.end() <= before)
            && !line.for_types
            && statement
                .from
                .as_ref()
                .is_some_and(|(from, _)| from == module)
            && statement.names.iter().all(|name| name.name != "*")
            && !edits.removes(statement.range)
    })?;
    statement.names.last().map(|name| name.range.end())
}

enum Place {
    AfterImport,
    AfterDocstring,
    First,
}

/// Where the imports that a file begins with end, of those in front of a place.
fn end_of_imports(text: &Text, before: Option<TextSize>) -> (TextSize, Place) {
    let mut end = None;
    for (index, statement) in text.scopes.statements.iter().enumerate() {
        match statement.what {
            _ if before.is_some_and(|before| statement.range.end() > before) => break,
            What::Import => end = Some((statement.range.end(), Place::AfterImport)),
            What::Docstring if index == 0 => {
                end = Some((statement.range.end(), Place::AfterDocstring));
            }
            // Constants and conditions stand between imports; what is defined does not.
            What::Define | What::Main => break,
            _ => {}
        }
    }
    let Some((at, place)) = end else {
        let first = text.scopes.statements.first();
        let start = first.map_or(TextSize::of(text.source.text()), |first| {
            let none = TextSize::default();
            super::pieces::with_comments(text.source.text(), first.range, none).start()
        });
        // A first line that names the interpreter or the encoding stays the first.
        let heads = text
            .source
            .text()
            .lines()
            .take_while(|line| line.starts_with('#'));
        let head: usize = heads.map(|line| line.len() + 1).sum();
        let head = TextSize::try_from(head).unwrap_or_default();
        let end = TextSize::of(text.source.text());
        return (start.max(head).min(end), Place::First);
    };
    (end_of_line(text, at), place)
}

/// What follows on the same line, a comment or another statement, stays before.
fn end_of_line(text: &Text, at: TextSize) -> TextSize {
    let rest = &text.source.text()[at.to_usize()..];
    let line = rest.find(['\n', '\r']).unwrap_or(rest.len());
    at + TextSize::try_from(line).unwrap_or_default()
}
