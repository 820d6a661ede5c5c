//! Questions to a kernel while a cell runs.
//!
//! Requests on the shell socket wait behind the cell that runs. ipykernel 7 has subshells: further
//! threads that take requests, with the same names. One is made when a question first finds the
//! kernel at work. Kernels that have none are told nothing they do not know: for them a question
//! waits its turn.

use std::io;
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use serde_json::{Value, json};

use crate::client::{KernelClient, ReplyStream};
use crate::kernel::{Kernel, ReadyKernel, gone};
use crate::received::{Channel, Heard};
use crate::start::ANSWER_TIMEOUT;

/// How long it may take to make a subshell; older ones say nothing when they are asked for one.
const MADE: Duration = Duration::from_secs(2);

impl KernelClient {
    /// The kernel's subshell, which is made if there is none; `None` if it cannot have one.
    async fn subshell(&self) -> Option<&str> {
        let made = self.beside.get_or_init(|| async {
            let nothing = json!({});
            let asked = self.ask(Channel::Control, "create_subshell_request", &nothing);
            let reply = asked.await.ok()?.reply();
            let reply = tokio::time::timeout(MADE, reply).await.ok()??.content();
            reply["subshell_id"].as_str().map(ToOwned::to_owned)
        });
        made.await.as_deref()
    }
}

impl Kernel {
    /// Ask it something that is no cell: what comes back. It is not kept waiting by a cell, if
    /// this kernel can do two things at once.
    pub async fn begin_asking(
        &self,
        ready: &ReadyKernel,
        kind: &str,
        content: &Value,
    ) -> Result<ReplyStream> {
        let client = &ready.client;
        let subshell = match client.is_busy() && self.source().is_some() {
            true => client.subshell().await,
            false => None,
        };
        let asked = match subshell {
            Some(subshell) => client.ask_beside(subshell, kind, content).await,
            None => client.ask(Channel::Shell, kind, content).await,
        };
        asked.map_err(|error| gone(&error))
    }

    /// Ask it something that is no cell, and wait for its reply.
    pub async fn ask(&self, ready: &ReadyKernel, kind: &str, content: &Value) -> Result<Value> {
        let answer = self.begin_asking(ready, kind, content).await?;
        let reply = tokio::time::timeout(ANSWER_TIMEOUT, answer.reply()).await;
        reply
            .map_err(|_| late())?
            .map(|heard| heard.content())
            .ok_or_else(|| gone(&io::ErrorKind::UnexpectedEof.into()))
    }

    /// Run code of our own that is no cell, and give the first thing that it shows, if any. Nobody
    /// can interrupt it: what is interrupted is the cell that runs.
    pub async fn ask_by_code(&self, ready: &ReadyKernel, code: &str) -> Result<Option<Heard>> {
        let request = json!({
            "code": code,
            "silent": true,
            "store_history": false,
            "user_expressions": {},
            "allow_stdin": false,
            "stop_on_error": false,
        });
        let mut answer = self
            .begin_asking(ready, "execute_request", &request)
            .await?;
        let shown = async {
            // Reply and output come by two sockets, in any order between them: on a busy machine
            // even the word that it began may come after the reply.
            let (mut is_replied, mut is_idle) = (false, false);
            while let Some(heard) = answer.next().await {
                match (heard.channel, heard.kind()) {
                    (Channel::Iopub, "display_data") => return Ok(Some(heard)),
                    (Channel::Shell, _) => is_replied = true,
                    (Channel::Iopub, "status") => {
                        is_idle |= heard.content()["execution_state"] == "idle";
                    }
                    _ => {}
                }
                if is_replied && is_idle {
                    return Ok(None);
                }
            }
            Err(gone(&io::ErrorKind::UnexpectedEof.into()))
        };
        tokio::time::timeout(ANSWER_TIMEOUT, shown)
            .await
            .map_err(|_| late())?
    }
}

fn late() -> Error {
    Error::new(Code::Timeout, "the kernel gave no answer").hint(
        "it may be at work: `pillion notebook status` tells, and `pillion notebook interrupt` \
         stops it",
    )
}
