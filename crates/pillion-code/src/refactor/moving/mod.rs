//! Moving: modules and packages to other places or names, and what modules define to other
//! modules.
//!
//! Which module an import means is told by the files ([`Modules`]), which import a name means
//! by the text ([`Scopes`]); so no engine is asked, and everything is found: imports in
//! functions, relative ones, `a.b.c` written out.

mod arrival;
mod cycles;
mod departure;
mod file;
mod imports;
mod module;
mod needs;
mod order;
mod pieces;
mod registering;
mod spacing;
mod stubs;
mod symbol;
mod users;

pub(crate) use module::{Wanted, destination_path, relocate};
pub(crate) use registering::entered;
pub(crate) use symbol::{Moving, move_symbol};

use std::collections::BTreeMap;

use pillion_catalogue::{Code, Error};
use ruff_text_size::{TextRange, TextSize};
use serde_json::json;

use crate::changes::{ChangeSet, LeftAlone, TextEdit};
use crate::desk::Desk;
use crate::index::{Facts, Index};
use crate::modules::{Modules, is_standard, join};
use crate::project::View;
use crate::scopes::{ImportStmt, ImportedName, Role, Scopes};
use crate::source::{Source, Span};

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
fn in_the_way(desk: &mut Desk, file: &str, span: Span, name: &str) -> Error {
    let path = desk.root().join(file);
    let location = desk.location(&path, span);
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
    let name = crate::modules::last(key);
    let mut desk = Desk::new(view);
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
                location: desk.location(&view.root().join(&**file), import.span),
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

/// The module that a name of an import is, if it is one and not something that the package
/// itself calls so.
pub(crate) fn submodule(
    index: &Index,
    modules: &Modules,
    package: &str,
    name: &ImportedName,
) -> Option<String> {
    let key = join(package, &name.name);
    let facts = modules.file(package).and_then(|file| {
        let facts = index.get(file)?;
        Some((file, facts))
    });
    let hides = |(file, facts): (&str, &Facts)| hides(modules, file, facts, &name.name, &key);
    (modules.has(&key) && !facts.is_some_and(hides)).then_some(key)
}

/// Whether a package means something else than its submodule by a name.
fn hides(modules: &Modules, file: &str, facts: &Facts, name: &str, key: &str) -> bool {
    let defined = facts.symbols.iter();
    let mut defined = defined.filter(|symbol| symbol.container.is_none());
    if defined.any(|symbol| &*symbol.name == name) {
        return true;
    }
    facts.imports.iter().any(|import| {
        let bound = import.alias.as_ref().or(import.name.as_ref());
        let Some(taken) = import
            .name
            .as_ref()
            .filter(|_| bound.is_some_and(|b| **b == *name))
        else {
            return false;
        };
        let from = modules.find(file, &import.module);
        from.is_some_and(|from| join(&from.key, taken) != key)
    })
}

/// The module that `.part` of a module is: one that lies in it, or one that it imports.
pub(crate) fn part_of(index: &Index, modules: &Modules, key: &str, part: &str) -> Option<String> {
    let inner = join(key, part);
    let known = modules.file(key);
    let known = known.and_then(|file| Some((file, index.get(file)?)));
    let Some((file, facts)) = known else {
        return modules.has(&inner).then_some(inner);
    };
    if modules.has(&inner) && !hides(modules, file, facts, part, &inner) {
        return Some(inner);
    }
    facts.imports.iter().find_map(|import| {
        let bound = import.alias.as_ref().or(import.name.as_ref());
        if bound.is_none_or(|bound| **bound != *part) {
            return None;
        }
        let target = modules.find(file, &import.module)?;
        let key = match &import.name {
            Some(name) => join(&target.key, name),
            None => target.key,
        };
        modules.has(&key).then_some(key)
    })
}

/// The modules that the names of a file stand for, by scope and name.
pub(crate) fn bindings(
    index: &Index,
    modules: &Modules,
    file: &str,
    scopes: &Scopes,
) -> BTreeMap<(usize, String), Bound> {
    let mut all = BTreeMap::new();
    for (at, statement) in scopes.imports.iter().enumerate() {
        for name in &statement.names {
            let found = match &statement.from {
                Some((module, _)) => modules.find(file, module).and_then(|target| {
                    let key = submodule(index, modules, &target.key, name)?;
                    Some((key, false))
                }),
                None => modules.find(file, &name.name).map(|target| {
                    let head = name.bound(false);
                    match name.alias {
                        Some(_) => (target.key, false),
                        None => (join(&target.base, head), true),
                    }
                }),
            };
            if let Some((key, is_plain)) = found {
                let bound = name.bound(statement.from.is_some()).to_owned();
                all.entry((statement.scope, bound)).or_insert(Bound {
                    key,
                    is_plain,
                    statement: at,
                });
            }
        }
    }
    for (place, bound) in aliases(index, modules, scopes, &all) {
        all.entry(place).or_insert(bound);
    }
    all
}

/// Names that are given a module: `tools = package.tools`.
fn aliases(
    index: &Index,
    modules: &Modules,
    scopes: &Scopes,
    known: &BTreeMap<(usize, String), Bound>,
) -> Vec<((usize, String), Bound)> {
    let mut found = Vec::new();
    let binds = scopes.uses.iter().filter(|use_| use_.role == Role::Bind);
    for bind in binds {
        let Some(scope) = scopes.scope_of(bind) else {
            continue;
        };
        // What is assigned begins right behind ` = `.
        let begins = bind.range.end() + TextSize::from(3);
        let value = scopes.uses.iter().find(|use_| use_.range.start() == begins);
        let Some(value) = value.filter(|value| value.role == Role::Read) else {
            continue;
        };
        let mut all = scopes.uses_of(scope, &bind.name);
        let is_only = all.all(|use_| use_.role == Role::Read || use_.range == bind.range);
        let head = scopes.scope_of(value);
        let head = head.and_then(|scope| known.get(&(scope, value.name.clone())));
        let Some(head) = head.filter(|_| is_only) else {
            continue;
        };
        let module = value.parts.iter().try_fold(head.key.clone(), |key, part| {
            part_of(index, modules, &key, &part.0)
        });
        if let Some(key) = module {
            let bound = Bound {
                key,
                is_plain: false,
                statement: head.statement,
            };
            found.push(((scope, bind.name.clone()), bound));
        }
    }
    found
}

/// A name that stands for a module.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) key: String,
    /// `import a.b`: the name is that of the first part.
    is_plain: bool,
    /// The statement that binds it.
    statement: usize,
}
