//! `code.callers` and `code.callees`: who calls whom.

use std::collections::HashSet;
use std::path::Path;

use pillion_catalogue::{Caller, Context, Offer, Operation, Result, Safety, Scope};
use pillion_engines::engine::CallSite;
use pillion_index::answers::{Answer, Location, Nothing};
use pillion_index::language::Language;
use pillion_index::source::{LineColumn, Position};
use pillion_index::text::{Text, location, rest, shown};
use pillion_symbols::ask::{EngineView, span, to_engine};
use pillion_symbols::definitions;
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::spotted::Spotted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{empty_answers, positions};
use crate::CodeService;
use crate::inquiry::Wanted;
use crate::maps::MappedView;
use crate::params::{At, limit};

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
    /// Who may call it although no resolved call says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible: Vec<PossibleCaller>,
    /// How many there are.
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

/// A function that may call another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PossibleCaller {
    /// Its file.
    pub file: String,
    /// The line on which it may.
    pub line: u32,
    /// Its name; `<module>` is the code of the module itself.
    pub function: String,
    /// How that is known: `name` if it takes the name from something of which nobody knows what
    /// it is, `operator` if it names the class and an operator may call it, `base` if a base
    /// outside of the project may, `override`, `reference`, or `definition` if it is defined
    /// there.
    pub via: String,
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
        let (caller, service) = (cx.caller().clone(), cx.service());
        positions::answer(&cx, cx.caller(), &self.at, None, |engine, spot| {
            let caller = caller.clone();
            async move {
                let view = service.mapped(engine.view.clone());
                let mut found = calls(engine.clone(), spot, Direction::Callers, max).await?;
                let users = users(&view, &caller, &found).await?;
                let (sure, possible) = users.into_iter().partition(|user| user.is_sure);
                unseen(&engine, &mut found, sure, max);
                found.possible = possible.into_iter().map(|user| user.told).collect();
                found.possible.truncate(max);
                Ok(found)
            }
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

async fn calls(
    engine: EngineView,
    spot: Spotted,
    direction: Direction,
    max: usize,
) -> Result<Calls> {
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
    let nothing = match items.is_empty() {
        true => empty_answers::but(&engine, &spot, "function").await?,
        false => Nothing::default(),
    };
    let mut opened = OpenFiles::new(&engine.view);
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
            all.push(calling(&engine, &mut opened, &site, &calls_in));
        }
    }
    // What is of the project comes first.
    let is_foreign = |one: &Calling| Path::new(&one.location.file).is_absolute();
    all.sort_by(|a, b| {
        let place = |one: &Calling| (is_foreign(one), one.location.file.clone());
        place(a)
            .cmp(&place(b))
            .then(a.location.line.cmp(&b.location.line))
            .then(a.location.column.cmp(&b.location.column))
            .then_with(|| a.calls_in.cmp(&b.calls_in))
    });
    // Each overload of a function has the same callers.
    all.dedup_by(|next, kept| {
        let place = |one: &Calling| (one.location.line, one.location.column);
        let is_same = kept.location.file == next.location.file
            && place(kept) == place(next)
            && kept.calls_in == next.calls_in;
        if is_same {
            kept.sites.append(&mut next.sites);
            kept.sites.sort();
            kept.sites.dedup();
        }
        is_same
    });
    // Overloads of a foreign function are called from the same places: the first stands for all.
    let mut told = HashSet::new();
    all.retain(|one| {
        let Location { file, name, .. } = &one.location;
        !is_foreign(one) || told.insert((file.clone(), name.clone(), one.sites.clone()))
    });
    let total = all.len();
    all.truncate(max);
    Ok(Calls {
        function: items
            .first()
            .map(|item| opened.definition(&item.path, span(item.range))),
        truncated: all.len() < total,
        calls: all,
        possible: Vec::new(),
        total,
        clock: engine.view.clock(),
        engine: engine.name().into(),
        nothing,
    })
}

/// Someone of whom the map knows and the engine does not.
struct Unseen {
    told: PossibleCaller,
    is_sure: bool,
}

