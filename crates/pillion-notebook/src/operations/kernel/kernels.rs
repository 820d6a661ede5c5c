//! `kernel.list`, `start`, `show`, `shutdown`, `interrupt` and `restart`: kernels under their ids.

use std::sync::Arc;

use pillion_catalogue::{
    AnswerForm, Context, Method, Offer, Operation, Result, Route, Safety, Scope,
};
use pillion_lanes::Whereabouts;
use pillion_runtime::managed::ToCaller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NotebookService;
use crate::gateway::{KernelModel, Served};
use crate::service::wanted;

/// List the kernels there are, with the ids that Jupyter's clients know them by.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "List")]
pub struct ListKernels {}

impl Operation for ListKernels {
    const NAME: &'static str = "kernel.list";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN
        .no_tool()
        .routes(&[Route::new(Method::Get, "/api/kernels")]);
    type Service = NotebookService;
    type Output = Vec<KernelModel>;

    fn text(result: &str) -> Option<String> {
        let all: Vec<KernelModel> = serde_json::from_str(result).ok()?;
        if all.is_empty() {
            return Some("no kernels".to_owned());
        }
        let lines = all.iter().map(|kernel| {
            let KernelModel {
                id,
                execution_state,
                session,
                ..
            } = kernel;
            format!("{id}  {execution_state}  {session}")
        });
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<Vec<KernelModel>> {
        let service = cx.service();
        let all = service.gateway().all(service.kernels())?;
        Ok(all.iter().map(|kernel| service.model(kernel)).collect())
    }
}

/// Start a kernel, in a session of its own unless one is named.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Start")]
pub struct StartKernel {
    /// What kind of kernel.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The session it belongs to.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Operation for StartKernel {
    const NAME: &'static str = "kernel.start";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer = Offer::PLAIN.no_tool().routes(&[Route {
        answer: AnswerForm::Created,
        ..Route::new(Method::Post, "/api/kernels")
    }]);
    type Service = NotebookService;
    type Output = KernelModel;

    async fn run(self, cx: Context<NotebookService>) -> Result<KernelModel> {
        let served = start(&cx, self.name.as_deref(), self.session).await?;
        Ok(cx.service().model(&served))
    }
}

/// Start a kernel, and wait until it can be asked.
pub(super) async fn start(
    cx: &Context<NotebookService>,
    name: Option<&str>,
    session: Option<String>,
) -> Result<Arc<Served>> {
    let service = cx.service();
    let whereabouts = Whereabouts::of_caller(cx)?;
    let wanted = wanted(cx, name);
    if let Some(session) = &session {
        // One that runs may be of another kind.
        let kernels = service.kernels();
        kernels
            .of_session(
                session,
                whereabouts.clone(),
                &wanted,
                None,
                &ToCaller::of(cx),
            )
            .await?;
    }
    let served = service
        .gateway()
        .add(service.kernels(), session, whereabouts, wanted)?;
    // Who does not get it, for whatever reason, does not find it in the list either.
    let mut unwanted = Unwanted(Some((service, &served.id)));
    service.ready_again(&served).await?;
    unwanted.0 = None;
    drop(unwanted);
    Ok(served)
}

/// Forgets a kernel that did not start.
struct Unwanted<'a>(Option<(&'a NotebookService, &'a str)>);

impl Drop for Unwanted<'_> {
    fn drop(&mut self) {
        if let Some((service, id)) = self.0 {
            service.gateway().remove(id);
        }
    }
}

/// An operation on one kernel: its name, what it says about itself, its path and its answer.
macro_rules! on_kernel {
    ($(#[$about:meta])* $name:ident, $operation:literal, $safety:expr, $route:expr) => {
        #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
        $(#[$about])*
        pub struct $name {
            /// The id of the kernel.
            pub kernel_id: String,
        }

        impl Operation for $name {
            const NAME: &'static str = $operation;
            const SAFETY: Safety = $safety;
            const OFFER: Offer = Offer::PLAIN.no_tool().routes(&[$route]);
            type Service = NotebookService;
            type Output = KernelModel;

            async fn run(self, cx: Context<NotebookService>) -> Result<KernelModel> {
                let service = cx.service();
                let served = service.gateway().find(service.kernels(), &self.kernel_id)?;
                self.perform(service, &served).await?;
                Ok(service.model(&served))
            }
        }
    };
}

on_kernel!(
    /// Tell about a kernel.
    #[schemars(rename = "Show")]
    ShowKernel,
    "kernel.show",
    Safety::Read,
    Route::new(Method::Get, "/api/kernels/{kernel_id}")
);

on_kernel!(
    /// End a kernel for good.
    #[schemars(rename = "Shutdown")]
    ShutdownKernel,
    "kernel.shutdown",
    Safety::Execute,
    Route {
        answer: AnswerForm::Nothing,
        ..Route::new(Method::Delete, "/api/kernels/{kernel_id}")
    }
);

on_kernel!(
    /// Interrupt the cell that a kernel runs.
    #[schemars(rename = "Interrupt")]
    InterruptKernel,
    "kernel.interrupt",
    Safety::Execute,
    Route {
        answer: AnswerForm::Nothing,
        ..Route::new(Method::Post, "/api/kernels/{kernel_id}/interrupt")
    }
);

on_kernel!(
    /// End a kernel, and start a new one under the same id, which knows nothing of earlier cells.
    #[schemars(rename = "Restart")]
    RestartKernel,
    "kernel.restart",
    Safety::Execute,
    Route::new(Method::Post, "/api/kernels/{kernel_id}/restart")
);

impl ShowKernel {
    async fn perform(&self, _: &NotebookService, _: &Served) -> Result<()> {
        Ok(())
    }
}

impl ShutdownKernel {
    async fn perform(&self, service: &NotebookService, served: &Served) -> Result<()> {
        service.end(served).await;
        Ok(())
    }
}

impl InterruptKernel {
    async fn perform(&self, service: &NotebookService, served: &Served) -> Result<()> {
        let Some(kernel) = service.kernels().find(&served.session) else {
            return Ok(());
        };
        match kernel.running().await {
            Some(ready) => kernel.interrupt(&ready).await,
            None => Ok(()),
        }
    }
}

impl RestartKernel {
    async fn perform(&self, service: &NotebookService, served: &Arc<Served>) -> Result<()> {
        let restarting = served.restarting();
        service.forget(Some(&served.session));
        if let Some(kernel) = service.kernels().find(&served.session) {
            kernel.shut_down().await;
        }
        service.ready_again(served).await?;
        drop(restarting);
        Ok(())
    }
}
