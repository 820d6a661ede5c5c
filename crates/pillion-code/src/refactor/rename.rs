//! Rename: the name at a place, everywhere it means the same thing.
//!
//! What the engine confirms over the override closure is renamed; so are `__all__` and the
//! keywords of class patterns, which engines pass over. What merely looks like it (untyped
//! receivers, strings, comments) is left alone and listed. A name that would collide with
//! another is refused, with the place of the other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pillion_catalogue::{Code, Error, Result};

use super::names::check_name;
use super::sound::still_sound;
use super::{collisions, strings};
use crate::answers::Confidence;
use crate::ask::Engine;
use crate::changes::{ChangeSet, LeftAlone, TextEdit};
use crate::definitions::{self, Found};
use crate::desk::{self, Desk};
use crate::operations::Spotted;
use crate::source::Span;
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
}

/// The change that renames what stands at a place.
pub(crate) async fn rename(engine: &Engine, spot: &Spotted, new_name: &str) -> Result<ChangeSet> {
    check_name(new_name)?;
    let subject = subject(engine, spot, new_name).await?;
    collisions::check(engine, &subject).await?;
    let mut set = ChangeSet::new(engine.view.root().to_owned());
    for (file, spans) in &subject.places {
        let edits = spans.iter().map(|span| TextEdit {
            span: *span,
            text: new_name.to_owned(),
        });
        set.edit(file, edits.collect())?;
    }
    still_sound(engine, &set, "the rename")?;
    list_possible(engine, spot, &subject, &mut set).await?;
    if is_builtin(new_name) {
        set.warn(format!("`{new_name}` hides the builtin of this name"));
    }
    Ok(set)
}

async fn subject(engine: &Engine, spot: &Spotted, new_name: &str) -> Result<Subject> {
    let Some((name, _)) = spot.word().filter(|_| spot.exists()) else {
        return Err(
            Error::new(Code::InvalidParams, "there is no name at this position")
                .hint("lines and columns count from 1; point at a name"),
        );
    };
    if name == new_name {
        return Err(Error::new(
            Code::InvalidParams,
            format!("`{name}` has this name already"),
        ));
    }
    let found = definitions::find(engine, spot).await?;
    if found.places.is_empty() {
        return Err(Error::new(
            Code::InvalidParams,
            format!("nobody knows what `{name}` is here"),
        )
        .hint("rename it where it is defined"));
    }
    let alias = occurrences::is_alias(engine, name, &found);
    // What something is called in one file is that file's own business.
    let definitions = found.places.iter().zip(&found.locations);
    for ((path, span), location) in definitions.filter(|_| !alias) {
        if *span == Span::default() {
            return Err(Error::new(
                Code::InvalidParams,
                format!("`{name}` is a module: its name is that of its file"),
            )
            .hint("rename the file, and the names that it is imported under"));
        }
        if desk::inside(engine.view.root(), &engine.view.index, path).is_none() {
            return Err(Error::new(
                Code::InvalidParams,
                format!(
                    "`{name}` is not defined in this workspace: {}",
                    location.file
                ),
            )
            .hint("only what the workspace defines can be renamed")
            .data(serde_json::json!({ "location": location })));
        }
        if let Some(outside) = closure::overridden_outside(engine, &(path.clone(), *span)).await? {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "`{name}` overrides what `{}` defines outside of this workspace",
                    outside.file
                ),
            )
            .hint("whoever calls it there knows it by this name")
            .data(serde_json::json!({ "location": outside })));
        }
    }
    let mut places = BTreeMap::<String, Vec<Span>>::new();
    for (path, span) in occurrences::places(engine, spot).await? {
        places
            .entry(relative(engine, &path))
            .or_default()
            .push(span);
    }
    let mut subject = Subject {
        name: name.to_owned(),
        new_name: new_name.to_owned(),
        alias,
        found,
        places,
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

/// Places that may mean it too.
async fn list_possible(
    engine: &Engine,
    spot: &Spotted,
    subject: &Subject,
    set: &mut ChangeSet,
) -> Result<()> {
    let uses = references::find(engine, spot, true).await?;
    let possible = uses.references.into_iter();
    for reference in possible.filter(|r| r.confidence == Confidence::Possible) {
        set.leave(LeftAlone {
            location: reference.location,
            why: "the type of what stands before the dot is not known".into(),
        });
    }
    let (index, root) = (engine.view.index.clone(), engine.view.root().to_owned());
    let (name, mut desk) = (subject.name.clone(), Desk::new(&engine.view));
    let found = tokio::task::spawn_blocking(move || {
        let found = strings::mentions(&index, &root, &name);
        let described = found.into_iter().map(|(path, span, why)| LeftAlone {
            location: desk.location(&root.join(path), span),
            why: why.into(),
        });
        described.collect::<Vec<_>>()
    });
    for left in found.await.map_err(Error::internal)? {
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
