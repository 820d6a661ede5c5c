//! `code.implementations`: subclasses of a class, overrides of a method.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope, work};
use pillion_index::answers::{Answer, Locations, Nothing};
use pillion_index::text::shown;
use pillion_symbols::ask::EngineView;
use pillion_symbols::open_files::{self, OpenFiles};
use pillion_symbols::spotted::Spotted;
use pillion_symbols::{closure, definitions, protocols};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{empty_answers, positions};
use crate::CodeService;
use crate::params::{At, limit};

/// Which classes derive from the one at this position, or which methods override it?
///
/// Of a protocol, or of a member of one, also classes that have all its members.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Implementations {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl Operation for Implementations {
    const NAME: &'static str = "code.implementations";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("implementations", 120);
    type Service = CodeService;
    type Output = Answer<Locations>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Locations>> {
        let max = limit(self.limit);
        positions::answer(&cx, cx.caller(), &self.at, None, |engine, spot| {
            implementations(engine, spot, max)
        })
        .await
    }
}

async fn implementations(engine: EngineView, spot: Spotted, max: usize) -> Result<Locations> {
    let definitions = definitions::find(&engine, &spot).await?;
    let nothing = match definitions.places.is_empty() {
        true => empty_answers::at(&engine, &spot),
        false => Nothing::default(),
    };
    let mut found = Vec::new();
    for place in &definitions.places {
        found.extend(closure::implementations(&engine, place).await?);
        // Nobody has to say that a class implements a protocol.
        let view = engine.view.clone();
        if let Some(file) = open_files::inside(view.root(), &view.index, &place.0) {
            let at = place.1;
            let structural = work(move |_| protocols::implementations(&view, &file, at)).await?;
            found.extend(
                structural
                    .iter()
                    .map(|(file, at)| (engine.absolute(file), *at)),
            );
        }
    }
    found.sort();
    found.dedup();
    // The engine counts what was asked about among them.
    found.retain(|place| !definitions.places.contains(place));
    let total = found.len();
    let mut opened = OpenFiles::new(&engine.view);
    let locations: Vec<_> = found
        .iter()
        .take(max)
        .map(|(path, span)| opened.definition(path, *span))
        .collect();
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
