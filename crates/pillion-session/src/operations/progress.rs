//! `session.report`, `session.history`, `session.skip_task` and `session.end`: how far a learner
//! has come.

use pillion_agents::{SkipReply, SkipRequest};
use pillion_catalogue::{Context, Method, Offer, Operation, Result, Safety, work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::frozen;
use super::turn::folder;
use crate::SessionService;
use crate::folder::{PastTurn, names, turns};

/// The learning report of a session, as it is now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The session.
    pub session_id: String,
}

/// A report.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReportText {
    /// Markdown; empty before the first.
    pub report: String,
}

impl Operation for Report {
    const NAME: &'static str = "session.report";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.routes(&[
        frozen(Method::Get, "/api/session/{session_id}/dynamic_report"),
        frozen(Method::Get, "/api/session/{session_id}/dynamic-report"),
    ]);
    type Service = SessionService;
    type Output = ReportText;

    fn text(result: &str) -> Option<String> {
        let text: ReportText = serde_json::from_str(result).ok()?;
        Some(text.report)
    }

    async fn run(self, cx: Context<SessionService>) -> Result<ReportText> {
        let folder = folder(&cx, &self.session_id)?;
        let report = work(move |_| folder.text(names::REPORT)).await??;
        Ok(ReportText {
            report: report.unwrap_or_default(),
        })
    }
}

/// The turns of a session, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "History")]
#[serde(deny_unknown_fields)]
pub struct ListTurns {
    /// The session.
    pub session_id: String,
}

/// Turns.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Turns {
    /// The turns, oldest first.
    pub turns: Vec<PastTurn>,
}

impl Operation for ListTurns {
    const NAME: &'static str = "session.history";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer =
        Offer::PLAIN.routes(&[frozen(Method::Get, "/api/session/{session_id}/history")]);
    type Service = SessionService;
    type Output = Turns;

    fn text(result: &str) -> Option<String> {
        let all: Turns = serde_json::from_str(result).ok()?;
        let turn = |turn: &PastTurn| {
            format!(
                "[{}] {}\n\n{}\n",
                turn.turn_index, turn.user_message, turn.companion_response
            )
        };
        let all: Vec<_> = all.turns.iter().map(turn).collect();
        Some(all.join("\n"))
    }

    async fn run(self, cx: Context<SessionService>) -> Result<Turns> {
        let folder = folder(&cx, &self.session_id)?;
        let turns = work(move |_| {
            let state = crate::load::state(&folder)?;
            turns(&folder, state.turn_index, usize::MAX)
        });
        Ok(Turns {
            turns: turns.await??,
        })
    }
}

/// Leave a task of a session out: the current one, or the one that is named.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct SkipTask {
    /// The session.
    pub session_id: String,
    /// Why: mastered, not_interested, too_hard, too_wordy, or other.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, in the learner's own words: needed for `other`.
    #[arg(long, value_name = "TEXT")]
    #[schemars(length(max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_text: Option<String>,
    /// The task.
    #[arg(long = "task", value_name = "ID")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtask_id: Option<String>,
}

impl Operation for SkipTask {
    const NAME: &'static str = "session.skip_task";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer =
        Offer::PLAIN.routes(&[frozen(Method::Post, "/api/session/{session_id}/skip-task")]);
    type Service = SessionService;
    type Output = SkipReply;

    async fn run(self, cx: Context<SessionService>) -> Result<SkipReply> {
        let asked = SkipRequest {
            reason: self.reason,
            reason_text: self.reason_text,
            subtask_id: self.subtask_id,
        };
        cx.service().skip_task(&cx, &self.session_id, asked).await
    }
}

/// End a session: its final report. The session can go on afterwards, and be ended again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The session.
    pub session_id: String,
}

/// The last report of a session.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FinalReport {
    /// Markdown.
    pub final_report: String,
}

impl Operation for End {
    const NAME: &'static str = "session.end";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer =
        Offer::PLAIN.routes(&[frozen(Method::Post, "/api/session/{session_id}/end")]);
    type Service = SessionService;
    type Output = FinalReport;

    fn text(result: &str) -> Option<String> {
        let text: FinalReport = serde_json::from_str(result).ok()?;
        Some(text.final_report)
    }

    async fn run(self, cx: Context<SessionService>) -> Result<FinalReport> {
        let final_report = cx.service().end(&cx, &self.session_id).await?;
        Ok(FinalReport { final_report })
    }
}
