//! Whether a new name would be mistaken for another.
//!
//! The check is careful rather than clever: where the new name is already used in the same
//! scope, the rename is refused with the place of that use, also if Python could tell the two
//! apart.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::scopes::Scopes;
use pillion_index::source::Span;
use pillion_index::{Facts, Kind, Mention, mentions_in};
use pillion_symbols::arrivals;
use pillion_symbols::ask::Engine;
use pillion_symbols::closure;
use pillion_symbols::desk::Desk;
use pillion_symbols::occurrences::Sort;
use ruff_text_size::{TextRange, TextSize};
use serde_json::json;

use super::strings;
use super::subject::{Subject, absolute};

/// Refuse a name that is taken where the subject is known.
pub(super) async fn check(engine: &Engine, subject: &Subject) -> Result<()> {
    let mut desk = Desk::new(&engine.view);
    if subject.sort == Sort::Parameter {
        let passed = arrivals::passed(engine, &subject.new_name, &subject.target).await?;
        if let Some((path, taken)) = passed {
            return Err(conflict(&mut desk, subject, &path, taken));
        }
    }
    if subject.sort != Sort::Member {
        in_scopes(engine, &mut desk, subject)?;
    }
    if subject.alias {
        return in_modules(engine, &mut desk, subject);
    }
    for (path, span) in &subject.found.places {
        let defined = desk.defined_at(path, span.start);
        match defined {
            Some(defined) if defined.is_member => in_classes(&mut desk, subject)?,
            Some(_) => in_modules(engine, &mut desk, subject)?,
            None => in_scope(engine, &mut desk, subject)?,
        }
    }
    Ok(())
}

/// A member: no class that has it, is above one that has it or below may have the new name.
fn in_classes(desk: &mut Desk, subject: &Subject) -> Result<()> {
    let family = &subject.family;
    if closure::is_mangled(&subject.new_name) {
        return hidden(desk, subject);
    }
    for class in family.classes.iter().chain(&family.above) {
        let taken = closure::members_named(desk, class, &subject.new_name);
        if let Some((path, taken)) = taken.first() {
            return Err(conflict(desk, subject, path, *taken));
        }
    }
    Ok(())
}

/// A name that Python hides in its class: all that use it must be in there.
fn hidden(desk: &mut Desk, subject: &Subject) -> Result<()> {
    let own = subject.closure.iter().find_map(|(path, at)| {
        let class = closure::class_around(desk, path, at.start)?;
        let whole = desk.defined_at(&class.0, class.1.start)?.span;
        Some((class.0, whole))
    });
    for (file, spans) in &subject.places {
        let path = desk.root().join(file);
        for span in spans {
            let is_in = own
                .as_ref()
                .is_some_and(|(own, whole)| *own == path && whole.holds(span));
            if !is_in {
                let location = desk.location(&path, *span);
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
fn in_scopes(engine: &Engine, desk: &mut Desk, subject: &Subject) -> Result<()> {
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
            return Err(conflict(desk, subject, &path, taken));
        }
    }
    Ok(())
}

/// A name of a module: in every file that knows it, the new name must be free.
fn in_modules(engine: &Engine, desk: &mut Desk, subject: &Subject) -> Result<()> {
    for (file, spans) in &subject.places {
        let path = absolute(engine, file);
        let taken = desk.with_facts(&path, |facts| top_level(facts, &subject.new_name));
        if let Some(taken) = taken {
            return Err(conflict(desk, subject, &path, taken));
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
                return Err(conflict(desk, subject, &path, mention.span));
            }
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
fn in_scope(engine: &Engine, desk: &mut Desk, subject: &Subject) -> Result<()> {
    for (file, spans) in &subject.places {
        let around: BTreeSet<Option<Span>> = spans
            .iter()
            .map(|span| scope(engine, file, *span))
            .collect();
        for mention in plain_mentions(engine, file, &subject.new_name) {
            if around.contains(&scope(engine, file, mention.span)) {
                let path = absolute(engine, file);
                return Err(conflict(desk, subject, &path, mention.span));
            }
        }
    }
    Ok(())
}

/// The outermost function around a place.
pub(super) fn scope(engine: &Engine, file: &str, span: Span) -> Option<Span> {
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
fn plain_mentions(engine: &Engine, file: &str, name: &str) -> Vec<Mention> {
    let Some(source) = engine.view.source(Path::new(file)) else {
        return Vec::new();
    };
    let keywords = strings::keywords(&source, file, name);
    mentions_in(&source, &Arc::from(file), name)
        .into_iter()
        .filter(|mention| !mention.is_attribute && !keywords.contains(&mention.span))
        .collect()
}

fn conflict(desk: &mut Desk, subject: &Subject, path: &Path, taken: Span) -> Error {
    let location = desk.location(path, taken);
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
