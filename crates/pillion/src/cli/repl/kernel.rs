//! Who runs the cells of a terminal: the kernel of a session, or one that somebody else started.

use std::path::Path;
use std::time::Duration;

use pillion::{Caller, Code, Error, Operation, Part, Result};
use pillion_kernel::{AttachedKernel, ConnectionFile, KernelLife, PYTHON};
use pillion_notebook::CellEvent;
use pillion_notebook::operations::kernel::{ShowKernelSpec, SpecEntry};
use pillion_notebook::operations::{
    CellReply, Complete, Completions, ControlReply, Input, InputReply, Inspect, Inspected,
    InterruptNotebook, KernelInfo, KernelsReport, NotebookStatus, ShutdownNotebook, StreamCell,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;

use super::super::backend::Backend;
use super::language::Language;

/// What ends the input of a cell.
pub(crate) const END_OF_INPUT: &str = "\u{4}";

/// The kernel that runs cells.
pub(crate) enum ReplKernel {
    /// The kernel of a session.
    Session(Session),
    /// A kernel of somebody else's.
    Attached(Box<AttachedKernel>),
}

/// What became of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Survival {
    /// It runs.
    Lives,
    /// It does not, and the next cell starts another.
    Follows,
    /// It does not, and nobody starts another.
    Gone,
}

/// The kernel of a session, which pillion runs.
pub(crate) struct Session {
    pub(crate) backend: Backend,
    pub(crate) caller: Caller,
    pub(crate) name: String,
    /// What kind of kernel it gets, if it has none.
    pub(crate) kernel: Option<String>,
}

impl Session {
    /// The language of its cells.
    async fn language(&self) -> Result<Language> {
        let status = self.status(&self.name).await?;
        let runs =
            status.filter(|kernel| !matches!(kernel.state, KernelLife::Absent | KernelLife::Dead));
        let language = match (runs, &self.kernel) {
            (Some(kernel), _) => kernel.language,
            (None, Some(name)) if name != PYTHON => {
                let name = name.clone();
                let entry: SpecEntry = self
                    .ask(ShowKernelSpec::NAME, ShowKernelSpec { name })
                    .await?;
                entry.spec.language
            }
            (None, _) => return Ok(Language::Python),
        };
        Ok(Language::named(&language))
    }

    async fn ask<T: DeserializeOwned>(&self, operation: &str, params: impl Serialize) -> Result<T> {
        let params = serde_json::to_value(params).map_err(Error::internal)?;
        self.backend.ask_for(&self.caller, operation, params).await
    }

    /// What is known of the kernel of a session.
    pub(crate) async fn status(&self, session: &str) -> Result<Option<KernelInfo>> {
        let session = Some(session.to_owned());
        let report: KernelsReport = self
            .ask(NotebookStatus::NAME, NotebookStatus { session })
            .await?;
        Ok(report.kernels.into_iter().next())
    }

    async fn run(&self, code: &str, mut tell: impl FnMut(CellEvent)) -> Result<CellReply> {
        let cell = StreamCell {
            code: code.to_owned(),
            session: Some(self.name.clone()),
            kernel: self.kernel.clone(),
            ..StreamCell::default()
        };
        let params = to_raw_value(&cell).map_err(Error::internal)?;
        let hear = |part: Part| {
            if let Part::Item(item) = part
                && let Ok(event) = serde_json::from_str(item.get())
            {
                tell(event);
            }
        };
        let call = self
            .backend
            .call(&self.caller, StreamCell::NAME, &params, true, hear);
        let reply = Box::pin(call).await?;
        serde_json::from_str(reply.get()).map_err(Error::internal)
    }
}

impl ReplKernel {
    /// The kernel that a connection file leads to.
    pub(crate) async fn attach(file: &Path) -> Result<Self> {
        let unreadable = |why: &dyn std::fmt::Display| {
            let message = format!("`{}` leads to no kernel: {why}", file.display());
            Error::new(Code::NotFound, message)
                .hint("`jupyter --runtime-dir` names the folder where connection files are")
        };
        let connection = ConnectionFile::read(file).map_err(|error| unreadable(&error))?;
        let attached = AttachedKernel::to(&connection).await;
        let attached = attached.map_err(|error| unreadable(&error))?;
        Ok(Self::Attached(Box::new(attached)))
    }

