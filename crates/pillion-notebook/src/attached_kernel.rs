//! Cells on a kernel that somebody else started: the same events and replies, without a session.

use pillion_catalogue::Result;
use pillion_kernel::{AttachedKernel, CellListener, Channel, ExecuteRequest, Heard};
use serde_json::json;
use tokio::sync::mpsc;

use crate::operations::Completions;
use crate::reply::CellReply;
use crate::running_cell::{CellEvent, Showing};

/// Bytes that one cell may show.
const MOST_OUTPUT: u64 = 64 << 20;
/// Events that may wait for whoever follows.
const WAITING: usize = 64;

/// Run a cell; `tell` hears what happens as it comes.
pub async fn run_attached(
    attached: &AttachedKernel,
    code: &str,
    mut tell: impl FnMut(CellEvent),
) -> Result<CellReply> {
    let cell = ExecuteRequest {
        code: code.to_owned(),
        silent: false,
        allow_stdin: true,
        stop_on_error: true,
        timeout: None,
        output: MOST_OUTPUT,
    };
    let (to, mut events) = mpsc::channel(WAITING);
    let mut listener = Following {
        attached,
        shown: Showing::new(MOST_OUTPUT),
        to,
    };
    let ran = {
        let run = attached.run(&cell, &mut listener);
        tokio::pin!(run);
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => tell(event),
                ran = &mut run => break ran?,
            }
        }
    };
    while let Ok(event) = events.try_recv() {
        tell(event);
    }
    let notice = ran.lost.clone();
    Ok(listener.shown.reply(&ran, "", notice))
}

/// What could stand there.
pub async fn complete_attached(
    attached: &AttachedKernel,
    code: &str,
    cursor: usize,
) -> Result<Completions> {
    let question = json!({ "code": code, "cursor_pos": cursor });
    let reply = attached
        .ask(Channel::Shell, "complete_request", &question)
        .await?;
    Ok(Completions::read(&reply, cursor))
}

struct Following<'a> {
    attached: &'a AttachedKernel,
    shown: Showing,
    to: mpsc::Sender<CellEvent>,
}

impl CellListener for Following<'_> {
    async fn hear(&mut self, heard: &Heard) {
        let content = heard.content();
        let events = match heard.kind() {
            "input_request" => {
                self.attached.note(heard);
                vec![CellEvent::InputRequest {
                    prompt: content["prompt"].as_str().unwrap_or_default().to_owned(),
                    password: content["password"].as_bool().unwrap_or_default(),
                }]
            }
            kind => self.shown.take(kind, &content),
        };
        for event in events {
            // It is received for as long as the cell runs.
            let _ = self.to.send(event).await;
        }
    }
}
