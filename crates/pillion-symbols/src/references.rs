//! Who uses a name: what the engine is sure of, and what nobody can rule out.
//!
//! An engine says nothing about `thing.name` when it does not know what `thing` is. Our
//! own index knows every place where the name is written, so those that the engine leaves
//! unresolved are given as *possible*, and those that it resolves to something else are
//! left out.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use futures::{StreamExt, stream};
use pillion_catalogue::{Result, work};
use pillion_engines::cache::{About, CachedAnswer};
use pillion_index::Mention;
use pillion_index::answers::{Confidence, Reference};
use pillion_index::source::Span;

use crate::ask::{EngineView, span as span_of};
use crate::closure::{self, Grower};
use crate::definitions::{self, FoundDefinitions};
use crate::fixtures::Fixtures;
use crate::module_uses;
use crate::open_files::{self, Defined, FileSpan, OpenFiles};
use crate::spotted::Spotted;

/// Mentions about which the engine is asked; of more, the rest is possible unseen.
const MAX_CHECKED: usize = 256;
/// Imports under another name whose uses are looked for.
const MAX_OTHER_NAMES: usize = 64;
/// Questions that are asked at the same time.
const AT_ONCE: usize = 8;

/// Uses of a name.
#[derive(Debug)]
pub struct Uses {
    /// Confirmed ones first, each sort by file and place.
    pub references: Vec<Reference>,
    /// Where the name is defined.
    definitions: Vec<(String, u32, u32)>,
    /// What is defined there.
    pub found: FoundDefinitions,
}

impl Uses {
    /// No uses.
    pub fn nothing(engine: &EngineView) -> Self {
        Self {
            references: Vec::new(),
            definitions: Vec::new(),
            found: FoundDefinitions::nothing(engine),
        }
    }

    /// How many uses are confirmed, and how many are only possible.
    pub fn counts(&self) -> (usize, usize) {
        let is_confirmed = |r: &&Reference| r.confidence == Confidence::Confirmed;
        let confirmed = self.references.iter().filter(is_confirmed).count();
        (confirmed, self.references.len() - confirmed)
    }

    /// Leave only uses.
    pub fn remove_definitions(&mut self) {
        let definitions = std::mem::take(&mut self.definitions);
        self.references.retain(|reference| {
            let place = &reference.location;
            !definitions.contains(&(place.file.clone(), place.line, place.column))
        });
    }
}

/// Who uses the name at a place.
pub async fn find(engine: &EngineView, spot: &Spotted, with_possible: bool) -> Result<Uses> {
    if spot.is_module {
        let found = definitions::find(engine, spot).await?;
        return of_module(engine, found, spot.path.clone()).await;
    }
    let Some((name, _)) = spot.word() else {
        return Ok(Uses::nothing(engine));
    };
    let confirmed = engine.references(&spot.path, spot.at).await?;
    let found = definitions::find(engine, spot).await?;
    if let Some(file) = module_of(engine, &found) {
        return of_module(engine, found, file).await;
    }
    if confirmed.is_empty() && found.places.is_empty() {
        return Ok(Uses::nothing(engine));
    }
    let mut places: Vec<(PathBuf, Span)> = confirmed
        .iter()
        .map(|place| (place.path.clone(), span_of(place.range)))
        .collect();
    let mut opened = OpenFiles::new(&engine.view);
    add_own_name(engine, &mut opened, name, &found, &mut places).await?;
    add_twins(engine, &mut opened, &found, &mut places).await?;
    add_other_names(engine, &mut opened, &mut places).await?;
    places.sort();
    places.dedup();
    let defined: Vec<(PathBuf, Defined)> = found
        .places
        .iter()
        .filter_map(|(path, span)| Some((path.clone(), opened.defined_at(path, span.start)?)))
        .collect();
    let possible = if with_possible && defined.iter().any(|(_, defined)| defined.is_member) {
        kept_possible(engine, spot, name, &places, &found.places).await?
    } else {
        Arc::default()
    };
    let inputs = Inputs {
        places,
        possible,
        defined,
        found,
    };
    // Hundreds of files may have to be read: not on the thread that serves everybody.
    work(move |_| describe(&mut opened, inputs)).await
}

