//! Rename: the name at a place, everywhere it means the same thing.
//!
//! What the engine confirms over the override closure is renamed; so are `__all__` and the
//! keywords of class patterns, which engines pass over. What merely looks like it (untyped
//! receivers, strings, comments) is left alone and listed. A name that would collide with
//! another is refused, with the place of the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result, work};

use super::moving::{self, Wanted};
use super::names::check_name;
use super::{collisions, dynamic, sound, strings};
use crate::answers::{Confidence, Location};
use crate::ask::Engine;
use crate::changes::{ChangeSet, LeftAlone, TextEdit};
use crate::closure::Place;
use crate::definitions::{self, Found};
use crate::desk::{self, Desk};
use crate::operations::{Spotted, nothing_here};
use crate::source::{Position, Span};
use crate::{closure, occurrences, references};

/// What is renamed.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) new_name: String,
    /// Whether it is only what something is called in one file.
    pub(super) alias: bool,
    /// Where it is defined.
    pub(super) found: Found,
    /// Every place that spells it, by file.
    pub(super) places: BTreeMap<String, Vec<Span>>,
    /// Those among them where it is another module's name that is taken under its own.
    imported: BTreeSet<(String, Span)>,
    /// The definitions that belong together.
    pub(super) closure: Vec<Place>,
    /// Places that may mean it too.
    possible: Vec<Place>,
}

/// The change that renames what stands at a place.
pub(crate) async fn rename(engine: &Engine, spot: &Spotted, new_name: &str) -> Result<ChangeSet> {
    check_name(new_name)?;
    if let Some(module) = module_at(engine, spot).await? {
        return moving::relocate(&engine.view, &module, Wanted::Named(new_name)).await;
    }
    let subject = subject(engine, spot, new_name).await?;
    collisions::check(engine, &subject)?;
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
    sound::check(&engine.view.index, &set, "the rename")?;
    list_possible(engine, &subject, &mut set).await?;
    if is_builtin(new_name) {
        set.warn(format!("`{new_name}` hides the builtin of this name"));
    }
    Ok(set)
}

/// The file of the module that is named at a place by its own name.
async fn module_at(engine: &Engine, spot: &Spotted) -> Result<Option<String>> {
    let Some((name, _)) = spot.word().filter(|_| spot.exists()) else {
        return Ok(None);
    };
    let found = definitions::find(engine, spot).await?;
    let [(path, span)] = &*found.places else {
        return Ok(None);
    };
    let is_module = *span == Span::default() && desk::module_name(path) == name;
    if !is_module {
        return Ok(None);
    }
    match desk::inside(engine.view.root(), &engine.view.index, path) {
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

async fn subject(engine: &Engine, spot: &Spotted, new_name: &str) -> Result<Subject> {
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
    for ((path, span), location) in definitions.filter(|_| !alias) {
        if desk::inside(engine.view.root(), &engine.view.index, path).is_none() {
            return Err(outside(name, location));
        }
        if let Some(above) = closure::overridden_outside(engine, &(path.clone(), *span)).await? {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "`{name}` overrides what `{}` defines outside of this workspace",
                    above.file
                ),
            )
            .hint("whoever calls it there knows it by this name")
            .data(serde_json::json!({ "location": above })));
        }
    }
    let mut places = BTreeMap::<String, Vec<Span>>::new();
    let occurrences = occurrences::places(engine, spot).await?;
    for (path, span) in occurrences.places {
        places
            .entry(relative(engine, &path))
            .or_default()
            .push(span);
    }
    let possible = match occurrences.possible {
        Some(places) => places,
        None => possible(engine, spot).await?,
    };
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
        possible,
    };
    for (file, span) in strings::offered(engine, &subject) {
        subject.places.entry(file).or_default().push(span);
    }
    for (file, span) in strings::class_patterns(engine, &subject).await? {
        subject.places.entry(file).or_default().push(span);
    }
    for spans in subject.places.values_mut() {
        spans.sort();
        spans.dedup();
    }
    Ok(subject)
}

pub(super) fn relative(engine: &Engine, path: &Path) -> String {
    let inside = path.strip_prefix(engine.view.root()).unwrap_or(path);
    inside.to_string_lossy().into_owned()
}

/// Places where the name is taken from something that nobody knows the type of.
async fn possible(engine: &Engine, spot: &Spotted) -> Result<Vec<Place>> {
    let uses = references::find(engine, spot, true).await?;
    let uses = uses.references.into_iter();
    let possible = uses.filter(|r| r.confidence == Confidence::Possible);
    let places = possible.filter_map(|reference| {
        let place = reference.location;
        let start = Position::from_one(place.line, place.column)?;
        let end = Position::from_one(place.end_line, place.end_column)?;
        Some((engine.absolute(&place.file), Span { start, end }))
    });
    Ok(places.collect())
}

/// Places that may mean it too.
async fn list_possible(engine: &Engine, subject: &Subject, set: &mut ChangeSet) -> Result<()> {
    let (index, root) = (engine.view.index.clone(), engine.view.root().to_owned());
    let (name, mut desk) = (subject.name.clone(), Desk::new(&engine.view));
    let possible = subject.possible.clone();
    let found = work(move |_| {
        let unknown = possible.into_iter().map(|(path, span)| LeftAlone {
            location: desk.location(&path, span),
            why: "the type of what stands before the dot is not known".into(),
        });
        let unknown: Vec<LeftAlone> = unknown.collect();
        let lookups = dynamic::lookups(&index, &root, &name).into_iter();
        let lookups = lookups.map(|(path, span)| (path, span, "a name like it is looked up"));
        let found = strings::mentions(&index, &root, &name);
        let described = found
            .into_iter()
            .chain(strings::too_deep(&index, &root, &name))
            .chain(lookups)
            .map(|(path, span, why)| LeftAlone {
                location: desk.location(&root.join(path), span),
                why: why.into(),
            });
        let described: Vec<LeftAlone> = described.collect();
        unknown.into_iter().chain(described).collect::<Vec<_>>()
    });
    for left in found.await? {
        let place = &left.location;
        let touched = subject.places.get(&place.file).is_some_and(|spans| {
            spans
                .iter()
                .any(|s| (s.start.line + 1, s.start.column + 1) == (place.line, place.column))
        });
        if !touched {
            set.leave(left);
        }
    }
    Ok(())
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

/// A place by its absolute path.
pub(super) fn absolute(engine: &Engine, file: &str) -> PathBuf {
    engine.view.root().join(file)
}
