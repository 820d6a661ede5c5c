//! `session.new`, `session.reattach`, `session.list`, `session.state`, `session.export` and
//! `session.delete`: sessions as a whole.

use std::path::PathBuf;

use pillion_agents::SessionState;
use pillion_catalogue::{
    Context, Method, Mode, Offer, Operation, Result, Route, Safety, Scope, work,
};
use pillion_process::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::turn::folder;
use super::{frozen, stable};
use crate::SessionService;
use crate::content::DesktopContext;
use crate::files::Source;

/// Begin a session on a chapter.
///
/// Where the chapter is comes from the context that a desktop hands over, else from the folders
/// that pillion was started with.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct New {
    /// The chapter: `name` or `course/name`.
    pub chapter_id: String,
    /// Where its content is.
    #[arg(long, value_name = "JSON", value_parser = context)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop_context: Option<DesktopContext>,
    /// A name for the session; without one it gets one.
    #[arg(long, value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The backend that turns are sent to.
    #[arg(long, value_name = "URL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_url: Option<String>,
    /// What the backend knows the learner by. It is kept in memory only.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub auth_token: Option<Token>,
}

/// A token in a request: it is read, and never shown.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Token(
    #[serde(deserialize_with = "secret")]
    #[schemars(with = "String")]
    Secret,
);

impl Token {
    pub(crate) fn secret(self) -> Secret {
        self.0
    }
}

fn secret<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

fn context(text: &str) -> Result<DesktopContext, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// A session that has begun.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Begun {
    /// The session.
    pub session_id: String,
    /// What the companion says first.
    pub initial_message: String,
    /// What the learner finds in the workspace.
    pub workspace: Found,
}

/// What came with the chapter.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// There is code to begin with.
    pub has_starter_code: bool,
    /// There is data.
    pub has_datasets: bool,
    /// The files.
    pub files: Vec<FoundFile>,
}

/// A file that came with the chapter.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FoundFile {
    /// Its name.
    pub name: String,
    /// Where it came from.
    pub source: Source,
}

impl Operation for New {
    const NAME: &'static str = "session.new";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Folder;
    const OFFER: Offer = Offer::PLAIN.routes(&[frozen(Method::Post, "/api/session/new")]);
    type Service = SessionService;
    type Output = Begun;

    fn text(result: &str) -> Option<String> {
        let begun: Begun = serde_json::from_str(result).ok()?;
        Some(format!(
            "session {}\n\n{}",
            begun.session_id, begun.initial_message
        ))
    }

    async fn run(self, cx: Context<SessionService>) -> Result<Begun> {
        cx.service().create(&cx, self).await
    }
}

/// Take up a session that lies on the disk, also one that a desktop restored there.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Reattach {
    /// The session.
    pub session_id: String,
    /// Where the content of its chapter is now.
    #[arg(long, value_name = "JSON", value_parser = context)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desktop_context: Option<DesktopContext>,
    /// The backend that turns are sent to.
    #[arg(long, value_name = "URL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_url: Option<String>,
    /// What the backend knows the learner by. It is kept in memory only.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub auth_token: Option<Token>,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attached {
    /// It was taken up.
    Reattached,
    /// It was known, and nothing new was said about it.
    AlreadyAttached,
}

/// Whether it was taken up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AttachStatus {
    /// What became of it.
    pub status: Attached,
}

impl Operation for Reattach {
    const NAME: &'static str = "session.reattach";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer =
        Offer::PLAIN.routes(&[frozen(Method::Post, "/api/session/{session_id}/reattach")]);
    type Service = SessionService;
    type Output = AttachStatus;

    async fn run(self, cx: Context<SessionService>) -> Result<AttachStatus> {
        let status = cx.service().reattach(&cx, self).await?;
        Ok(AttachStatus { status })
    }
}

/// List sessions, the one that was used last first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct List {}

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

impl Operation for List {
    const NAME: &'static str = "session.list";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.routes(&[Route {
        mode: Mode::Desktop,
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
        let sessions = work(move |token| crate::load::list(&root, token)).await?;
        Ok(Sessions { sessions })
    }
}

/// Whether there is a session of this name; if not, that is an error.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct IsKnown {
    /// The session.
    pub session_id: String,
}

/// A session that there is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct KnownSession {
    /// Its name.
    pub session_id: String,
}

impl Operation for IsKnown {
    const NAME: &'static str = "session.known";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.no_tool();
    type Service = SessionService;
    type Output = KnownSession;

    async fn run(self, cx: Context<SessionService>) -> Result<KnownSession> {
        folder(&cx, &self.session_id)?;
        Ok(KnownSession {
            session_id: self.session_id,
        })
    }
}

/// The state of a session: its tasks, and where the learner is with them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The session.
    pub session_id: String,
}

/// A state.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StateReply {
    /// The state.
    pub state: SessionState,
}

impl Operation for State {
    const NAME: &'static str = "session.state";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer =
        Offer::PLAIN.routes(&[stable(Method::Get, "/api/session/{session_id}/state")]);
    type Service = SessionService;
    type Output = StateReply;

    async fn run(self, cx: Context<SessionService>) -> Result<StateReply> {
        let folder = folder(&cx, &self.session_id)?;
        let state = work(move |_| crate::load::state(&folder)).await??;
        Ok(StateReply { state })
    }
}

/// Write a session into a file: a tar archive of its folder, without what is only for pillion.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// The session.
    pub session_id: String,
    /// The file to write; it must not be there yet.
    pub path: PathBuf,
}

/// What was written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// The file.
    pub path: PathBuf,
    /// Its length.
    pub size_bytes: u64,
    /// Files in it.
    pub files: u64,
}

impl Operation for Export {
    const NAME: &'static str = "session.export";
    const SAFETY: Safety = Safety::Write;
    const SCOPE: Scope = Scope::Folder;
    type Service = SessionService;
    type Output = Exported;

    fn text(result: &str) -> Option<String> {
        let done: Exported = serde_json::from_str(result).ok()?;
        Some(format!(
            "{}: {} files, {} bytes",
            done.path.display(),
            done.files,
            done.size_bytes
        ))
    }

    async fn run(self, cx: Context<SessionService>) -> Result<Exported> {
        let path = cx.folder()?.join(&self.path);
        cx.service().export(&self.session_id, path).await
    }
}

/// Delete a session for good: its folder, and what was to be sent to a backend.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// The session.
    pub session_id: String,
}

/// A session that is gone.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Its name.
    pub session_id: String,
}

impl Operation for Delete {
    const NAME: &'static str = "session.delete";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer =
        Offer::PLAIN.routes(&[stable(Method::Delete, "/api/session/{session_id}")]);
    type Service = SessionService;
    type Output = Deleted;

    async fn run(self, cx: Context<SessionService>) -> Result<Deleted> {
        cx.service().delete(&self.session_id).await?;
        Ok(Deleted {
            session_id: self.session_id,
        })
    }
}
