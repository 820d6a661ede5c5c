//! `notebook.new`, `check`, `clear`, `diff` and `html`: notebook files as a whole, without a
//! kernel.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use pillion_catalogue::{Code, Context, Error, Operation, Result, Safety, Scope, commit, work};
use pillion_lanes::session::WORKSPACE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NotebookService;
use crate::file::{
    self, CellKind, Clearing, KernelMetadata, Links, NewCell, Notebook, Overwrite, Problem, open,
    save, save_text,
};

/// Problems that are told of one file.
const MOST_PROBLEMS: usize = 1000;

/// A file as the caller means it: relative ones from the project's folder.
pub(super) fn place(cx: &Context<NotebookService>, path: &Path) -> Result<PathBuf> {
    match path.as_os_str().is_empty() {
        true => Err(Error::new(Code::InvalidParams, "`path` is empty")),
        false if path.is_absolute() => Ok(path.to_owned()),
        false => Ok(cx.folder()?.join(path)),
    }
}

/// A file as the caller of a session means it. Where sessions are conversations of a desktop
/// app, a name without folders is a file of the session's workspace. Code of the learner can put
/// anything there, so a link is no file of it.
pub(super) fn place_in_session(
    cx: &Context<NotebookService>,
    session: Option<&str>,
    path: &Path,
) -> Result<(PathBuf, Links)> {
    let executor = cx.service().kernels().executor();
    let conversation = session.and_then(|session| Some((session, executor.conversation(session)?)));
    let Some((session, folder)) = conversation.filter(|_| !path.is_absolute()) else {
        return Ok((place(cx, path)?, Links::Follow));
    };
    executor.check_session(session)?;
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) => {
            Ok((folder.join(WORKSPACE).join(name), Links::Refuse))
        }
        _ => {
            let what = format!("`{}` is no file of the workspace", path.display());
            Err(Error::new(Code::InvalidParams, what)
                .hint("name a notebook of the session's workspace, or an absolute path"))
        }
    }
}

/// Refuse to write a notebook to a file that is called otherwise: it may be anything.
pub(super) fn is_notebook(path: &Path) -> Result<()> {
    ends_with(path, "ipynb")
}

fn ends_with(path: &Path, ending: &str) -> Result<()> {
    let found = path.extension().and_then(|found| found.to_str());
    match found.is_some_and(|found| found.eq_ignore_ascii_case(ending)) {
        true => Ok(()),
        false => {
            let what = format!("`{}` does not end with `.{ending}`", path.display());
            Err(Error::new(Code::InvalidParams, what))
        }
    }
}

/// A file that was written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WriteReply {
    /// The file.
    pub path: String,
    /// Whether it changed.
    pub written: bool,
    /// Its length.
    pub bytes: usize,
}

impl WriteReply {
    fn text(result: &str) -> Option<String> {
        let written: Self = serde_json::from_str(result).ok()?;
        Some(match written.written {
            true => format!("wrote {} ({} bytes)", written.path, written.bytes),
            false => format!("{} is up to date", written.path),
        })
    }
}

/// Make a new notebook file, with a cell of code or text if they are given.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "New")]
#[serde(deny_unknown_fields)]
pub struct NewNotebook {
    /// The file, which is not there yet.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// A first cell with this text in Markdown.
    #[arg(long, value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// Cells with this code; may be repeated.
    #[arg(long, value_name = "CODE")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<String>,
}

impl Operation for NewNotebook {
    const NAME: &'static str = "notebook.new";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Folder;
    type Service = NotebookService;
    type Output = WriteReply;

    fn text(result: &str) -> Option<String> {
        WriteReply::text(result)
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<WriteReply> {
        let path = place(&cx, &self.path)?;
        is_notebook(&path)?;
        let mut notebook = Notebook::new(&KernelMetadata::default());
        let text = self.markdown.iter().map(|text| (CellKind::Markdown, text));
        let code = self.code.iter().map(|code| (CellKind::Code, code));
        for (at, (kind, source)) in text.chain(code).enumerate() {
            notebook.insert(at, &NewCell::new(kind, source))?;
        }
        commit(move || {
            let written = save(&mut notebook, &path, Overwrite::Never)?;
            Ok(WriteReply {
                path: path.display().to_string(),
                written,
                bytes: notebook.text().len(),
            })
        })
        .await?
    }
}

/// Tell what the format of notebooks does not allow in a file. Changes nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The notebook.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
}

/// What a check found.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// The notebook.
    pub path: String,
    /// Whether there is nothing wrong with it.
    pub valid: bool,
    /// How many cells it has.
    pub cells: usize,
    /// The minor version of the format.
    pub minor: Option<u64>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Problems that are not told, because there are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<usize>,
}

impl Operation for Check {
    const NAME: &'static str = "notebook.check";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    type Service = NotebookService;
    type Output = CheckReport;

    fn is_failure(result: &str) -> bool {
        #[derive(Deserialize)]
        struct Checked {
            valid: bool,
        }
        serde_json::from_str::<Checked>(result).is_ok_and(|checked| !checked.valid)
    }

