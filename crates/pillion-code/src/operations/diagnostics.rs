//! `code.diagnostics`: what ty and ruff find wrong.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::{StreamExt, stream};
use pillion_catalogue::{Caller, Code, Context, Error, Offer, Operation, Result, Safety, Scope};
use pillion_engines::finding::{Finding, Severity};
use pillion_engines::ruff;
use pillion_index::answers::Answer;
use pillion_index::is_python;
use pillion_index::place;
use pillion_index::text::{Text, rest, shown};
use pillion_map::git;
use pillion_symbols::ask::{EngineView, span};
use pillion_symbols::project::View;
use pillion_workspace::{ChangeKind, Changes, Clock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CodeService;
use crate::params::limit;

/// What do ty and ruff find wrong?
///
/// In a file, in a folder, in what git sees as changed, or in what changed since the clock of
/// an earlier answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Diagnostics {
    /// The file or folder; what git sees as changed if nothing is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// What changed since this clock, which an earlier answer carried.
    #[arg(long, value_name = "CLOCK", conflicts_with = "path")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only errors, not warnings and advice.
    #[arg(long)]
    #[serde(default)]
    pub errors_only: bool,
    /// At most so many.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// What is wrong.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// By file and line.
    pub diagnostics: Vec<Finding>,
    /// How many there are.
    pub total: usize,
    /// How many of them are errors.
    #[serde(default)]
    pub errors: usize,
    /// How many of them are warnings.
    #[serde(default)]
    pub warnings: usize,
    /// Whether `limit` cut some off.
    pub truncated: bool,
    /// Files that were checked.
    pub files: usize,
    /// Whether there were more files than are checked at once.
    pub files_truncated: bool,
    /// The moment this is true for.
    pub clock: String,
}

/// The rule of what cannot be parsed, as both tools call it.
const SYNTAX: &str = "invalid-syntax";
/// Files that are checked at once.
pub(super) const MAX_FILES: usize = 1000;
/// Files that the engine is asked about at the same time.
const AT_ONCE: usize = 8;

