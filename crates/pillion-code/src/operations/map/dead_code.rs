//! `map.dead_code`: functions that nobody reaches.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope};
use pillion_index::answers::Answer;
use pillion_index::language::{Language, Precision};
use pillion_index::text::{Text, shown};
use pillion_map::template_words;
use pillion_symbols::project::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target::targets;
use super::{of_graph, opened};
use crate::CodeService;
use crate::params::{limit, written_here};

/// Files of a project that name functions without being source.
const CONFIGURATIONS: &[&str] = &[
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pillion.toml",
    "package.json",
];
/// Longer ones are not read.
const MAX_CONFIGURATION: u64 = 1 << 20;

/// Find functions that nobody reaches.
///
/// Alive are tests, special methods, what is offered in `__all__` or by a package, what has
/// a decorator that may keep it, methods below classes from elsewhere, and what is named in
/// a string, in the project's configuration or on something unknown; and all that they use.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct DeadCode {
    /// Also alive: names such as `func`, `Class.method`, `pkg.mod.func` or `file:func`, or places.
    #[arg(value_name = "ENTRY_POINT", value_parser = written_here)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry_points: Vec<String>,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// Functions that nobody reaches.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Dead {
    /// The functions, by file and place.
    pub dead_functions: Vec<DeadFunction>,
    /// Their names by file.
    pub by_file: BTreeMap<String, Vec<String>>,
    /// How many are dead.
    pub total_dead: usize,
    /// How many functions there are.
    pub total_functions: usize,
    /// How many of a hundred are dead.
    pub dead_percentage: f64,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The language.
    pub language: Language,
    /// How its edges are found, in languages other than Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The moment this is true for.
    pub clock: String,
}

/// A function that nobody reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadFunction {
    /// Its file.
    pub file: String,
    /// Its name: `Class.method`.
    pub function: String,
    /// The line of its name.
    pub line: u32,
    /// How sure that is: `likely` if its name is for others, too, who may be elsewhere.
    pub certainty: DeadCertainty,
}

/// How sure it is that nobody needs a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeadCertainty {
    /// It is private, and nothing in the project leads to it, nor does what others may use.
    Sure,
    /// Nothing in the project leads to it; others may use it.
    Likely,
}

impl DeadCertainty {
    fn word(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Likely => "likely",
        }
    }
}

impl Operation for DeadCode {
    const NAME: &'static str = "map.dead_code";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.old("dead_code", &[("limit", "100000")]);
    type Service = CodeService;
    type Output = Answer<Dead>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Dead>> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, cx.caller()).await?;
        let graph = view.map(language).await?.graph;
        let mut given = Vec::new();
        for entry in &self.entry_points {
            given.extend(targets(&view, &graph, entry, cx.caller()).await?);
        }
        let root = view.root().to_owned();
        let templates = match language {
            Language::Python => templates(&view),
            _ => Vec::new(),
        };
        let dead = of_graph(&graph, move |graph, _| {
            let mut words = mentioned(&root);
            words.extend(templates.iter().flat_map(|path| written(&root.join(path))));
            graph.dead(&given, &words)
        });
        let (dead, total_functions) = dead.await?;
        let total_dead = dead.len();
        let functions: Vec<DeadFunction> = dead
            .into_iter()
            .take(limit(self.limit))
            .map(|found| DeadFunction {
                file: graph.path(found.node).to_owned(),
                function: graph.name(found.node).to_owned(),
                line: graph.line(found.node),
                certainty: match found.is_sure {
                    true => DeadCertainty::Sure,
                    false => DeadCertainty::Likely,
                },
            })
            .collect();
        let mut by_file: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for dead in &functions {
            let names = by_file.entry(dead.file.clone()).or_default();
            names.push(dead.function.clone());
        }
        let share = total_dead as f64 * 100.0 / total_functions.max(1) as f64;
        let dead = Dead {
            truncated: functions.len() < total_dead,
            dead_functions: functions,
            by_file,
            total_dead,
            total_functions,
            dead_percentage: (share * 10.0).round() / 10.0,
            language,
            precision: language.precision(),
            clock: view.clock(),
        };
        Ok(Answer::one(dead, view.unread()).in_format(cx.caller().format()))
    }
}

/// What templates are written in.
const TEMPLATES: &[&str] = &["html", "htm", "txt", "xml", "jinja", "jinja2", "j2", "tpl"];

/// The templates of a project.
fn templates(view: &View) -> Vec<String> {
    let files = view.snapshot.files().iter();
    let is_template = |path: &str| {
        let end = path.rsplit_once('.').map_or("", |(_, end)| end);
        TEMPLATES.contains(&end)
    };
    let all = files.filter(|file| is_template(&file.path));
    all.map(|file| file.path.to_string()).collect()
}

/// The names that a template takes from what it is given.
fn written(path: &Path) -> HashSet<String> {
    let is_small = |meta: std::fs::Metadata| meta.len() <= MAX_CONFIGURATION;
    if !std::fs::metadata(path).is_ok_and(is_small) {
        return HashSet::new();
    }
    let text = std::fs::read_to_string(path).unwrap_or_default();
    template_words(&text).map(ToOwned::to_owned).collect()
}

/// The words of the project's configuration: entry points are among them.
fn mentioned(root: &Path) -> HashSet<String> {
    let mut words = HashSet::new();
    for name in CONFIGURATIONS {
        let path = root.join(name);
        let is_small = |meta: std::fs::Metadata| meta.len() <= MAX_CONFIGURATION;
        if !std::fs::metadata(&path).is_ok_and(is_small) {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let all = text.split(|c: char| c != '_' && !c.is_alphanumeric());
        words.extend(all.filter(|word| !word.is_empty()).map(ToOwned::to_owned));
    }
    words
}

impl Text for Dead {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut file = "";
        for dead in &self.dead_functions {
            if dead.file != file {
                file = &dead.file;
                lines.push(file.to_owned());
            }
            let sure = dead.certainty.word();
            lines.push(format!("  {}  {}  {sure}", dead.line, dead.function));
        }
        lines.push(format!(
            "{} of {} functions are not reached ({} %)",
            self.total_dead, self.total_functions, self.dead_percentage
        ));
        lines.extend(pillion_index::text::rest(
            self.total_dead,
            self.dead_functions.len(),
        ));
        lines.join("\n")
    }
}
