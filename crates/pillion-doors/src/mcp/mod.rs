//! The Model Context Protocol: operations as tools of an agent.
//!
//! What an agent sees is made from the catalogue (`tools`, `schemas`): operations say in their
//! offers which tables of tools they are on, and which names a contract fixes. `server` is the
//! protocol's side, `calls` carries a call through the catalogue and shows its answer as text or
//! JSON, `functions` does the same for functions of Python modules that are exposed, `outputs`
//! and `trim` cut what would flood a model and keep the rest to be fetched. The protocol itself is spoken by
//! `rmcp`; `lines` is our own transport for standard input and output, because a line that
//! cannot be read is to be answered, not passed by. `/mcp` of the HTTP door is in `http`.

mod agent;
mod calls;
mod errors;
pub(crate) mod exact_numbers;
mod functions;
mod lines;
mod outputs;
mod prompts;
mod resources;
mod roots;
mod schemas;
mod server;
mod tools;
mod trim;

use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::Caller;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::DoorState;
pub(crate) use agent::{Agent, Shared};
use lines::LineTransport;

pub use pillion_catalogue::Profile;

/// Bytes that one answer in JSON shows unless somebody says otherwise.
pub const MAX_OUTPUT: usize = 60_000;
/// The same for an answer in text, all of which a model reads: about 5,000 tokens.
pub const MAX_TEXT: usize = 20_000;

/// How often an agent that has stopped sending is asked whether it still reads.
const STILL_THERE: Duration = Duration::from_millis(250);

/// How the door is set up.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Which tools there are.
    pub profile: Profile,
    /// Bytes that one answer shows; [`MAX_TEXT`] or [`MAX_OUTPUT`] if nothing is said.
    pub max_output: Option<usize>,
    /// Who the agent is where it says nothing itself: where it stands, and which Python is its.
    pub caller: Caller,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            profile: Profile::Default,
            max_output: None,
            caller: Caller::default(),
        }
    }
}

/// Serve one agent on a pair of streams, until its input ends or pillion does.
///
/// What was read by then may still be answered for some seconds, and is cancelled then, or
/// as soon as `gone` tells that nobody reads.
pub async fn serve(
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    state: DoorState,
    settings: McpSettings,
    gone: impl Fn() -> bool,
) {
    let shutdown = state.shutdown.child_token();
    let (transport, budget, ended, writing) = LineTransport::new(input, output);
    let agent = Agent::new(Arc::new(Shared::new(state, settings)), budget);
    let session = async {
        match rmcp::service::serve_server_with_ct(agent, transport, shutdown.clone()).await {
            Ok(running) => {
                if let Err(error) = running.waiting().await {
                    tracing::error!(%error, "the MCP session broke");
                }
            }
            // The input ended before anything was asked.
            Err(error) => tracing::debug!(%error, "no MCP session"),
        }
    };
    let unread = async {
        ended.cancelled().await;
        while !gone() {
            tokio::time::sleep(STILL_THERE).await;
        }
        shutdown.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = session => {}
        () = unread => {}
    }
    let _ = writing.await;
}
