//! `session.state`, `session.export` and `session.delete`: sessions as a whole.

use std::path::PathBuf;
use std::sync::Arc;

use pillion_agents::{SessionState, Task};
use pillion_catalogue::{Context, Method, Offer, Operation, Result, Safety, Scope, work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stable;
use super::turn::folder;
use crate::{SessionService, progress};

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
    /// The tasks of the chapter with their titles, in the chapter's order.
    pub tasks: Vec<Task>,
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
        let service = cx.service();
        let (contents, roots) = (Arc::clone(&service.contents), service.roots(&cx));
        let stand = work(move |_| progress::stand(&folder, &roots, &contents)).await??;
        let (state, tasks) = stand;
        Ok(StateReply { state, tasks })
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
        let written = cx.service().export(&self.session_id, path.clone()).await?;
        Ok(Exported {
            path,
            size_bytes: written.size_bytes,
            files: written.files,
        })
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
