//! `map.impact`: who is affected if a function changes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pillion_catalogue::{Code, Context, Offer, Operation, Profile, Result, Safety, Scope};
use pillion_index::answers::Answer;
use pillion_index::language::{Language, Precision};
use pillion_index::text::{Text, shown};
use pillion_map::{Graph, ImpactTree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::target::targets;
use super::{Certainty, TypesAsked, of_graph, opened, typed};
use crate::CodeService;
use crate::inquiry::Wanted;
use crate::params::written_here;

/// How deep trees are unless a request says otherwise, and how deep they can be.
const DEPTH: usize = 3;
const MAX_DEPTH: usize = 50;

/// Show who is affected if a function changes: its callers, and their callers.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Impact {
    /// The function or class: a name such as `func`, `Class.method`, `pkg.mod.func` or
    /// `file:func`, or a place such as `pkg/mod.py:12:5`; all that have the name.
    #[arg(value_parser = written_here)]
    #[serde(alias = "at")]
    pub target: String,
    /// The file it is in, if several have the name.
    #[arg(long, value_name = "FILE")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_file: Option<String>,
    /// Answer as an older contract says.
    #[arg(skip)]
    #[schemars(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old: bool,
    /// How many callers away.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<usize>,
    /// Whether the engine is asked where the code does not say what a method is called on.
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

/// Who is affected.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Impacts {
    /// A tree of callers for each function that is meant, by `file:func`.
    pub targets: BTreeMap<String, Affected>,
    /// How many functions are meant.
    pub total_targets: usize,
    /// The language.
    pub language: Language,
    /// How its edges are found, in languages other than Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// What the engine's types added, in Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<TypesAsked>,
    /// The moment this is true for.
    pub clock: String,
}

/// A function, and who calls it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Affected {
    /// The function.
    pub function: String,
    /// Its file.
    pub file: String,
    /// The line on which it calls the one above; of the first, where it is defined.
    pub line: u32,
    /// How sure it is that it calls the one above.
    pub certainty: Certainty,
    /// How it leads to the one above: `call`, `reference` if it only names it, `override` if
    /// it calls what the one above overrides, `name` if it takes that name from something of
    /// which nobody knows what it is, `operator` if it names the class and an operator may
    /// call it, `base` if it names the class and a base outside of the project may call it,
    /// `definition` if it is defined there; `target` for the first.
    pub via: String,
    /// Whether the code alone does not say so, but the engine's types do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_types: bool,
    /// How many call it.
    pub caller_count: usize,
    /// Its callers.
    pub callers: Vec<Affected>,
    /// Whether callers are left out: it is deep enough, or they are shown elsewhere.
    pub truncated: bool,
}

impl Operation for Impact {
    const NAME: &'static str = "map.impact";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .tool("impact_analysis", 5)
        .contract(Profile::Core)
        .everyday()
        .old("impact", &[("old", "true")]);
    type Service = CodeService;
    type Output = Answer<Impacts>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Impacts>> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, cx.caller()).await?;
        let mapped = view.map(language).await?;
        let target = match &self.target_file {
            Some(file) if !self.target.contains(':') => format!("{file}:{}", self.target),
            _ => self.target,
        };
        let found = targets(&view, &mapped.graph, &target, cx.caller()).await;
        let targets = match found {
            // To an older host this is an answer.
            Err(error) if self.old && error.code == Code::NotFound => {
                let name = target.rsplit(':').next().unwrap_or(&target);
                let what = format!("Function '{name}' not found in call graph");
                return Ok(Answer::Old(serde_json::json!({ "error": what })));
            }
            targets => targets?,
        };
        let depth = self.max_depth.unwrap_or(DEPTH).min(MAX_DEPTH);
        let wanted = || Wanted::Users {
            of: targets.clone(),
            depth,
        };
        let (asked, types) = typed(&view, &mapped, wanted, (self.types, cx.caller())).await;
        let targets = of_graph(&mapped.graph, move |graph, _| {
            let trees = graph.impact(&targets, depth, &asked.types);
            let trees = trees.iter().map(|tree| {
                let place = [graph.path(tree.node), graph.name(tree.node)];
                (place.join(":"), affected(graph, tree))
            });
            trees.collect::<BTreeMap<String, Affected>>()
        });
        let targets = targets.await?;
        let impacts = Impacts {
            total_targets: targets.len(),
            targets,
            language,
            precision: language.precision(),
            types,
            clock: view.clock(),
        };
        Ok(Answer::one(impacts, view.unread()).in_format(cx.caller().format()))
    }
}

fn affected(graph: &Graph, tree: &ImpactTree) -> Affected {
    let via = tree.user.map_or("target", |user| user.via.word());
    Affected {
        function: graph.name(tree.node).to_owned(),
        file: graph.path(tree.node).to_owned(),
        line: match tree.user {
            Some(user) => user.line,
            None => graph.line(tree.node),
        },
        certainty: Certainty::of(tree.user.is_none_or(|user| user.is_sure)),
        via: via.to_owned(),
        by_types: tree.user.is_some_and(|user| user.by_types),
        caller_count: tree.count,
        callers: tree.users.iter().map(|t| affected(graph, t)).collect(),
        truncated: tree.is_cut,
    }
}

impl Text for Impacts {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for target in self.targets.values() {
            let Affected { function, file, .. } = target;
            let count = target.caller_count;
            lines.push(format!(
                "{function}  {file}:{}  ({count} callers)",
                target.line
            ));
            draw(&target.callers, "", &mut lines);
        }
        lines.extend(TypesAsked::text(self.types.as_ref()));
        lines.join("\n")
    }
}

fn draw(callers: &[Affected], indent: &str, lines: &mut Vec<String>) {
    for (at, caller) in callers.iter().enumerate() {
        let is_last = at + 1 == callers.len();
        let (branch, below) = if is_last {
            ("└─", "   ")
        } else {
            ("├─", "│  ")
        };
        let mark = match caller.certainty {
            Certainty::Resolved => "",
            Certainty::Possible => "? ",
        };
        let more = if caller.truncated {
            format!("  (+{} callers)", caller.caller_count)
        } else {
            String::new()
        };
        let Affected {
            function,
            file,
            line,
            ..
        } = caller;
        lines.push(format!(
            "{indent}{branch} {mark}{function}  {file}:{line}{more}"
        ));
        draw(&caller.callers, &format!("{indent}{below}"), lines);
    }
}
