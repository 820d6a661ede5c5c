//! The override closure: the methods that stand for one another in a family of classes.
//!
//! Who renames one of them means all: those above that it overrides, and all below that
//! override those.

use std::path::{Path, PathBuf};

use pillion_catalogue::Result;

use crate::answers::Location;
use crate::ask::{Engine, span, to_engine};
use crate::desk::{self, Desk};
use crate::engine::Item;
use crate::index::Kind;
use crate::source::{Position, Span};

/// Classes that are looked at on the way up.
const MAX_CLASSES: usize = 200;

/// A definition: its file and where its name stands.
pub(crate) type Place = (PathBuf, Span);

/// All definitions that the one at `place` belongs together with, itself among them; only
/// itself if it is no member of a class.
pub(crate) async fn overrides(engine: &Engine, place: &Place) -> Result<Vec<Place>> {
    let mut desk = Desk::new(&engine.view);
    let Some((class, name)) = member(&mut desk, place) else {
        return Ok(vec![place.clone()]);
    };
    let mut all = vec![place.clone()];
    for root in upwards(engine, &mut desk, place, class, &name).await? {
        let below = match desk.defined_at(&root.0, root.1.start) {
            Some(defined) if defined.kind == Kind::Attribute => {
                attributes_below(engine, &mut desk, &root, &name).await?
            }
            _ => implementations(engine, &root).await?,
        };
        let same_name = below.into_iter().filter(|place| {
            let defined = desk.defined_at(&place.0, place.1.start);
            defined.is_some_and(|defined| defined.name == name)
        });
        all.extend(same_name);
        all.push(root);
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// The attributes of a name in all classes below the one that a definition is a member of:
/// engines only know of methods that override each other.
async fn attributes_below(
    engine: &Engine,
    desk: &mut Desk,
    place: &Place,
    name: &str,
) -> Result<Vec<Place>> {
    let Some((class, _)) = member(desk, place) else {
        return Ok(Vec::new());
    };
    let span = Span {
        start: class,
        end: class,
    };
    let mut found = Vec::new();
    for (path, span) in implementations(engine, &(place.0.clone(), span)).await? {
        let own = desk.with_facts(&path, |facts| {
            let class = facts.named_at(span.start)?;
            let mut members = facts.symbols.iter();
            let own = members
                .find(|symbol| &*symbol.name == name && facts.container(symbol) == Some(class))?;
            Some(own.name_span)
        });
        found.extend(own.map(|span| (path, span)));
    }
    Ok(found)
}

/// Subclasses of a class, or overrides of a method, as the engine knows them.
pub(crate) async fn implementations(engine: &Engine, place: &Place) -> Result<Vec<Place>> {
    let at = to_engine(place.1.start);
    let found = engine
        .server()?
        .implementation(&place.0, at, engine.timeout)
        .await?;
    let mut found: Vec<Place> = found
        .into_iter()
        .map(|found| (found.path, span(found.range)))
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// The class that a definition is a member of, by the place of its name, and its own name.
fn member(desk: &mut Desk, (path, span): &Place) -> Option<(Position, String)> {
    desk.with_facts(path, |facts| {
        let symbol = &facts.symbols[facts.named_at(span.start)?];
        let class = &facts.symbols[facts.container(symbol)?];
        (class.kind == Kind::Class).then(|| (class.name_span.start, symbol.name.to_string()))
    })
}

/// The definitions of a name in a class and all classes above it. Those outside of the
/// workspace count for nothing: what they define is not ours.
async fn upwards(
    engine: &Engine,
    desk: &mut Desk,
    place: &Place,
    class: Position,
    name: &str,
) -> Result<Vec<Place>> {
    let server = engine.server()?;
    let at = to_engine(class);
    let mut open = server
        .prepare_type_hierarchy(&place.0, at, engine.timeout)
        .await?;
    let mut seen: Vec<(PathBuf, Span)> = Vec::new();
    let mut found = Vec::new();
    while let Some(item) = open.pop() {
        let key = (item.path.clone(), span(item.range));
        if seen.contains(&key) || seen.len() >= MAX_CLASSES {
            continue;
        }
        seen.push(key);
        if is_inside(engine, &item.path) {
            found.extend(member_named(desk, &item, name));
        }
        open.extend(server.supertypes(&item, engine.timeout).await?);
    }
    Ok(found)
}

/// A class outside of the workspace, above the one that a definition is a member of, that has
/// a member of the same name.
pub(crate) async fn overridden_outside(engine: &Engine, place: &Place) -> Result<Option<Location>> {
    let mut desk = Desk::new(&engine.view);
    let Some((class, name)) = member(&mut desk, place) else {
        return Ok(None);
    };
    let server = engine.server()?;
    let at = to_engine(class);
    let mut open = server
        .prepare_type_hierarchy(&place.0, at, engine.timeout)
        .await?;
    let mut seen: Vec<Place> = Vec::new();
    while let Some(item) = open.pop() {
        let key = (item.path.clone(), span(item.range));
        if seen.contains(&key) || seen.len() >= MAX_CLASSES {
            continue;
        }
        seen.push(key);
        if !is_inside(engine, &item.path)
            && let Some((path, span)) = member_named(&mut desk, &item, &name)
        {
            return Ok(Some(desk.definition(&path, span)));
        }
        open.extend(server.supertypes(&item, engine.timeout).await?);
    }
    Ok(None)
}

/// The member of a class with this name.
fn member_named(desk: &mut Desk, class: &Item, name: &str) -> Option<Place> {
    let at = span(class.range).start;
    let span = desk.with_facts(&class.path, |facts| {
        let index = facts.named_at(at)?;
        let member = facts
            .symbols
            .iter()
            .find(|symbol| &*symbol.name == name && facts.container(symbol) == Some(index))?;
        Some(member.name_span)
    })?;
    Some((class.path.clone(), span))
}

/// Whether a file belongs to the workspace.
pub(crate) fn is_inside(engine: &Engine, path: &Path) -> bool {
    desk::inside(engine.view.root(), &engine.view.index, path).is_some()
}
