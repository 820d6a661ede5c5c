//! Moving: modules and packages to other places or names, and what modules define to other
//! modules.
//!
//! Which module an import means is told by the files ([`Modules`]), which import a name means
//! by the text ([`Scopes`]); so no engine is asked, and everything is found: imports in
//! functions, relative ones, `a.b.c` written out.
//!
//! [`Modules`]: pillion_index::modules::Modules
//! [`Scopes`]: pillion_index::scopes::Scopes

mod arrival;
mod class_hooks;
mod cycles;
mod definition;
mod departure;
mod file;
mod imports;
mod module;
mod needs;
mod order;
mod patched_names;
mod pieces;
mod registering;
mod relocation;
mod spacing;
mod string_imports;
mod stubs;
mod symbol;
mod text;
mod users;

pub use definition::Moving;
pub use module::{ModuleDestination, destination_path, relocate};
pub use patched_names::replaced;
pub use registering::entered;
pub(crate) use string_imports::is_for_pytest;
pub use symbol::move_symbol;

use std::collections::BTreeMap;

use pillion_catalogue::{Code, Error};
use pillion_changes::{ChangeSet, LeftAlone, TextEdit};
use pillion_index::modules::{Modules, is_standard};
use pillion_index::scopes::ImportStmt;
use pillion_index::source::{Source, Span};
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::project::View;
use ruff_text_size::{TextRange, TextSize};
use serde_json::json;

/// Edits of one text, by offsets.
#[derive(Debug, Default)]
struct Edits {
    all: Vec<(TextRange, String)>,
    /// Statements that are put before another one, each once.
    before: BTreeMap<TextSize, Vec<String>>,
}

impl Edits {
    fn replace(&mut self, range: TextRange, text: impl Into<String>) {
        let edit = (range, text.into());
        if !self.all.contains(&edit) {
            self.all.push(edit);
        }
    }

    /// Whether a range is cut out as a whole.
    fn removes(&self, range: TextRange) -> bool {
        let mut cuts = self.all.iter().filter(|(_, text)| text.is_empty());
        cuts.any(|(cut, _)| cut.contains_range(range))
    }

    /// Put a statement before the one that begins at an offset.
    fn statement(&mut self, at: TextSize, text: String) {
        let there = self.before.entry(at).or_default();
        if !there.contains(&text) {
            there.push(text);
        }
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty() && self.before.is_empty()
    }

    /// As edits of the file.
    fn finish(self, source: &Source) -> Vec<TextEdit> {
        let text = source.text();
        let inserted = self.before.into_iter().map(|(at, statements)| {
            let line = text[..at.to_usize()].rfind('\n').map_or(0, |at| at + 1);
            let indent = &text[line..at.to_usize()];
            // Behind another statement of the same line it has to stay there.
            let end = match indent.trim().is_empty() {
                true => format!("\n{indent}"),
                false => "; ".to_owned(),
            };
            let statements: String = statements.iter().map(|s| format!("{s}{end}")).collect();
            (TextRange::empty(at), statements)
        });
        let (points, mut all): (Vec<_>, Vec<_>) = self
            .all
            .into_iter()
            .partition(|(range, _)| range.is_empty());
        for (range, text) in inserted.chain(points) {
            insert(&mut all, range, text);
        }
        all.into_iter()
            .map(|(range, text)| TextEdit {
                span: span_of(source, range),
                text,
            })
            .collect()
    }
}

/// Add an insertion; where a line that goes is in the way it takes its place.
fn insert(all: &mut Vec<(TextRange, String)>, range: TextRange, text: String) {
    let around = all.iter_mut().find(|(other, _)| {
        range.is_empty() && other.start() < range.start() && range.start() < other.end()
    });
    match around {
        Some((_, instead)) if instead.is_empty() => {
            *instead = format!("{}\n", text.trim_matches('\n'));
        }
        _ => all.push((range, text)),
    }
}

fn span_of(source: &Source, range: TextRange) -> Span {
    Span {
        start: source.position(range.start().to_usize()),
        end: source.position(range.end().to_usize()),
    }
}

/// What is wrong where a name that a file needs for a module means something else there.
fn in_the_way(opened: &mut OpenFiles, file: &str, span: Span, name: &str) -> Error {
    let path = opened.root().join(file);
    let location = opened.location(&path, span);
    let place = format!("{}:{}:{}", location.file, location.line, location.column);
    let what = format!("`{name}` means something else where the module is used: {place}");
    Error::new(Code::Conflict, what)
        .hint("rename that first, or choose another module")
        .data(json!({ "location": location }))
}

/// List the imports that mean a module only after a change: before, they meant none of these
/// files, but one of Python or of a library.
fn list_newly_meant(
    view: &View,
    (before, after): (&Modules, &Modules),
    key: &str,
    moved: impl Fn(&str) -> String,
    set: &mut ChangeSet,
) {
    let name = pillion_index::modules::last(key);
    let mut opened = OpenFiles::new(view);
    if after.dotted(key) == name && is_standard(name) {
        set.warn(format!(
            "`{name}` is a module of Python: programs that run beside this one get it instead"
        ));
    }
    for (file, facts) in view.index.iter() {
        for import in facts.imports.iter().filter(|import| {
            let module = &*import.module;
            let head = module.split('.').next().unwrap_or_default();
            head == name
                && before.find(file, module).is_none()
                && after
                    .find(&moved(file), head)
                    .is_some_and(|found| found.key == key)
        }) {
            set.leave(LeftAlone {
                location: opened.location(&view.root().join(&**file), import.span),
                why: "it means the module that is called so now".into(),
            });
        }
    }
}

/// Where to cut names out of an import that keeps others.
fn cuts(statement: &ImportStmt, goes: impl Fn(usize) -> bool) -> Vec<TextRange> {
    let names = &statement.names;
    let stays = |index: &usize| !goes(*index);
    let last = (0..names.len()).rev().find(stays);
    let first_gone =
        (0..names.len()).filter(|index| goes(*index) && (*index == 0 || !goes(index - 1)));
    first_gone
        .map(|start| {
            let next = (start..names.len()).find(stays);
            match (next, last) {
                (Some(next), _) => {
                    TextRange::new(names[start].range.start(), names[next].range.start())
                }
                (None, Some(last)) => {
                    let end = names[names.len() - 1].range.end();
                    TextRange::new(names[last].range.end(), end)
                }
                (None, None) => statement.range,
            }
        })
        .collect()
}

/// `name` or `name as alias`.
fn with_alias(name: &str, alias: Option<&str>) -> String {
    match alias {
        Some(alias) => format!("{name} as {alias}"),
        None => name.to_owned(),
    }
}
