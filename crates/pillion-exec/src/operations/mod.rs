//! What callers can ask for: `exec.*`.

mod caller_module;
mod cancel;
mod history;
mod input_files;
mod job;
mod jobs;
mod lanes;
mod run;
mod sessions;
mod start;
mod stream;

use pillion_catalogue::{
    Code, Error, Field, First, MemberLimit, Method, Operations, Result, Route,
};
use pillion_store::StoredJob;

pub use caller_module::modules_beside;
pub use cancel::{CancelJob, CancelledJob};
pub use history::{ListRuns, PastRun, PastRuns};
pub use input_files::FileGiven;
pub use job::{JobReport, ShowJob};
pub use jobs::{JobInfo, JobList, JobStatus, ListJobs};
pub use lanes::{LaneState, LanesReport, ShowLanes};
pub use run::{OutputPiece, RunCode};
pub use sessions::{LaneSessionInfo, ListLaneSessions, SessionClear, SessionCleared, SessionList};
pub use start::StartJob;
pub use stream::StreamJob;

use crate::ExecService;

/// What code of a learner may be, in the contract with desktop apps.
const CODE_FIELDS: &[Field] = &[
    Field::required("code", MemberLimit::Length(1, 20_000)),
    Field::optional("timeout_seconds", MemberLimit::Range(1, 120)).or("20"),
    Field::optional("memory_limit_mb", MemberLimit::Range(64, 16_384)),
];
/// Where it runs.
const USER_LANE: &[(&str, &str)] = &[("lane", "\"user\"")];

/// A path about a session of a desktop app.
const fn in_session(method: Method, path: &'static str) -> Route {
    Route::contract(method, path)
        .named(&[("session_id", "session")])
        .after(&[First::SESSION])
}

/// Whether a job is one of a session, if one is named: those of others are not there.
fn is_of(job: &StoredJob, session: Option<&str>) -> Result<()> {
    match session {
        Some(session) if job.session.as_deref() != Some(session) => {
            let what = format!("there is no job `{}` in session `{session}`", job.id);
            Err(Error::new(Code::NotFound, what).hint("`exec.jobs` lists the jobs of a session"))
        }
        _ => Ok(()),
    }
}

/// All operations of this service.
pub fn operations() -> Operations<ExecService> {
    Operations::default()
        .with::<RunCode>()
        .with::<StartJob>()
        .with::<ShowJob>()
        .with::<ListJobs>()
        .with::<CancelJob>()
        .with::<StreamJob>()
        .with::<ListRuns>()
        .with::<ListLaneSessions>()
        .with::<SessionClear>()
        .with::<ShowLanes>()
}
