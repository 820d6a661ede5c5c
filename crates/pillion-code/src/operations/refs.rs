//! `code.refs`: who uses a name.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Route, Safety, Scope};
use pillion_index::answers::{Answer, Nothing, References};
use pillion_index::text::shown;
use pillion_symbols::ask::EngineView;
use pillion_symbols::references;
use pillion_symbols::spotted::Spotted;
use pillion_workspace::config::EngineChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{empty_answers, positions};
use crate::CodeService;
use crate::params::{At, engine_choice, limit};

/// Who uses the name at this position?
///
/// Confirmed uses are those the engine is sure of. Possible ones have the same name on
/// something whose type nobody knows.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Refs {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// Whether the definition itself is among them.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    #[serde(default = "yes")]
    pub include_declaration: bool,
    /// Only confirmed uses.
    #[arg(long)]
    #[serde(default)]
    pub confirmed_only: bool,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Who answers: ty, jedi or basedpyright; the workspace's own choice if not given.
    #[arg(long, value_parser = engine_choice)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineChoice>,
}

fn yes() -> bool {
    true
}

impl Operation for Refs {
    const NAME: &'static str = "code.refs";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("refs", 40)
        .everyday()
        .routes(&[Route::older(Method::Post, "/refs")]);
    type Service = CodeService;
    type Output = Answer<References>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<References>> {
        positions::answer(&cx, cx.caller(), &self.at, self.engine, |engine, spot| {
            refs(engine, spot, &self)
        })
        .await
    }
}

async fn refs(engine: EngineView, spot: Spotted, asked: &Refs) -> Result<References> {
    let mut found = references::find(&engine, &spot, !asked.confirmed_only).await?;
    let is_unknown = found.references.is_empty() && found.found.places.is_empty();
    let nothing = match is_unknown {
        true => empty_answers::at(&engine, &spot),
        false => Nothing::default(),
    };
    if !asked.include_declaration {
        found.remove_definitions();
    }
    let (confirmed, possible) = found.counts();
    let total = confirmed + possible;
    let mut locations = found.references;
    locations.truncate(limit(asked.limit));
    Ok(References {
        truncated: locations.len() < total,
        locations,
        total,
        confirmed,
        possible,
        clock: engine.view.clock(),
        engine: engine.name().into(),
        parse_errors: spot.parse_errors(&engine.view),
        nothing,
    })
}
