//! What callers can ask for: `exec.*`.

mod cancel;
mod history;
mod job;
mod jobs;
mod lanes;
mod run;
mod sessions;
mod start;
mod stream;

use pillion_catalogue::Operations;

pub use cancel::{Cancel, Cancelled};
pub use history::{History, PastRun, PastRuns};
pub use job::{Job, JobReport};
pub use jobs::{JobInfo, JobList, JobStatus, Jobs};
pub use lanes::{LaneState, Lanes, LanesReport};
pub use run::{FileGiven, Printed, Run};
pub use sessions::{SessionClear, SessionCleared, SessionInfo, SessionList, Sessions};
pub use start::Start;
pub use stream::Stream;

use crate::ExecService;

/// All operations of this service.
pub fn operations() -> Operations<ExecService> {
    Operations::default()
        .with::<Run>()
        .with::<Start>()
        .with::<Job>()
        .with::<Jobs>()
        .with::<Cancel>()
        .with::<Stream>()
        .with::<History>()
        .with::<Sessions>()
        .with::<SessionClear>()
        .with::<Lanes>()
}
