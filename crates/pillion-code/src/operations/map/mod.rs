//! What callers can ask for: `map.*`.

mod agents;
mod architecture;
mod call_graph;
mod change_impact;
mod cross_project;
mod dead_code;
mod diagnostics;
mod extract;
mod graph;
mod impact;
mod live_changes;
mod patterns;
mod projects;
mod references;
mod structure;
mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_catalogue::{Caller, CancellationToken, Context, Operations, Result, work_unless};
use pillion_index::language::Language;
use pillion_index::place::is_below;
use pillion_map::{Graph, MapSnapshot};
use pillion_symbols::project::View;

pub use agents::{Agents, MappedAgent, MappedAgents};
pub use architecture::{Architecture, Circle, DirectoryLayer, Layered};
pub use call_graph::{CallEdges, CallGraph};
pub use change_impact::{ChangeImpact, ChangeReach, ChangedFunction};
pub use cross_project::{CrossProject, DependedOn, Dependencies, DependencyType, Depending};
pub use dead_code::{Dead, DeadCertainty, DeadCode, DeadFunction};
pub use diagnostics::{Diagnosed, Diagnosis, ProjectDiagnostics};
pub use extract::{Extract, Extracted, ExtractedClass, ExtractedFunction};
pub use graph::{Draw, DrawFormat, Drawn, DrawnEdge, DrawnNode, Subject};
pub use impact::{Affected, Impact, Impacts};
pub use live_changes::{AffectedSymbol, ChangeStatus, Live, LiveChange, LiveChanges, LiveHunk};
pub use patterns::{FoundPattern, FoundPatterns, Patterns};
pub use projects::{FoundProject, FoundProjects, ListProjects, Resolve};
pub use references::{DefinedSymbol, ListReferences, ReferenceEdge, ReferenceEdges};
pub use structure::{Structure, Structured, StructuredFile};

use crate::CodeService;
use crate::inquiry::{TypesFound, Wanted};
use crate::maps::MappedView;

/// All operations on the map.
pub(super) fn add_to(operations: Operations<CodeService>) -> Operations<CodeService> {
    operations
        .with::<ListProjects>()
        .with::<Resolve>()
        .with::<CrossProject>()
        .with::<Structure>()
        .with::<Extract>()
        .with::<CallGraph>()
        .with::<Impact>()
        .with::<ChangeImpact>()
        .with::<LiveChanges>()
        .with::<DeadCode>()
        .with::<Architecture>()
        .with::<ListReferences>()
        .with::<Draw>()
        .with::<Patterns>()
        .with::<ProjectDiagnostics>()
        .with::<Agents>()
}

/// The project that a request is about, as it is now, and the language to map in it.
async fn opened(
    cx: &Context<CodeService>,
    project: Option<&PathBuf>,
    language: Option<Language>,
    caller: &Caller,
) -> Result<(MappedView, Language)> {
    let mut caller = caller.clone();
    if let Some(project) = project {
        caller.root = Some(cx.request().from_here(project)?);
    }
    let view = CodeService::view(cx, &caller, None).await?;
    let view = cx.service().mapped(view);
    let language = language.unwrap_or_default().mapped(view.root());
    Ok((view, language))
}

/// A path of a request, relative to the root; empty for all of it.
fn below(view: &View, path: Option<&Path>) -> Result<String> {
    path.map_or(Ok(String::new()), |path| {
        pillion_index::place::inside(view.root(), path)
    })
}

/// Nodes of a graph that is walked sooner than another thread would begin.
const SMALL: usize = 50_000;

/// Make an answer of a graph: at once if it is small, else where nobody else has to wait.
async fn of_graph<T: Send + 'static>(
    graph: &Arc<Graph>,
    walk: impl FnOnce(&Graph, &CancellationToken) -> T + Send + 'static,
) -> Result<T> {
    let graph = Arc::clone(graph);
    work_unless(graph.len() <= SMALL, move |token| walk(&graph, token)).await
}

/// What the types of an engine added to an answer.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct TypesAsked {
    /// Who was asked; nobody if there was nothing to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Places where the code does not say what a method is called on, and the engine was
    /// asked.
    pub asked: usize,
    /// Such places that were left as they are.
    pub unasked: usize,
    /// Why some were left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl TypesAsked {
    /// A line for people if the answer would be better with what was left.
    fn text(this: Option<&Self>) -> Option<String> {
        let Self { unasked, note, .. } = this?;
        let note = note.as_deref()?;
        Some(format!("types of {unasked} places are not known: {note}"))
    }
}

/// What types tell, unless a request does not want them.
async fn typed(
    view: &MappedView,
    mapped: &MapSnapshot,
    wanted: impl FnOnce() -> Wanted,
    (types, caller): (Option<bool>, &Caller),
) -> (Arc<TypesFound>, Option<TypesAsked>) {
    if !types.unwrap_or(true) || mapped.graph.language != Language::Python {
        return (Arc::default(), None);
    }
    let asked = view.types(&mapped.graph, wanted(), caller).await;
    let told = TypesAsked {
        engine: asked.engine.map(ToOwned::to_owned),
        asked: asked.asked,
        unasked: asked.unasked,
        note: asked.why.clone(),
    };
    (asked, Some(told))
}

/// How sure an edge is, as answers say it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It follows from the code.
    Resolved,
    /// It may be so: nothing rules it out.
    Possible,
}

impl Certainty {
    fn of(is_sure: bool) -> Self {
        match is_sure {
            true => Self::Resolved,
            false => Self::Possible,
        }
    }
}
