//! `notebook.interrupt`, `restart`, `reset` and `shutdown`: the life of a session's kernel.

use pillion_catalogue::{Code, Context, Error, Method, Offer, Operation, Result, Safety, Scope};
use pillion_kernel::{CellListener, ExecuteRequest, Heard, KernelLife};
use pillion_lanes::NO_SESSION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::in_session;
use crate::NotebookService;

/// What became of a kernel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ControlReply {
    /// The session.
    pub session: String,
    /// There was something to be done.
    pub done: bool,
    /// What its kernel does now.
    pub state: KernelLife,
}

impl ControlReply {
    fn of(service: &NotebookService, session: Option<&str>, done: bool) -> Self {
        let session = session.unwrap_or(NO_SESSION);
        let kernel = service.kernels().find(session);
        Self {
            session: session.to_owned(),
            done,
            state: kernel.map_or(KernelLife::Absent, |kernel| kernel.life()),
        }
    }
}

/// An operation on the kernel of a session: its name, what it says about itself, its path, and
/// what it does.
macro_rules! control {
    ($(#[$about:meta])* $name:ident, $operation:literal, $scope:expr, $path:literal) => {
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
        #[serde(deny_unknown_fields)]
        $(#[$about])*
        pub struct $name {
            /// The session; without a name it is the one of runs that name none.
            #[arg(value_name = "SESSION")]
            #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
            pub session: Option<String>,
        }

        impl Operation for $name {
            const NAME: &'static str = $operation;
            const SAFETY: Safety = Safety::Execute;
            const SCOPE: Scope = $scope;
            const OFFER: Offer = Offer::PLAIN.routes(&[in_session(Method::Post, $path)]);
            type Service = NotebookService;
            type Output = ControlReply;

            async fn run(self, cx: Context<NotebookService>) -> Result<ControlReply> {
                let done = self.perform(&cx).await?;
                Ok(ControlReply::of(cx.service(), self.session.as_deref(), done))
            }
        }
    };
}

control!(
    /// Interrupt the cell that a session's kernel runs.
    #[schemars(rename = "Interrupt")]
    InterruptNotebook,
    "notebook.interrupt",
    Scope::Nothing,
    "/api/session/{session_id}/notebook/interrupt"
);

control!(
    /// End the kernel of a session, and start a new one that knows nothing of earlier cells.
    #[schemars(rename = "Restart")]
    RestartNotebook,
    "notebook.restart",
    Scope::Project,
    "/api/session/{session_id}/notebook/restart"
);

control!(
    /// Forget everything that cells of a session have defined.
    ///
    /// The kernel goes on, with the modules that it has imported.
    #[schemars(rename = "Reset")]
    ResetNotebook,
    "notebook.reset",
    Scope::Nothing,
    "/api/session/{session_id}/notebook/reset"
);

control!(
    /// End the kernel of a session. The next cell starts a new one.
    #[schemars(rename = "Shutdown")]
    ShutdownNotebook,
    "notebook.shutdown",
    Scope::Nothing,
    "/api/session/{session_id}/notebook/shutdown"
);

impl InterruptNotebook {
    async fn perform(&self, cx: &Context<NotebookService>) -> Result<bool> {
        let kernel = cx.service().known(self.session.as_deref())?;
        match kernel.running().await {
            Some(ready) => kernel.interrupt(&ready).await.map(|()| true),
            None => Ok(false),
        }
    }
}

impl RestartNotebook {
    async fn perform(&self, cx: &Context<NotebookService>) -> Result<bool> {
        let session = self.session.as_deref();
        let service = cx.service();
        // Who talks with it is told that it comes back.
        let restarting = service.gateway().restarting(session.unwrap_or(NO_SESSION));
        service.forget(session);
        if let Ok(kernel) = service.known(session) {
            kernel.shut_down().await;
        }
        service.ready(cx, session, None, None).await?;
        drop(restarting);
        Ok(true)
    }
}

impl ResetNotebook {
    async fn perform(&self, cx: &Context<NotebookService>) -> Result<bool> {
        let kernel = cx.service().known(self.session.as_deref())?;
        if kernel.source().is_none() {
            let what = format!("a kernel `{}` forgets nothing while it runs", kernel.name());
            return Err(Error::new(Code::Unsupported, what)
                .hint("start it again: `pillion notebook restart`"));
        }
        let Some(ready) = kernel.running().await else {
            return Ok(false);
        };
        let cell = ExecuteRequest {
            code: "get_ipython().reset(new_session=True)".to_owned(),
            silent: true,
            allow_stdin: false,
            stop_on_error: false,
            timeout: None,
            output: kernel.most_output(),
        };
        let cancel = cx.request().cancel.clone();
        cx.service().forget(self.session.as_deref());
        let ran = kernel.run(&ready, cell, &cancel, &mut NoListener).await?;
        Ok(ran.lost.is_none())
    }
}

impl ShutdownNotebook {
    async fn perform(&self, cx: &Context<NotebookService>) -> Result<bool> {
        let kernel = cx.service().known(self.session.as_deref())?;
        cx.service().forget(self.session.as_deref());
        Ok(kernel.shut_down().await)
    }
}

/// Hears nothing.
pub(super) struct NoListener;

impl CellListener for NoListener {
    async fn hear(&mut self, _: &Heard) {}
}
