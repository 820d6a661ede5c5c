//! A whole notebook on a kernel: which cells are run, what they leave, and writing that down.
//!
//! The file is read once, before, and written once, after. If somebody saved it meanwhile, his
//! text counts: outputs go to the cells that are still what was run, and the others are told.
//! What is run, skipped and stopped for is as in nbclient, also by the tags of cells.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Context, Error, Result, commit, work};
use pillion_kernel::{
    Alone, CellListener, ExecuteRequest, Heard, Kernel, PYTHON, Ran, ReadyKernel, SearchPath,
};
use pillion_lanes::{RunOutcome, Whereabouts};
use pillion_runtime::managed::ToCaller;
use serde_json::{Map, Value};

use crate::NotebookService;
use crate::cell_ref::CellRef;
use crate::file::{
    CellKind, Links, Notebook, Output, OutputList, Overwrite, is_python, open_at, save_at,
};
use crate::replay::PastCell;
use crate::service::{timeout, variable, wanted};
use crate::step::{Step, StepState};
use crate::widgets::Widgets;

/// Bytes of outputs that one run may leave in its file.
const MOST_OUTPUT: usize = 64 << 20;
/// How often a file may be saved by somebody else while it is written, and the time between.
const TRIES: usize = 20;
const RETRY_EVERY: Duration = Duration::from_millis(50);
/// Tags that say what to do with a cell, as nbclient knows them.
const SKIPPED: &str = "skip-execution";
const MAY_FAIL: &str = "raises-exception";

/// What is to be run, and how.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Where it is read, and where it is written.
    pub(crate) path: PathBuf,
    pub(crate) output: Option<PathBuf>,
    /// Whether links lead to it.
    pub(crate) links: Links,
    pub(crate) parameters: Map<String, Value>,
    /// Only these cells, or only from this one on; else all.
    pub(crate) cells: Vec<CellRef>,
    pub(crate) from: Option<CellRef>,
    pub(crate) allow_errors: bool,
    pub(crate) timeout_seconds: Option<f64>,
    pub(crate) session: Option<String>,
    /// On this kind of kernel, whatever the notebook says.
    pub(crate) kernel: Option<String>,
    pub(crate) memory_limit_mb: Option<u64>,
    /// What the file must be, if somebody has read it before.
    pub(crate) revision: Option<String>,
    pub(crate) stream: bool,
}

/// A cell that was run.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) at: usize,
    pub(crate) id: String,
    source: String,
    pub(crate) outputs: OutputList,
    count: Option<u64>,
    pub(crate) outcome: RunOutcome,
    /// It ended the run, or would have if errors were not allowed.
    pub(crate) is_failure: bool,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) done: Vec<Done>,
    /// Cells that were to be run.
    pub(crate) planned: usize,
    pub(crate) repaired: usize,
    pub(crate) took: Duration,
    pub(crate) session: Option<String>,
    pub(crate) notices: Vec<String>,
    pub(crate) kept: SavedNotebook,
    /// Outputs are missing, because they were too much.
    pub(crate) truncated: bool,
}

/// What was written down.
#[derive(Debug)]
pub(crate) struct SavedNotebook {
    pub(crate) place: PathBuf,
    /// Whether the file is another one now.
    pub(crate) written: bool,
    pub(crate) revision: Option<String>,
    /// Cells that somebody else changed or removed meanwhile.
    pub(crate) left: Vec<String>,
}

/// The kernel that a notebook is run on.
enum Seat {
    /// One that goes away afterwards.
    Own(Alone),
    /// That of a session, which stays.
    Shared(Arc<Kernel>),
}

impl Seat {
    fn kernel(&self) -> &Arc<Kernel> {
        match self {
            Self::Own(alone) => alone.kernel(),
            Self::Shared(kernel) => kernel,
        }
    }
}

