//! `notebook.run`: a whole notebook file, or some of its cells, with the outputs written back.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches};
use pillion_catalogue::{
    AnswerPicture, Code, Context, Error, Method, Offer, Operation, Result, Safety, Scope, Streams,
};
use pillion_lanes::RunOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cells::{CellImage, without_images};
use super::files::{is_notebook, place_in_session};
use super::in_session;
use crate::NotebookService;
use crate::cell_ref::CellRef;
use crate::file::{Budget, Links, show};
use crate::reply::word;
use crate::run_notebook::{Done, Plan, Whole};

/// Bytes of text and of images of a reply that show what cells gave; and of one cell's text.
const SHOWN: Budget = Budget {
    text: 16 << 10,
    images: 1 << 20,
};
const CELL_TEXT: usize = 4 << 10;
/// Cells that failed, of which a reply tells.
const MOST_FAILED: usize = 100;

/// Run the cells of a notebook file, and write their outputs into it.
///
/// The notebook has a kernel of its own, of the kind that it names, which knows nothing before and is gone afterwards;
/// with `session` it is run on the kernel of that session, which stays. Cells run behind the
/// walls of the user lane, in the folder of the session, and see nothing of the notebook's own
/// folder. In the session of a desktop app a name without folders is a file of its workspace.
/// The run stops at the first cell that fails, unless errors are allowed or the cell is
/// tagged `raises-exception`; cells tagged `skip-execution` are left out. What was not run stays
/// as it was. If somebody saves the file meanwhile, outputs go to the cells that are still what
/// was run. With `stream` each cell is told as it begins and ends.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Run")]
#[serde(deny_unknown_fields)]
pub struct RunNotebook {
    /// The notebook.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Write to this file, and leave the notebook as it is.
    #[arg(short, long, value_name = "OUT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Values for the notebook: a cell that sets them is put behind the one tagged `parameters`.
    #[command(flatten)]
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Go on after a cell that failed.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_errors: bool,
    /// Seconds that each cell may take.
    #[arg(long = "timeout", alias = "timeout-seconds", value_name = "S")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// Run it on the kernel of this session, with what cells have defined there.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Run it on this kind of kernel, whatever the notebook says.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Only these cells, by id or number from 0.
    #[arg(long = "cell", value_name = "CELL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellRef>,
    /// Only this cell and those below it, by id or number from 0.
    #[arg(long, value_name = "CELL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CellRef>,
    /// Refuse if the file is not this revision of it, as `notebook.read` told.
    #[arg(long, value_name = "REVISION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Megabytes of memory for its kernel, if it starts one.
    #[arg(long, alias = "memory-limit-mb", value_name = "MB")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_mb: Option<u64>,
    /// Tell of each cell as it begins and ends.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
}

/// Values by name.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Parameters(pub Map<String, Value>);

impl Parameters {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl clap::FromArgMatches for Parameters {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let all = matches.get_many::<(String, Value)>("param");
        Ok(Self(all.into_iter().flatten().cloned().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Parameters {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.arg(
            Arg::new("param")
                .long("param")
                .short('p')
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .value_parser(parameter)
                .help("Give the notebook a value, as JSON or else as text; may be repeated"),
        )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.to_owned(), value))
}

/// How a run ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// Whether no cell failed.
    pub success: bool,
    /// How it ended, in one word: that of the first cell that failed.
    pub outcome: RunOutcome,
    /// The notebook.
    pub path: String,
    /// The file that has the outputs.
    pub output: String,
    /// Whether that file changed.
    pub written: bool,
    /// Its revision now.
    pub revision: String,
    /// Cells that were to be run.
    pub cells: usize,
    /// Those that were.
    pub ran: usize,
    /// Those that failed.
    pub failed: Vec<FailedCell>,
    /// How long it took, with the start of its kernel.
    pub seconds: f64,
    /// Things in the file that were put right.
    pub repaired: usize,
    /// Cells that were run but changed or removed by somebody else meanwhile, so that their
    /// outputs are not in the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// What cells gave, as text; not all of it if it is much.
    pub outputs: Vec<CellOutputs>,
    /// The pictures among it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<CellImage>,
    /// Some outputs are missing in the file, because they were too much.
    pub truncated: bool,
    /// The session whose kernel it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What happened to its kernel: it is a new one, or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// A cell that failed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FailedCell {
    /// Its number, from 0.
    pub cell: usize,
    /// Its id.
    pub id: String,
    /// How it ended.
    pub outcome: RunOutcome,
    /// The class of its exception.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ename: Option<String>,
    /// What the exception says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evalue: Option<String>,
}

/// What a cell gave.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CellOutputs {
    /// Its number, from 0.
    pub cell: usize,
    /// Its id.
    pub id: String,
    /// Its outputs as text.
    pub text: String,
    /// How many of the pictures are its own.
    pub images: usize,
    /// Something was left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl RunReport {
    fn new(path: String, whole: Whole) -> Self {
        let failed = whole.done.iter().filter(|done| done.is_failure);
        let failed: Vec<FailedCell> = failed.map(FailedCell::of).take(MOST_FAILED).collect();
        let (outputs, images) = shown(&whole.done);
        let notices = whole.notices;
        Self {
            success: failed.is_empty(),
            outcome: failed.first().map_or(RunOutcome::Ok, |first| first.outcome),
            path,
            output: whole.kept.place.display().to_string(),
            written: whole.kept.written,
            revision: whole.kept.revision.unwrap_or_default(),
            cells: whole.planned,
            ran: whole.done.len(),
            failed,
            seconds: whole.took.as_secs_f64(),
            repaired: whole.repaired,
            left_out: whole.kept.left,
            outputs,
            images,
            truncated: whole.truncated,
            session: whole.session,
            notice: (!notices.is_empty()).then(|| notices.join("; ")),
        }
    }
}

