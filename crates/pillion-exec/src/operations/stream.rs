//! `exec.stream`: what a job prints, from its beginning to its end.

use pillion_catalogue::{
    AnswerForm, Context, DoorMode, First, Method, Offer, Operation, Prints, Result, Safety, Streams,
};
use pillion_lanes::OutputStream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{JobReport, OutputPiece, ShowJob, in_session, is_of};
use crate::ExecService;
use crate::jobs::{elsewhere, feed::Heard};

/// Follow a job: what it printed so far, what it prints, and its result.
///
/// Items are `{stream, text}`. Of very much output, and for readers that are too slow, the
/// beginning is gone: `{left_out}` then says how many bytes.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Stream")]
#[serde(deny_unknown_fields)]
pub struct StreamJob {
    /// The job.
    #[arg(value_name = "JOB")]
    pub job_id: String,
    /// Only if it is a job of this session.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A job that is not there is told before the stream begins.
const KNOWN_JOB: First = First {
    operation: ShowJob::NAME,
    mode: DoorMode::Every,
    parts: &["session_id", "job_id"],
};

impl Operation for StreamJob {
    const NAME: &'static str = "exec.stream";
    const SAFETY: Safety = Safety::Read;
    const STREAMS: Streams = Streams::Always;
    const OFFER: Offer = Offer::PLAIN
        .typed("job-stream", 340)
        .prints(Prints::Output)
        .routes(&[in_session(
            Method::Get,
            "/api/session/{session_id}/code/jobs/{job_id}/stream",
        )
        .after(&[First::SESSION, KNOWN_JOB])
        .answers(AnswerForm::EventsAndResult)]);
    type Service = ExecService;
    type Output = JobReport;

    fn text(result: &str) -> Option<String> {
        let report: JobReport = serde_json::from_str(result).ok()?;
        let job = &report.job;
        Some(match report.reply() {
            Some(reply) => format!(
                "{} {} (code {}){}",
                job.job_id,
                job.status.word(),
                reply.returncode,
                reply
                    .returned()
                    .map(|value| format!(": {value}"))
                    .unwrap_or_default()
            ),
            None => format!("{} {}", job.job_id, job.status.word()),
        })
    }

    async fn run(self, cx: Context<ExecService>) -> Result<JobReport> {
        let jobs = cx.service().jobs();
        if let Some(session) = &self.session {
            let known = jobs.store.job(&self.job_id).await?;
            is_of(&known.job, Some(session))?;
        }
        if let Some(live) = jobs.live(&self.job_id) {
            let mut place = 0;
            while let Some(heard) = live.feed.next(&mut place).await {
                match heard {
                    Heard::Text(which, text) => print(&cx, which, text).await?,
                    Heard::LeftOut(bytes) => cx.emit(&json!({ "left_out": bytes })).await?,
                }
            }
            return Ok(jobs.store.job(&self.job_id).await?.into());
        }
        let report: JobReport = jobs.store.job(&self.job_id).await?.into();
        if report.job.ended_at.is_none() {
            return Err(elsewhere(&self.job_id));
        }
        if let Some(reply) = report.reply() {
            print(&cx, OutputStream::Stdout, reply.stdout).await?;
            print(&cx, OutputStream::Stderr, reply.stderr).await?;
        }
        Ok(report)
    }
}

async fn print(cx: &Context<ExecService>, which: OutputStream, text: String) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let stream = which.name().to_owned();
    cx.emit(&OutputPiece { stream, text }).await
}
