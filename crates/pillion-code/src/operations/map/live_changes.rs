//! `map.live_changes`: what changed since a commit, line by line and function by function.

use std::path::PathBuf;

use pillion_catalogue::{Context, Offer, Operation, Result, Safety, Scope, wanted, work};
use pillion_index::answers::Answer;
use pillion_index::language::Language;
use pillion_index::text::{Text, shown};
use pillion_index::{MAX_FILE, is_python};
use pillion_map::changed_symbols;
use pillion_map::git::{self, Base, FileDiff, FileStatus, Hunk};
use pillion_symbols::project::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::opened;
use crate::CodeService;

/// The commit that is compared with unless a request says otherwise.
const BASELINE: &str = "HEAD";

/// Show what changed since a commit: lines, and the functions and classes they belong to.
///
/// Committed, staged or neither; files that git does not know yet count as added.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct LiveChanges {
    /// The commit to compare with; `HEAD` if not given.
    #[arg(long, value_name = "COMMIT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The project: a folder.
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The language.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// What changed since a commit.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// The project's folder.
    pub project: String,
    /// What was compared with.
    pub baseline: String,
    /// The files that changed, sorted; also those of other languages.
    pub changes: Vec<LiveChange>,
    /// How many files changed.
    pub total_files: usize,
    /// How many functions and classes are affected.
    pub total_symbols_affected: usize,
    /// Whether so much changed that the lines of some files are not told.
    pub truncated: bool,
    /// The language.
    pub language: Language,
    /// The moment this is true for.
    pub clock: String,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveChange {
    /// The file; where it was, if it is gone.
    pub file: String,
    /// Where it was before, if that is another place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_file: Option<String>,
    /// What happened to it.
    pub status: ChangeStatus,
    /// The lines that differ.
    pub hunks: Vec<LiveHunk>,
    /// The functions and classes they belong to; a class only if none of its methods is.
    pub symbols_affected: Vec<AffectedSymbol>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeStatus {
    /// Lines of it are other ones.
    Modified,
    /// It was not there.
    Added,
    /// It is gone.
    Deleted,
    /// It was somewhere else.
    Renamed,
}

/// Old lines that became new ones, as git counts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveHunk {
    /// The first of the old lines.
    pub old_start: u32,
    /// How many they were.
    pub old_count: u32,
    /// The first of the new lines.
    pub new_start: u32,
    /// How many they are.
    pub new_count: u32,
}

/// A function or class that a change affects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AffectedSymbol {
    /// Its name: `Class.method`.
    pub name: String,
    /// `function`, `method`, `property` or `class`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The line of its name; where it was, if it is gone.
    pub line: u32,
    /// Whether it is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

impl Operation for LiveChanges {
    const NAME: &'static str = "map.live_changes";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Project;
    const FORMATS: bool = true;
    const OFFER: Offer = Offer::PLAIN
        .tool("live_changes", 9)
        .old("live_changes", &[]);
    type Service = CodeService;
    type Output = Answer<Live>;

    fn text(result: &str) -> Option<String> {
        shown::<Self>(result)
    }

    async fn run(self, cx: Context<CodeService>) -> Result<Answer<Live>> {
        let (view, language) =
            opened(&cx, self.project.as_ref(), self.language, cx.caller()).await?;
        let baseline = self.baseline.as_deref().unwrap_or(BASELINE);
        let compared = git::changed_since(view.root(), Base::Named(baseline)).await?;
        let seen = view.clone();
        let read = work(move |token| {
            let files = compared.files.iter();
            // What is ignored here is no part of the project, whatever git says.
            let is_part = |file: &&FileDiff| {
                file.status == FileStatus::Deleted
                    || seen.snapshot.files().get(&file.path).is_some()
            };
            files
                .filter(is_part)
                .map(|file| wanted(token).map(|()| live(&seen, file)))
                .collect::<Result<_>>()
        });
        let changes: Vec<LiveChange> = read.await??;
        let live = Live {
            project: view.root().display().to_string(),
            baseline: baseline.to_owned(),
            total_files: changes.len(),
            total_symbols_affected: changes.iter().map(|c| c.symbols_affected.len()).sum(),
            truncated: compared.is_cut,
            changes,
            language,
            clock: view.clock(),
        };
        Ok(Answer::one(live, view.unread()).in_format(cx.caller().format()))
    }
}

