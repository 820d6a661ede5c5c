//! `session.list`: which sessions there are.

use std::path::Path;

use jiff::Timestamp;
use pillion_catalogue::{
    CancellationToken, Context, DoorMode, Method, Offer, Operation, Result, Route, Safety, work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::frozen;
use crate::SessionService;
use crate::folder::{Folder, names};
use crate::load::{paths, state};

/// Sessions that are listed.
const MOST: usize = 2000;

/// List sessions, the one that was used last first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "List")]
#[serde(deny_unknown_fields)]
pub struct ListSessions {}

/// Sessions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// The one that was used last first.
    pub sessions: Vec<SessionInfo>,
}

/// A session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SessionInfo {
    /// Its name.
    pub session_id: String,
    /// Its chapter.
    pub chapter_id: String,
    /// The number of the turn to come.
    pub turn_index: u64,
    /// When it began, in UTC, as ISO 8601.
    pub created_at: String,
    /// When it was last used, in UTC, as ISO 8601.
    pub last_updated: String,
}

impl Operation for ListSessions {
    const NAME: &'static str = "session.list";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.routes(&[Route {
        mode: DoorMode::Desktop,
        ..frozen(Method::Get, "/api/sessions")
    }]);
    type Service = SessionService;
    type Output = Sessions;

    fn text(result: &str) -> Option<String> {
        let list: Sessions = serde_json::from_str(result).ok()?;
        let line = |one: &SessionInfo| {
            format!(
                "{}  {}  turn {}  {}",
                one.last_updated, one.session_id, one.turn_index, one.chapter_id
            )
        };
        match list.sessions.is_empty() {
            true => Some("no sessions; `pillion chat` begins one".to_owned()),
            false => Some(
                list.sessions
                    .iter()
                    .map(line)
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
        }
    }

    async fn run(self, cx: Context<SessionService>) -> Result<Sessions> {
        let root = cx.service().root();
        let sessions = work(move |token| list(&root, token)).await?;
        Ok(Sessions { sessions })
    }
}

/// All sessions below `root`, the one that was used last first. One whose state cannot be read
/// is left out, and that is logged.
fn list(root: &Path, token: &CancellationToken) -> Vec<SessionInfo> {
    let mut all: Vec<SessionInfo> = Folder::all(root)
        .into_iter()
        .take_while(|_| !token.is_cancelled())
        .filter_map(|folder| {
            let known = state(&folder);
            if let Err(error) = &known {
                tracing::warn!(session = folder.id(), %error, "a session is not listed");
            }
            let state = known.ok()?;
            let created = paths(&folder).ok().and_then(|paths| paths.created_at);
            let created_at = created.unwrap_or_else(|| changed(&folder.base()));
            // A file's time is that of the last tick, which may be before the session's.
            let last_updated = changed(&folder.path(names::STATE)).max(created_at.clone());
            Some(SessionInfo {
                session_id: state.session_id,
                chapter_id: state.chapter_id,
                turn_index: state.turn_index,
                created_at,
                last_updated,
            })
        })
        .collect();
    all.sort_by(|a, b| {
        let newest = b.last_updated.cmp(&a.last_updated);
        newest.then_with(|| b.created_at.cmp(&a.created_at))
    });
    all.truncate(MOST);
    all
}

/// When something was last changed, to the microsecond always, so that texts compare as times.
fn changed(path: &Path) -> String {
    let modified = std::fs::metadata(path).and_then(|meta| meta.modified());
    let modified = modified
        .ok()
        .and_then(|time| Timestamp::try_from(time).ok());
    format!("{:.6}", modified.unwrap_or_default())
}
