//! `kernel.sessions` and the like: which notebook has which kernel, as Jupyter's clients ask.

use pillion_catalogue::{
    AnswerForm, Context, DoorMode, Error, Method, Offer, Operation, Result, Route, Safety, Scope,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernels::start;
use crate::NotebookService;
use crate::gateway::{KernelModel, Opened};

/// A notebook with its kernel, as Jupyter's clients read it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SessionModel {
    /// Its id.
    pub id: String,
    /// The path of the notebook, as the client names it.
    pub path: String,
    /// Its name.
    pub name: String,
    /// What it is: `notebook`, `console` and the like.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its kernel.
    pub kernel: KernelModel,
}

/// The kernel that a client wants for a notebook.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct WantedKernel {
    /// One that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A new one of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl NotebookService {
    /// A notebook with its kernel, unless that is gone.
    fn session_model(&self, opened: Opened) -> Result<SessionModel> {
        let served = self.gateway().find(self.kernels(), &opened.kernel)?;
        Ok(SessionModel {
            id: opened.id,
            path: opened.path,
            name: opened.name,
            kind: opened.kind,
            kernel: self.model(&served),
        })
    }
}

/// The id of the kernel that is wanted, which runs then.
async fn wanted(cx: &Context<NotebookService>, kernel: Option<WantedKernel>) -> Result<String> {
    let service = cx.service();
    match kernel.unwrap_or_default() {
        WantedKernel { id: Some(id), .. } => {
            let served = service.gateway().find(service.kernels(), &id)?;
            Ok(served.id.clone())
        }
        WantedKernel { id: None, name } => {
            let served = start(cx, name.as_deref(), None).await?;
            Ok(served.id.clone())
        }
    }
}

/// List the notebooks that Jupyter's clients have open, with their kernels.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Sessions")]
pub struct ListKernelSessions {}

impl Operation for ListKernelSessions {
    const NAME: &'static str = "kernel.sessions";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN
        .no_tool()
        .routes(&[Route::new(Method::Get, "/api/sessions").only_in(DoorMode::Plain)]);
    type Service = NotebookService;
    type Output = Vec<SessionModel>;

    async fn run(self, cx: Context<NotebookService>) -> Result<Vec<SessionModel>> {
        let service = cx.service();
        let all = service.gateway().notebooks.all().into_iter();
        Ok(all
            .filter_map(|opened| service.session_model(opened).ok())
            .collect())
    }
}

/// Open a notebook, with a new kernel unless one is named.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct OpenSession {
    /// The path of the notebook: a name, which nothing is read from.
    #[serde(default)]
    pub path: String,
    /// Its name.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is: `notebook`, `console` and the like.
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its kernel.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<WantedKernel>,
}

impl Operation for OpenSession {
    const NAME: &'static str = "kernel.open_session";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer = Offer::PLAIN.no_tool().routes(&[Route {
        answer: AnswerForm::Created,
        ..Route::new(Method::Post, "/api/sessions").only_in(DoorMode::Plain)
    }]);
    type Service = NotebookService;
    type Output = SessionModel;

    async fn run(self, cx: Context<NotebookService>) -> Result<SessionModel> {
        let service = cx.service();
        let notebooks = &service.gateway().notebooks;
        if let Some(known) = notebooks.at(&self.path) {
            // A kernel that is gone took its notebooks along, unless that happened just now.
            if let Ok(model) = service.session_model(known) {
                return Ok(model);
            }
        }
        let opened = Opened {
            id: pillion_kernel::new_id().map_err(Error::internal)?,
            kernel: wanted(&cx, self.kernel).await?,
            name: self.name.unwrap_or_default(),
            kind: self.kind.unwrap_or_else(|| "notebook".to_owned()),
            path: self.path,
        };
        notebooks.put(opened.clone())?;
        service.session_model(opened)
    }
}

/// Tell about an open notebook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct ShowSession {
    /// Its id.
    pub session_id: String,
}

impl Operation for ShowSession {
    const NAME: &'static str = "kernel.show_session";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer =
        Offer::PLAIN.no_tool().routes(&[
            Route::new(Method::Get, "/api/sessions/{session_id}").only_in(DoorMode::Plain)
        ]);
    type Service = NotebookService;
    type Output = SessionModel;

    async fn run(self, cx: Context<NotebookService>) -> Result<SessionModel> {
        let service = cx.service();
        service.session_model(service.gateway().notebooks.find(&self.session_id)?)
    }
}

/// Give an open notebook another path, name or kernel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct UpdateSession {
    /// Its id.
    pub session_id: String,
    /// Its new path.
    #[arg(long, value_name = "PATH")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its new name.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is from now on.
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its new kernel; the one it had ends, if no other notebook has it.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<WantedKernel>,
}

impl Operation for UpdateSession {
    const NAME: &'static str = "kernel.update_session";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer =
        Offer::PLAIN.no_tool().routes(&[
            Route::new(Method::Patch, "/api/sessions/{session_id}").only_in(DoorMode::Plain)
        ]);
    type Service = NotebookService;
    type Output = SessionModel;

    async fn run(self, cx: Context<NotebookService>) -> Result<SessionModel> {
        let service = cx.service();
        let notebooks = &service.gateway().notebooks;
        let mut opened = notebooks.find(&self.session_id)?;
        let before = opened.kernel.clone();
        if self.kernel.is_some() {
            opened.kernel = wanted(&cx, self.kernel).await?;
        }
        opened.path = self.path.unwrap_or(opened.path);
        opened.name = self.name.unwrap_or(opened.name);
        opened.kind = self.kind.unwrap_or(opened.kind);
        notebooks.put(opened.clone())?;
        if opened.kernel != before {
            service.end_unless_used(&before).await;
        }
        service.session_model(opened)
    }
}

/// Close a notebook; its kernel ends, if no other notebook has it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct CloseSession {
    /// Its id.
    pub session_id: String,
}

impl Operation for CloseSession {
    const NAME: &'static str = "kernel.close_session";
    const SAFETY: Safety = Safety::Execute;
    const OFFER: Offer = Offer::PLAIN.no_tool().routes(&[Route {
        answer: AnswerForm::Nothing,
        ..Route::new(Method::Delete, "/api/sessions/{session_id}").only_in(DoorMode::Plain)
    }]);
    type Service = NotebookService;
    type Output = bool;

    async fn run(self, cx: Context<NotebookService>) -> Result<bool> {
        let service = cx.service();
        let closed = service.gateway().notebooks.remove(&self.session_id)?;
        Ok(service.end_unless_used(&closed.kernel).await)
    }
}