    /// The language of its cells.
    pub(crate) async fn language(&self) -> Result<Language> {
        match self {
            Self::Session(session) => session.language().await,
            // What is typed is sent as it is, whatever it is taken for.
            Self::Attached(_) => Ok(Language::Python),
        }
    }

    /// Run a cell to its end; `tell` hears what happens as it comes.
    pub(crate) async fn run(&self, code: &str, tell: impl FnMut(CellEvent)) -> Result<CellReply> {
        match self {
            Self::Session(session) => session.run(code, tell).await,
            Self::Attached(attached) => pillion_notebook::run_attached(attached, code, tell).await,
        }
    }

    /// Answer what its cell asks.
    pub(crate) async fn answer(&self, value: String) -> Result<()> {
        match self {
            Self::Session(session) => {
                let input = Input {
                    value,
                    session: Some(session.name.clone()),
                };
                session
                    .ask::<InputReply>(Input::NAME, input)
                    .await
                    .map(drop)
            }
            Self::Attached(attached) => attached.answer(&value).await,
        }
    }

    /// Interrupt its cell.
    pub(crate) async fn interrupt(&self) -> Result<()> {
        match self {
            Self::Session(session) => {
                let kernel = InterruptNotebook {
                    session: Some(session.name.clone()),
                };
                let touched = session.ask::<ControlReply>(InterruptNotebook::NAME, kernel);
                touched.await.map(drop)
            }
            Self::Attached(attached) => attached.interrupt().await,
        }
    }

    /// What became of it after a cell that ended otherwise than cells do.
    pub(crate) async fn survives(&self) -> Survival {
        match self {
            Self::Session(session) => match session.status(&session.name).await {
                Ok(Some(kernel))
                    if !matches!(kernel.state, KernelLife::Dead | KernelLife::Absent) =>
                {
                    Survival::Lives
                }
                _ => Survival::Follows,
            },
            Self::Attached(attached) => match attached.is_over() {
                true => Survival::Gone,
                false => Survival::Lives,
            },
        }
    }

    /// End it. What somebody else started is somebody else's to end.
    pub(crate) async fn end(&self) -> Result<()> {
        match self {
            Self::Session(session) => {
                let kernel = ShutdownNotebook {
                    session: Some(session.name.clone()),
                };
                let touched = session.ask::<ControlReply>(ShutdownNotebook::NAME, kernel);
                touched.await.map(drop)
            }
            Self::Attached(_) => Ok(()),
        }
    }

    /// What could stand there, as far as it is known in time.
    pub(crate) async fn complete(
        &self,
        code: String,
        cursor: usize,
        limit: Duration,
    ) -> Completions {
        let found = async {
            match self {
                Self::Session(session) => {
                    let question = Complete {
                        code,
                        cursor: Some(cursor),
                        session: Some(session.name.clone()),
                    };
                    session.ask(Complete::NAME, question).await
                }
                Self::Attached(attached) => {
                    pillion_notebook::complete_attached(attached, &code, cursor).await
                }
            }
        };
        // A kernel that is at work does not answer: there is nothing to choose from then.
        let found = tokio::time::timeout(limit, found).await;
        found.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Let it be known that somebody sits here: a kernel that nobody uses ends after a while.
    pub(crate) async fn keep(&self, limit: Duration) {
        if let Self::Session(session) = self {
            let nothing = Inspect {
                code: String::new(),
                cursor: None,
                source: false,
                session: Some(session.name.clone()),
            };
            let asked = session.ask::<Inspected>(Inspect::NAME, nothing);
            // One that is at work is not idle, and one that is gone is told by the next cell.
            let _ = tokio::time::timeout(limit, asked).await;
        }
    }

    /// Leave nothing behind that is ours alone.
    pub(crate) async fn close(self) {
        if let Self::Session(session) = self {
            session.backend.close().await;
        }
    }
}
