//! `code.type_hierarchy`: what a class derives from, and what derives from it.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope};
use pillion_index::answers::{Answer, Location, Nothing};
use pillion_index::text::{Text, location, rest, shown};
use pillion_symbols::ask::{EngineView, span, to_engine};
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::spotted::Spotted;
use pillion_symbols::{closure, definitions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{empty_answers, positions};
use crate::CodeService;
use crate::params::{At, limit};

/// What does the class at this position derive from, and what derives from it?
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct TypeHierarchy {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// At most so many subclasses.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A class and its relatives.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Hierarchy {
    /// The class, if there is one.
    pub class: Option<Location>,
    /// Its base classes, the nearest first.
    pub supertypes: Vec<Relative>,
    /// Classes that derive from it, directly or not.
    pub subtypes: Vec<Location>,
    /// How many of those there are.
    pub total: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
    /// Who answered.
    pub engine: String,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub nothing: Nothing,
}

/// A base class.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Relative {
    /// Where it is defined.
    #[serde(flatten)]
    pub location: Location,
    /// How many steps it is away: 1 is a direct base.
    pub distance: usize,
}

/// Base classes that are looked at.
const MAX_BASES: usize = 200;

impl Operation for TypeHierarchy {
    const NAME: &'static str = "code.type_hierarchy";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("type-hierarchy", 130);
    type Service = CodeService;
    type Output = Answer<Hierarchy>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Hierarchy>> {
        let max = limit(self.limit);
        positions::answer(&cx, cx.caller(), &self.at, None, |engine, spot| {
            hierarchy(engine, spot, max)
        })
        .await
    }
}

async fn hierarchy(engine: EngineView, spot: Spotted, max: usize) -> Result<Hierarchy> {
    let server = engine.server()?;
    let file = engine.absolute(&spot.path);
    let items = match spot.exists() {
        true => {
            let at = to_engine(spot.at);
            server
                .prepare_type_hierarchy(&file, at, engine.timeout)
                .await?
        }
        false => Vec::new(),
    };
    let mut opened = OpenFiles::new(&engine.view);
    let mut answer = Hierarchy {
        class: None,
        supertypes: Vec::new(),
        subtypes: Vec::new(),
        total: 0,
        truncated: false,
        clock: engine.view.clock(),
        engine: engine.name().into(),
        nothing: Nothing::default(),
    };
    let Some(item) = items.first() else {
        answer.nothing = empty_answers::but(&engine, &spot, "class").await?;
        return Ok(answer);
    };
    let class = (item.path.clone(), span(item.range));
    answer.class = Some(opened.definition(&class.0, class.1));
    let mut level = items.clone();
    let mut distance = 0;
    while !level.is_empty() && answer.supertypes.len() < MAX_BASES {
        distance += 1;
        let mut above = Vec::new();
        for item in &level {
            above.extend(server.supertypes(item, engine.timeout).await?);
        }
        above.retain(|base| {
            let place = (base.path.clone(), span(base.range));
            let (path, at) = definitions::in_source(&engine, &mut opened, place);
            let location = opened.definition(&path, at);
            let known = answer.supertypes.iter().any(|r| r.location == location);
            if !known {
                answer.supertypes.push(Relative { location, distance });
            }
            !known
        });
        level = above;
    }
    let mut below = closure::implementations(&engine, &class).await?;
    below.retain(|place| *place != class);
    answer.total = below.len();
    answer.subtypes = below
        .iter()
        .take(max)
        .map(|(path, span)| opened.definition(path, *span))
        .collect();
    answer.truncated = answer.subtypes.len() < answer.total;
    Ok(answer)
}

impl Text for Hierarchy {
    fn text(&self) -> String {
        let Some(class) = &self.class else {
            return self.nothing.text("no class there");
        };
        let mut lines = vec![location(class)];
        lines.push(format!("{} above", self.supertypes.len()));
        lines.extend(self.supertypes.iter().map(|relative| {
            format!(
                "{}{}",
                "  ".repeat(relative.distance),
                location(&relative.location)
            )
        }));
        lines.push(format!("{} below", self.total));
        lines.extend(
            self.subtypes
                .iter()
                .map(|below| format!("  {}", location(below))),
        );
        lines.extend(rest(self.total, self.subtypes.len()));
        lines.join("\n")
    }
}
