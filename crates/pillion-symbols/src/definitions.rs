//! Where a name is defined: the engine's answer, brought to the place a reader means.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_catalogue::Result;
use pillion_index::answers::Location;
use pillion_index::source::{Position, Source, Span};

use crate::ask::{EngineView, span, to_engine};
use crate::dotted;
use crate::open_files::{FileSpan, OpenFiles};
use crate::spotted::Spotted;

/// Definitions, and who found them.
#[derive(Debug)]
pub struct FoundDefinitions {
    /// The definitions as callers see them.
    pub locations: Vec<Location>,
    /// The same as files and spans of names.
    pub places: Vec<(PathBuf, Span)>,
    /// Who found them.
    pub engine: &'static str,
}

impl FoundDefinitions {
    /// No definition.
    pub fn nothing(engine: &EngineView) -> Self {
        Self {
            locations: Vec::new(),
            places: Vec::new(),
            engine: engine.name(),
        }
    }
}

/// Where the name at a place is defined; another engine is asked if the workspace names one
/// and the first finds nothing.
pub async fn find_or_fall_back(engine: &EngineView, spot: &Spotted) -> Result<FoundDefinitions> {
    let found = find(engine, spot).await?;
    if found.locations.is_empty()
        && spot.word().is_some()
        && let Some(other) = engine.fallback().await?
    {
        return find(&other, spot).await;
    }
    Ok(found)
}

/// Where the name at a place is defined.
pub async fn find(engine: &EngineView, spot: &Spotted) -> Result<FoundDefinitions> {
    let mut found = FoundDefinitions::nothing(engine);
    let mut opened = OpenFiles::new(&engine.view);
    if spot.is_module {
        let place = (engine.absolute(&spot.path), Span::default());
        found.locations.push(opened.definition(&place.0, place.1));
        found.places.push(place);
    }
    if !spot.exists() {
        return Ok(found);
    }
    let mut targets = engine.definition(&spot.path, spot.at).await?;
    if let Some(part) = dotted::in_import(engine, &mut opened, spot, &targets).await? {
        targets = engine.definition(&spot.path, part).await?;
    }
    let mut places: Vec<(PathBuf, Span)> = Vec::new();
    for target in targets.iter() {
        let place = name_of_attribute(&mut opened, (target.path.clone(), span(target.range)));
        for place in behind_import(engine, &mut opened, place).await? {
            let place = in_source(engine, &mut opened, place);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    // Readers want the source; a bundled stub only where there is none, and the line that
    // imports a name only where nobody knows what it imports.
    keep_if_any(&mut places, |(path, _)| !is_bundled(path));
    keep_if_any(&mut places, |(path, span)| {
        *span == Span::default() || !opened.is_import(path, span.start)
    });
    for (path, span) in places {
        found.locations.push(opened.definition(&path, span));
        found.places.push((path, span));
    }
    Ok(found)
}

/// The classes that the value of a name belongs to.
pub async fn classes_of(engine: &EngineView, file: &str, at: Position) -> Result<Vec<FileSpan>> {
    let path = engine.absolute(file);
    let found = engine
        .server()?
        .type_definition(&path, to_engine(at), engine.timeout)
        .await?;
    Ok(found
        .into_iter()
        .map(|found| (found.path, span(found.range)))
        .collect())
}

/// Where a name is defined, behind all imports.
pub async fn meaning(
    engine: &EngineView,
    file: &str,
    source: &Arc<Source>,
    at: usize,
) -> Result<Vec<FileSpan>> {
    let spot = Spotted {
        path: file.to_owned(),
        at: source.position(at),
        source: Arc::clone(source),
        is_module: false,
    };
    Ok(find(engine, &spot).await?.places)
}

/// Engines point at all of `self.name` where an attribute gets its first value; a reader
/// means the name.
pub(crate) fn name_of_attribute(
    opened: &mut OpenFiles,
    (path, mut span): (PathBuf, Span),
) -> (PathBuf, Span) {
    if span != Span::default()
        && let Some(source) = opened.source(&path)
        && let Some((receiver, name)) = source.slice(span).and_then(|t| t.rsplit_once('.'))
        && let Some((word, place)) = source.word_at(span.end)
        && word == name
        && !receiver.is_empty()
    {
        span = place;
    }
    (path, span)
}

/// What is behind a line that imports: `from .sub import x` in a package also gives it the
/// name `sub`, and an engine stops there.
async fn behind_import(
    engine: &EngineView,
    opened: &mut OpenFiles,
    (path, at): (PathBuf, Span),
) -> Result<Vec<(PathBuf, Span)>> {
    let is_import = at != Span::default()
        && opened.source(&path).is_some_and(|source| {
            let line = source.line(at.start.line).unwrap_or_default().trim_start();
            line.starts_with("from ") || line.starts_with("import ")
        });
    if is_import {
        let file = path.strip_prefix(engine.view.root()).unwrap_or(&path);
        let behind = engine.definition(&file.to_string_lossy(), at.start).await?;
        if !behind.is_empty() {
            return Ok(behind
                .iter()
                .map(|l| (l.path.clone(), span(l.range)))
                .collect());
        }
    }
    Ok(vec![(path, at)])
}

/// Keep only what is good, unless nothing is.
fn keep_if_any(places: &mut Vec<(PathBuf, Span)>, mut good: impl FnMut(&(PathBuf, Span)) -> bool) {
    let kept: Vec<_> = places.iter().filter(|place| good(place)).cloned().collect();
    if !kept.is_empty() {
        *places = kept;
    }
}

/// The source of what an engine names in a bundled stub, if this Python has it.
pub fn in_source(
    engine: &EngineView,
    opened: &mut OpenFiles,
    place: (PathBuf, Span),
) -> (PathBuf, Span) {
    let (path, span) = &place;
    let Some(source) = source_of_stub(engine, path) else {
        return place;
    };
    if *span == Span::default() {
        return (source, *span);
    }
    let wanted = opened.defined_at(path, span.start);
    let found = wanted.and_then(|wanted| opened.named(&source, &wanted.name_path));
    found.map_or(place, |span| (source, span))
}

/// The source of the module that a bundled stub is of.
fn source_of_stub(engine: &EngineView, path: &Path) -> Option<PathBuf> {
    if !is_bundled(path) {
        return None;
    }
    engine.around.python.choice().ok().and_then(|choice| {
        let python = &choice.interpreter;
        let version = format!("python{}.{}", python.version.major, python.version.minor);
        let library = python.base_prefix.join("lib").join(version);
        let text = path.to_str()?;
        let (_, module) = text.split_once(BUNDLED)?.1.split_once("/stdlib/")?;
        let source = library.join(module).with_extension("py");
        source.is_file().then_some(source)
    })
}

/// Where ty unpacks the stubs of the standard library.
const BUNDLED: &str = "/vendored/typeshed/";

/// Whether a file is a stub that came with an engine.
fn is_bundled(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.contains(BUNDLED))
}
