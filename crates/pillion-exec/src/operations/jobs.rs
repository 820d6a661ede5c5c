//! `exec.jobs`: the jobs there are.

use pillion_catalogue::{Context, Offer, Operation, Result, Safety};
use pillion_lanes::Lane;
use pillion_store::{JobFilter, JobState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ExecService;

/// List jobs, the newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[schemars(rename = "Jobs")]
#[serde(deny_unknown_fields)]
pub struct ListJobs {
    /// Only those of this session.
    #[arg(long, value_name = "SESSION")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only those that stand so; may be repeated.
    #[arg(long, value_enum, value_name = "STATUS")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<JobStatus>,
    /// At most this many.
    #[arg(long, value_name = "N", default_value_t = limit())]
    #[serde(default = "limit")]
    pub limit: usize,
}

fn limit() -> usize {
    50
}

/// Where a job stands.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// It waits for its turn.
    Queued,
    /// It runs.
    Running,
    /// It ended with code 0.
    Succeeded,
    /// It ended otherwise.
    Failed,
    /// Somebody ended it.
    Cancelled,
    /// Its daemon ended before it.
    Lost,
}

impl JobStatus {
    /// As it is written.
    pub fn word(self) -> &'static str {
        JobState::from(self).word()
    }
}

impl From<JobStatus> for JobState {
    fn from(status: JobStatus) -> Self {
        match status {
            JobStatus::Queued => Self::Queued,
            JobStatus::Running => Self::Running,
            JobStatus::Succeeded => Self::Succeeded,
            JobStatus::Failed => Self::Failed,
            JobStatus::Cancelled => Self::Cancelled,
            JobStatus::Lost => Self::Lost,
        }
    }
}

impl From<JobState> for JobStatus {
    fn from(status: JobState) -> Self {
        match status {
            JobState::Queued => Self::Queued,
            JobState::Running => Self::Running,
            JobState::Succeeded => Self::Succeeded,
            JobState::Failed => Self::Failed,
            JobState::Cancelled => Self::Cancelled,
            JobState::Lost => Self::Lost,
        }
    }
}

/// A job, without its result.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct JobInfo {
    /// Its name.
    pub job_id: String,
    /// The session it runs in.
    pub session_id: Option<String>,
    /// Where it stands.
    pub status: JobStatus,
    /// When it was put into the queue, in UTC, as ISO 8601.
    pub created_at: String,
    /// When it began to run.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// The lane it runs in.
    pub lane: String,
    /// What it runs, in a few words.
    pub label: String,
}

impl From<pillion_store::StoredJob> for JobInfo {
    fn from(job: pillion_store::StoredJob) -> Self {
        Self {
            job_id: job.id,
            session_id: job.session,
            status: job.status.into(),
            created_at: job.created_at,
            started_at: job.started_at,
            ended_at: job.ended_at,
            lane: job.lane,
            label: job.label,
        }
    }
}

/// The jobs that were asked for.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobList {
    /// The newest ones.
    pub jobs: Vec<JobInfo>,
    /// How many there are, listed or not.
    pub total: u64,
}

impl Operation for ListJobs {
    const NAME: &'static str = "exec.jobs";
    const SAFETY: Safety = Safety::Read;
    const OFFER: Offer = Offer::PLAIN.typed("jobs", 320);
    type Service = ExecService;
    type Output = JobList;

    fn text(result: &str) -> Option<String> {
        let list: JobList = serde_json::from_str(result).ok()?;
        Some(drawn(&list))
    }

    async fn run(self, cx: Context<ExecService>) -> Result<JobList> {
        let filter = JobFilter {
            session: self.session,
            statuses: self.status.into_iter().map(Into::into).collect(),
            limit: self.limit.max(1),
        };
        let found = cx.service().jobs().store.jobs(filter).await?;
        Ok(JobList {
            jobs: found.jobs.into_iter().map(Into::into).collect(),
            total: found.total,
        })
    }
}

fn drawn(list: &JobList) -> String {
    if list.jobs.is_empty() {
        return "no jobs; `pillion job-start` starts one".to_owned();
    }
    let mut lines: Vec<String> = list
        .jobs
        .iter()
        .map(|job| {
            let session = match &job.session_id {
                Some(session) => session.as_str(),
                None if job.lane == Lane::Expert.name() => "(expert)",
                None => "-",
            };
            format!(
                "{}  {:9}  {}  {session:12}  {}",
                job.job_id,
                job.status.word(),
                job.created_at,
                job.label
            )
        })
        .collect();
    let left = list.total.saturating_sub(list.jobs.len() as u64);
    if left > 0 {
        lines.push(format!("{left} more: `--limit {}` shows them", list.total));
    }
    lines.join("\n")
}