fn live(view: &View, file: &FileDiff) -> LiveChange {
    let old_path = file.old_path.as_ref().unwrap_or(&file.path);
    let text = text_now(view, file);
    let mut hunks = file.hunks.clone();
    if let (FileStatus::Added, true, Some(text)) = (file.status, hunks.is_empty(), &text) {
        hunks.extend(all_of(text));
    }
    let read = text.as_deref().filter(|_| !is_python(&file.path));
    let other = read.and_then(|text| changed_symbols::facts_of(text, &file.path));
    let now = view.index.get(&file.path).or(other.as_ref());
    let before = match file.status {
        FileStatus::Added => None,
        _ => changed_symbols::facts_before(text.as_deref().unwrap_or_default(), &hunks, old_path),
    };
    let symbols = changed_symbols::touched(now, before.as_ref(), &hunks);
    LiveChange {
        file: file.path.clone(),
        old_file: file.old_path.clone(),
        status: match file.status {
            FileStatus::Modified => ChangeStatus::Modified,
            FileStatus::Added => ChangeStatus::Added,
            FileStatus::Deleted => ChangeStatus::Deleted,
            FileStatus::Renamed => ChangeStatus::Renamed,
        },
        hunks: hunks.iter().map(LiveHunk::of).collect(),
        symbols_affected: symbols.into_iter().map(AffectedSymbol::of).collect(),
    }
}

/// The text of a file, if it is one that is worth reading.
fn text_now(view: &View, file: &FileDiff) -> Option<String> {
    let known = view.snapshot.files().get(&file.path)?;
    if known.stamp.size > MAX_FILE {
        return None;
    }
    let source = view.source(file.path.as_ref())?;
    Some(source.text().to_owned()).filter(|text| !text.contains('\0'))
}

/// A file that git does not know yet: all of its lines are new.
fn all_of(text: &str) -> Option<Hunk> {
    let new_count = u32::try_from(text.lines().count()).ok()?;
    (new_count > 0).then(|| Hunk {
        old_start: 0,
        old_count: 0,
        new_start: 1,
        new_count,
        removed: Vec::new(),
    })
}

impl LiveHunk {
    fn of(hunk: &Hunk) -> Self {
        Self {
            old_start: hunk.old_start,
            old_count: hunk.old_count,
            new_start: hunk.new_start,
            new_count: hunk.new_count,
        }
    }
}

impl AffectedSymbol {
    fn of(one: changed_symbols::ChangedSymbol) -> Self {
        Self {
            name: one.name,
            kind: one.kind.to_owned(),
            line: one.line,
            gone: one.is_gone,
        }
    }
}

impl Text for Live {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for change in &self.changes {
            let status = match change.status {
                ChangeStatus::Modified => "M",
                ChangeStatus::Added => "A",
                ChangeStatus::Deleted => "D",
                ChangeStatus::Renamed => "R",
            };
            let from = change.old_file.as_ref();
            let from = from.map_or_else(String::new, |old| format!("  (was {old})"));
            let added: u32 = change.hunks.iter().map(|h| h.new_count).sum();
            let removed: u32 = change.hunks.iter().map(|h| h.old_count).sum();
            lines.push(format!(
                "{status} {}{from}  +{added} -{removed}",
                change.file
            ));
            for symbol in &change.symbols_affected {
                let gone = if symbol.gone { "  (gone)" } else { "" };
                let AffectedSymbol {
                    name, kind, line, ..
                } = symbol;
                lines.push(format!("    {line}  {kind} {name}{gone}"));
            }
        }
        lines.push(format!(
            "{} files differ from {}, {} functions and classes",
            self.total_files, self.baseline, self.total_symbols_affected
        ));
        if self.truncated {
            lines.push("the lines of some files are not told: too much changed".to_owned());
        }
        lines.join("\n")
    }
}