    fn text(result: &str) -> Option<String> {
        let report: CheckReport = serde_json::from_str(result).ok()?;
        let mut text = String::new();
        for problem in &report.problems {
            let word = match problem.repairable {
                true => " (a run puts it right)",
                false => "",
            };
            let _ = writeln!(text, "{problem}{word}");
        }
        if let Some(more) = report.more {
            let _ = writeln!(text, "and {more} more");
        }
        let count = report.problems.len() + report.more.unwrap_or(0);
        let minor = report.minor.map(|minor| format!(", version 4.{minor}"));
        let minor = minor.unwrap_or_default();
        let _ = write!(text, "{}: {} cells{minor}", report.path, report.cells);
        let _ = match count {
            0 => write!(text, ", nothing wrong"),
            1 => write!(text, ", 1 problem"),
            count => write!(text, ", {count} problems"),
        };
        Some(text)
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<CheckReport> {
        let path = place(&cx, &self.path)?;
        work(move |_| {
            let notebook = open(&path)?;
            let mut problems = notebook.check();
            let more = problems.len().saturating_sub(MOST_PROBLEMS);
            problems.truncate(MOST_PROBLEMS);
            Ok(CheckReport {
                path: path.display().to_string(),
                valid: problems.is_empty(),
                cells: notebook.cells().len(),
                minor: notebook.minor(),
                problems,
                more: (more > 0).then_some(more),
            })
        })
        .await?
    }
}

/// Remove the outputs of a notebook file and the numbers of its runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Clear {
    /// The notebook.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Write to this file, and leave the notebook as it is.
    #[arg(short, long, value_name = "OUT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Remove from metadata what runs left there, too, such as the time they took.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traces: bool,
}

/// What was cleared.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Cleared {
    /// The file that was written.
    pub path: String,
    /// Whether it changed.
    pub written: bool,
    /// Cells that had something to clear.
    pub cells: usize,
}

impl Operation for Clear {
    const NAME: &'static str = "notebook.clear";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Folder;
    type Service = NotebookService;
    type Output = Cleared;

    fn text(result: &str) -> Option<String> {
        let cleared: Cleared = serde_json::from_str(result).ok()?;
        Some(match cleared.written {
            true => format!("cleared {} cells in {}", cleared.cells, cleared.path),
            false => format!("nothing to clear in {}", cleared.path),
        })
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<Cleared> {
        let path = place(&cx, &self.path)?;
        let output = self.output.as_deref();
        let output = output.map(|output| place(&cx, output)).transpose()?;
        if let Some(output) = &output {
            is_notebook(output)?;
        }
        let traces = self.traces;
        commit(move || {
            let mut notebook = open(&path)?;
            let clearing = Clearing { cell: None, traces };
            let cells = notebook.clear(clearing)?;
            let elsewhere = output.filter(|output| *output != path);
            let written = match &elsewhere {
                Some(output) => save(&mut notebook, output, Overwrite::Always)?,
                None => save(&mut notebook, &path, Overwrite::Never)?,
            };
            Ok(Cleared {
                path: elsewhere.unwrap_or(path).display().to_string(),
                written,
                cells,
            })
        })
        .await?
    }
}

/// Tell what differs between two notebook files, cell by cell.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct DiffFiles {
    /// The old notebook.
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The new notebook.
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
}

/// What differs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DiffReport {
    /// Whether nothing does.
    pub same: bool,
    /// What differs.
    pub diff: file::Diff,
}

impl Operation for DiffFiles {
    const NAME: &'static str = "notebook.diff";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    type Service = NotebookService;
    type Output = DiffReport;

    fn text(result: &str) -> Option<String> {
        let report: DiffReport = serde_json::from_str(result).ok()?;
        Some(match report.same {
            true => "no differences".to_owned(),
            false => report.diff.to_string().trim_end().to_owned(),
        })
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<DiffReport> {
        let (old, new) = (place(&cx, &self.old)?, place(&cx, &self.new)?);
        work(move |_| {
            let diff = file::diff(&open(&old)?, &open(&new)?);
            Ok(DiffReport {
                same: diff.metadata.is_empty() && diff.cells.is_empty(),
                diff,
            })
        })
        .await?
    }
}

/// Make a page of a notebook file, to look at or to send: one file, no network, no scripts.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Html {
    /// The notebook.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// The page; without it, the notebook's name with `.html`.
    #[arg(short, long, value_name = "OUT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
}

impl Operation for Html {
    const NAME: &'static str = "notebook.html";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Folder;
    type Service = NotebookService;
    type Output = WriteReply;

    fn text(result: &str) -> Option<String> {
        WriteReply::text(result)
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<WriteReply> {
        let path = place(&cx, &self.path)?;
        let output = match &self.output {
            Some(output) => place(&cx, output)?,
            None => path.with_extension("html"),
        };
        ends_with(&output, "html")?;
        let page = work(move |_| {
            let title = path.file_stem().unwrap_or_default().to_string_lossy();
            open(&path).map(|notebook| file::html(&notebook, &title))
        })
        .await??;
        commit(move || {
            let written = save_text(&output, &page)?;
            Ok(WriteReply {
                path: output.display().to_string(),
                written,
                bytes: page.len(),
            })
        })
        .await?
    }
}
