//! `exec.job`: what became of a job.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Safety};
use pillion_lanes::Reply;
use pillion_store::JobDetail;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{JobInfo, in_session, is_of};
use crate::ExecService;

/// Show a job, with its result once it has ended.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Job")]
#[serde(deny_unknown_fields)]
pub struct ShowJob {
    /// The job.
    #[arg(value_name = "JOB")]
    pub job_id: String,
    /// Only if it is a job of this session.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A job, and what came out.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobReport {
    /// The job.
    #[serde(flatten)]
    pub job: JobInfo,
    /// The reply of its run: as that of `exec.run`, without what is too large to be kept.
    #[schemars(with = "Option<Reply>")]
    pub result: Option<Box<RawValue>>,
}

impl From<JobDetail> for JobReport {
    fn from(detail: JobDetail) -> Self {
        Self {
            job: detail.job.into(),
            result: detail.result,
        }
    }
}

impl JobReport {
    /// What its run said, if it ran.
    pub fn reply(&self) -> Option<Reply> {
        serde_json::from_str(self.result.as_ref()?.get()).ok()
    }
}

impl Operation for ShowJob {
    const NAME: &'static str = "exec.job";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.typed("job", 330).routes(&[in_session(
        Method::Get,
        "/api/session/{session_id}/code/jobs/{job_id}",
    )]);
    type Service = ExecService;
    type Output = JobReport;

    fn text(result: &str) -> Option<String> {
        let report: JobReport = serde_json::from_str(result).ok()?;
        Some(drawn(&report))
    }

    async fn run(self, cx: Context<ExecService>) -> Result<JobReport> {
        let detail = cx.service().jobs().store.job(&self.job_id).await?;
        is_of(&detail.job, self.session.as_deref())?;
        Ok(detail.into())
    }
}

fn drawn(report: &JobReport) -> String {
    let job = &report.job;
    let mut lines = vec![format!(
        "{}  {}  {}",
        job.job_id,
        job.status.word(),
        job.label
    )];
    let session = job
        .session_id
        .as_deref()
        .map(|session| format!(", session {session}"));
    lines.push(format!("{} lane{}", job.lane, session.unwrap_or_default()));
    let times = [
        ("created", Some(&job.created_at)),
        ("started", job.started_at.as_ref()),
        ("ended", job.ended_at.as_ref()),
    ];
    lines.extend(
        times
            .iter()
            .filter_map(|(what, time)| Some(format!("{what:8} {}", (*time)?))),
    );
    if let Some(reply) = report.reply() {
        lines.push(format!(
            "{} (code {}) after {:.0} ms",
            reply.outcome.word(),
            reply.returncode,
            reply.execution_time_ms
        ));
        for (name, text) in [("stdout", &reply.stdout), ("stderr", &reply.stderr)] {
            if !text.is_empty() {
                lines.push(format!("--- {name}\n{}", text.trim_end()));
            }
        }
        lines.extend(reply.returned().map(|value| format!("--- value\n{value}")));
    }
    lines.join("\n")
}
