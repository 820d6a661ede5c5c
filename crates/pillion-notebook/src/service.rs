//! The service: kernels of sessions, cells on them, and questions that wait for an answer.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{Code, Context, Error, Result};
use pillion_kernel::{ExecuteRequest, Kernel, KernelChoice, Kernels, ReadyKernel, SearchPath};
use pillion_lanes::{Executor, NO_SESSION, Whereabouts};
use pillion_runtime::managed::{Silent, ToCaller};

use crate::gateway::{Gateway, KernelModel, Served, is_own};
use crate::questions::Questions;
use crate::replay::{PastCell, Replays, replay};
use crate::reply::CellReply;
use crate::running_cell::{CellEvent, CellFollower, RunningCell};
use crate::typed_cells::{Reader, TypedText};

/// Characters of one cell.
const LONGEST_CODE: usize = 1 << 20;
/// Seconds that a cell can ask for.
const LONGEST_TIME: f64 = 86_400.0;

/// Runs cells and notebooks.
#[derive(Debug)]
pub struct NotebookService {
    kernels: Kernels,
    questions: Questions,
    gateway: Gateway,
    replays: Replays,
    reader: Arc<dyn Reader>,
}

/// A cell to be run for somebody.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) session: Option<String>,
    /// What kind of kernel, if not the one that the session has.
    pub(crate) kernel: Option<String>,
    pub(crate) code: String,
    pub(crate) cell_id: Option<String>,
    pub(crate) timeout_seconds: Option<f64>,
    pub(crate) inputs: Vec<String>,
    pub(crate) memory_limit_mb: Option<u64>,
    /// Somebody follows, and can answer questions.
    pub(crate) is_followed: bool,
    /// Earlier cells are run again first, if its kernel has not run them.
    pub(crate) replay: bool,
}

impl NotebookService {
    /// A service whose kernels live behind the walls of `executor`; cells that are being typed are
    /// read by `reader`.
    pub fn new(executor: Arc<Executor>, reader: Arc<dyn Reader>) -> Self {
        Self {
            kernels: Kernels::new(executor),
            questions: Questions::default(),
            gateway: Gateway::default(),
            replays: Replays::default(),
            reader,
        }
    }

    pub(crate) fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Kernels as clients of Jupyter know them.
    pub(crate) fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Questions of cells that somebody has to answer.
    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    /// Cells that can be run again.
    pub(crate) fn replays(&self) -> &Replays {
        &self.replays
    }

    /// Who reads cells that are being typed.
    pub(crate) fn reader(&self) -> &dyn Reader {
        &*self.reader
    }

    /// A cell that is being typed for a kernel, if it is of a kind that is read.
    pub(crate) async fn typed(
        &self,
        kernel: &Kernel,
        code: &str,
        cursor: usize,
    ) -> Option<TypedText> {
        let python = kernel.python().await?;
        let past = self.replays.codes(kernel.session());
        TypedText::new(Some(python), &past, code, cursor)
    }

    /// What the cells of a session made is given up: none of them is run again.
    pub(crate) fn forget(&self, session: Option<&str>) {
        self.replays.forget(session.unwrap_or(NO_SESSION));
    }

    /// A kernel as clients of Jupyter read it.
    pub(crate) fn model(&self, served: &Served) -> KernelModel {
        served.model(&self.kernels)
    }

    /// A kernel under an id, ready to be asked: the one that runs, or a new one made as it was.
    pub(crate) async fn ready_again(&self, served: &Served) -> Result<ReadyKernel> {
        let kernel = match &served.whereabouts {
            Some(place) => {
                self.kernels
                    .of_session(
                        &served.session,
                        place.clone(),
                        &served.wanted,
                        None,
                        &Silent,
                    )
                    .await?
            }
            None => self.known(Some(&served.session))?,
        };
        kernel.ready().await
    }

    /// End a kernel under an id for good.
    pub(crate) async fn end(&self, served: &Served) {
        self.gateway.remove(&served.id);
        self.forget(Some(&served.session));
        if let Some(kernel) = self.kernels.find(&served.session) {
            kernel.shut_down().await;
        }
        if is_own(&served.session) {
            self.kernels.forget_folder(&served.session).await;
        }
    }

    /// End a kernel that no open notebook has; says whether that was so.
    pub(crate) async fn end_unless_used(&self, id: &str) -> bool {
        let opened = self.gateway.notebooks.all();
        if opened.iter().any(|opened| opened.kernel == id) {
            return false;
        }
        match self.gateway.find(&self.kernels, id) {
            Ok(served) => {
                self.end(&served).await;
                true
            }
            Err(_) => false,
        }
    }

