//! `notebook.status`: the kernels there are, and what they do.

use std::fmt::Write as _;

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Safety};
use pillion_kernel::{Kernel, KernelLife, PYTHON, PackageSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::in_session;
use crate::NotebookService;

/// Tell what kernels do: that of a session, or all of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Status")]
#[serde(deny_unknown_fields)]
pub struct NotebookStatus {
    /// Only this session.
    #[arg(value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The kernels there are.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KernelsReport {
    /// By session.
    pub kernels: Vec<KernelInfo>,
    /// Kernels that have started already and wait for a session.
    pub spares: usize,
}

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KernelInfo {
    /// Its session.
    pub session: String,
    /// What it does.
    pub state: KernelLife,
    /// What kind of kernel it is.
    pub kernel: String,
    /// The language of its cells.
    pub language: String,
    /// The Python that it runs, or the program of its kernelspec.
    pub python: String,
    /// Whose ipykernel: the project's own, or that of an environment that pillion keeps. Other
    /// kernels have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipykernel: Option<PackageSource>,
    /// What its cell asks, if it waits for input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
}

impl KernelInfo {
    fn of(service: &NotebookService, kernel: &Kernel) -> Self {
        Self {
            session: kernel.session().to_owned(),
            state: kernel.life(),
            kernel: kernel.name().to_owned(),
            language: kernel.language().to_owned(),
            python: kernel.executable().display().to_string(),
            ipykernel: kernel.source(),
            asks: service.questions().prompt(kernel.session()),
        }
    }
}

impl Operation for NotebookStatus {
    const NAME: &'static str = "notebook.status";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.routes(&[in_session(
        Method::Get,
        "/api/session/{session_id}/notebook",
    )]);
    type Service = NotebookService;
    type Output = KernelsReport;

    fn text(result: &str) -> Option<String> {
        let report: KernelsReport = serde_json::from_str(result).ok()?;
        if report.kernels.is_empty() {
            return Some("no kernels".to_owned());
        }
        let mut text = String::new();
        for kernel in report.kernels {
            let state = serde_json::to_value(kernel.state).ok()?;
            let state = state.as_str().unwrap_or_default().to_owned();
            let KernelInfo {
                session,
                kernel,
                python,
                ..
            } = kernel;
            let _ = match kernel == PYTHON {
                true => writeln!(text, "{session}  {state}  {python}"),
                false => writeln!(text, "{session}  {state}  {kernel}  {python}"),
            };
        }
        Some(text.trim_end().to_owned())
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<KernelsReport> {
        let service = cx.service();
        let kernels = match self.session.as_deref() {
            Some(session) => service.kernels().find(session).into_iter().collect(),
            None => service.kernels().all(),
        };
        let kernels = kernels.iter().map(|kernel| KernelInfo::of(service, kernel));
        Ok(KernelsReport {
            kernels: kernels.collect(),
            spares: service.kernels().spares(),
        })
    }
}
