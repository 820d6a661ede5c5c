//! `map.architecture`: folders as layers.

use std::path::PathBuf;

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope};
use pillion_index::answers::Answer;
use pillion_index::language::{Language, Precision};
use pillion_index::text::{Text, shown};
use pillion_map::Layer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{of_graph, opened};
use crate::CodeService;

/// Show folders as layers, by who calls into whom, and which call each other.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// Whether tests count, too.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests: bool,
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

/// Folders as layers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Layered {
    /// Folders that call others and are hardly called.
    pub entry_layer: Vec<String>,
    /// Folders that are called and hardly call others.
    pub leaf_layer: Vec<String>,
    /// How many folders lie between.
    pub middle_layer_count: usize,
    /// All folders, sorted.
    pub directory_layers: Vec<DirectoryLayer>,
    /// Folders that call each other.
    pub circular_dependencies: Vec<Circle>,
    /// All of it in one sentence.
    pub summary: String,
    /// The language.
    pub language: Language,
    /// How its edges are found, in languages other than Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The moment this is true for.
    pub clock: String,
}

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryLayer {
    /// The folder; `.` is the project itself.
    pub directory: String,
    /// Calls from it to other folders.
    pub calls_out: usize,
    /// Calls from other folders to it.
    pub calls_in: usize,
    /// `entry`, `middle`, `leaf`, or `isolated` if no call crosses its border.
    pub inferred_layer: String,
    /// Functions right in it.
    pub function_count: usize,
}

/// Two folders that call each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Circle {
    /// One.
    pub a: String,
    /// The other.
    pub b: String,
}

impl Operation for Architecture {
    const NAME: &'static str = "map.architecture";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.old("architecture", &[("old", "true"), ("tests", "true")]);
    type Service = CodeService;
    type Output = Answer<Layered>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Layered>> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, cx.caller()).await?;
        let graph = view.map(language).await?.graph;
        if self.old {
            let old = of_graph(&graph, |graph, _| graph.old_layers());
            return Ok(Answer::Old(old.await?));
        }
        // The graph keeps them once they are known.
        let tests = self.tests;
        of_graph(&graph, move |graph, _| {
            graph.layers(tests);
        })
        .await?;
        let layers = graph.layers(tests);
        let in_layer = |layer: Layer| -> Vec<String> {
            let all = layers.folders.iter().filter(|(_, f)| f.layer() == layer);
            all.map(|(path, _)| shown_folder(path)).collect()
        };
        let directories = layers.folders.iter().map(|(path, folder)| DirectoryLayer {
            directory: shown_folder(path),
            calls_out: folder.calls_out,
            calls_in: folder.calls_in,
            inferred_layer: match folder.layer() {
                Layer::Entry => "entry",
                Layer::Middle => "middle",
                Layer::Leaf => "leaf",
                Layer::Isolated => "isolated",
            }
            .to_owned(),
            function_count: folder.functions,
        });
        let circles: Vec<Circle> = layers
            .circles
            .iter()
            .map(|(a, b)| Circle {
                a: shown_folder(a),
                b: shown_folder(b),
            })
            .collect();
        let [entry, middle, leaf] = [Layer::Entry, Layer::Middle, Layer::Leaf].map(in_layer);
        let summary = format!(
            "{} folders: {} entry, {} middle, {} leaf; {} pairs call each other",
            layers.folders.len(),
            entry.len(),
            middle.len(),
            leaf.len(),
            circles.len()
        );
        let layered = Layered {
            entry_layer: entry,
            leaf_layer: leaf,
            middle_layer_count: middle.len(),
            directory_layers: directories.collect(),
            circular_dependencies: circles,
            summary,
            language,
            precision: language.precision(),
            clock: view.clock(),
        };
        Ok(Answer::one(layered, view.unread()).in_format(cx.caller().format()))
    }
}

fn shown_folder(path: &str) -> String {
    if path.is_empty() { "." } else { path }.to_owned()
}

impl Text for Layered {
    fn text(&self) -> String {
        let wide = self
            .directory_layers
            .iter()
            .map(|d| d.directory.chars().count());
        let wide = wide.max().unwrap_or(0).max("folder".len());
        let mut lines = vec![format!(
            "{:wide$}  layer     functions  calls out  calls in",
            "folder"
        )];
        for folder in &self.directory_layers {
            lines.push(format!(
                "{:wide$}  {:8}  {:9}  {:9}  {:8}",
                folder.directory,
                folder.inferred_layer,
                folder.function_count,
                folder.calls_out,
                folder.calls_in
            ));
        }
        for circle in &self.circular_dependencies {
            lines.push(format!("{} and {} call each other", circle.a, circle.b));
        }
        lines.push(self.summary.clone());
        lines.join("\n")
    }
}
