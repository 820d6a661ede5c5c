//! `notebook.input`: answer a cell that asks.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Safety};
use pillion_lanes::NO_SESSION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::in_session;
use crate::NotebookService;

/// Answer a cell that asks for input.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What it reads, without an end of line.
    pub value: String,
    /// The session; without a name it is the one of runs that name none.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// An answer that was given.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InputReply {
    /// The session.
    pub session: String,
}

impl Operation for Input {
    const NAME: &'static str = "notebook.input";
    const SAFETY: Safety = Safety::Execute;
    const OFFER: Offer = Offer::PLAIN.routes(&[in_session(
        Method::Post,
        "/api/session/{session_id}/notebook/input",
    )]);
    type Service = NotebookService;
    type Output = InputReply;

    async fn run(self, cx: Context<NotebookService>) -> Result<InputReply> {
        let session = self.session.unwrap_or_else(|| NO_SESSION.to_owned());
        cx.service()
            .questions()
            .answer(&session, &self.value)
            .await?;
        Ok(InputReply { session })
    }
}
