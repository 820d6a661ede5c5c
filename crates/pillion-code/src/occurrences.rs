//! Every place that a rename would touch.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pillion_catalogue::{Error, Result};

use crate::ask::{Engine, span};
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
}

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
    for place in found.places.iter().filter(|_| !alias) {
        for (path, at) in closure::overrides(engine, place).await? {
            // What others define keeps its name, and so do its uses here.
            let Some(file) = desk::inside(engine.view.root(), &engine.view.index, &path) else {
                continue;
            };
            let uses = engine.references(&file, at.start).await?;
            all.extend(
                uses.iter()
                    .map(|use_| (use_.path.clone(), span(use_.range))),
            );
            let view = engine.view.clone();
            let spelled = tokio::task::spawn_blocking(move || spelled::find(&view, &file, at));
            let spelled = spelled.await.map_err(Error::internal)?;
            all.extend(spelled.places);
            imported.extend(spelled.imported);
            all.push((path, at));
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
    })
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
