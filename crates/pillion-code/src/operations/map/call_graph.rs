//! `map.call_graph`: who calls whom.

use std::path::PathBuf;

use pillion_catalogue::{
    CancellationToken, Context, Offer, Operation, Result, Safety, Scope, wanted,
};
use pillion_index::answers::Answer;
use pillion_index::language::{Language, Precision};
use pillion_index::text::{Text, shown};
use pillion_map::{Graph, MODULE_NODE, NodeId, NodeKind, Types};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Certainty, TypesAsked, below, is_below, of_graph, opened, typed};
use crate::CodeService;
use crate::inquiry::Wanted;
use crate::params::MAX_LIMIT;

/// Edges that are given unless a request says otherwise.
const EDGES: usize = 1_000;

/// Draw who calls whom, as edges from function to function.
///
/// The code of a module itself is `<module>`, that of a class body the class. Each edge is
/// `resolved`, which means that it follows from the code, or `possible`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct CallGraph {
    /// Only calls from this file or folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Leave out the edges that are only possible.
    #[arg(long)]
    #[serde(default)]
    pub resolved_only: bool,
    /// At most so many edges.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_edges: Option<usize>,
    /// Whether the engine is asked where the code does not say what a method is called on; only
    /// of a file or folder that is named.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<bool>,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// Who calls whom.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Calls")]
pub struct CallEdges {
    /// Each as file and function of the caller, file and function of the called; sorted.
    pub edges: Vec<[String; 4]>,
    /// How sure each edge is, in the same order.
    pub certainties: Vec<Certainty>,
    /// How many edges there are.
    pub edge_count: usize,
    /// How many of them are resolved.
    pub resolved_count: usize,
    /// Whether `max_edges` cut some off.
    pub truncated: bool,
    /// The language.
    pub language: Language,
    /// How its edges are found, in languages other than Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// What the engine's types added to what a named file or folder calls, in Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<TypesAsked>,
    /// The moment this is true for.
    pub clock: String,
}

impl Operation for CallGraph {
    const NAME: &'static str = "map.call_graph";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.old("call_graph", &[("max_edges", "100000")]);
    type Service = CodeService;
    type Output = Answer<CallEdges>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<CallEdges>> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, cx.caller()).await?;
        let only = below(&view, self.path.as_deref())?;
        let mapped = view.map(language).await?;
        // The whole project does not wait for an engine.
        let wants_types = (!only.is_empty()).then_some(self.types.unwrap_or(true));
        let wanted = || Wanted::Below(only.clone());
        let given = (wants_types.or(Some(false)), cx.caller());
        let (asked, types) = typed(&view, &mapped, wanted, given).await;
        let most = self.max_edges.unwrap_or(EDGES).min(MAX_LIMIT);
        let resolved_only = self.resolved_only;
        let calls = CallEdges {
            edges: Vec::new(),
            certainties: Vec::new(),
            edge_count: 0,
            resolved_count: 0,
            truncated: false,
            language,
            precision: language.precision(),
            types,
            clock: view.clock(),
        };
        let calls = of_graph(&mapped.graph, move |graph, token| {
            let wanted = Listed {
                only: &only,
                resolved_only,
                most,
            };
            list(calls, graph, &asked.types, &wanted, token)
        });
        Ok(Answer::one(calls.await??, view.unread()).in_format(cx.caller().format()))
    }
}

/// Which calls are given.
struct Listed<'a> {
    only: &'a str,
    resolved_only: bool,
    most: usize,
}

/// Fill in the calls of a graph.
fn list(
    mut calls: CallEdges,
    graph: &Graph,
    types: &Types,
    listed: &Listed<'_>,
    token: &CancellationToken,
) -> Result<CallEdges> {
    let Listed {
        only,
        resolved_only,
        most,
    } = *listed;
    if only.is_empty() {
        calls.resolved_count = graph.sure_calls;
        calls.edge_count = if resolved_only {
            graph.sure_calls
        } else {
            graph.calls
        };
    }
    for (at, file) in (0..).zip(&graph.files) {
        if only.is_empty() && calls.edges.len() >= most {
            break;
        }
        if !is_below(file.path(), only) {
            continue;
        }
        wanted(token)?;
        for node in graph.nodes_of(at) {
            for edge in graph.calls_of(node, types) {
                if resolved_only && !edge.is_sure {
                    continue;
                }
                if !only.is_empty() {
                    calls.edge_count += 1;
                    calls.resolved_count += usize::from(edge.is_sure);
                }
                if calls.edges.len() < most {
                    let ends = [node, edge.node];
                    let [from, to] = ends.map(|n| [graph.path(n), called(graph, n)]);
                    let ends = [from[0], from[1], to[0], to[1]];
                    calls.edges.push(ends.map(ToOwned::to_owned));
                    calls.certainties.push(Certainty::of(edge.is_sure));
                }
            }
        }
    }
    calls.truncated = calls.edges.len() < calls.edge_count;
    Ok(calls)
}

/// The name of an end: what a variable is given is code of the module.
fn called(graph: &Graph, node: NodeId) -> &str {
    match graph.kind(node) {
        NodeKind::Variable => MODULE_NODE,
        _ => graph.name(node),
    }
}

impl Text for CallEdges {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut caller = ["", ""];
        for (edge, certainty) in self.edges.iter().zip(&self.certainties) {
            let [from_file, from, to_file, to] = edge;
            if caller[0] != from_file {
                lines.push(from_file.clone());
            }
            if caller != [from_file, from] {
                lines.push(format!("  {from}"));
            }
            caller = [from_file, from];
            let mark = match certainty {
                Certainty::Resolved => "->",
                Certainty::Possible => "?>",
            };
            let place = if to_file == from_file {
                String::new()
            } else {
                format!("  {to_file}")
            };
            lines.push(format!("    {mark} {to}{place}"));
        }
        let possible = self.edge_count - self.resolved_count;
        lines.push(format!(
            "{} calls: {} resolved, {possible} possible (?>)",
            self.edge_count, self.resolved_count
        ));
        if self.truncated {
            let more = self.edge_count - self.edges.len();
            lines.push(format!("... and {more} more (raise `max_edges`)"));
        }
        lines.extend(TypesAsked::text(self.types.as_ref()));
        lines.join("\n")
    }
}
