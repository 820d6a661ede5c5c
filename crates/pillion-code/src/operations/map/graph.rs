//! `map.graph`: a picture of the map.

use std::path::PathBuf;

use pillion_catalogue::{Code, Context, Error, Operation, Result, Safety, Scope};
use pillion_index::answers::Unread;
use pillion_index::language::Language;
use pillion_map::picture::{self, Bounds, Picture, PictureSubject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target::targets;
use super::{Certainty, of_graph, opened};
use crate::CodeService;
use crate::params::written_here;

/// Boxes unless a request says otherwise, and at most.
const NODES: usize = 40;
const MAX_NODES: usize = 400;
/// Steps from what was asked about.
const DEPTH: usize = 2;
const MAX_DEPTH: usize = 20;

/// Draw the packages of a project, its calls, or who is affected if a function changes.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// What is drawn.
    #[arg(default_value = "packages")]
    #[serde(default)]
    pub what: Subject,
    /// The function it is about: a name such as `func`, `Class.method`, `pkg.mod.func` or
    /// `file:func`, or a place such as `pkg/mod.py:12:5`.
    #[arg(value_parser = written_here)]
    #[serde(alias = "at", default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// How it is written.
    #[arg(long, default_value = "svg")]
    #[serde(default)]
    pub format: DrawFormat,
    /// At most so many boxes.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_nodes: Option<usize>,
    /// How many calls away from the function.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<usize>,
    /// Show tests as well.
    #[arg(long)]
    #[serde(default)]
    pub tests: bool,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// What is drawn.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Packages, or modules if there are few, and who uses whom.
    #[default]
    Packages,
    /// Functions and their calls: around one, or the busiest.
    Calls,
    /// Who is affected if a function changes.
    Impact,
}

/// How a picture is written.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum DrawFormat {
    /// A picture that every browser shows.
    #[default]
    Svg,
    /// For Graphviz.
    Dot,
    /// For Mermaid, as in Markdown.
    Mermaid,
    /// Boxes and arrows as data.
    Json,
}

/// A picture.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Drawn {
    /// How it is written.
    pub format: DrawFormat,
    /// The picture itself; empty for `json`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its boxes, for `json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<DrawnNode>,
    /// Its arrows, for `json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<DrawnEdge>,
    /// How many boxes it has.
    pub node_count: usize,
    /// How many arrows it has.
    pub edge_count: usize,
    /// How many boxes there was no room for.
    pub left_out: usize,
    /// How many arrows there was no room for: those that stand for few uses.
    pub lighter_edges: usize,
    /// The language.
    pub language: Language,
    /// The moment this is true for.
    pub clock: String,
    /// Files and folders that are there, but could not be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Unread>,
}

/// A box.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DrawnNode {
    /// What it is.
    pub label: String,
    /// More about it.
    pub note: String,
    /// Whether it is what was asked about.
    pub target: bool,
}

/// An arrow.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DrawnEdge {
    /// The box it comes from, by its place in `nodes`.
    pub from: usize,
    /// The box it leads to.
    pub to: usize,
    /// How many uses it stands for.
    pub weight: usize,
    /// How sure they are.
    pub certainty: Certainty,
}

impl Operation for Draw {
    const NAME: &'static str = "map.graph";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    type Service = CodeService;
    type Output = Drawn;

    fn text(result: &str) -> Option<String> {
        let drawn: Drawn = serde_json::from_str(result).ok()?;
        (!drawn.text.is_empty()).then(|| drawn.text.trim_end().to_owned())
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Drawn> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, cx.caller()).await?;
        let graph = view.map(language).await?.graph;
        let targets = match &self.target {
            Some(target) => targets(&view, &graph, target, cx.caller()).await?,
            None => Vec::new(),
        };
        let wanted = match (self.what, targets.is_empty()) {
            (Subject::Packages, _) => PictureSubject::Packages,
            (Subject::Calls, true) => PictureSubject::Calls,
            (Subject::Calls, false) => PictureSubject::Around(targets),
            (Subject::Impact, false) => PictureSubject::Impact(targets),
            (Subject::Impact, true) => {
                return Err(
                    Error::new(Code::InvalidParams, "whose impact? name a function")
                        .hint("`func`, `Class.method`, or `file:func`"),
                );
            }
        };
        let bounds = Bounds {
            nodes: self.max_nodes.unwrap_or(NODES).clamp(1, MAX_NODES),
            depth: self.max_depth.unwrap_or(DEPTH).min(MAX_DEPTH),
            tests: self.tests,
        };
        let picture = of_graph(&graph, move |graph, _| graph.picture(&wanted, bounds));
        let picture = picture.await?;
        let mut drawn = Drawn {
            format: self.format,
            text: String::new(),
            nodes: Vec::new(),
            edges: Vec::new(),
            node_count: picture.nodes.len(),
            edge_count: picture.edges.len(),
            left_out: picture.left_out,
            lighter_edges: picture.lighter,
            language,
            clock: view.clock(),
            unread: view.unread(),
        };
        match self.format {
            DrawFormat::Svg => drawn.text = picture::svg(&picture),
            DrawFormat::Dot => drawn.text = picture::dot(&picture),
            DrawFormat::Mermaid => drawn.text = picture::mermaid(&picture),
            DrawFormat::Json => (drawn.nodes, drawn.edges) = as_data(&picture),
        }
        Ok(drawn)
    }
}

fn as_data(picture: &Picture) -> (Vec<DrawnNode>, Vec<DrawnEdge>) {
    let nodes = picture.nodes.iter().map(|node| DrawnNode {
        label: node.label.clone(),
        note: node.note.clone(),
        target: node.is_target,
    });
    let edges = picture.edges.iter().map(|edge| DrawnEdge {
        from: edge.from,
        to: edge.to,
        weight: edge.weight,
        certainty: Certainty::of(edge.is_sure),
    });
    (nodes.collect(), edges.collect())
}
