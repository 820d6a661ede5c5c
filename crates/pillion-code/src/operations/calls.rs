//! `code.callers` and `code.callees`: who calls whom.

use std::path::Path;

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::positions::{self, Spotted};
use crate::CodeService;
use crate::answers::{Answer, Location};
use crate::ask::{Engine, span, to_engine};
use crate::definitions;
use crate::desk::Desk;
use crate::engine::CallSite;
use crate::params::{At, limit};
use crate::source::LineColumn;
use crate::text::{Text, location, rest, shown};

/// Who calls the function at this position?
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Callers {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Whom does the function at this position call?
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Callees {
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub at: At,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Functions on the other end of calls.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// The function that was asked about, if there is one.
    pub function: Option<Location>,
    /// The others.
    pub calls: Vec<Calling>,
    /// How many there are.
    pub total: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
    /// Who answered.
    pub engine: String,
}

/// A function on the other end of calls.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Calling {
    /// Where it is defined.
    #[serde(flatten)]
    pub location: Location,
    /// Its name path, such as `Class/method`.
    pub name_path: Option<String>,
    /// The file that the calls stand in.
    pub calls_in: String,
    /// Where in that file.
    pub sites: Vec<LineColumn>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Callers,
    Callees,
}

impl Operation for Callers {
    const NAME: &'static str = "code.callers";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("callers", 100);
    type Service = CodeService;
    type Output = Answer<Calls>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Calls>> {
        let max = limit(self.limit);
        positions::answer(&cx, cx.caller(), &self.at, None, |engine, spot| {
            calls(engine, spot, Direction::Callers, max)
        })
        .await
    }
}

impl Operation for Callees {
    const NAME: &'static str = "code.callees";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("callees", 110);
    type Service = CodeService;
    type Output = Answer<Calls>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Calls>> {
        let max = limit(self.limit);
        positions::answer(&cx, cx.caller(), &self.at, None, |engine, spot| {
            calls(engine, spot, Direction::Callees, max)
        })
        .await
    }
}

async fn calls(engine: Engine, spot: Spotted, direction: Direction, max: usize) -> Result<Calls> {
    let server = engine.server()?;
    let file = engine.absolute(&spot.path);
    let items = match spot.exists() {
        true => {
            let at = to_engine(spot.at);
            server
                .prepare_call_hierarchy(&file, at, engine.timeout)
                .await?
        }
        false => Vec::new(),
    };
    let mut desk = Desk::new(&engine.view);
    let mut all = Vec::new();
    for item in &items {
        let found = match direction {
            Direction::Callers => server.incoming_calls(item, engine.timeout).await?,
            Direction::Callees => server.outgoing_calls(item, engine.timeout).await?,
        };
        for site in found {
            let calls_in = match direction {
                Direction::Callers => site.item.path.clone(),
                Direction::Callees => item.path.clone(),
            };
            all.push(calling(&engine, &mut desk, &site, &calls_in));
        }
    }
    all.sort_by(|a, b| {
        (&a.location.file, a.location.line).cmp(&(&b.location.file, b.location.line))
    });
    let total = all.len();
    all.truncate(max);
    Ok(Calls {
        function: items
            .first()
            .map(|item| desk.definition(&item.path, span(item.range))),
        truncated: all.len() < total,
        calls: all,
        total,
        clock: engine.view.clock(),
        engine: engine.name().into(),
    })
}

fn calling(engine: &Engine, desk: &mut Desk, site: &CallSite, calls_in: &Path) -> Calling {
    let place = (site.item.path.clone(), span(site.item.range));
    let (path, at) = definitions::in_source(engine, desk, place);
    let defined = desk.defined_at(&path, at.start);
    let mut sites: Vec<LineColumn> = site
        .calls
        .iter()
        .map(|range| span(*range).start.into())
        .collect();
    sites.sort();
    Calling {
        location: desk.definition(&path, at),
        name_path: defined.map(|defined| defined.name_path),
        calls_in: desk.name(calls_in).0,
        sites,
    }
}

impl Text for Calls {
    fn text(&self) -> String {
        if self.function.is_none() {
            return "no function there".into();
        }
        let mut lines = Vec::new();
        for calling in &self.calls {
            let sites: Vec<String> = calling
                .sites
                .iter()
                .map(|site| format!("{}:{}", site.line, site.column))
                .collect();
            lines.push(format!(
                "{}  at {}",
                location(&calling.location),
                sites.join(" ")
            ));
        }
        if lines.is_empty() {
            lines.push("nothing found".into());
        }
        lines.extend(rest(self.total, self.calls.len()));
        lines.join("\n")
    }
}
