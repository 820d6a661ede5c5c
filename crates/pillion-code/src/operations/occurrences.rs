//! `code.occurrences`: what a rename would touch.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Route, Safety, Scope, work};
use pillion_index::answers::{Answer, Locations, Nothing};
use pillion_index::text::shown;
use pillion_symbols::ask::EngineView;
use pillion_symbols::occurrences;
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::spotted::Spotted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{nothing, positions};
use crate::CodeService;
use crate::params::{At, limit};

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
}

impl Operation for Occurrences {
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

async fn occurrences(engine: EngineView, spot: Spotted, max: usize) -> Result<Locations> {
    let places = occurrences::places(&engine, &spot).await?.places;
    let total = places.len();
    let nothing = match places.is_empty() {
        true => nothing::but(&engine, &spot, "name of the workspace").await?,
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