/// The file of the module that a name means, if it is one of this workspace.
fn module_of(engine: &EngineView, found: &FoundDefinitions) -> Option<String> {
    let [(path, span)] = &*found.places else {
        return None;
    };
    let view = &engine.view;
    let file = open_files::inside(view.root(), &view.index, path)?;
    (*span == Span::default()).then_some(file)
}

/// Who uses a module.
async fn of_module(engine: &EngineView, found: FoundDefinitions, file: String) -> Result<Uses> {
    let (view, mut opened) = (engine.view.clone(), OpenFiles::new(&engine.view));
    let mut places = found.places.clone();
    work(move |_| {
        places.extend(module_uses::find(&view, &file));
        let inputs = Inputs {
            places,
            possible: Arc::default(),
            defined: Vec::new(),
            found,
        };
        describe(&mut opened, inputs)
    })
    .await
}

/// Who stands at `other` of `from module import name as other` asks about `name`: its own uses
/// count as well.
async fn add_own_name(
    engine: &EngineView,
    opened: &mut OpenFiles,
    name: &str,
    found: &FoundDefinitions,
    places: &mut Vec<(PathBuf, Span)>,
) -> Result<()> {
    for (path, span) in &found.places {
        let defined = opened.defined_at(path, span.start);
        let is_other = defined.is_some_and(|defined| defined.name != name);
        let Ok(file) = path.strip_prefix(engine.view.root()) else {
            continue;
        };
        if is_other && engine.view.index.get(&file.to_string_lossy()).is_some() {
            let uses = engine
                .references(&file.to_string_lossy(), span.start)
                .await?;
            places.extend(
                uses.iter()
                    .map(|use_| (use_.path.clone(), span_of(use_.range))),
            );
        }
    }
    Ok(())
}

/// A stub and the source beside it are one definition, but an engine knows each by its own
/// users: those of the module know the stub, the module itself knows the source.
async fn add_twins(
    engine: &EngineView,
    opened: &mut OpenFiles,
    found: &FoundDefinitions,
    places: &mut Vec<(PathBuf, Span)>,
) -> Result<()> {
    for place in &found.places {
        let mut same = open_files::twins(opened, &engine.view.index, place);
        if same.is_empty() {
            continue;
        }
        same.push(place.clone());
        for (path, at) in same {
            let file = opened.name(&path).0;
            let uses = engine.references(&file, at.start).await?;
            places.push((path, at));
            places.extend(
                uses.iter()
                    .map(|use_| (use_.path.clone(), span_of(use_.range))),
            );
        }
    }
    Ok(())
}

/// `from module import name as other` makes every use of `other` a use of `name`.
pub async fn add_other_names(
    engine: &EngineView,
    opened: &mut OpenFiles,
    places: &mut Vec<(PathBuf, Span)>,
) -> Result<()> {
    let mut known: HashSet<(PathBuf, Span)> = places.iter().cloned().collect();
    let mut asked = 0;
    let mut next = 0;
    while next < places.len() && asked < MAX_OTHER_NAMES {
        let (path, span) = &places[next];
        next += 1;
        let alias = opened.with_facts(path, |facts| {
            let import = facts.imports.iter().find(|i| i.span.holds(span))?;
            let length = u32::try_from(import.alias.as_ref()?.chars().count()).ok()?;
            let mut place = import.span;
            place.start = place.end;
            place.start.column = place.end.column.checked_sub(length)?;
            Some(place)
        });
        let Some(alias) = alias else { continue };
        let Ok(file) = path.strip_prefix(engine.view.root()) else {
            continue;
        };
        if !known.insert((path.clone(), alias)) {
            continue;
        }
        asked += 1;
        let uses = engine
            .references(&file.to_string_lossy(), alias.start)
            .await?;
        places.push((path.clone(), alias));
        for found in uses.iter() {
            let place = (found.path.clone(), span_of(found.range));
            if known.insert(place.clone()) {
                places.push(place);
            }
        }
    }
    Ok(())
}

struct Inputs {
    places: Vec<(PathBuf, Span)>,
    possible: Arc<Vec<(PathBuf, Span)>>,
    defined: Vec<(PathBuf, Defined)>,
    found: FoundDefinitions,
}

