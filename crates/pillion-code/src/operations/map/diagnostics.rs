//! `map.diagnostics`: what ty and ruff find wrong in a whole project; of other languages than
//! Python, what is no syntax.

use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::{Caller, Context, Offer, Operation, Result, Safety, Scope, work};
use pillion_engines::finding::{Finding, Severity};
use pillion_index::answers::Answer;
use pillion_index::language::Language;
use pillion_index::text::{Text, rest, shown};
use pillion_symbols::project::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::diagnostics::{MAX_FILES, of_files, summary};
use super::{below, is_below, opened};
use crate::CodeService;
use crate::maps::MappedView;
use crate::params::limit;

/// Who says what is no syntax, of other languages than Python.
const SYNTAX: &str = "tree-sitter";

/// Show what ty and ruff find wrong in a project.
///
/// Of other languages than Python only the syntax is checked, by tree-sitter.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ProjectDiagnostics {
    /// Only this file or folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
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

/// What is wrong in a project.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosed {
    /// The project's folder.
    pub project: String,
    /// The language.
    pub language: Language,
    /// Who was asked.
    pub tools: Vec<String>,
    /// What is wrong, by file and line.
    pub diagnostics: Vec<Diagnosis>,
    /// How many errors there are.
    pub error_count: usize,
    /// How many warnings there are.
    pub warning_count: usize,
    /// How many files were checked.
    pub file_count: usize,
    /// How many there are of all, also mere advice.
    pub total: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// Whether there were more files than are checked at once.
    pub files_truncated: bool,
    /// The moment this is true for.
    pub clock: String,
}

/// Something wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The rule.
    pub rule: Option<String>,
    /// Who says so.
    pub source: String,
}

impl From<Finding> for Diagnosis {
    fn from(found: Finding) -> Self {
        Self {
            file: found.file,
            line: found.line,
            column: found.column,
            severity: found.severity,
            message: found.message,
            rule: found.code,
            source: found.source,
        }
    }
}

impl Operation for ProjectDiagnostics {
    const NAME: &'static str = "map.diagnostics";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.old("diagnostics", &[("limit", "100000")]);
    type Service = CodeService;
    type Output = Answer<Diagnosed>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    /// Whoever checks before going on reads the exit code.
    fn is_failure(result: &str) -> bool {
        #[derive(Deserialize)]
        struct Counted {
            error_count: usize,
        }
        serde_json::from_str::<Counted>(result).is_ok_and(|counted| counted.error_count > 0)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Diagnosed>> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, cx.caller()).await?;
        let only = below(&view, self.path.as_deref())?;
        let Checked {
            tools,
            mut found,
            files,
            all,
        } = match language {
            Language::Python => self.python(&view, cx.caller(), &only).await?,
            other => syntax(&view, other, only).await?,
        };
        let count = |severity| found.iter().filter(|f| f.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let total = found.len();
        found.truncate(limit(self.limit));
        let diagnosed = Diagnosed {
            project: view.root().display().to_string(),
            language,
            tools,
            truncated: found.len() < total,
            diagnostics: found,
            error_count: errors,
            warning_count: warnings,
            file_count: files,
            total,
            files_truncated: files < all,
            clock: view.clock(),
        };
        Ok(Answer::one(diagnosed, view.unread()).in_format(cx.caller().format()))
    }
}

/// What was found in which files.
struct Checked {
    tools: Vec<String>,
    /// By file and place.
    found: Vec<Diagnosis>,
    /// How many files were checked, and how many there are.
    files: usize,
    all: usize,
}

impl ProjectDiagnostics {
    /// What ruff and the type checker say.
    async fn python(&self, view: &View, caller: &Caller, only: &str) -> Result<Checked> {
        let files = view.index.iter().map(|(file, _)| file);
        let mut files: Vec<Arc<str>> = files.filter(|f| is_below(f, only)).cloned().collect();
        let all = files.len();
        files.truncate(MAX_FILES);
        let engine = view.engine(None, caller).await?;
        let mut found = of_files(view, caller, &files).await?;
        found.sort();
        found.dedup();
        let mut tools = vec!["ruff".to_owned(), engine.name().to_owned()];
        tools.sort();
        Ok(Checked {
            tools,
            found: found.into_iter().map(Diagnosis::from).collect(),
            files: files.len(),
            all,
        })
    }
}

/// What is no syntax in the files of another language.
async fn syntax(view: &MappedView, language: Language, only: String) -> Result<Checked> {
    let view = view.clone();
    let check = work(move |token| {
        let trees = &view.maps.trees;
        let leaves = trees.follow(language, &view.snapshot, token)?;
        let files = leaves.files.iter().filter(|file| is_below(file, &only));
        let files = files.count();
        let wrong = leaves.mistakes.iter();
        let wrong = wrong.filter(|(file, _)| is_below(file, &only));
        let found = wrong.map(|(file, mistake)| Diagnosis {
            file: file.to_string(),
            line: mistake.line,
            column: mistake.column,
            severity: Severity::Error,
            message: mistake.message.clone(),
            rule: Some("syntax".to_owned()),
            source: SYNTAX.to_owned(),
        });
        Ok(Checked {
            tools: vec![SYNTAX.to_owned()],
            found: found.collect(),
            files,
            all: files,
        })
    });
    check.await?
}

impl Text for Diagnosed {
    fn text(&self) -> String {
        let line = |found: &Diagnosis| {
            let Diagnosis {
                file, line, column, ..
            } = found;
            let severity = match found.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "info",
            };
            let rule = found.rule.as_deref().unwrap_or("-");
            let message = summary(&found.message);
            let source = &found.source;
            format!("{file}:{line}:{column}  {severity}  {message}  [{source} {rule}]")
        };
        let mut lines: Vec<String> = self.diagnostics.iter().map(line).collect();
        lines.extend(rest(self.total, self.diagnostics.len()));
        lines.push(format!(
            "{} errors, {} warnings in {} files ({})",
            self.error_count,
            self.warning_count,
            self.file_count,
            self.tools.join(", ")
        ));
        lines.join("\n")
    }
}
