//! `exec.sessions` and `exec.session_clear`: the folders that runs in the user lane keep.

use pillion_catalogue::{Code, Context, Error, Offer, Operation, Result, Safety, commit, work};
use pillion_lanes::session::{self, Purpose};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ExecService;

/// List sessions of the user lane with what their folders hold, the one used last first.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Sessions")]
#[serde(deny_unknown_fields)]
pub struct ListLaneSessions {
    /// At most this many.
    #[arg(long, value_name = "N", default_value_t = limit())]
    #[serde(default = "limit")]
    pub limit: usize,
}

fn limit() -> usize {
    50
}

/// The sessions there are.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SessionList {
    /// The ones that were used last.
    pub sessions: Vec<LaneSessionInfo>,
    /// How many there are, listed or not.
    pub total: u64,
}

/// A session, and what its folder holds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LaneSessionInfo {
    /// Its name.
    pub session_id: String,
    /// Bytes on the disk.
    pub size_bytes: u64,
    /// Files and folders.
    pub files: u64,
    /// When a run last used it, in UTC, as ISO 8601.
    pub last_used_at: String,
    /// A run uses it now.
    pub running: bool,
    /// What could not be looked at, so that it holds more than is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

impl Operation for ListLaneSessions {
    const NAME: &'static str = "exec.sessions";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.typed("sessions", 370);
    type Service = ExecService;
    type Output = SessionList;

    fn text(result: &str) -> Option<String> {
        let list: SessionList = serde_json::from_str(result).ok()?;
        Some(drawn(&list))
    }

    async fn run(self, cx: Context<ExecService>) -> Result<SessionList> {
        let (root, limit) = (cx.service().executor().sessions(), self.limit.max(1));
        // They may hold much, and nobody should wait for it.
        let listed = work(move |token| {
            let all = session::all(&root);
            let total = all.len() as u64;
            let asked = all.into_iter().take(limit);
            let sessions = asked.take_while(|_| !token.is_cancelled()).map(|kept| {
                let folder = root.join(session::part(&kept.id));
                let survey = session::survey(&folder, Purpose::Look);
                let unseen = survey
                    .as_ref()
                    .map_or(Some("it cannot be opened"), |s| s.unseen);
                let survey = survey.unwrap_or_default();
                LaneSessionInfo {
                    size_bytes: survey.bytes,
                    files: survey.names,
                    last_used_at: jiff::Timestamp::from_second(kept.used)
                        .unwrap_or_default()
                        .to_string(),
                    running: session::is_running(&folder),
                    incomplete: unseen.map(ToOwned::to_owned),
                    session_id: kept.id,
                }
            });
            let sessions = sessions.collect();
            SessionList { sessions, total }
        });
        listed.await
    }
}

fn drawn(list: &SessionList) -> String {
    if list.sessions.is_empty() {
        return "no sessions; `pillion exec --session NAME` makes one".to_owned();
    }
    let line = |session: &LaneSessionInfo| {
        let running = if session.running {
            "  (a run uses it)"
        } else {
            ""
        };
        let more = session.incomplete.as_ref();
        let more = more.map_or(String::new(), |why| format!("  (at least: {why})"));
        format!(
            "{}  {:>10} bytes  {:>7} files  {}{running}{more}",
            session.last_used_at, session.size_bytes, session.files, session.session_id
        )
    };
    let mut lines: Vec<String> = list.sessions.iter().map(line).collect();
    let left = list.total.saturating_sub(list.sessions.len() as u64);
    if left > 0 {
        lines.push(format!("{left} more: `--limit {}` shows them", list.total));
    }
    lines.join("\n")
}

/// Empty the folder of a session: all its files are removed for good.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct SessionClear {
    /// The session; the one of runs that name none, if not given.
    #[arg(value_name = "SESSION", default_value_t = nameless())]
    #[serde(default = "nameless")]
    pub session: String,
}

fn nameless() -> String {
    pillion_lanes::NO_SESSION.to_owned()
}

/// What was removed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SessionCleared {
    /// The session.
    pub session_id: String,
    /// Bytes on the disk that its files took.
    pub removed_bytes: u64,
    /// Files and folders that it had.
    pub removed_files: u64,
}

impl Operation for SessionClear {
    const NAME: &'static str = "exec.session_clear";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.typed("session-clear", 380);
    type Service = ExecService;
    type Output = SessionCleared;

    fn text(result: &str) -> Option<String> {
        let done: SessionCleared = serde_json::from_str(result).ok()?;
        Some(format!(
            "{} is empty: {} files and folders, {} bytes removed",
            done.session_id, done.removed_files, done.removed_bytes
        ))
    }

    async fn run(self, cx: Context<ExecService>) -> Result<SessionCleared> {
        session::check_id(&self.session)?;
        let (root, id) = (cx.service().executor().sessions(), self.session.clone());
        let cleared = commit(move || session::clear(&root, &id)).await??;
        let was = cleared.ok_or_else(|| {
            let message = format!("a run uses session `{}`", self.session);
            Error::new(Code::Busy, message)
                .hint("try again when it has ended; `pillion jobs` and `job-cancel` end a job")
        })?;
        Ok(SessionCleared {
            session_id: self.session,
            removed_bytes: was.bytes,
            removed_files: was.names,
        })
    }
}