impl Operation for Diagnostics {
    const NAME: &'static str = "code.diagnostics";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN.typed("diagnostics", 150).everyday();
    type Service = CodeService;
    type Output = Answer<Findings>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    /// Whoever checks before going on reads the exit code.
    fn is_failure(result: &str) -> bool {
        #[derive(Deserialize)]
        struct Counted {
            errors: usize,
        }
        serde_json::from_str::<Counted>(result).is_ok_and(|counted| counted.errors > 0)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Findings>> {
        let view = CodeService::view(&cx, cx.caller(), self.path.as_deref()).await?;
        let mut files = self.files(&view).await?;
        let all = files.len();
        files.truncate(MAX_FILES);
        let mut diagnostics = of_files(&view, cx.caller(), &files).await?;
        diagnostics.retain(|found| !self.errors_only || found.severity == Severity::Error);
        diagnostics.sort();
        diagnostics.dedup();
        let total = diagnostics.len();
        let of = |severity| {
            diagnostics
                .iter()
                .filter(|f| f.severity == severity)
                .count()
        };
        let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
        diagnostics.truncate(limit(self.limit));
        let findings = Findings {
            errors,
            warnings,
            truncated: diagnostics.len() < total,
            diagnostics,
            total,
            files: files.len(),
            files_truncated: files.len() < all,
            clock: view.clock(),
        };
        Ok(Answer::one(findings, view.unread()).in_format(cx.caller().format()))
    }
}

impl Diagnostics {
    /// The Python files that are meant.
    async fn files(&self, view: &View) -> Result<Vec<Arc<str>>> {
        let index = &view.index;
        let known = |path: &str| index.iter().find(|(known, _)| &***known == path);
        let named = |paths: Vec<String>| {
            let mut files: Vec<Arc<str>> = paths
                .iter()
                .filter(|path| is_python(path))
                .filter_map(|path| Some(Arc::clone(known(path)?.0)))
                .collect();
            files.sort();
            files.dedup();
            files
        };
        if let Some(path) = &self.path {
            let path = place::inside(view.root(), path)?;
            let below = |file: &str| {
                let rest = file.strip_prefix(&*path);
                path.is_empty() || rest.is_some_and(|r| r.is_empty() || r.starts_with('/'))
            };
            let files = index
                .iter()
                .map(|(file, _)| file)
                .filter(|file| below(file));
            return Ok(files.cloned().collect());
        }
        if let Some(since) = &self.since {
            let clock: Clock = since.parse().map_err(|_| {
                Error::new(Code::InvalidParams, format!("`{since}` is no clock"))
                    .hint("take it from the `clock` of an earlier answer")
            })?;
            return match view.snapshot.changes_since(Some(clock)) {
                Changes::These(changes) => Ok(named(
                    changes
                        .into_iter()
                        .filter(|change| change.kind != ChangeKind::Deleted)
                        .map(|change| change.path.to_string())
                        .collect(),
                )),
                Changes::Everything => Err(Error::new(
                    Code::Conflict,
                    "that clock is too old: nobody knows any more what changed since",
                )
                .hint("name a `path`, or leave `since` out")),
            };
        }
        Ok(named(git::changed(view.root()).await?))
    }
}

/// Both tools tell of the same syntax error: it is one.
fn once_for_each_place(diagnostics: &mut Vec<Finding>) {
    let mut seen: HashSet<(String, u32, u32)> = HashSet::new();
    diagnostics.retain(|found| {
        found.code.as_deref() != Some(SYNTAX)
            || seen.insert((found.file.clone(), found.line, found.column))
    });
}

/// What ty and ruff find in these files.
pub(super) async fn of_files(
    view: &View,
    caller: &Caller,
    files: &[Arc<str>],
) -> Result<Vec<Finding>> {
    let engine = view.engine(None, caller).await?;
    // These would be the end of both.
    let is_too_deep = |file: &Arc<str>| view.index.get(file).is_some_and(|f| f.is_too_deep);
    let (deep, files): (Vec<_>, Vec<_>) = files.iter().cloned().partition(is_too_deep);
    let (typed, linted) = tokio::try_join!(
        typed(&engine, &files),
        ruff::check(
            view.project.engines().dirs(),
            &view.snapshot,
            view.root(),
            &files,
            engine.timeout
        )
    )?;
    let unread = deep.iter().flat_map(|file| unread(view, file));
    let all = linted.into_iter().chain(typed).chain(unread);
    let mut all: Vec<Finding> = all.collect();
    once_for_each_place(&mut all);
    Ok(all)
}

/// What is wrong with a file that no tool is asked about.
fn unread<'a>(view: &'a View, file: &'a Arc<str>) -> impl Iterator<Item = Finding> + 'a {
    let errors = view.index.get(file).map(|facts| &facts.parse_errors);
    errors.into_iter().flatten().map(move |error| Finding {
        file: file.to_string(),
        line: error.line,
        column: error.column,
        end_line: error.line,
        end_column: error.column,
        severity: Severity::Error,
        code: Some(SYNTAX.into()),
        message: error.message.clone(),
        source: "pillion".into(),
    })
}

async fn typed(engine: &EngineView, files: &[Arc<str>]) -> Result<Vec<Finding>> {
    let server = engine.server()?;
    let found: Vec<Result<Vec<Finding>>> = stream::iter(files.to_vec())
        .map(|file| async move {
            let path: PathBuf = engine.absolute(&file);
            let found = server.diagnostics(Path::new(&path), engine.timeout).await?;
            // What is of no rule is shading for editors: unused parameters, code that this
            // system does not reach.
            let found = found
                .into_iter()
                .filter(|found| found.code.is_some() || found.severity <= 2);
            let found = found.map(|diagnostic| {
                let at = span(diagnostic.range);
                Finding {
                    file: file.to_string(),
                    line: at.start.line + 1,
                    column: at.start.column + 1,
                    end_line: at.end.line + 1,
                    end_column: at.end.column + 1,
                    severity: match diagnostic.severity {
                        1 => Severity::Error,
                        2 => Severity::Warning,
                        _ => Severity::Info,
                    },
                    code: diagnostic.code,
                    message: diagnostic.message,
                    source: engine.name().into(),
                }
            });
            Ok(found.collect())
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let found: Vec<Vec<Finding>> = found.into_iter().collect::<Result<_>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// A message in one line, without what its tool adds about its own search.
pub(super) fn summary(message: &str) -> String {
    let lines = message.lines();
    let own = lines.take_while(|line| !line.trim_start().starts_with("info:"));
    let words: Vec<&str> = own.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

impl Text for Findings {
    fn text(&self) -> String {
        let mut lines: Vec<String> = self
            .diagnostics
            .iter()
            .map(|found| {
                let severity = match found.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Info => "info",
                };
                let code = found.code.as_deref().unwrap_or("-");
                let message = summary(&found.message);
                format!(
                    "{}:{}:{}  {severity}  {message}  [{} {code}]",
                    found.file, found.line, found.column, found.source
                )
            })
            .collect();
        lines.extend(rest(self.total, self.diagnostics.len()));
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let files = counted(self.files, "file");
        let others = self.total.saturating_sub(self.errors + self.warnings);
        let mut parts = vec![
            counted(self.errors, "error"),
            counted(self.warnings, "warning"),
        ];
        if others > 0 {
            parts.push(format!("{others} other"));
        }
        lines.push(match self.total {
            0 if self.files == 0 => "nothing was checked: no Python file is there, or none has \
                                     changed; name a file or a folder"
                .into(),
            0 => format!("nothing wrong in {files}"),
            _ => format!("{} in {files}", parts.join(", ")),
        });
        if self.files_truncated {
            lines.push("there are more files than are checked at once: name a folder".into());
        }
        lines.join("\n")
    }
}