impl NotebookService {
    /// Run a notebook, and write down what its cells gave.
    pub(crate) async fn run_whole(&self, cx: &Context<Self>, plan: Plan) -> Result<Whole> {
        let limit = plan.timeout_seconds.map(timeout).transpose()?;
        let path = plan.path.clone();
        let links = plan.links;
        let mut notebook = work(move |_| open_at(&path, links)).await??;
        expect(&notebook, plan.revision.as_deref(), &plan.path)?;
        let repaired = notebook.repair().len();
        let kind = self.kind(cx, &notebook, &plan).await?;
        let todo = chosen(&mut notebook, &plan)?;
        let began = Instant::now();
        let (seat, ready) = self.seat(cx, &plan, kind.as_deref()).await?;
        let kernel = seat.kernel();
        let limit = limit.or(kernel.config().timeout_s.map(Duration::from_secs_f64));
        let mut notices = Vec::new();
        if let Some(lost) = &ready.lost {
            notices.push(format!(
                "{lost}: this is a new one, which knows nothing of earlier cells"
            ));
        }
        let mut run = Running {
            cx,
            kernel,
            ready: &ready,
            is_shared: plan.session.is_some(),
            allow_errors: plan.allow_errors,
            stream: plan.stream,
            limit,
            of: todo.len(),
            done: Vec::new(),
            lost: None,
            truncated: false,
            widgets: Widgets::default(),
        };
        for at in &todo {
            if !run.cell(&notebook, *at).await? {
                break;
            }
        }
        let Running {
            done,
            lost,
            mut truncated,
            widgets,
            ..
        } = run;
        truncated |= widgets.is_cut();
        notices.extend(lost);
        let session = plan.session.clone();
        let planned = todo.len();
        let took = began.elapsed();
        // Its kernel goes away while the file is written.
        drop((ready, seat));
        let (kept, done) = commit(move || {
            let kept = keep(notebook, &done, &widgets, &plan);
            kept.map(|kept| (kept, done))
        })
        .await??;
        Ok(Whole {
            done,
            planned,
            repaired,
            took,
            session,
            notices,
            kept,
            truncated,
        })
    }

    /// The kind of kernel that a notebook is run on: the one that was asked for, else the one
    /// that it names. Where nothing says otherwise it is Python's.
    async fn kind(
        &self,
        cx: &Context<Self>,
        notebook: &Notebook,
        plan: &Plan,
    ) -> Result<Option<String>> {
        let language = notebook.language();
        let is_in_python = language.as_deref().is_some_and(is_python);
        let name = match &plan.kernel {
            Some(name) => Some(name.to_lowercase()),
            None if is_in_python => Some(PYTHON.to_owned()),
            None => notebook.kernel(),
        };
        let unknown = |language: &str| {
            let what = format!("the notebook is in `{language}`, and there is no kernel for it");
            Error::new(Code::Unsupported, what).hint(
                "`pillion kernel specs` tells which there are, and `--kernel NAME` chooses one",
            )
        };
        let (name, language) = match (name, language) {
            (Some(name), _) if name == PYTHON => return Ok(Some(name)),
            (Some(name), language) => (name, language),
            (None, None) => return Ok(None),
            (None, Some(language)) => return Err(unknown(&language)),
        };
        let search = SearchPath::of(|name| variable(cx, name));
        let specs = self.kernels().specs(Whereabouts::of_caller(cx)?, &search);
        let specs = specs.await?;
        let found = match (specs.get(&name), language) {
            (Ok(found), _) => found,
            (Err(error), _) if plan.kernel.is_some() => return Err(error),
            (Err(_), Some(language)) => return Err(unknown(&language)),
            // Names that others gave to kernels of theirs; most of those are Python.
            (Err(_), None) => return Ok(None),
        };
        if !plan.parameters.is_empty() && !is_python(&found.spec.language) {
            let what = format!("a notebook on `{name}` takes no parameters: they are Python");
            return Err(Error::new(Code::Unsupported, what));
        }
        Ok(Some(name))
    }

    async fn seat(
        &self,
        cx: &Context<Self>,
        plan: &Plan,
        kernel: Option<&str>,
    ) -> Result<(Seat, ReadyKernel)> {
        let cancel = cx.request().cancel.clone();
        let seated = async {
            if let Some(session) = &plan.session {
                let ready = self.ready(cx, Some(session), kernel, plan.memory_limit_mb);
                let (kernel, ready) = ready.await?;
                return Ok((Seat::Shared(kernel), ready));
            }
            let whereabouts = Whereabouts::of_caller(cx)?;
            let alone = self
                .kernels()
                .alone(
                    whereabouts,
                    &wanted(cx, kernel),
                    plan.memory_limit_mb,
                    &ToCaller::of(cx),
                )
                .await?;
            let ready = alone.kernel().ready().await?;
            Ok((Seat::Own(alone), ready))
        };
        tokio::select! {
            seated = seated => seated,
            () = cancel.cancelled() => Err(cancelled()),
        }
    }
}

