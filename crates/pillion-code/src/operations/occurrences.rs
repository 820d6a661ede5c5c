//! `code.occurrences`: what a rename would touch.

use std::path::PathBuf;

use pillion_catalogue::{Context, Error, Local, Operation, Result, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions::{self, Spotted};
use crate::CodeService;
use crate::answers::{Answer, Locations};
use crate::ask::{Engine, span};
use crate::desk::{self, Desk};
use crate::params::{At, Where, limit};
use crate::source::Span;
use crate::text::shown;
use crate::{closure, definitions};

/// What would a rename of the name at this position touch?
///
/// Of a method, also those that it overrides and those that override it, with all their
/// uses. Places outside of the workspace are left out.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Occurrences {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub given: Where,
}

impl Operation for Occurrences {
    const NAME: &'static str = "code.occurrences";
    const SAFETY: Safety = Safety::Read;
    const LOCAL: Local = Local::Near;
    type Service = CodeService;
    type Output = Answer<Locations>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Locations>> {
        let max = limit(self.limit);
        positions::answer(&cx, &self.given, &self.at, None, |engine, spot| {
            occurrences(engine, spot, max)
        })
        .await
    }
}

async fn occurrences(engine: Engine, spot: Spotted, max: usize) -> Result<Locations> {
    let places = places(&engine, &spot).await?;
    let total = places.len();
    let mut desk = Desk::new(&engine.view);
    let describe = tokio::task::spawn_blocking(move || {
        let shown = places.into_iter().take(max);
        let all: Vec<_> = shown
            .map(|(path, span)| desk.location(&path, span))
            .collect();
        all
    });
    let locations = describe.await.map_err(Error::internal)?;
    Ok(Locations {
        truncated: locations.len() < total,
        locations,
        total,
        clock: engine.view.clock(),
        engine: engine.name().into(),
        parse_errors: spot.parse_errors(&engine.view),
    })
}

/// Every place that spells the name and means what it means here.
async fn places(engine: &Engine, spot: &Spotted) -> Result<Vec<(PathBuf, Span)>> {
    let Some((name, here)) = spot.word() else {
        return Ok(Vec::new());
    };
    let found = definitions::find(engine, spot).await?;
    let mut all: Vec<(PathBuf, Span)> = Vec::new();
    if found.places.is_empty() {
        let uses = engine.references(&spot.path, here.start).await?;
        all.extend(
            uses.iter()
                .map(|use_| (use_.path.clone(), span(use_.range))),
        );
    }
    for place in &found.places {
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
    Ok(all)
}
