//! `exec.cancel`: end a job.

use pillion_catalogue::{Context, Method, Offer, Operation, Result, Safety};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JobInfo, in_session, is_of};
use crate::ExecService;

/// Cancel a job, whether it waits or runs.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Cancel")]
#[serde(deny_unknown_fields)]
pub struct CancelJob {
    /// The job.
    #[arg(value_name = "JOB")]
    pub job_id: String,
    /// Only if it is a job of this session.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What was done.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Cancelled")]
pub struct CancelledJob {
    /// The job was cancelled now; false if it had ended already, in whatever way.
    pub cancelled: bool,
    /// The job as it is now.
    #[serde(flatten)]
    pub job: JobInfo,
}

impl Operation for CancelJob {
    const NAME: &'static str = "exec.cancel";
    const SAFETY: Safety = Safety::Write;
    const OFFER: Offer = Offer::PLAIN.typed("job-cancel", 350).routes(&[in_session(
        Method::Post,
        "/api/session/{session_id}/code/jobs/{job_id}/cancel",
    )]);
    type Service = ExecService;
    type Output = CancelledJob;

    fn text(result: &str) -> Option<String> {
        let done: CancelledJob = serde_json::from_str(result).ok()?;
        let (id, status) = (&done.job.job_id, done.job.status.word());
        Some(match done.cancelled {
            true => format!("{id} is cancelled"),
            false => format!("nothing to cancel: {id} had ended already ({status})"),
        })
    }

    async fn run(self, cx: Context<ExecService>) -> Result<CancelledJob> {
        if let Some(session) = &self.session {
            let known = cx.service().jobs().store.job(&self.job_id).await?;
            is_of(&known.job, Some(session))?;
        }
        let (job, cancelled) = cx.service().jobs().cancel(&self.job_id).await?;
        Ok(CancelledJob {
            cancelled,
            job: job.into(),
        })
    }
}
