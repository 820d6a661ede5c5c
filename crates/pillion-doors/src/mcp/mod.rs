//! The Model Context Protocol: every operation as a tool of an agent.
//!
//! What an agent sees is made from the catalogue (`tools`); one list says what is kept
//! from agents, and one alias table holds the names that a contract fixes. `server` is the
//! protocol's side, `calls` carries a call through the catalogue, `functions` does
//! the same for functions of Python modules that are exposed, `outputs` cuts what would flood a model and keeps the rest to be fetched. The protocol itself is spoken by
//! `rmcp`; `lines` is our own transport for standard input and output, because a line that
//! cannot be read is to be answered, not passed by. `http` is `/mcp` of the HTTP door.

mod calls;
mod errors;
mod exact;
mod functions;
pub(crate) mod http;
mod lines;
mod outputs;
mod profile;
mod prompts;
mod resources;
mod roots;
mod schemas;
mod server;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use pillion_catalogue::Caller;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::House;
use lines::LineTransport;
use server::{Agent, Shared};

pub use profile::Profile;

/// Bytes of text that one answer shows unless somebody says otherwise.
pub const MAX_OUTPUT: usize = 60_000;

/// How often an agent that has stopped sending is asked whether it still reads.
const STILL_THERE: Duration = Duration::from_millis(250);

/// How the door is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which tools there are.
    pub profile: Profile,
    /// Bytes of text that one answer shows.
    pub max_output: usize,
    /// Who the agent is where it says nothing itself: where it stands, and which Python is its.
    pub caller: Caller,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            profile: Profile::Full,
            max_output: MAX_OUTPUT,
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
    house: House,
    settings: Settings,
    gone: impl Fn() -> bool,
) {
    let shutdown = house.shutdown.child_token();
    let (transport, room, ended, writing) = LineTransport::new(input, output);
    let agent = Agent::new(Arc::new(Shared::new(house, settings)), room);
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