/// Who else calls the function that was found, or may, as the map knows it.
async fn users(view: &MappedView, caller: &Caller, found: &Calls) -> Result<Vec<Unseen>> {
    let Some(function) = &found.function else {
        return Ok(Vec::new());
    };
    let graph = view.map(Language::Python).await?.graph;
    let Some(node) = graph.at_line(&function.file, function.line) else {
        return Ok(Vec::new());
    };
    let wanted = Wanted::Users {
        of: vec![node],
        depth: 0,
    };
    let asked = view.types(&graph, wanted, caller).await;
    let known = |file: &str, line: u32| {
        let mut calls = found.calls.iter();
        calls.any(|call| {
            let mut sites = call.sites.iter();
            call.calls_in == file && sites.any(|site| site.line == line)
        })
    };
    let users = graph.possible_users(node, &asked.types).into_iter();
    let users = users.filter(|user| !known(graph.path(user.node), user.line));
    let users = users.map(|user| Unseen {
        told: PossibleCaller {
            file: graph.path(user.node).to_owned(),
            line: user.line,
            function: graph.name(user.node).to_owned(),
            via: user.via.word().to_owned(),
        },
        is_sure: user.is_sure,
    });
    Ok(users.collect())
}

/// Callers that only the map is sure of: engines count no reading of a property as a call.
fn unseen(engine: &EngineView, found: &mut Calls, sure: Vec<Unseen>, max: usize) {
    let name = found.function.as_ref().and_then(|one| one.name.clone());
    // Of a list that was cut, nobody knows what is missing.
    let Some(name) = name.filter(|_| !found.truncated) else {
        return;
    };
    let mut opened = OpenFiles::new(&engine.view);
    for PossibleCaller { file, line, .. } in sure.into_iter().map(|one| one.told) {
        let path = engine.absolute(&file);
        let Some(at) = place_of(&mut opened, &path, line, &name) else {
            continue;
        };
        let facts = engine.view.index.get(&file);
        let around = facts.and_then(|facts| {
            let index = facts.enclosing(at)?;
            Some((facts.symbols.get(index)?.name_span, facts.name_path(index)))
        });
        let (span, name_path) = around.unzip();
        // Its own decorator, `@value.setter`, calls nothing of it.
        let text = opened.source(&path);
        let line = text.as_ref().and_then(|source| source.line(at.line));
        let own = format!("@{name}.");
        if line.is_some_and(|line| line.trim_start().starts_with(&own)) {
            continue;
        }
        found.calls.push(Calling {
            location: opened.definition(&path, span.unwrap_or_default()),
            name_path,
            calls_in: file,
            sites: vec![at.into()],
        });
        found.total += 1;
    }
    if found.calls.len() > max {
        found.calls.truncate(max);
        found.truncated = true;
    }
}

/// Where a name is taken from something on a line, else where it stands there, else where the
/// line begins.
fn place_of(opened: &mut OpenFiles, path: &Path, line: u32, name: &str) -> Option<Position> {
    let line = line.checked_sub(1)?;
    let source = opened.source(path)?;
    let text = source.line(line)?;
    let is_part = |letter: char| letter == '_' || letter.is_alphanumeric();
    let whole: Vec<usize> = text
        .match_indices(name)
        .map(|(at, _)| at)
        .filter(|at| {
            !text[..*at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
        })
        .collect();
    let taken = whole
        .iter()
        .find(|at| text[..**at].trim_end().ends_with('.'));
    let start = taken.or(whole.first()).copied();
    let start = start.unwrap_or(text.len() - text.trim_start().len());
    let column = u32::try_from(text[..start].chars().count()).ok()?;
    Some(Position { line, column })
}

fn calling(
    engine: &EngineView,
    opened: &mut OpenFiles,
    site: &CallSite,
    calls_in: &Path,
) -> Calling {
    let place = (site.item.path.clone(), span(site.item.range));
    let (path, at) = definitions::in_source(engine, opened, place);
    let defined = opened.defined_at(&path, at.start);
    let mut sites: Vec<LineColumn> = site
        .calls
        .iter()
        .map(|range| span(*range).start.into())
        .collect();
    sites.sort();
    Calling {
        location: opened.definition(&path, at),
        name_path: defined.map(|defined| defined.name_path),
        calls_in: opened.name(calls_in).0,
        sites,
    }
}

impl Text for Calls {
    fn text(&self) -> String {
        if self.function.is_none() {
            return self.nothing.text("no function there");
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
        for one in &self.possible {
            lines.push(format!(
                "possible: {}:{}  {} (by {})",
                one.file, one.line, one.function, one.via
            ));
        }
        lines.extend(rest(self.total, self.calls.len()));
        lines.join("\n")
    }
}
