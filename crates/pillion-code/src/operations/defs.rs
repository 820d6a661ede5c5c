//! `code.defs`: where a name is defined.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Route, Safety, Scope};
use pillion_index::answers::{Answer, Locations, Nothing};
use pillion_index::text::shown;
use pillion_symbols::ask::EngineView;
use pillion_symbols::definitions;
use pillion_symbols::spotted::Spotted;
use pillion_workspace::config::EngineChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{empty_answers, positions};
use crate::CodeService;
use crate::params::{At, engine_choice};

/// Where is the name at this position defined?
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Defs {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// Who answers: ty, jedi or basedpyright; the workspace's own choice if not given.
    #[arg(long, value_parser = engine_choice)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineChoice>,
}

impl Operation for Defs {
    const NAME: &'static str = "code.defs";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("defs", 30)
        .routes(&[Route::older(Method::Post, "/defs")]);
    type Service = CodeService;
    type Output = Answer<Locations>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Locations>> {
        positions::answer(&cx, cx.caller(), &self.at, self.engine, |engine, spot| {
            defs(engine, spot)
        })
        .await
    }
}

async fn defs(engine: EngineView, spot: Spotted) -> Result<Locations> {
    let found = definitions::find_or_fall_back(&engine, &spot).await?;
    let nothing = match found.locations.is_empty() {
        true => empty_answers::at(&engine, &spot),
        false => Nothing::default(),
    };
    Ok(Locations {
        total: found.locations.len(),
        locations: found.locations,
        truncated: false,
        clock: engine.view.clock(),
        engine: found.engine.into(),
        parse_errors: spot.parse_errors(&engine.view),
        nothing,
    })
}