    /// The kernel of a session that somebody asks about, if it has ever had one.
    pub(crate) fn known(&self, session: Option<&str>) -> Result<Arc<Kernel>> {
        let session = session.unwrap_or(NO_SESSION);
        self.kernels.find(session).ok_or_else(|| {
            Error::new(Code::NotFound, format!("session `{session}` has no kernel"))
                .hint("its first cell starts one: `pillion notebook run-cell`")
        })
    }

    /// The kernel of a session, ready to be asked.
    pub(crate) async fn ready(
        &self,
        cx: &Context<Self>,
        session: Option<&str>,
        kernel: Option<&str>,
        memory_mb: Option<u64>,
    ) -> Result<(Arc<Kernel>, ReadyKernel)> {
        if let Some(session) = session {
            self.kernels.executor().check_session(session)?;
        }
        let session = session.unwrap_or(NO_SESSION);
        let whereabouts = Whereabouts::of_caller(cx)?;
        let kernel = self
            .kernels
            .of_session(
                session,
                whereabouts,
                &wanted(cx, kernel),
                memory_mb,
                &ToCaller::of(cx),
            )
            .await?;
        let ready = kernel.ready().await?;
        Ok((kernel, ready))
    }

    /// Run a cell; `told` hears what happens as it comes.
    pub(crate) async fn run(
        &self,
        cx: &Context<Self>,
        order: Order,
        told: &mut impl CellFollower,
    ) -> Result<CellReply> {
        if order.code.len() > LONGEST_CODE {
            let message = format!("`code` is longer than {LONGEST_CODE} bytes");
            return Err(Error::new(Code::InvalidParams, message));
        }
        let timeout = order.timeout_seconds.map(timeout).transpose()?;
        let session = order.session.as_deref();
        let (wanted, memory) = (order.kernel.as_deref(), order.memory_limit_mb);
        let cancel = cx.request().cancel.clone();
        let (kernel, ready) = tokio::select! {
            ready = self.ready(cx, session, wanted, memory) => ready?,
            () = cancel.cancelled() => {
                return Err(Error::new(Code::Cancelled, "it was cancelled before it began"));
            }
        };
        let config = kernel.config();
        let timeout = timeout.or(config.timeout_s.map(Duration::from_secs_f64));
        let cell = ExecuteRequest {
            code: order.code,
            silent: false,
            allow_stdin: order.is_followed || !order.inputs.is_empty(),
            stop_on_error: true,
            timeout,
            output: kernel.most_output(),
        };
        let replayed = match order.replay {
            true => replay(&self.replays, &self.questions, &kernel, &ready, &cancel).await?,
            false => None,
        };
        let before = before(&ready, replayed);
        if let Some(text) = before.clone() {
            told.tell(CellEvent::Notice { text }).await;
        }
        let kept = PastCell {
            code: cell.code.clone(),
            inputs: order.inputs.clone(),
        };
        let mut course = RunningCell::new(&self.questions, &kernel, &ready, told, cell.output);
        course.inputs = order.inputs.into();
        course.is_followed = order.is_followed;
        let ran = kernel.run(&ready, cell, &cancel, &mut course).await;
        self.questions.remove(kernel.session());
        let mut reply = course.reply(&ran?, before);
        if reply.success {
            self.replays.add(kernel.session(), &ready.client, kept);
        }
        reply.cell_id = order.cell_id;
        Ok(reply)
    }
}

/// A variable, as the caller has it: kernelspecs are found where his own Jupyter would look.
pub(crate) fn variable<S>(cx: &Context<S>, name: &str) -> Option<OsString> {
    match cx.request().peer.variables() {
        Some(theirs) => theirs.get(OsStr::new(name)).cloned(),
        None => std::env::var_os(name),
    }
}

/// The kernel of this name, looked for where the caller's own Jupyter would.
pub(crate) fn wanted<S>(cx: &Context<S>, name: Option<&str>) -> KernelChoice {
    match name {
        // Nothing is looked for.
        None | Some("") => KernelChoice::default(),
        Some(name) => KernelChoice {
            name: Some(name.to_owned()),
            search: SearchPath::of(|name| variable(cx, name)),
        },
    }
}

/// What whoever runs a cell should know of its kernel: that it is a new one, and what that knows.
fn before(ready: &ReadyKernel, replayed: Option<String>) -> Option<String> {
    match (&ready.lost, replayed) {
        (Some(lost), Some(again)) => Some(format!("{lost}: this is a new one, on which {again}")),
        (Some(lost), None) => Some(format!(
            "{lost}: this is a new one, which knows nothing of earlier cells"
        )),
        (None, again) => again,
    }
}

pub(crate) fn timeout(seconds: f64) -> Result<Duration> {
    let fits = seconds.is_finite() && seconds > 0.0 && seconds <= LONGEST_TIME;
    match fits {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(Error::new(
            Code::InvalidParams,
            format!("`timeout_seconds` is above 0 and at most {LONGEST_TIME}"),
        )),
    }
}