/// The cells that are to be run, by their numbers; parameters are set by then.
fn chosen(notebook: &mut Notebook, plan: &Plan) -> Result<Vec<usize>> {
    let from = plan.from.as_ref().map(|from| from.find(notebook));
    let from = from.transpose()?.unwrap_or(0);
    let named = plan.cells.iter().map(|cell| cell.find(notebook));
    let named: Vec<usize> = named.collect::<Result<_>>()?;
    let is_meant = |at: usize| at >= from && (named.is_empty() || named.contains(&at));
    let ids = notebook.cells().iter().enumerate();
    let ids = ids.filter(|(at, _)| is_meant(*at));
    // Numbers change when a cell with parameters is put in; ids do not.
    let ids: Vec<Option<String>> = ids.map(|(_, cell)| cell.id()).collect();
    let injected = notebook.set_parameters(&plan.parameters)?;
    let all = notebook.cells().iter().enumerate();
    let todo = all.filter(|(at, cell)| {
        let is_code = cell.kind() == CellKind::Code && !cell.source().trim().is_empty();
        let is_meant = injected == Some(*at) || ids.contains(&cell.id());
        is_code && is_meant && !has_tag(cell, SKIPPED)
    });
    Ok(todo.map(|(at, _)| at).collect())
}

fn has_tag(cell: &crate::file::Cell, tag: &str) -> bool {
    cell.tags().iter().any(|found| found == tag)
}

/// Refuse a file that is not the one that somebody read.
pub(crate) fn expect(notebook: &Notebook, revision: Option<&str>, path: &Path) -> Result<()> {
    let found = notebook.revision().unwrap_or_default();
    match revision.is_none_or(|revision| revision == found) {
        true => Ok(()),
        false => {
            let what = format!("`{}` is not what was read: it was changed", path.display());
            Err(Error::new(Code::Conflict, what)
                .hint("read it again with `notebook.read`, and repeat this with its `revision`"))
        }
    }
}

/// A notebook while it is run.
struct Running<'a> {
    cx: &'a Context<NotebookService>,
    kernel: &'a Arc<Kernel>,
    ready: &'a ReadyKernel,
    is_shared: bool,
    allow_errors: bool,
    stream: bool,
    limit: Option<Duration>,
    of: usize,
    done: Vec<Done>,
    lost: Option<String>,
    truncated: bool,
    widgets: Widgets,
}

impl Running<'_> {
    /// Run a cell; says whether the next one is to be run.
    async fn cell(&mut self, notebook: &Notebook, at: usize) -> Result<bool> {
        let cell = notebook.cell(at)?;
        let (id, source) = (cell.id().unwrap_or_default(), cell.source());
        let mut step = Step {
            cell: at,
            id: id.clone(),
            position: self.done.len() + 1,
            of: self.of,
            state: StepState::Started,
            outcome: None,
            seconds: None,
        };
        self.tell(&step).await;
        let used: usize = self.done.iter().map(|done| done.outputs.size()).sum();
        let most = usize::try_from(self.kernel.most_output()).unwrap_or(usize::MAX);
        let room = most.min(MOST_OUTPUT.saturating_sub(used));
        self.done.push(Done {
            at,
            id,
            source: source.clone(),
            outputs: OutputList::new(room),
            count: None,
            outcome: RunOutcome::Ok,
            is_failure: false,
        });
        let ran = self.run(source.clone()).await?;
        if self.is_shared && ran.outcome == RunOutcome::Ok {
            let (replays, client) = (self.cx.service().replays(), &self.ready.client);
            replays.add(self.kernel.session(), client, PastCell::new(source));
        }
        if ran.outcome == RunOutcome::Cancelled && self.cx.request().cancel.is_cancelled() {
            return Err(cancelled());
        }
        let may_fail = ran.outcome == RunOutcome::Error && has_tag(cell, MAY_FAIL);
        let failed = ran.outcome != RunOutcome::Ok && !may_fail;
        if let Some(done) = self.done.last_mut() {
            let count = ran.reply.as_ref();
            let count = count.and_then(|reply| reply["execution_count"].as_u64());
            done.count = count.or(done.outputs.execution_count());
            (done.outcome, done.is_failure) = (ran.outcome, failed);
            self.truncated |= done.outputs.is_cut() || ran.dropped > 0;
        }
        step.state = StepState::Ended;
        step.outcome = Some(ran.outcome);
        step.seconds = Some(ran.took.as_secs_f64());
        self.tell(&step).await;
        let goes_on = ran.lost.is_none() && ran.outcome != RunOutcome::Cancelled;
        self.lost = ran.lost;
        Ok(goes_on && (!failed || self.allow_errors))
    }

    async fn run(&mut self, code: String) -> Result<Ran> {
        let cell = ExecuteRequest {
            code,
            silent: false,
            allow_stdin: false,
            stop_on_error: true,
            timeout: self.limit,
            output: self.kernel.most_output(),
        };
        let cancel = self.cx.request().cancel.clone();
        let mut sheet = Sheet {
            done: &mut self.done,
            widgets: &mut self.widgets,
        };
        self.kernel.run(self.ready, cell, &cancel, &mut sheet).await
    }

    async fn tell(&self, step: &Step) {
        if self.stream {
            // Somebody who went away is cancelled by the door.
            let _ = self.cx.emit(step).await;
        }
    }
}

