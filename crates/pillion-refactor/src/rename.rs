//! Rename: the name at a place, everywhere it means the same thing.
//!
//! What the engine confirms over the override closure is renamed; so are `__all__` and the
//! keywords of class patterns, which engines pass over. What merely looks like it (untyped
//! receivers, strings, comments) is left alone and listed. A name that would collide with
//! another is refused, with the place of the other.

use std::collections::BTreeMap;
use std::path::Path;

use pillion_catalogue::{Code, Error, Result};
use pillion_changes::{ChangeSet, LeftAlone, TextEdit};
use pillion_index::answers::Location;
use pillion_index::source::Span;
use pillion_symbols::ask::EngineView;
use pillion_symbols::closure;
use pillion_symbols::definitions;
use pillion_symbols::occurrences::{self, Sort};
use pillion_symbols::open_files::{self, OpenFiles};
use pillion_symbols::spotted::{Spotted, nothing_here};

pub use super::embedded::Embedded;
use super::left_alone;
pub use super::left_alone::Included;
use super::moving::{self, ModuleDestination};
use super::names::check_name;
use super::subject::{Subject, absolute, relative};
use super::{collisions, embedded_uses, implicit_uses, lookups, parse_check, strings};

/// The change that renames what stands at a place.
pub async fn rename(
    engine: &EngineView,
    spot: &Spotted,
    new_name: &str,
    included: Included,
) -> Result<ChangeSet> {
    check_name(new_name)?;
    if let Some(module) = module_at(engine, spot).await? {
        return moving::relocate(&engine.view, &module, ModuleDestination::Named(new_name)).await;
    }
    let mut subject = subject(engine, spot, new_name).await?;
    implicit_uses::refuse(engine, &subject)?;
    let settled = lookups::settle(engine, &subject).await?;
    subject.take(settled.ours.iter().cloned());
    collisions::check(engine, &subject).await?;
    let sorted = left_alone::sort(engine, &subject, &settled, included).await?;
    subject.take(sorted.taken);
    let mut set = ChangeSet::new(engine.view.root().to_owned());
    for (file, spans) in &subject.places {
        let edits = spans.iter().map(|span| TextEdit {
            span: *span,
            text: match subject.imported.contains(&(file.clone(), *span)) {
                true => format!("{} as {new_name}", subject.name),
                false => new_name.to_owned(),
            },
        });
        set.edit(file, edits.collect())?;
    }
    parse_check::check(&engine.view.index, &set, "the rename")?;
    for left in sorted.left {
        set.leave(left);
    }
    printed(engine, &subject, &mut set);
    implicit_uses::tell(engine, &subject, &mut set);
    implicit_uses::list_names_read(engine, &subject, &mut set).await?;
    if let Some(told) = lookups::computed::told(engine, &subject).await? {
        set.warn(told);
    }
    if sorted.unrelated > 0 {
        set.warn(format!(
            "{} other words in strings and comments spell `{}`; nothing ties them to it",
            sorted.unrelated, subject.name
        ));
    }
    for warning in &subject.warnings {
        set.warn(warning.clone());
    }
    if is_builtin(new_name) {
        set.warn(format!("`{new_name}` hides the builtin of this name"));
    }
    Ok(set)
}

/// List where a renamed name is printed with its value: `f"{name=}"`.
fn printed(engine: &EngineView, subject: &Subject, set: &mut ChangeSet) {
    let mut opened = OpenFiles::new(&engine.view);
    for (file, spans) in &subject.places {
        let path = absolute(engine, file);
        let Some(source) = opened.source(&path) else {
            continue;
        };
        for span in strings::printed(&source, file, spans) {
            set.leave(LeftAlone {
                location: opened.location(&path, span),
                why: "its name is printed with its value".into(),
            });
        }
    }
}

/// The strings that mean what is defined at a place, or may: those by which it is looked up,
/// also those that its name is put together of.
pub async fn looked_up(engine: &EngineView, spot: &Spotted) -> Result<Vec<(String, Span)>> {
    // Any other name does: nothing is renamed.
    let Ok(subject) = subject(engine, spot, "").await else {
        return Ok(Vec::new());
    };
    let settled = lookups::settle(engine, &subject).await?;
    let possible = settled.possible.into_keys();
    let together = left_alone::put_together(engine, &subject).await?;
    let found = settled.ours.into_iter().chain(possible);
    Ok(found.chain(together).collect())
}

/// Where code that texts hold means what is defined at a place: doctests, `python -c`, scripts.
pub async fn in_texts(engine: &EngineView, spot: &Spotted) -> Result<Vec<Embedded>> {
    match subject(engine, spot, "").await {
        Ok(subject) => embedded_uses::find(engine, &subject).await,
        Err(_) => Ok(Vec::new()),
    }
}

/// What to tell whoever takes away what is defined at a place: it may be looked up or listed by
/// a name that no text spells.
pub async fn computed(engine: &EngineView, spot: &Spotted) -> Result<Option<String>> {
    match subject(engine, spot, "").await {
        Ok(subject) => lookups::computed::told(engine, &subject).await,
        Err(_) => Ok(None),
    }
}

