//! `kernel.channels`: a client of Jupyter's talks with a kernel.

use pillion_catalogue::{
    AnswerForm, Code, Context, Error, Method, Offer, Operation, Result, Route, Safety,
};
use pillion_protocol::websocket::V1;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NotebookService;
use crate::jupyter_channels::converse;

/// Talk with a kernel in Jupyter's own messages, over a WebSocket.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
pub struct Channels {
    /// The id of the kernel.
    pub kernel_id: String,
    /// The client's own name: under it, it gets what came while it was away.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// A conversation that ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChannelsReply {
    /// The id of the kernel.
    pub kernel_id: String,
}

/// Characters of a client's name.
const LONGEST_NAME: usize = 256;

impl Operation for Channels {
    const NAME: &'static str = "kernel.channels";
    const SAFETY: Safety = Safety::Execute;
    const OFFER: Offer = Offer::PLAIN.no_tool().routes(&[Route {
        answer: AnswerForm::WebSocket(&[V1]),
        query: &["session_id"],
        ..Route::new(Method::Get, "/api/kernels/{kernel_id}/channels")
    }]);
    type Service = NotebookService;
    type Output = ChannelsReply;

    async fn run(self, cx: Context<NotebookService>) -> Result<ChannelsReply> {
        let service = cx.service();
        let served = service.gateway().find(service.kernels(), &self.kernel_id)?;
        let duplex = cx.request().duplex.as_ref().ok_or_else(|| {
            Error::new(Code::Unsupported, "this door carries no conversation").hint(
                "connect by WebSocket to `/api/kernels/ID/channels` of `pillion serve`, or run \
                 cells with `pillion notebook run-cell`",
            )
        })?;
        let name = self.session_id.filter(|name| name.len() <= LONGEST_NAME);
        converse(service, &served, duplex, name).await?;
        Ok(ChannelsReply {
            kernel_id: self.kernel_id,
        })
    }
}
