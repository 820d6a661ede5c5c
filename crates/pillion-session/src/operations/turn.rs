//! `session.message`, `session.follow` and `session.cancel`: a turn, and reading along.

use std::sync::Arc;

use pillion_agents::{MAX_INPUT_LENGTH, StreamEvent};
use pillion_catalogue::{
    Context, Field, MemberLimit, Method, Offer, Operation, Prints, Result, Route, Safety, Scope,
    Streams, invalid_field,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{events, frozen, stable};
use crate::SessionService;
use crate::folder::Folder;
use crate::log::TurnLog;

/// Say something in a session, and hear the companion answer.
///
/// The items are what happens in the turn: `companion_chunk` is more of the reply,
/// `companion_start` a reply that takes the place of the one before, `complete` the end. A
/// session has one turn at a time. The turn goes on when its reader goes away:
/// `session.follow` reads on, and `session.cancel` ends it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Message")]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// The session.
    pub session_id: String,
    /// What the learner says.
    #[schemars(length(min = 1, max = 10_000))]
    pub message: String,
}

/// How a turn ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Turned {
    /// The session.
    pub session_id: String,
    /// How many events the turn had.
    pub events: u64,
    /// The last of them.
    pub last: Option<StreamEvent>,
}

impl Operation for SendMessage {
    const NAME: &'static str = "session.message";
    const SAFETY: Safety = Safety::Execute;
    const STREAMS: Streams = Streams::Always;
    const SCOPE: Scope = Scope::Project;
    const OFFER: Offer = Offer::PLAIN.prints(Prints::Items).routes(&[events(Route {
        fields: &[Field {
            name: "message",
            is_required: true,
            default: None,
            limit: MemberLimit::Length(1, 10_000),
        }],
        ..frozen(Method::Post, "/api/session/{session_id}/message/stream")
    })]);
    type Service = SessionService;
    type Output = Turned;

    async fn run(self, cx: Context<SessionService>) -> Result<Turned> {
        let length = self.message.chars().count();
        if length == 0 || length as u64 > MAX_INPUT_LENGTH {
            let what = format!("a message has 1 to {MAX_INPUT_LENGTH} characters");
            return Err(invalid_field("message", "value_error", what));
        }
        let log = cx
            .service()
            .begin_turn(&cx, &self.session_id, self.message)
            .await?;
        pass_on(&cx, self.session_id, &log, 0).await
    }
}

/// Read on in the turn of a session: the one that runs, else the last one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// The session.
    pub session_id: String,
    /// So many events were read already.
    #[arg(long, value_name = "N", default_value_t)]
    #[serde(default, deserialize_with = "number")]
    pub after: u64,
}

/// A number, which is text where it stands in an address.
fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Number(u64),
        Text(String),
    }
    match Number::deserialize(deserializer)? {
        Number::Number(number) => Ok(number),
        Number::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

impl Operation for Follow {
    const NAME: &'static str = "session.follow";
    const SAFETY: Safety = Safety::Read;
    const STREAMS: Streams = Streams::Always;
    const OFFER: Offer = Offer::PLAIN.prints(Prints::Items).routes(&[events(Route {
        query: &["after"],
        ..stable(Method::Get, "/api/session/{session_id}/message/stream")
    })]);
    type Service = SessionService;
    type Output = Turned;

    async fn run(self, cx: Context<SessionService>) -> Result<Turned> {
        let log = cx.service().turn(&self.session_id)?;
        let after = usize::try_from(self.after).unwrap_or(usize::MAX);
        pass_on(&cx, self.session_id, &log, after).await
    }
}

/// Pass on what happens in a turn, from the event after the first `read` ones.
async fn pass_on(
    cx: &Context<SessionService>,
    session_id: String,
    log: &Arc<TurnLog>,
    mut read: usize,
) -> Result<Turned> {
    let mut last = None;
    while let Some(event) = log.next(read).await {
        cx.emit(&&*event).await?;
        read += 1;
        last = Some(event);
    }
    Ok(Turned {
        session_id,
        events: read as u64,
        last: last.and_then(|event| serde_json::from_str(event.get()).ok()),
    })
}

/// End the turn of a session: the model is not asked any further, and nothing of the turn stays.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Cancel")]
#[serde(deny_unknown_fields)]
pub struct CancelTurn {
    /// The session.
    pub session_id: String,
}

/// It is cancelled, or there was nothing to cancel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Cancelled")]
pub struct CancelledTurn {
    /// No turn of the session runs any more.
    pub cancelled: bool,
    /// The session.
    pub session_id: String,
}

impl Operation for CancelTurn {
    const NAME: &'static str = "session.cancel";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.routes(&[frozen(
        Method::Post,
        "/api/session/{session_id}/message/cancel",
    )]);
    type Service = SessionService;
    type Output = CancelledTurn;

    async fn run(self, cx: Context<SessionService>) -> Result<CancelledTurn> {
        cx.service().cancel_turn(&self.session_id).await;
        Ok(CancelledTurn {
            cancelled: true,
            session_id: self.session_id,
        })
    }
}

/// The folder of a session, for those who only look.
pub(super) fn folder(cx: &Context<SessionService>, id: &str) -> Result<Folder> {
    Folder::find(&cx.service().root(), id)
}
