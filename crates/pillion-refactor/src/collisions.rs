//! Whether a new name would be mistaken for another.
//!
//! The check is careful rather than clever: where the new name is already used in the same
//! scope, the rename is refused with the place of that use, also if Python could tell the two
//! apart.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::modules::{self, Modules, join};
use pillion_index::scopes::Scopes;
use pillion_index::source::Span;
use pillion_index::{Facts, Kind, Mention, mentions_in};
use pillion_symbols::ask::EngineView;
use pillion_symbols::closure;
use pillion_symbols::keyword_arguments;
use pillion_symbols::occurrences::{Sort, is_of_attrs};
use pillion_symbols::open_files::OpenFiles;
use ruff_text_size::{TextRange, TextSize};
use serde_json::json;

use super::strings;
use super::subject::{Subject, absolute};

/// Refuse a name that is taken where the subject is known.
pub(super) async fn check(engine: &EngineView, subject: &Subject) -> Result<()> {
    let mut opened = OpenFiles::new(&engine.view);
    if subject.sort == Sort::Parameter {
        let passed = keyword_arguments::passed(engine, &subject.new_name, &subject.target).await?;
        if let Some((path, taken)) = passed {
            return Err(conflict(&mut opened, subject, &path, taken));
        }
    }
    if subject.sort != Sort::Member {
        in_scopes(engine, &mut opened, subject)?;
    }
    if subject.alias {
        return in_modules(engine, &mut opened, subject);
    }
    for (path, span) in &subject.found.places {
        let defined = opened.defined_at(path, span.start);
        match defined {
            Some(defined) if defined.is_member => in_classes(&mut opened, subject)?,
            Some(defined) => {
                in_modules(engine, &mut opened, subject)?;
                if !defined.name_path.contains('/') {
                    in_stars(engine, &mut opened, subject)?;
                    in_packages(engine, &mut opened, subject)?;
                }
            }
            None => in_scope(engine, &mut opened, subject)?,
        }
    }
    Ok(())
}

/// A member: no class that has it, is above one that has it or below may have the new name.
fn in_classes(opened: &mut OpenFiles, subject: &Subject) -> Result<()> {
    let family = &subject.family;
    if closure::is_mangled(&subject.new_name) {
        return hidden(opened, subject);
    }
    let is_field = !subject.target.classes.is_empty();
    let bare = |name: &str| name.len() - name.trim_start_matches('_').len();
    if bare(&subject.new_name) > bare(&subject.name) && is_field {
        let mut classes = family.classes.iter();
        if let Some((path, at)) = classes.find(|class| is_of_attrs(opened, class)) {
            let location = opened.location(path, *at);
            let what = format!(
                "attrs would still take `{}` without its underscore: {}:{}",
                subject.new_name, location.file, location.line
            );
            return Err(Error::new(Code::Conflict, what)
                .hint("choose a name without an underscore in front")
                .data(json!({ "location": location })));
        }
    }
    for class in family.classes.iter().chain(&family.above) {
        let taken = closure::members_named(opened, class, &subject.new_name);
        if let Some((path, taken)) = taken.first() {
            return Err(conflict(opened, subject, path, *taken));
        }
    }
    Ok(())
}

/// A name that Python hides in its class: all that use it must be in there.
fn hidden(opened: &mut OpenFiles, subject: &Subject) -> Result<()> {
    let own = subject.closure.iter().find_map(|(path, at)| {
        let class = closure::class_around(opened, path, at.start)?;
        let whole = opened.defined_at(&class.0, class.1.start)?.span;
        Some((class.0, whole))
    });
    for (file, spans) in &subject.places {
        let path = opened.root().join(file);
        for span in spans {
            let is_in = own
                .as_ref()
                .is_some_and(|(own, whole)| *own == path && whole.holds(span));
            if !is_in {
                let location = opened.location(&path, *span);
                let what = format!(
                    "`{}` would not be known outside of the class: {}:{}",
                    subject.new_name, location.file, location.line
                );
                return Err(Error::new(Code::Conflict, what)
                    .hint("begin the name with one underscore")
                    .data(json!({ "location": location })));
            }
        }
    }
    Ok(())
}

/// Names that stand for themselves: in each file the new one must mean what the old one did.
fn in_scopes(engine: &EngineView, opened: &mut OpenFiles, subject: &Subject) -> Result<()> {
    for (file, spans) in &subject.places {
        let Some(source) = engine.view.source(Path::new(file)) else {
            continue;
        };
        let ranges = spans.iter().filter_map(|span| {
            let start = TextSize::try_from(source.offset(span.start)?).ok()?;
            let end = TextSize::try_from(source.offset(span.end)?).ok()?;
            Some(TextRange::new(start, end))
        });
        let ranges: HashSet<TextRange> = ranges.collect();
        let scopes = Scopes::of(source.text(), file);
        if let Some(range) = scopes.mistaken(&ranges, &subject.name, &subject.new_name) {
            let taken = Span {
                start: source.position(range.start().to_usize()),
                end: source.position(range.end().to_usize()),
            };
            let path = absolute(engine, file);
            return Err(conflict(opened, subject, &path, taken));
        }
    }
    Ok(())
}

/// A name of a module: in every file that knows it, the new name must be free.
fn in_modules(engine: &EngineView, opened: &mut OpenFiles, subject: &Subject) -> Result<()> {
    for (file, spans) in &subject.places {
        let path = absolute(engine, file);
        let taken = opened.with_facts(&path, |facts| top_level(facts, &subject.new_name));
        if let Some(taken) = taken {
            return Err(conflict(opened, subject, &path, taken));
        }
        // A local name of a function would hide the new one inside of it.
        let around: BTreeSet<Option<Span>> = spans
            .iter()
            .map(|span| scope(engine, file, *span))
            .collect();
        for mention in plain_mentions(engine, file, &subject.new_name) {
            if let Some(own) = scope(engine, file, mention.span)
                && around.contains(&Some(own))
            {
                return Err(conflict(opened, subject, &path, mention.span));
            }
        }
    }
    Ok(())
}

