//! `code.defs`: where a name is defined.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Route, Safety, Scope};
use pillion_index::answers::{Answer, Location, Locations};
use pillion_index::syntax::Word;
use pillion_index::text::{Text, location, shown};
use pillion_symbols::ask::Engine;
use pillion_symbols::definitions;
use pillion_symbols::desk::Desk;
use pillion_symbols::named::{self, Finder};
use pillion_symbols::spotted::Spotted;
use pillion_workspace::config::EngineChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hover::kind_of_word;
use super::positions;
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
    type Output = Answer<FoundDefinitions>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<FoundDefinitions>> {
        positions::answer(&cx, cx.caller(), &self.at, self.engine, |engine, spot| {
            defs(engine, spot)
        })
        .await
    }
}

/// Where something is defined; if nowhere, why, and what else has the name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundDefinitions {
    /// The places.
    #[serde(flatten)]
    pub found: Locations,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Definitions of this name, if nobody knows which is meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Location>,
}

/// Candidates that are told.
const MOST: usize = 10;

impl Text for FoundDefinitions {
    fn text(&self) -> String {
        let Some(why) = &self.why else {
            return self.found.text();
        };
        let mut lines = vec![format!("nothing found: {why}")];
        if !self.candidates.is_empty() {
            lines.push("of this name there are:".into());
            lines.extend(self.candidates.iter().map(location));
        }
        lines.join("\n")
    }
}

async fn defs(engine: Engine, spot: Spotted) -> Result<FoundDefinitions> {
    let found = definitions::find_or_fall_back(&engine, &spot).await?;
    let mut answer = FoundDefinitions {
        found: Locations {
            total: found.locations.len(),
            locations: found.locations,
            truncated: false,
            clock: engine.view.clock(),
            engine: found.engine.into(),
            parse_errors: spot.parse_errors(&engine.view),
        },
        why: None,
        candidates: Vec::new(),
    };
    if answer.found.locations.is_empty() {
        answer.why = Some(why_nothing(&spot));
        answer.candidates = candidates(&engine, &spot);
    }
    Ok(answer)
}

/// Why nothing is defined by what stands at a place.
fn why_nothing(spot: &Spotted) -> String {
    let (line, column) = (spot.at.line + 1, spot.at.column + 1);
    let count = spot.source.line_count();
    let Some(text) = spot
        .source
        .line(spot.at.line)
        .filter(|_| line as usize <= count)
    else {
        return format!("line {line} is missing: the file has {count} lines");
    };
    match (kind_of_word(spot), spot.word()) {
        (Word::Keyword, Some((word, _))) => format!("`{word}` is a keyword"),
        (_, Some((word, span))) => {
            let before = text
                .chars()
                .nth((span.start.column as usize).wrapping_sub(1));
            match before {
                Some('.') => {
                    format!("the type of what stands before `.{word}` is not known")
                }
                _ => format!("nobody knows what `{word}` is here"),
            }
        }
        _ if text.trim().is_empty() => format!("line {line} is blank"),
        _ if text.chars().count() < spot.at.column as usize => {
            let width = text.chars().count();
            format!("line {line} has only {width} columns: `{}`", text.trim())
        }
        _ => format!(
            "no name is at column {column} of line {line}: `{}`",
            text.trim()
        ),
    }
}

/// Definitions of the workspace that have the name at a place.
fn candidates(engine: &Engine, spot: &Spotted) -> Vec<Location> {
    let is_name = kind_of_word(spot) == Word::Name;
    let Some((word, _)) = spot.word().filter(|_| is_name) else {
        return Vec::new();
    };
    let Ok(found) = named::definitions(&engine.view, word, None) else {
        return Vec::new();
    };
    let mut desk = Desk::new(&engine.view);
    let finder = Finder::new(&engine.view);
    let places = found.iter().filter_map(|one| {
        let span = finder.name_span(one)?;
        Some(desk.definition(&engine.absolute(&one.file), span))
    });
    places.take(MOST).collect()
}