fn describe(opened: &mut OpenFiles, inputs: Inputs) -> Uses {
    let Inputs {
        places,
        possible,
        defined,
        found,
    } = inputs;
    let kind = found.locations.first().and_then(|l| l.kind.clone());
    let sorts = [
        (places, Confidence::Confirmed),
        (possible.to_vec(), Confidence::Possible),
    ];
    let mut references = Vec::new();
    for (places, confidence) in sorts {
        for (path, span) in places {
            let mut location = opened.location(&path, span);
            location.kind.clone_from(&kind);
            let in_definition = found.places.contains(&(path.clone(), span))
                || defined
                    .iter()
                    .any(|(file, defined)| *file == path && defined.span.holds(&span));
            references.push(Reference {
                location,
                confidence,
                in_definition,
                container: opened.enclosing(&path, span.start),
            });
        }
    }
    references.sort_by(|a, b| {
        let key = |r: &Reference| {
            let place = &r.location;
            (r.confidence, place.file.clone(), place.line, place.column)
        };
        key(a).cmp(&key(b))
    });
    let definitions = found
        .locations
        .iter()
        .map(|place| (place.file.clone(), place.line, place.column))
        .collect();
    Uses {
        references,
        definitions,
        found,
    }
}

/// The same as [`possible`], found once for each moment of the clock: it takes a look into
/// every file that mentions the name.
async fn kept_possible(
    engine: &EngineView,
    spot: &Spotted,
    name: &str,
    confirmed: &[(PathBuf, Span)],
    defined: &[FileSpan],
) -> Result<Arc<Vec<(PathBuf, Span)>>> {
    let question = engine.question(About::Possible, &spot.path, spot.at);
    let clock = engine.view.snapshot.clock();
    let cache = &engine.view.project.engines().cache;
    if let Some(CachedAnswer::Possible(places)) = cache.get(&question, clock) {
        return Ok(places);
    }
    let places = Arc::new(possible(engine, name, confirmed, defined).await?);
    cache.keep(question, clock, CachedAnswer::Possible(Arc::clone(&places)));
    Ok(places)
}

/// Places where a name is taken from something that the engine knows nothing about.
async fn possible(
    engine: &EngineView,
    name: &str,
    confirmed: &[(PathBuf, Span)],
    defined: &[FileSpan],
) -> Result<Vec<(PathBuf, Span)>> {
    let view = &engine.view;
    let (index, root, name) = (view.index.clone(), view.root().to_owned(), name.to_owned());
    let mentions = work(move |token| index.mentions(&root, &name, token)).await??;
    let known: HashSet<(&PathBuf, Span)> = confirmed.iter().map(|(p, s)| (p, *s)).collect();
    let mut open: Vec<Mention> = mentions
        .into_iter()
        .filter(|mention| mention.is_attribute)
        .filter(|mention| !known.contains(&(&engine.absolute(&mention.path), mention.span)))
        .collect();
    let unseen = open.split_off(open.len().min(MAX_CHECKED));
    let checked: Vec<Result<Option<Mention>>> = stream::iter(open)
        .map(|mention| async move {
            let found = engine.definition(&mention.path, mention.span.start).await?;
            Ok(found.is_empty().then_some(mention))
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let unresolved: Vec<Option<Mention>> = checked.into_iter().collect::<Result<_>>()?;
    let unresolved = unresolved.into_iter().flatten();
    let unresolved: Vec<(Mention, Vec<FileSpan>)> = unresolved.map(|m| (m, Vec::new())).collect();
    // Of what a fixture gives, the class is known.
    let fixtures = Fixtures::of(engine, &unresolved).await?;
    let mut grower = Grower::new(engine);
    let mut classes = BTreeSet::new();
    for (path, span) in defined {
        classes.extend(closure::class_around(&mut grower.opened, path, span.start));
    }
    let mut lines: BTreeMap<FileSpan, bool> = BTreeMap::new();
    let mut possible = Vec::new();
    for (mention, _) in unresolved {
        let place = (engine.absolute(&mention.path), mention.span);
        if let Some(class) = fixtures.class_of(&place) {
            if !lines.contains_key(class) {
                let line = grower.line(class).await?;
                let is_ours = line.iter().any(|above| classes.contains(above));
                lines.insert(class.clone(), is_ours);
            }
            if lines.get(class) == Some(&false) {
                continue;
            }
        }
        possible.push(place);
    }
    let unseen = unseen.iter();
    possible.extend(unseen.map(|mention| (engine.absolute(&mention.path), mention.span)));
    Ok(possible)
}