impl Subject {
    /// Rename these places as well.
    fn take(&mut self, places: impl IntoIterator<Item = (String, Span)>) {
        for (file, span) in places {
            self.places.entry(file).or_default().push(span);
        }
        for spans in self.places.values_mut() {
            spans.sort();
            spans.dedup();
        }
    }
}

/// The file of the module that is named at a place by its own name.
async fn module_at(engine: &EngineView, spot: &Spotted) -> Result<Option<String>> {
    if spot.is_module {
        return Ok(Some(spot.path.clone()));
    }
    let Some((name, _)) = spot.word().filter(|_| spot.exists()) else {
        return Ok(None);
    };
    let found = definitions::find(engine, spot).await?;
    let [(path, span)] = &*found.places else {
        return Ok(None);
    };
    let is_module = *span == Span::default() && open_files::module_name(path) == name;
    if !is_module {
        return Ok(None);
    }
    match open_files::inside(engine.view.root(), &engine.view.index, path) {
        Some(file) => Ok(Some(file)),
        None => Err(outside(name, &found.locations[0])),
    }
}

/// What others define keeps its name.
fn outside(name: &str, location: &Location) -> Error {
    let file = &location.file;
    Error::new(
        Code::InvalidParams,
        format!("`{name}` is not defined in this workspace: {file}"),
    )
    .hint("only what the workspace defines can be renamed")
    .data(serde_json::json!({ "location": location }))
}

/// What overrides the method of another keeps its name.
fn overrides(engine: &EngineView, name: &str, path: &Path, span: Span) -> Error {
    let above = OpenFiles::new(&engine.view).definition(path, span);
    Error::new(
        Code::Conflict,
        format!(
            "`{name}` overrides what `{}` defines outside of this workspace",
            above.file
        ),
    )
    .hint("whoever calls it there knows it by this name")
    .data(serde_json::json!({ "location": above }))
}

async fn subject(engine: &EngineView, spot: &Spotted, new_name: &str) -> Result<Subject> {
    let Some((name, _)) = spot.word().filter(|_| spot.exists()) else {
        return Err(nothing_here("there is no name at this position"));
    };
    if name == new_name {
        return Err(Error::new(
            Code::InvalidParams,
            format!("`{name}` has this name already"),
        ));
    }
    let found = definitions::find(engine, spot).await?;
    if found.places.is_empty() {
        return Err(nothing_here(format!("nobody knows what `{name}` is here"))
            .hint("rename it where it is defined"));
    }
    let alias = occurrences::is_alias(engine, name, &found);
    // What something is called in one file is that file's own business.
    let definitions = found.places.iter().zip(&found.locations);
    for ((path, _), location) in definitions.filter(|_| !alias) {
        if open_files::inside(engine.view.root(), &engine.view.index, path).is_none() {
            return Err(outside(name, location));
        }
    }
    let occurrences = occurrences::places(engine, spot).await?;
    if occurrences.sort == Sort::Member && closure::is_special(name) {
        let what = format!("`{name}` is called by Python itself");
        return Err(Error::new(Code::Conflict, what).hint("it is known by this name only"));
    }
    if let Some((path, span)) = occurrences.family.outside.first() {
        return Err(overrides(engine, name, path, *span));
    }
    let mut places = BTreeMap::<String, Vec<Span>>::new();
    for (path, span) in occurrences.places {
        places
            .entry(relative(engine, &path))
            .or_default()
            .push(span);
    }
    let imported = occurrences.imported.into_iter();
    let imported = imported.map(|(path, span)| (relative(engine, &path), span));
    let mut subject = Subject {
        name: name.to_owned(),
        new_name: new_name.to_owned(),
        alias,
        found,
        places,
        imported: imported.collect(),
        closure: occurrences.closure,
        family: occurrences.family,
        sort: occurrences.sort,
        possible: occurrences.possible,
        warnings: occurrences.warnings,
        target: occurrences.target,
    };
    subject.take(strings::offered(engine, &subject));
    let patterns = strings::class_patterns(engine, &subject).await?;
    subject.take(patterns);
    Ok(subject)
}

/// Names that every module has without importing them, of those that people use.
fn is_builtin(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "abs",
        "all",
        "any",
        "bool",
        "bytes",
        "callable",
        "chr",
        "dict",
        "dir",
        "enumerate",
        "eval",
        "exec",
        "filter",
        "float",
        "format",
        "frozenset",
        "getattr",
        "hash",
        "help",
        "hex",
        "id",
        "input",
        "int",
        "isinstance",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "object",
        "open",
        "ord",
        "pow",
        "print",
        "property",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "setattr",
        "slice",
        "sorted",
        "str",
        "sum",
        "super",
        "tuple",
        "type",
        "vars",
        "zip",
    ];
    NAMES.contains(&name)
}
