//! `notebook.run_cell` and `notebook.stream`: one cell on the kernel of a session.

use pillion_catalogue::{
    AnswerForm, AnswerPicture, Context, Method, Offer, Operation, Prints, Result, Safety, Scope,
    Streams,
};
use pillion_lanes::RunOutcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::in_session;
use crate::NotebookService;
use crate::file::{Budget, IMAGES, Output, show};
use crate::reply::{CellReply, word};
use crate::running_cell::{CellEvent, CellFollower};
use crate::service::Order;

/// Run a cell on the kernel of a session, and wait for its end.
///
/// The first cell of a session starts its kernel, which keeps what cells define until it is
/// shut down, restarted, or not used for a while. It lives behind the walls of the user lane, in
/// the folder of its session. With `stream` what happens is told as it comes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct RunCell {
    /// The code.
    pub code: String,
    /// The session; without a name it is the one of runs that name none.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What kind of kernel the session gets, by the name of its kernelspec; without one, Python.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// A name of the caller's for it, which is in the reply.
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_id: Option<String>,
    /// Seconds it may take; then it is interrupted, and if need be its kernel is killed.
    #[arg(long = "timeout", alias = "timeout-seconds", value_name = "S")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// What it reads if it asks for input, one after the other.
    #[arg(long = "input", value_name = "TEXT")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Megabytes of memory for its kernel, if it starts one.
    #[arg(long, value_name = "MB")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_mb: Option<u64>,
    /// If the kernel that ran earlier cells was lost, run those that ended well again first.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replay: bool,
    /// Tell what happens as it comes.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
}

impl From<RunCell> for Order {
    fn from(cell: RunCell) -> Self {
        Self {
            session: cell.session,
            kernel: cell.kernel,
            code: cell.code,
            cell_id: cell.cell_id,
            timeout_seconds: cell.timeout_seconds,
            inputs: cell.inputs,
            memory_limit_mb: cell.memory_limit_mb,
            is_followed: cell.stream,
            replay: cell.replay,
        }
    }
}

/// What the command line shows of a reply.
fn text(result: &str) -> Option<String> {
    let reply: CellReply = serde_json::from_str(result).ok()?;
    let outputs: Vec<_> = reply.outputs.iter().map(Output::read).collect();
    let shown = show(&outputs, Budget::default());
    let mut text = shown.text;
    for page in &reply.pages {
        text.push_str(&crate::file::plain(page));
        text.push('\n');
    }
    if reply.outcome != RunOutcome::Ok && reply.outcome != RunOutcome::Error {
        text.push_str(&format!("[{}]\n", word(reply.outcome)));
    }
    if let Some(notice) = reply.notice {
        text.push_str(&format!("note: {notice}\n"));
    }
    Some(text.trim_end_matches('\n').to_owned())
}

/// A reply in whose outputs the pictures are only named, and the pictures.
fn pictures(result: &str) -> Option<(String, Vec<AnswerPicture>)> {
    let mut reply: Value = serde_json::from_str(result).ok()?;
    let mut room = Budget::default();
    let mut pictures = Vec::new();
    for output in reply["outputs"].as_array_mut()? {
        let shown = Output::read(output).as_text(room);
        for image in shown.images {
            room.images = room.images.saturating_sub(image.base64.len());
            pictures.push(AnswerPicture {
                mime: image.mime,
                base64: image.base64,
            });
        }
        let data = output.get_mut("data").and_then(Value::as_object_mut);
        let named = data.into_iter().flatten();
        for (mime, data) in named.filter(|(mime, _)| IMAGES.contains(&mime.as_str())) {
            *data = format!("[{mime}]").into();
        }
    }
    Some((reply.to_string(), pictures))
}

impl Operation for RunCell {
    const NAME: &'static str = "notebook.run_cell";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const STREAMS: Streams = Streams::OnRequest;
    const OFFER: Offer = Offer::PLAIN.routes(&[in_session(
        Method::Post,
        "/api/session/{session_id}/notebook/cell/run",
    )]);
    type Service = NotebookService;
    type Output = CellReply;

    fn text(result: &str) -> Option<String> {
        text(result)
    }

    fn pictures(result: &str) -> Option<(String, Vec<AnswerPicture>)> {
        pictures(result)
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<CellReply> {
        let mut told = Following(self.stream.then_some(&cx));
        cx.service().run(&cx, self.into(), &mut told).await
    }
}

/// Run a cell, and tell what happens as it comes: outputs, questions, and the reply at the end.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Stream")]
#[serde(deny_unknown_fields)]
pub struct StreamCell {
    /// The code.
    pub code: String,
    /// The session; without a name it is the one of runs that name none.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What kind of kernel the session gets, by the name of its kernelspec; without one, Python.
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// A name of the caller's for it, which is in the reply.
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_id: Option<String>,
    /// Seconds it may take; then it is interrupted, and if need be its kernel is killed.
    #[arg(long = "timeout", alias = "timeout-seconds", value_name = "S")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// If the kernel that ran earlier cells was lost, run those that ended well again first.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replay: bool,
}

impl Operation for StreamCell {
    const NAME: &'static str = "notebook.stream";
    const SAFETY: Safety = Safety::Execute;
    const SCOPE: Scope = Scope::Project;
    const STREAMS: Streams = Streams::Always;
    const OFFER: Offer = Offer::PLAIN
        .prints(Prints::Items)
        .no_tool()
        .routes(&[in_session(
            Method::Post,
            "/api/session/{session_id}/notebook/cell/stream",
        )
        .answers(AnswerForm::Events)]);
    type Service = NotebookService;
    type Output = CellReply;

    async fn run(self, cx: Context<NotebookService>) -> Result<CellReply> {
        let order = Order {
            session: self.session,
            kernel: self.kernel,
            code: self.code,
            cell_id: self.cell_id,
            timeout_seconds: self.timeout_seconds,
            inputs: Vec::new(),
            memory_limit_mb: None,
            is_followed: true,
            replay: self.replay,
        };
        let mut told = Following(Some(&cx));
        let reply = cx.service().run(&cx, order, &mut told).await?;
        told.tell(CellEvent::Complete(Box::new(reply.clone())))
            .await;
        Ok(reply)
    }
}

/// Passes events on to the caller.
struct Following<'a>(Option<&'a Context<NotebookService>>);

impl CellFollower for Following<'_> {
    async fn tell(&mut self, event: CellEvent) {
        if let Some(cx) = self.0 {
            // Somebody who went away is cancelled by the door.
            let _ = cx.emit(&event).await;
        }
    }
}