/// A name that goes from module to module by `import *`: what comes along must not have the new
/// one already, and `*` passes over names with an underscore.
fn in_stars(engine: &EngineView, opened: &mut OpenFiles, subject: &Subject) -> Result<()> {
    let index = &engine.view.index;
    let modules = Modules::of(index);
    let new_name = &*subject.new_name;
    let known = |file: &str| subject.places.contains_key(file);
    for (file, facts) in index.iter() {
        let stars = facts.imports.iter();
        for star in stars.filter(|import| import.name.as_deref() == Some("*")) {
            let target = modules.find(file, &star.module);
            let from = target.and_then(|target| modules.file(&target.key).map(str::to_owned));
            let offered = from.as_deref().and_then(|from| index.get(from));
            let (Some(from), Some(offered)) = (from, offered) else {
                continue;
            };
            let is_hidden = new_name.starts_with('_')
                && !subject.name.starts_with('_')
                && offered.all.is_none()
                && top_level(offered, &subject.name).is_some();
            if is_hidden && known(&from) && known(file) {
                let location = opened.location(&absolute(engine, file), star.span);
                let what = format!(
                    "`import *` would pass over `{new_name}`: {}:{}",
                    location.file, location.line
                );
                return Err(Error::new(Code::Conflict, what)
                    .hint("choose a name without an underscore in front, or import it by name")
                    .data(json!({ "location": location })));
            }
            let offers = match &offered.all {
                Some(all) => all.iter().any(|name| **name == *new_name),
                None => !new_name.starts_with('_'),
            };
            // One that is offered only by way of another `*` is found at that one's file.
            if offers
                && known(file)
                && !known(&from)
                && let Some(taken) = top_level(offered, new_name)
            {
                return Err(conflict(opened, subject, &absolute(engine, &from), taken));
            }
        }
    }
    Ok(())
}

/// A name of a package: a module in it that has the new name would be hidden.
fn in_packages(engine: &EngineView, opened: &mut OpenFiles, subject: &Subject) -> Result<()> {
    let index = &engine.view.index;
    let packages = subject.places.keys().filter(|file| modules::is_init(file));
    for file in packages {
        let bound = index
            .get(file)
            .and_then(|facts| top_level(facts, &subject.name));
        let inner = join(modules::key(file), &subject.new_name);
        let ends = [".py", "/__init__.py"].map(|end| format!("{inner}{end}"));
        let taken = ends.iter().find(|path| index.get(path).is_some());
        if let Some(taken) = taken.filter(|_| bound.is_some()) {
            return Err(conflict(
                opened,
                subject,
                &absolute(engine, taken),
                Span::default(),
            ));
        }
    }
    Ok(())
}

/// What a module defines or imports under a name.
fn top_level(facts: &Facts, name: &str) -> Option<Span> {
    let symbols = facts.symbols.iter();
    let symbol = symbols
        .filter(|symbol| symbol.container.is_none())
        .find(|symbol| &*symbol.name == name);
    let import = facts.imports.iter().find(|import| {
        let bound = match (&import.alias, &import.name) {
            (Some(alias), _) => &**alias,
            (None, Some(imported)) => &**imported,
            (None, None) => import.module.split('.').next().unwrap_or_default(),
        };
        bound == name
    });
    symbol
        .map(|symbol| symbol.name_span)
        .or(import.map(|import| import.span))
}

/// A local name: nothing in the same function may have the new one.
fn in_scope(engine: &EngineView, opened: &mut OpenFiles, subject: &Subject) -> Result<()> {
    for (file, spans) in &subject.places {
        let around: BTreeSet<Option<Span>> = spans
            .iter()
            .map(|span| scope(engine, file, *span))
            .collect();
        for mention in plain_mentions(engine, file, &subject.new_name) {
            if around.contains(&scope(engine, file, mention.span)) {
                let path = absolute(engine, file);
                return Err(conflict(opened, subject, &path, mention.span));
            }
        }
    }
    Ok(())
}

/// The outermost function around a place.
pub(super) fn scope(engine: &EngineView, file: &str, span: Span) -> Option<Span> {
    let facts = engine.view.index.get(file)?;
    let mut next = facts.enclosing(span.start);
    let mut outermost = None;
    while let Some(index) = next {
        let symbol = &facts.symbols[index];
        // The name of a function belongs to what the function lies in.
        let own_name = symbol.name_span == span;
        if symbol.kind != Kind::Class && !own_name {
            outermost = Some(symbol.span);
        }
        next = facts.container(symbol);
    }
    outermost
}

/// Where a file uses a name that stands for itself.
fn plain_mentions(engine: &EngineView, file: &str, name: &str) -> Vec<Mention> {
    let Some(source) = engine.view.source(Path::new(file)) else {
        return Vec::new();
    };
    let keywords = strings::keywords(&source, file, name);
    mentions_in(&source, &Arc::from(file), name)
        .into_iter()
        .filter(|mention| !mention.is_attribute && !keywords.contains(&mention.span))
        .collect()
}

fn conflict(opened: &mut OpenFiles, subject: &Subject, path: &Path, taken: Span) -> Error {
    let location = opened.location(path, taken);
    Error::new(
        Code::Conflict,
        format!(
            "`{}` is taken: {}:{}:{}",
            subject.new_name, location.file, location.line, location.column
        ),
    )
    .hint("choose another name, or rename that one first")
    .data(json!({ "location": location }))
}
