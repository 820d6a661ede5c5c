//! `code.codemod`: rewrite code by rules.

use std::path::{Path, PathBuf};

use pillion_catalogue::{
    Code, Context, Error, Method, Offer, Operation, Result, Route, Safety, Scope, work,
};
use pillion_changes::Patched;
use pillion_index::answers::Answer;
use pillion_index::place;
use pillion_index::text::{Text, rest, shown};
use pillion_refactor::Refactored;
use pillion_refactor::codemod::{self, CodemodMatch};
use pillion_refactor::organize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deliver::deliver;
use super::refactoring::{Writing, set_of};
use crate::CodeService;
use crate::params::limit;

/// Find and rewrite code by ast-grep rules.
///
/// A rule without a `fix` only finds. Several rules are separated by `---`; all of them match
/// the files as they are.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Codemod {
    /// A file with rules in YAML.
    #[arg(required_unless_present = "rule")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_file: Option<PathBuf>,
    /// The rules themselves, instead of a file.
    #[arg(long, conflicts_with = "rule_file")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Only in this file or folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// At most so many matches in the answer; all are rewritten.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    #[command(flatten)]
    #[serde(flatten)]
    #[expect(missing_docs, reason = "it has no name outside")]
    pub writing: Writing,
}

/// What the rules found, and the change that they make.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Rewriting {
    /// The places, by file.
    pub matches: Vec<CodemodMatch>,
    /// How many there are.
    pub total: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// Fixes left out because they overlap an earlier one.
    pub skipped: usize,
    /// The change.
    #[serde(flatten)]
    pub change: Patched,
}

/// Bytes of a file with rules.
const MAX_RULES: u64 = 1 << 20;

impl Operation for Codemod {
    const NAME: &'static str = "code.codemod";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .typed("codemod", 240)
        .routes(&[Route::older(Method::Post, "/codemod")]);
    type Service = CodeService;
    type Output = Answer<Rewriting>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Rewriting>> {
        let view = CodeService::view(&cx, cx.caller(), self.path.as_deref()).await?;
        let rules = self.rules(view.root())?;
        let path = match &self.path {
            Some(path) => place::inside(view.root(), path)?,
            None => String::new(),
        };
        let files = organize::below(view.index.iter().map(|(file, _)| file), Path::new(&path));
        let (root, max) = (view.root().to_owned(), limit(self.limit));
        let rewrite = work(move |_| codemod::CodemodRules::read(&rules)?.run(&root, &files, max));
        let done = rewrite.await??;
        let set = set_of(
            &view,
            Refactored {
                files: done.files,
                warnings: done.warnings,
            },
        )
        .await?;
        let Writing {
            output_format,
            apply,
            diff,
        } = self.writing;
        let mut change = deliver(&view, set, output_format, apply, "codemod").await?;
        change.with_diff = diff;
        let answer = Rewriting {
            matches: done.matches,
            total: done.total,
            truncated: done.truncated,
            skipped: done.skipped,
            change,
        };
        Ok(Answer::one(answer, view.unread()).in_format(cx.caller().format()))
    }
}

impl Codemod {
    fn rules(&self, root: &Path) -> Result<String> {
        let file = match (&self.rule, &self.rule_file) {
            (Some(rule), None) if rule.len() as u64 <= MAX_RULES => return Ok(rule.clone()),
            (Some(_), None) => {
                let what = "`rule` is longer than 1 MiB";
                return Err(Error::new(Code::InvalidParams, what));
            }
            (None, Some(file)) => root.join(file),
            _ => {
                return Err(Error::new(
                    Code::InvalidParams,
                    "name a `rule_file`, or send a `rule`",
                ));
            }
        };
        let fits = std::fs::metadata(&file).is_ok_and(|meta| meta.len() <= MAX_RULES);
        let text = fits.then(|| std::fs::read_to_string(&file).ok()).flatten();
        text.ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("`{}` is no file of rules that can be read", file.display()),
            )
            .hint("rules are YAML, at most 1 MiB")
        })
    }
}

impl Text for Rewriting {
    fn text(&self) -> String {
        let mut parts: Vec<String> = self
            .matches
            .iter()
            .map(|found| {
                let first = found.text.lines().next().unwrap_or_default();
                format!(
                    "{}:{}:{}  {}  {first}",
                    found.file, found.line, found.column, found.rule
                )
            })
            .collect();
        parts.extend(rest(self.total, self.matches.len()));
        if self.total == 0 {
            parts.push("nothing found".into());
        }
        if !self.change.files.is_empty() {
            parts.push(self.change.text());
        }
        parts.join("\n")
    }
}