/// Where outputs go: to the cell that runs, and what they show anew to the cells before it.
struct Sheet<'a> {
    done: &'a mut Vec<Done>,
    widgets: &'a mut Widgets,
}

impl CellListener for Sheet<'_> {
    async fn hear(&mut self, heard: &Heard) {
        self.widgets.hear(heard);
        let (kind, content) = (heard.kind(), heard.content());
        let Some((current, before)) = self.done.split_last_mut() else {
            return;
        };
        if matches!(
            kind,
            "display_data" | "execute_result" | "update_display_data"
        ) {
            for done in before {
                done.outputs.update_display(&content);
            }
        }
        current.outputs.feed(kind, &content);
    }
}

/// Put outputs into the cells that are still what was run; the ids of the others.
fn put_down(notebook: &mut Notebook, done: &[Done]) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for one in done {
        let found = notebook.find(&one.id).filter(|at| {
            let cell = notebook.cell(*at);
            cell.is_ok_and(|cell| cell.kind() == CellKind::Code && cell.source() == one.source)
        });
        match found {
            Some(at) => {
                notebook.set_outputs(at, &one.outputs.all(), one.count)?;
            }
            None => left.push(one.id.clone()),
        }
    }
    Ok(left)
}

/// Write the notebook down, where it was or elsewhere.
fn keep(
    mut notebook: Notebook,
    done: &[Done],
    widgets: &Widgets,
    plan: &Plan,
) -> Result<SavedNotebook> {
    let is_part = plan.from.is_some() || !plan.cells.is_empty();
    let mut left = put_down(&mut notebook, done)?;
    widgets.put_down(&mut notebook, is_part);
    if let Some(place) = plan.output.as_ref().filter(|place| **place != plan.path) {
        let written = save_at(&mut notebook, place, Overwrite::Always, plan.links)?;
        return Ok(SavedNotebook {
            place: place.clone(),
            written,
            revision: notebook.revision(),
            left,
        });
    }
    let mut tries = 0;
    loop {
        let error = match save_at(&mut notebook, &plan.path, Overwrite::Never, plan.links) {
            Ok(written) => {
                return Ok(SavedNotebook {
                    place: plan.path.clone(),
                    written,
                    revision: notebook.revision(),
                    left,
                });
            }
            Err(error) => error,
        };
        tries += 1;
        if error.code != Code::Conflict || tries >= TRIES {
            return Err(error);
        }
        // Some write in place: for a moment it may be no notebook.
        std::thread::sleep(RETRY_EVERY);
        if let Ok(theirs) = open_at(&plan.path, plan.links) {
            notebook = theirs;
            notebook.repair();
            notebook.set_parameters(&plan.parameters)?;
            left = put_down(&mut notebook, done)?;
            widgets.put_down(&mut notebook, is_part);
        }
    }
}

fn cancelled() -> Error {
    Error::new(Code::Cancelled, "it was cancelled, and nothing was written")
}

impl Done {
    /// The exception that ended it.
    pub(crate) fn error(&self) -> Option<(String, String)> {
        self.outputs.all().into_iter().find_map(|one| match one {
            Output::Error { ename, evalue, .. } => Some((ename, evalue)),
            _ => None,
        })
    }
}
