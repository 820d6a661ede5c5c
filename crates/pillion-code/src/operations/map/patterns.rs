//! `map.patterns`: what the classes and functions of a project are for.

use std::path::PathBuf;

use pillion_catalogue::{Context, Error, Offer, Operation, Profile, Result, Safety, Scope, work};
use pillion_index::answers::Answer;
use pillion_index::language::Language;
use pillion_index::text::{Text, rest, shown};
use pillion_map::patterns::{Pattern, of_contract, programs, scripts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::opened;
use crate::CodeService;
use crate::params::limit;

/// Find patterns in code: observers, registries, middleware, handlers, entry points and more.
///
/// Rules look at what the code does; `confidence` says how sure they are.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Patterns {
    /// Only these, by their types.
    #[arg(value_name = "TYPE")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Only those that are at least so sure, from 0 to 1.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_confidence: Option<f64>,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Look again: for callers that know it from elsewhere. What changed is always seen.
    #[arg(long, hide = true)]
    #[serde(default)]
    pub refresh: bool,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language; `auto` if not given.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// Patterns of a project.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FoundPatterns {
    /// The project's folder.
    pub project: String,
    /// The language.
    pub language: Language,
    /// The patterns, by type and place.
    pub patterns: Vec<FoundPattern>,
    /// How many there are.
    pub total_patterns: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// The moment this is true for.
    pub clock: String,
}

/// A pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundPattern {
    /// What it is, such as `observer` or `http_handler`; `http_handlers` stands for all of a
    /// file.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it is: `file:line`.
    pub location: String,
    /// How sure that is, from 0 to 1.
    pub confidence: f64,
    /// What was seen.
    pub description: String,
}

impl From<&Pattern> for FoundPattern {
    fn from(pattern: &Pattern) -> Self {
        Self {
            kind: pattern.kind.to_owned(),
            location: match matches!(pattern.kind, "plugin_skills" | "plugin_hooks") {
                true => pattern.file.to_string(),
                false => format!("{}:{}", pattern.file, pattern.line),
            },
            confidence: f64::from(pattern.confidence) / 100.0,
            description: pattern.description.clone(),
        }
    }
}

impl Operation for Patterns {
    const NAME: &'static str = "map.patterns";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .tool("detect_patterns", 8)
        .contract(Profile::Core)
        .old("detect_patterns", &[("limit", "100000")]);
    type Service = CodeService;
    type Output = Answer<FoundPatterns>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<FoundPatterns>> {
        let language = self.language.unwrap_or(Language::Auto);
        let (view, language) =
            opened(&cx, self.project.as_ref(), Some(language), cx.caller()).await?;
        let seen = view.clone();
        let find = work(move |token| {
            let (maps, root) = (&seen.maps, seen.root());
            Ok::<_, Error>(match language {
                Language::Python => {
                    let patterns = maps.patterns.follow(&seen.index, root, token)?;
                    (patterns, scripts(root))
                }
                other => {
                    let leaves = maps.trees.follow(other, &seen.snapshot, token)?;
                    (leaves.patterns, programs(other, root))
                }
            })
        });
        let (all, scripts) = find.await??;
        let mut all: Vec<&Pattern> = all.iter().chain(&scripts).collect();
        let of_contract = of_contract(view.root(), &all);
        all.extend(&of_contract);
        all.sort();
        let least = self.min_confidence.unwrap_or(0.0);
        let is_meant = |one: &&Pattern| {
            let is_named = self.types.is_empty() || self.types.iter().any(|t| t == one.kind);
            is_named && f64::from(one.confidence) / 100.0 >= least
        };
        all.retain(is_meant);
        let (total, most) = (all.len(), limit(self.limit));
        let patterns = all.into_iter().take(most);
        let found = FoundPatterns {
            project: view.root().display().to_string(),
            language,
            patterns: patterns.map(FoundPattern::from).collect(),
            total_patterns: total,
            truncated: most < total,
            clock: view.clock(),
        };
        Ok(Answer::one(found, view.unread()).in_format(cx.caller().format()))
    }
}

impl Text for FoundPatterns {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut kind = "";
        for pattern in &self.patterns {
            if pattern.kind != kind {
                kind = &pattern.kind;
                lines.push(kind.to_owned());
            }
            lines.push(format!(
                "  {:.2}  {}  {}",
                pattern.confidence, pattern.location, pattern.description
            ));
        }
        lines.extend(rest(self.total_patterns, self.patterns.len()));
        lines.push(format!("{} patterns", self.total_patterns));
        lines.join("\n")
    }
}
