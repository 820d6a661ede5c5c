//! Names of others, such as `json.dumps`: asked about where the workspace spells them.

use pillion_index::scopes::{ImportStmt, ImportedName, Scopes};
use pillion_index::source::{Source, Span};
use ruff_text_size::TextRange;

use super::grammar::Name;
use crate::project::View;

/// Files that are looked through.
const MOST: usize = 200;

/// The first place of the workspace that spells a name which is imported from elsewhere.
pub(super) fn spelled(view: &View, name: &Name) -> Option<(String, Span)> {
    let last = name.parts.last()?;
    let dotted = match &name.within {
        Some(module) => format!("{module}.{}", name.parts.join(".")),
        None => name.parts.join("."),
    };
    for path in view.index.files_with(last).into_iter().take(MOST) {
        let Some(source) = view.source(path.as_ref().as_ref()) else {
            continue;
        };
        let scopes = Scopes::of(source.text(), &path);
        let found = scopes.imports.iter().find_map(|stmt| {
            let mut names = stmt.names.iter();
            names.find_map(|name| place(&scopes, stmt, name, &dotted))
        });
        if let Some(range) = found {
            return Some((path.to_string(), span(&source, range)));
        }
    }
    None
}

/// Where an import, or a use of what it binds, spells a dotted name.
fn place(
    scopes: &Scopes,
    stmt: &ImportStmt,
    name: &ImportedName,
    dotted: &str,
) -> Option<TextRange> {
    let (whole, is_from) = match &stmt.from {
        Some((module, _)) => (format!("{module}.{}", name.name), true),
        None => (name.name.clone(), false),
    };
    if whole == dotted {
        // Of `import a.b` the last part is the one that is meant.
        let end = name.name_range.end();
        return Some(TextRange::new(end, end));
    }
    // What the bound name stands for: all of it, or of `import a.b` the first part.
    let bound = name.bound(is_from);
    let stands_for = match is_from || name.alias.is_some() {
        true => whole.as_str(),
        false => bound,
    };
    let wanted = dotted.strip_prefix(stands_for)?.strip_prefix('.')?;
    let wanted: Vec<&str> = wanted.split('.').collect();
    let mut uses = scopes.uses_of(stmt.scope, bound);
    uses.find_map(|use_| {
        let parts = use_.parts.get(..wanted.len())?;
        let is_it = parts
            .iter()
            .map(|(part, _)| part.as_str())
            .eq(wanted.iter().copied());
        is_it
            .then(|| parts.last().map(|(_, range)| *range))
            .flatten()
    })
}

fn span(source: &Source, range: TextRange) -> Span {
    Span {
        start: source.position(range.start().to_usize()),
        end: source.position(range.end().to_usize()),
    }
}
