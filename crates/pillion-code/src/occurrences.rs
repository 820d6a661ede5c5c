//! Every place that a rename would touch.

use std::collections::BTreeSet;
use std::path::PathBuf;

use futures::{StreamExt, stream};
use pillion_catalogue::{Error, Result, work};

use crate::ask::{Engine, span};
use crate::closure::Place;
use crate::definitions::{self, Found};
use crate::desk::{self, Desk};
use crate::operations::Spotted;
use crate::source::Span;
use crate::{closure, spelled};

/// Places that spell a name.
#[derive(Debug, Default)]
pub(crate) struct Occurrences {
    pub(crate) places: Vec<(PathBuf, Span)>,
    /// Those where it is another module's name that is taken under its own.
    pub(crate) imported: BTreeSet<(PathBuf, Span)>,
    /// The definitions that belong together.
    pub(crate) closure: Vec<Place>,
    /// Places that may mean it too, if they were found on the way.
    pub(crate) possible: Option<Vec<Place>>,
}

/// So many definitions are asked about one by one.
const FEW: usize = 2;
/// Questions that are asked at the same time.
const AT_ONCE: usize = 8;

/// Every place that spells the name and means what it means here.
pub(crate) async fn places(engine: &Engine, spot: &Spotted) -> Result<Occurrences> {
    let Some((name, here)) = spot.word() else {
        return Ok(Occurrences::default());
    };
    let mut imported = BTreeSet::new();
    let found = definitions::find(engine, spot).await?;
    let mut all: Vec<(PathBuf, Span)> = Vec::new();
    let alias = is_alias(engine, name, &found);
    if found.places.is_empty() || alias {
        let uses = engine.references(&spot.path, here.start).await?;
        all.extend(
            uses.iter()
                .map(|use_| (use_.path.clone(), span(use_.range))),
        );
    }
    let mut closure = Vec::new();
    for place in found.places.iter().filter(|_| !alias) {
        closure.extend(closure::overrides(engine, place).await?);
    }
    closure.sort();
    closure.dedup();
    // What others define keeps its name, and so do its uses here.
    let mut ours: Vec<(String, Place)> = Vec::new();
    for (path, at) in &closure {
        let file = desk::inside(engine.view.root(), &engine.view.index, path);
        ours.extend(file.map(|file| (file, (path.clone(), *at))));
    }
    all.extend(ours.iter().map(|(_, place)| place.clone()));
    let mut possible = None;
    if ours.len() > FEW && are_methods(engine, &ours) {
        let found = by_mention(engine, name, &closure).await?;
        all.extend(found.confirmed);
        possible = Some(found.possible);
    } else {
        for (file, (_, at)) in ours {
            let uses = engine.references(&file, at.start).await?;
            all.extend(
                uses.iter()
                    .map(|use_| (use_.path.clone(), span(use_.range))),
            );
            let view = engine.view.clone();
            let spelled = work(move |_| spelled::find(&view, &file, at)).await?;
            all.extend(spelled.places);
            imported.extend(spelled.imported);
        }
    }
    all.retain(|(path, _)| closure::is_inside(engine, path));
    all.sort();
    all.dedup();
    // An import under another name leads here, but that name is nobody's but its own.
    let mut desk = Desk::new(&engine.view);
    all.retain(|(path, span)| {
        let source = desk.source(path);
        source.is_some_and(|source| source.slice(*span) == Some(name))
    });
    Ok(Occurrences {
        places: all,
        imported,
        closure,
        possible,
    })
}

fn are_methods(engine: &Engine, ours: &[(String, Place)]) -> bool {
    let mut desk = Desk::new(&engine.view);
    ours.iter().all(|(_, (path, at))| {
        let defined = desk.defined_at(path, at.start);
        defined.is_some_and(|defined| defined.is_member && defined.kind.is_callable())
    })
}

/// Where a name is spelled, by what the engine knows about each place.
struct Mentioned {
    confirmed: Vec<Place>,
    /// Where it is taken from something that the engine knows nothing about.
    possible: Vec<Place>,
}

/// Every mention of a method of a large family. An engine that is asked who uses each of
/// them looks at every mention each time; this looks once.
async fn by_mention(engine: &Engine, name: &str, closure: &[Place]) -> Result<Mentioned> {
    let view = &engine.view;
    let (index, root, wanted) = (view.index.clone(), view.root().to_owned(), name.to_owned());
    let mentions = work(move |token| index.mentions(&root, &wanted, token)).await??;
    let asked = stream::iter(mentions).map(|mention| async move {
        let found = engine.definition(&mention.path, mention.span.start).await?;
        Ok::<_, Error>((mention, found))
    });
    let mut asked = asked.buffered(AT_ONCE);
    let mut all = Mentioned {
        confirmed: Vec::new(),
        possible: Vec::new(),
    };
    while let Some(answer) = asked.next().await {
        let (mention, targets) = answer?;
        let place = (engine.absolute(&mention.path), mention.span);
        let is_ours = targets.iter().any(|target| {
            let start = span(target.range).start;
            let mut family = closure.iter();
            family.any(|(path, at)| *path == target.path && at.start == start)
        });
        match is_ours {
            true => all.confirmed.push(place),
            false if targets.is_empty() && mention.is_attribute => all.possible.push(place),
            false => {}
        }
    }
    Ok(all)
}

/// Whether a name is only what something is called here: `import x as name`.
pub(crate) fn is_alias(engine: &Engine, name: &str, found: &Found) -> bool {
    let mut desk = Desk::new(&engine.view);
    let named_so = found.places.iter().any(|(path, span)| {
        if *span == Span::default() {
            return desk::module_name(path) == name;
        }
        let source = desk.source(path);
        source.is_some_and(|source| source.slice(*span) == Some(name))
    });
    !found.places.is_empty() && !named_so
}
