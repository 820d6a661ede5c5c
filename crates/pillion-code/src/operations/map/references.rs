//! `map.references`: what is defined, and which definition uses which.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pillion_catalogue::{
    CancellationToken, Context, Offer, Operation, Result, Safety, Scope, wanted,
};
use pillion_index::answers::Answer;
use pillion_index::language::{Language, Precision};
use pillion_index::text::{Text, shown};
use pillion_map::{Graph, MODULE_NODE, NodeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{of_graph, opened};
use crate::CodeService;
use crate::params::MAX_LIMIT;

/// Files that are looked at unless a request says otherwise.
const FILES: usize = 500;

/// List definitions, and which of them uses which: by calls and by name.
///
/// Only edges that follow from the code are listed.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "References")]
#[serde(deny_unknown_fields)]
pub struct ListReferences {
    /// At most so many files, in the order of their paths.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_files: Option<usize>,
    /// Answer as an older contract says.
    #[arg(skip)]
    #[schemars(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old: bool,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// Definitions, and which of them uses which.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceEdges {
    /// The definitions, by file and place.
    pub definitions: Vec<DefinedSymbol>,
    /// Who uses whom; sorted. The other end may be in a file beyond `max_files`.
    pub edges: Vec<ReferenceEdge>,
    /// How many files were looked at.
    pub files_scanned: usize,
    /// The language.
    pub language: Language,
    /// How its edges are found, in languages other than Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// How many edges there are.
    pub edge_count: usize,
    /// Whether `max_files` left some out.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinedSymbol {
    /// Its file.
    pub file: String,
    /// Its own name.
    pub name: String,
    /// The line of its name.
    pub line: u32,
    /// `function`, `method` or `class`.
    pub kind: String,
    /// What it lies in: `Class`, or nothing.
    pub scope: String,
}

/// Something uses something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceEdge {
    /// The file of the one who uses.
    pub src_file: String,
    /// The one who uses: `Class.method`, or `<module>`.
    pub src_symbol: String,
    /// The file of what is used.
    pub dst_file: String,
    /// What is used.
    pub dst_symbol: String,
}

impl Operation for ListReferences {
    const NAME: &'static str = "map.references";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .tool("reference_edges", 10)
        .old("reference_edges", &[("old", "true")]);
    type Service = CodeService;
    type Output = Answer<ReferenceEdges>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<ReferenceEdges>> {
        let language = self.language.or(Some(Language::Auto));
        let (view, language) = opened(&cx, self.project.as_ref(), language, cx.caller()).await?;
        let graph = view.map(language).await?.graph;
        let most = self.max_files.unwrap_or(FILES).min(MAX_LIMIT);
        let old = self.old;
        let found = of_graph(&graph, move |graph, token| {
            listed(graph, (most, old), token)
        });
        let (definitions, edges) = found.await??;
        let references = ReferenceEdges {
            definitions,
            edge_count: edges.len(),
            edges,
            files_scanned: graph.files.len().min(most),
            language,
            precision: language.precision(),
            truncated: graph.files.len() > most,
            clock: view.clock(),
        };
        Ok(Answer::one(references, view.unread()).in_format(cx.caller().format()))
    }
}

/// What the first files define, and who uses whom.
fn listed(
    graph: &Graph,
    (most, old): (usize, bool),
    token: &CancellationToken,
) -> Result<(Vec<DefinedSymbol>, Vec<ReferenceEdge>)> {
    let files = u32::try_from(graph.files.len().min(most)).unwrap_or(u32::MAX);
    let mut definitions = Vec::new();
    let mut edges = Vec::new();
    for node in (0..files).flat_map(|file| graph.nodes_of(file)) {
        wanted(token)?;
        let name = graph.name(node);
        let (scope, own) = name.rsplit_once('.').unwrap_or(("", name));
        let kind = match graph.kind(node) {
            NodeKind::Module | NodeKind::Variable => None,
            NodeKind::Class => Some("class"),
            NodeKind::Function if old => Some("func"),
            NodeKind::Function => Some("function"),
            NodeKind::Method => Some("method"),
        };
        definitions.extend(kind.map(|kind| DefinedSymbol {
            file: graph.path(node).to_owned(),
            name: own.to_owned(),
            line: graph.line(node),
            kind: kind.to_owned(),
            scope: scope.to_owned(),
        }));
        // Overloads, setters and deleters stand on lines of their own.
        let again = kind.map(|kind| {
            graph.again(node).map(move |line| DefinedSymbol {
                file: graph.path(node).to_owned(),
                name: own.to_owned(),
                line,
                kind: kind.to_owned(),
                scope: scope.to_owned(),
            })
        });
        definitions.extend(again.into_iter().flatten());
        let is_variable = |node: u32| graph.kind(node) == NodeKind::Variable;
        let out = graph.out(node).iter().filter(|edge| edge.is_sure);
        let used: BTreeSet<u32> = out.map(|edge| edge.node).collect();
        let used = used.into_iter().filter(|used| !is_variable(*used));
        // What a variable is given is code of the module.
        let symbol = match is_variable(node) {
            true => MODULE_NODE,
            false => name,
        };
        edges.extend(used.map(|used| ReferenceEdge {
            src_file: graph.path(node).to_owned(),
            src_symbol: symbol.to_owned(),
            dst_file: graph.path(used).to_owned(),
            dst_symbol: graph.name(used).to_owned(),
        }));
    }
    edges.sort();
    edges.dedup();
    Ok((definitions, edges))
}

impl Text for ReferenceEdges {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut user = ["", ""];
        for edge in &self.edges {
            if user != [&*edge.src_file, &*edge.src_symbol] {
                lines.push(format!("{}:{}", edge.src_file, edge.src_symbol));
                user = [&edge.src_file, &edge.src_symbol];
            }
            lines.push(format!("  -> {}:{}", edge.dst_file, edge.dst_symbol));
        }
        lines.push(format!(
            "{} definitions and {} edges in {} files",
            self.definitions.len(),
            self.edge_count,
            self.files_scanned
        ));
        if self.truncated {
            lines.push("there are more files (raise `max_files`)".to_owned());
        }
        lines.join("\n")
    }
}
