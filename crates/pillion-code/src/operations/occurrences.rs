//! `code.occurrences`: what a rename would touch.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Route, Safety, Scope, work};
use pillion_index::answers::{Answer, Location, Locations, Nothing};
use pillion_index::text::shown;
use pillion_symbols::ask::EngineView;
use pillion_symbols::definitions;
use pillion_symbols::occurrences;
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::references;
use pillion_symbols::spotted::Spotted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{empty_answers, positions};
use crate::CodeService;
use crate::params::{At, limit};

/// What would a rename of the name at this position touch?
///
/// Of a method, also those that it overrides and those that override it, with all their
/// uses. Places outside of the workspace are left out.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Occurrences")]
#[serde(deny_unknown_fields)]
pub struct FindOccurrences {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl Operation for FindOccurrences {
    const NAME: &'static str = "code.occurrences";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("occurrences", 90)
        .routes(&[Route::older(Method::Post, "/occurrences")]);
    type Service = CodeService;
    type Output = Answer<Locations>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Locations>> {
        let max = limit(self.limit);
        positions::answer(&cx, cx.caller(), &self.at, None, |engine, spot| {
            occurrences(engine, spot, max)
        })
        .await
    }
}

/// The places that name a module, if that is what is meant: not those of another name that it
/// is given where it is imported.
async fn of_module(engine: &EngineView, spot: &Spotted) -> Result<Vec<Location>> {
    let found = definitions::find(engine, spot).await?;
    let module = found.locations.first().filter(|place| {
        let is_module = place.kind.as_deref() == Some("module");
        is_module && !place.external
    });
    let Some(name) = module.and_then(|module| module.name.clone()) else {
        return Ok(Vec::new());
    };
    let width = u32::try_from(name.chars().count()).unwrap_or(u32::MAX);
    let uses = references::find(engine, spot, false).await?;
    let places = uses.references.into_iter().map(|one| one.location);
    let is_named = |place: &Location| place.end_column == place.column + width;
    Ok(places.filter(is_named).collect())
}

async fn occurrences(engine: EngineView, spot: Spotted, max: usize) -> Result<Locations> {
    let places = occurrences::places(&engine, &spot).await?.places;
    if places.is_empty() {
        let mut locations = of_module(&engine, &spot).await?;
        let total = locations.len();
        if total > 0 {
            locations.truncate(max);
            return Ok(Locations {
                truncated: locations.len() < total,
                locations,
                total,
                clock: engine.view.clock(),
                engine: engine.name().into(),
                parse_errors: spot.parse_errors(&engine.view),
                nothing: Nothing::default(),
            });
        }
    }
    let total = places.len();
    let nothing = match places.is_empty() {
        true => empty_answers::but(&engine, &spot, "name of the workspace").await?,
        false => Nothing::default(),
    };
    let mut opened = OpenFiles::new(&engine.view);
    let describe = work(move |_| {
        let shown = places.into_iter().take(max);
        let all: Vec<_> = shown
            .map(|(path, span)| opened.location(&path, span))
            .collect();
        all
    });
    let locations = describe.await?;
    Ok(Locations {
        truncated: locations.len() < total,
        locations,
        total,
        clock: engine.view.clock(),
        engine: engine.name().into(),
        parse_errors: spot.parse_errors(&engine.view),
        nothing,
    })
}
