//! `kernel.connect_file` and `kernel.launch`: kernels for programs that speak ZeroMQ themselves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::{
    Code, Context, Error, Offer, Operation, Prints, Result, Safety, Scope, work,
};
use pillion_kernel::Kernel;
use pillion_lanes::Whereabouts;
use pillion_runtime::managed::ToCaller;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NotebookService;
use crate::gateway::SESSION;

/// How often it is looked whether the program that wanted a kernel still runs.
const POLL_EVERY: Duration = Duration::from_millis(500);

/// Write a connection file with which `jupyter console --existing` joins a session's kernel.
///
/// The kernel is started if there is none. The file holds the kernel's key, can be read by its
/// user only, and is gone when the kernel is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ConnectFile {
    /// The session; without a name it is the one of runs that name none.
    #[arg(value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Where the file is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConnectFileReply {
    /// The session.
    pub session: String,
    /// The file.
    pub path: PathBuf,
}

impl Operation for ConnectFile {
    const NAME: &'static str = "kernel.connect_file";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer = Offer::PLAIN.no_tool();
    type Service = NotebookService;
    type Output = ConnectFileReply;

    fn text(result: &str) -> Option<String> {
        let file: ConnectFileReply = serde_json::from_str(result).ok()?;
        Some(file.path.display().to_string())
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<ConnectFileReply> {
        let ready = cx.service().ready(&cx, self.session.as_deref(), None, None);
        let (kernel, ready) = ready.await?;
        Ok(ConnectFileReply {
            path: kernel.connection_file(&ready).await?,
            session: kernel.session().to_owned(),
        })
    }
}

/// Be the kernel that a plain Jupyter wants, behind walls, until it or its Jupyter ends.
///
/// Jupyter starts this command, by the kernelspec that `pillion kernel install` writes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Launch")]
#[serde(deny_unknown_fields)]
pub struct LaunchKernel {
    /// The file in which Jupyter says where it expects the kernel.
    #[arg(short = 'f', long, value_name = "FILE")]
    pub connection_file: PathBuf,
    /// The process that wants it: the kernel ends with that, too.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
}

/// A kernel that ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Launched {
    /// The session that it had.
    pub session: String,
}

impl Operation for LaunchKernel {
    const NAME: &'static str = "kernel.launch";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer = Offer::PLAIN.no_tool().prints(Prints::Items);
    type Service = NotebookService;
    type Output = Launched;

    fn typed(mut self, _: bool) -> Self {
        self.parent = Some(std::os::unix::process::parent_id());
        self
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<Launched> {
        let path = self.connection_file.clone();
        let wrong = |error: std::io::Error| {
            let file = self.connection_file.display();
            let what = format!("cannot be the kernel of `{file}`: {error}");
            Error::new(Code::InvalidParams, what)
                .hint("it is the connection file that a Jupyter wrote for a new kernel")
        };
        let connection = work(move |_| pillion_kernel::ConnectionFile::read(&path)).await?;
        let connection = connection.map_err(wrong)?;
        let listeners = connection.listen().await.map_err(wrong)?;
        let id = pillion_kernel::new_id().map_err(Error::internal)?;
        let session = format!("{SESSION}{id}");
        let whereabouts = Whereabouts::of_caller(&cx)?;
        let kernels = cx.service().kernels();
        let kernel = kernels
            .with_key(
                &session,
                whereabouts,
                connection.key,
                None,
                &ToCaller::of(&cx),
            )
            .await?;
        let _ending = Ending(Arc::clone(cx.service()), Arc::clone(&kernel));
        let ready = kernel.ready().await?;
        let client = Arc::clone(&ready.client);
        let parent = self.parent.and_then(pillion_kernel::Parent::of);
        tokio::select! {
            () = listeners.pass_on(kernel, client) => {}
            () = gone(parent) => {}
        }
        Ok(Launched { session })
    }
}

/// Ends a kernel that nobody can reach any more.
struct Ending(Arc<NotebookService>, Arc<Kernel>);

impl Drop for Ending {
    fn drop(&mut self) {
        let (service, kernel) = (Arc::clone(&self.0), Arc::clone(&self.1));
        tokio::spawn(async move {
            kernel.shut_down().await;
            service.kernels().forget_folder(kernel.session()).await;
        });
    }
}

async fn gone(parent: Option<pillion_kernel::Parent>) {
    let Some(parent) = parent else {
        return std::future::pending().await;
    };
    while parent.is_alive() {
        tokio::time::sleep(POLL_EVERY).await;
    }
}
