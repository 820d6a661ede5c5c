//! Whether a new name would be mistaken for another.
//!
//! The check is careful rather than clever: where the new name is already used in the same
//! scope, the rename is refused with the place of that use, also if Python could tell the two
//! apart.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{Code, Error, Result};
use serde_json::json;

use super::rename::{Subject, absolute};
use super::strings;
use crate::ask::Engine;
use crate::closure;
use crate::desk::Desk;
use crate::index::{Facts, Kind, Mention, mentions_in};
use crate::source::Span;

/// Refuse a name that is taken where the subject is known.
pub(super) fn check(engine: &Engine, subject: &Subject) -> Result<()> {
    let mut desk = Desk::new(&engine.view);
    if subject.alias {
        return in_modules(engine, &mut desk, subject);
    }
    for (path, span) in &subject.found.places {
        let defined = desk.defined_at(path, span.start);
        match defined {
            Some(defined) if defined.is_member => {
                for place in &subject.closure {
                    if let Some(taken) = member(&mut desk, place, &subject.new_name) {
                        return Err(conflict(&mut desk, subject, &place.0, taken));
                    }
                }
            }
            Some(_) => in_modules(engine, &mut desk, subject)?,
            None => in_scope(engine, &mut desk, subject)?,
        }
    }
    Ok(())
}

/// A member of the class around a definition that has the new name already.
fn member(desk: &mut Desk, (path, span): &closure::Place, new_name: &str) -> Option<Span> {
    desk.with_facts(path, |facts| {
        let own = &facts.symbols[facts.named_at(span.start)?];
        let class = facts.container(own)?;
        let taken = facts
            .symbols
            .iter()
            .find(|symbol| &*symbol.name == new_name && facts.container(symbol) == Some(class))?;
        Some(taken.name_span)
    })
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
fn scope(engine: &Engine, file: &str, span: Span) -> Option<Span> {
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