impl FailedCell {
    fn of(done: &Done) -> Self {
        let (ename, evalue) = done.error().unzip();
        Self {
            cell: done.at,
            id: done.id.clone(),
            outcome: done.outcome,
            ename,
            evalue,
        }
    }
}

/// What cells gave, as much as a reply has room for. Those that failed come first to that room.
fn shown(done: &[Done]) -> (Vec<CellOutputs>, Vec<CellImage>) {
    let mut left = SHOWN;
    let mut order: Vec<&Done> = done.iter().collect();
    order.sort_by_key(|done| !done.is_failure);
    let (mut outputs, mut images) = (Vec::new(), Vec::new());
    for one in order {
        let all = one.outputs.all();
        if all.is_empty() || left.text == 0 {
            continue;
        }
        let text = left.text.min(CELL_TEXT);
        let shown = show(&all, Budget { text, ..left });
        left.text = left.text.saturating_sub(shown.text.len());
        outputs.push(CellOutputs {
            cell: one.at,
            id: one.id.clone(),
            images: shown.images.len(),
            text: shown.text,
            cut: shown.cut,
        });
        for image in shown.images {
            left.images = left.images.saturating_sub(image.base64.len());
            let cell = one.at;
            images.push(CellImage { cell, image });
        }
    }
    outputs.sort_by_key(|one| one.cell);
    images.sort_by_key(|one| one.cell);
    (outputs, images)
}

impl Operation for RunNotebook {
    const NAME: &'static str = "notebook.run";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const STREAMS: Streams = Streams::OnRequest;
    const OFFER: Offer = Offer::PLAIN.routes(&[in_session(
        Method::Post,
        "/api/session/{session_id}/notebook/run",
    )]);
    type Service = NotebookService;
    type Output = RunReport;

    fn typed(mut self, json: bool) -> Self {
        self.stream = !json;
        self
    }

    fn is_failure(result: &str) -> bool {
        #[derive(Deserialize)]
        struct Ended {
            success: bool,
        }
        serde_json::from_str::<Ended>(result).is_ok_and(|ended| !ended.success)
    }

    fn pictures(result: &str) -> Option<(String, Vec<AnswerPicture>)> {
        without_images(result)
    }

    fn text(result: &str) -> Option<String> {
        let report: RunReport = serde_json::from_str(result).ok()?;
        Some(text(&report))
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<RunReport> {
        let session = self.session.as_deref();
        let (path, links) = place_in_session(&cx, session, &self.path)?;
        let output = self.output.as_deref();
        let output = output.map(|output| place_in_session(&cx, session, output));
        let (output, links) = match output.transpose()? {
            Some((output, Links::Refuse)) => (Some(output), Links::Refuse),
            Some((output, Links::Follow)) => (Some(output), links),
            None => (None, links),
        };
        if let Some(output) = &output {
            is_notebook(output)?;
        }
        if !self.cells.is_empty() && self.from.is_some() {
            let what = "`cells` and `from` cannot both be given";
            return Err(Error::new(Code::InvalidParams, what));
        }
        let plan = Plan {
            path: path.clone(),
            output,
            links,
            parameters: self.parameters.0,
            cells: self.cells,
            from: self.from,
            allow_errors: self.allow_errors,
            timeout_seconds: self.timeout_seconds,
            session: self.session,
            kernel: self.kernel,
            memory_limit_mb: self.memory_limit_mb,
            revision: self.revision,
            stream: self.stream,
        };
        let whole = Box::pin(cx.service().run_whole(&cx, plan)).await?;
        Ok(RunReport::new(path.display().to_string(), whole))
    }
}

/// What people read of a run.
fn text(report: &RunReport) -> String {
    let mut text = String::new();
    for failed in &report.failed {
        let word = word(failed.outcome);
        let _ = writeln!(text, "cell {} ({}): {word}", failed.cell, failed.id);
        let shown = report.outputs.iter().find(|one| one.cell == failed.cell);
        for line in shown.into_iter().flat_map(|shown| shown.text.lines()) {
            let _ = writeln!(text, "  {line}");
        }
    }
    let (ran, cells, seconds) = (report.ran, report.cells, report.seconds);
    let outcome = word(report.outcome);
    let _ = write!(text, "{outcome}: {ran} of {cells} cells in {seconds:.1} s");
    let _ = match report.written {
        true => write!(text, ", written to {}", report.output),
        false => write!(text, ", nothing changed in {}", report.output),
    };
    if report.repaired > 0 {
        let _ = write!(text, "; {} things were put right in it", report.repaired);
    }
    if !report.left_out.is_empty() {
        let left = report.left_out.join(", ");
        let _ = write!(text, "\nsomebody else changed meanwhile: {left}");
    }
    if report.truncated {
        text.push_str("\nsome outputs were too much, and are cut");
    }
    if let Some(notice) = &report.notice {
        let _ = write!(text, "\nnote: {notice}");
    }
    text
}
