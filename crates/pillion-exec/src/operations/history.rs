//! `exec.history`: what ran in a session.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety};
use pillion_lanes::{NO_SESSION, session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ExecService;
use crate::record::{CameOut, HistoryEntry};

/// The most runs of an answer.
const MOST: usize = 1000;

/// Show the last runs of a session in the user lane, the newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "History")]
#[serde(deny_unknown_fields)]
pub struct ListRuns {
    /// The session; the one of runs that name none, if not given.
    #[arg(value_name = "SESSION", default_value_t = nameless())]
    #[serde(default = "nameless")]
    pub session: String,
    /// At most this many.
    #[arg(long, value_name = "N", default_value_t = limit())]
    #[serde(default = "limit")]
    pub limit: usize,
}

fn nameless() -> String {
    NO_SESSION.to_owned()
}

fn limit() -> usize {
    10
}

/// What ran in a session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PastRuns {
    /// The session.
    pub session: String,
    /// The newest first.
    pub runs: Vec<PastRun>,
}

/// A run that ended.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PastRun {
    /// Its name in the log.
    pub run_id: String,
    /// The job it was, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// When it ended, in UTC, as ISO 8601.
    pub at: String,
    /// What ran: `code`, `file`, `module` or `function`.
    pub kind: String,
    /// The file, the module or the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The code, if it was short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The hash of the code, or of the name.
    pub sha256: String,
    /// The length of the code, or of the name.
    pub bytes: usize,
    /// How it ended, in one word.
    pub outcome: String,
    /// Its return code.
    pub returncode: i32,
    /// Milliseconds from the request to its end.
    pub execution_time_ms: f64,
}

impl Operation for ListRuns {
    const NAME: &'static str = "exec.history";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.typed("runs", 360);
    type Service = ExecService;
    type Output = PastRuns;

    fn text(result: &str) -> Option<String> {
        let past: PastRuns = serde_json::from_str(result).ok()?;
        Some(drawn(&past))
    }

    async fn run(self, cx: Context<ExecService>) -> Result<PastRuns> {
        session::check_id(&self.session)?;
        let service = cx.service();
        // What has just ended may still be on its way.
        service.recorder().written().await;
        let store = service.jobs().store.store().await?;
        let limit = self.limit.clamp(1, MOST);
        let runs = store.runs(&self.session, limit).await?;
        Ok(PastRuns {
            session: self.session,
            runs: runs.iter().filter_map(past).collect(),
        })
    }
}

/// A run as it is shown; one that a newer pillion wrote may not be understood.
fn past(run: &pillion_store::StoredRun) -> Option<PastRun> {
    let kept: HistoryEntry = serde_json::from_str(run.ran.get()).ok()?;
    let came_out: CameOut = serde_json::from_str(run.result.as_ref()?.get()).ok()?;
    Some(PastRun {
        run_id: kept.run_id,
        job_id: kept.job_id,
        at: run.at.clone(),
        kind: kept.kind,
        name: kept.name,
        code: kept.code,
        sha256: kept.sha256,
        bytes: kept.bytes,
        outcome: run.outcome.clone(),
        returncode: came_out.returncode,
        execution_time_ms: came_out.execution_time_ms,
    })
}

fn drawn(past: &PastRuns) -> String {
    if past.runs.is_empty() {
        return format!("nothing ran in session {}", past.session);
    }
    let lines = past.runs.iter().map(|run| {
        let what = match (&run.name, &run.code) {
            (Some(name), _) => name.clone(),
            (None, Some(code)) => code.lines().next().unwrap_or_default().to_owned(),
            (None, None) => format!("{} bytes of code", run.bytes),
        };
        format!(
            "{}  {:13}  {:8.0} ms  {what}",
            run.at, run.outcome, run.execution_time_ms
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}
