//! A question to the workers of a project: what `py.call`, `py.describe`, `py.expose` and
//! `py.invoke` have in common.

use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::{Code, Context, Error, Result};
use pillion_supervisor::{Answer, Ask, Call};
use serde::Serialize;
use serde_json::value::to_raw_value;

use super::{WorkerRef, timeout, whereabouts};
use crate::PythonService;
use crate::project::PythonProject;

/// Which workers are asked, and how.
pub(super) struct Question {
    pub(super) root: Option<PathBuf>,
    pub(super) python: Option<PathBuf>,
    /// The caller's virtual environment, and that of conda.
    pub(super) environments: [Option<PathBuf>; 2],
    /// More folders to import from.
    pub(super) path: Vec<PathBuf>,
    pub(super) timeout_ms: Option<u64>,
    /// Whether it may be repeated once after a crash.
    pub(super) is_safe: bool,
    pub(super) streams: bool,
}

impl Question {
    /// Ask; the project is told as well, because errors in the answer are named by it.
    pub(super) async fn ask(
        self,
        cx: &Context<PythonService>,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<(Arc<PythonProject>, Answer)> {
        let service = cx.service();
        let place = whereabouts(cx, self.root.as_deref(), self.python, self.environments)?;
        let project = service.project(place).await?;
        let pool = service.workers(&project, &self.path, &cx.request().caller)?;
        let call = Call {
            ask: Ask {
                method: method.into(),
                params: Some(to_raw_value(params).map_err(Error::internal)?),
                project: String::new(),
            },
            safe: self.is_safe,
            timeout: timeout(self.timeout_ms, project.common.config.python.timeout_s)?,
            parts: cx.request().parts.clone().filter(|_| self.streams),
            room: cx.request().room.clone(),
        };
        match pool.call(call).await {
            Ok(answer) => Ok((project, answer)),
            Err(error) => Err(name_python(error, &project)),
        }
    }
}

impl WorkerRef {
    /// The worker that answered.
    pub(super) fn of(answer: &Answer) -> Self {
        Self {
            generation: answer.generation,
            pid: answer.pid,
        }
    }
}

/// A module that is missing is mostly one that is missing *there*: say where.
pub(super) fn name_python(mut error: Error, project: &PythonProject) -> Error {
    if error.code == Code::NotFound
        && let Ok(choice) = project.python()
    {
        let place = format!(
            "looked for in `{}` with `{}` ({})",
            project.common.root.display(),
            choice.interpreter.executable.display(),
            choice.source,
        );
        error.hint = Some(match error.hint.take() {
            Some(hint) => format!("{hint} It was {place}."),
            None => format!("it was {place}"),
        });
    }
    error
}
