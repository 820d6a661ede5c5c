//! `code.at`: everything about a place in one answer.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope};
use pillion_index::answers::{Answer, Confidence, Hover, Location, Outlined, Reference};
use pillion_index::outline::{last_line, outlined};
use pillion_index::syntax::WordKind;
use pillion_index::text::{Text, location, rest, shown};
use pillion_symbols::ask::EngineView;
use pillion_symbols::definitions;
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::references::{self, Uses};
use pillion_symbols::spotted::Spotted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hover;
use super::positions;
use crate::CodeService;
use crate::params::At;

/// What is at this position: definition, source, documentation and uses in one answer.
///
/// Made for agents: one question instead of five.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Everything {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// At most so many uses.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// At most so many lines of the definition's source.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
}

/// Everything about a place.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AllAbout {
    /// What the name is.
    #[serde(flatten)]
    pub hover: Hover,
    /// Where it is defined.
    pub definitions: Vec<Location>,
    /// The source of its first definition, up to `lines`.
    pub source: Option<String>,
    /// Whether there is more of that source.
    pub source_truncated: bool,
    /// The function or class around the place.
    pub enclosing: Option<Outlined>,
    /// Uses: confirmed ones first.
    pub references: Vec<Reference>,
    /// How many confirmed uses there are.
    pub confirmed: usize,
    /// How many possible uses there are.
    pub possible: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
}

/// Uses that are shown unless more is asked for.
const USES: usize = 20;
/// Lines of source that are shown unless more is asked for.
const LINES: u32 = 60;

impl Operation for Everything {
    const NAME: &'static str = "code.at";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("at", 20).everyday();
    type Service = CodeService;
    type Output = Answer<AllAbout>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<AllAbout>> {
        positions::answer(&cx, cx.caller(), &self.at, None, |engine, spot| {
            everything(engine, spot, &self)
        })
        .await
    }
}

async fn everything(engine: EngineView, spot: Spotted, asked: &Everything) -> Result<AllAbout> {
    let is_name = spot.is_module || spot.kind_of_word() == WordKind::Name;
    let uses = if is_name {
        let mut uses = references::find(&engine, &spot, true).await?;
        if uses.found.places.is_empty() {
            uses.found = definitions::find_or_fall_back(&engine, &spot).await?;
        }
        uses
    } else {
        Uses::nothing(&engine)
    };
    let hover = hover::about(&engine, &spot, &uses.found).await?;
    let (confirmed, possible) = uses.counts();
    let mut references = uses.references;
    references.truncate(asked.limit.unwrap_or(USES));
    let mut opened = OpenFiles::new(&engine.view);
    let enclosing = opened.with_facts(&engine.absolute(&spot.path), |facts| {
        let index = facts.enclosing(spot.at).filter(|_| !spot.is_module)?;
        Some(outlined(&spot.path, facts, index))
    });
    let (mut source, mut source_truncated) = (None, false);
    if let Some((path, at)) = uses.found.places.first()
        && let Some(defined) = opened.defined_at(path, at.start)
        && let Some(text) = opened.source(path)
    {
        let first = defined.span.start.line;
        let last = last_line(defined.span);
        let end = last.min(first.saturating_add(asked.lines.unwrap_or(LINES).saturating_sub(1)));
        let lines: Vec<&str> = (first..=end).map_while(|line| text.line(line)).collect();
        source = Some(lines.join("\n"));
        source_truncated = end < last;
    }
    Ok(AllAbout {
        hover,
        definitions: uses.found.locations,
        source,
        source_truncated,
        enclosing,
        truncated: references.len() < confirmed + possible,
        references,
        confirmed,
        possible,
    })
}

impl Text for AllAbout {
    fn text(&self) -> String {
        let mut parts = Vec::new();
        let hover = &self.hover;
        match (&hover.kind, &hover.name) {
            (Some(kind), Some(name)) => {
                let path = hover.name_path.as_ref().unwrap_or(name);
                parts.push(format!("{kind} {path}"));
            }
            _ => return hover.nothing.text("nothing there"),
        }
        parts.extend(
            self.definitions
                .iter()
                .map(|l| format!("defined at {}", location(l))),
        );
        if let Some(enclosing) = &self.enclosing {
            parts.push(format!("inside {}", enclosing.name_path));
        }
        parts.extend(
            hover
                .overloads
                .iter()
                .map(|head| format!("overload {head}")),
        );
        match &self.source {
            Some(source) => {
                parts.push(String::new());
                parts.push(source.clone());
                if self.source_truncated {
                    parts.push("... (raise `lines`)".into());
                }
            }
            None => {
                parts.extend(hover.signature.clone());
                parts.extend(hover.docstring.clone());
            }
        }
        parts.push(String::new());
        parts.push(format!(
            "{} uses, {} possible",
            self.confirmed, self.possible
        ));
        parts.extend(self.references.iter().map(|reference| {
            let mark = match reference.confidence {
                Confidence::Confirmed => "",
                Confidence::Possible => "? ",
            };
            let place = &reference.location;
            format!(
                "{mark}{}:{}:{}  {}",
                place.file, place.line, place.column, place.preview
            )
        }));
        parts.extend(rest(self.confirmed + self.possible, self.references.len()));
        parts.join("\n")
    }
}
