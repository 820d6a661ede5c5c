//! The service: runs that are written down, and jobs.

use std::sync::Arc;

use pillion_catalogue::{Result, work};
use pillion_lanes::{Executor, OutputListener, Reply, RunRequest};
use pillion_runtime::Dirs;
use pillion_store::StoreHandle;
use tokio::sync::SemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::jobs::Jobs;
use crate::record::{Recorder, code_history};

/// Runs code of others on request, and keeps what came of it.
#[derive(Debug)]
pub struct ExecService {
    executor: Arc<Executor>,
    recorder: Arc<Recorder>,
    jobs: Jobs,
}

/// What a run has already, if it was a job.
#[derive(Debug, Default)]
pub(crate) struct Ticket<'a> {
    /// Its turn.
    pub(crate) turn: Option<SemaphorePermit<'a>>,
    /// Its name.
    pub(crate) job: Option<&'a str>,
}

impl ExecService {
    /// A service that runs code by `executor`, writes its log below `dirs` and keeps jobs in
    /// `store`. When `ending` is cancelled, so are jobs.
    pub fn new(
        executor: Arc<Executor>,
        dirs: Dirs,
        store: StoreHandle,
        ending: CancellationToken,
    ) -> Self {
        Self {
            recorder: Arc::new(Recorder::new(dirs, store.clone())),
            jobs: Jobs::new(store, executor.parallel() - 1, ending),
            executor,
        }
    }

    /// Wait for jobs that are ending, and for what is to be written down; not for ever.
    pub async fn stop(&self) {
        self.jobs.ended().await;
        self.recorder.flush().await;
    }

    /// Run it, and write down that it ran; `listener` hears its output as it comes.
    pub(crate) async fn perform(
        &self,
        request: RunRequest,
        cancel: CancellationToken,
        listener: &mut impl OutputListener,
        ticket: Ticket<'_>,
    ) -> Result<Reply> {
        let admitted = self.executor.admit(request, cancel, ticket.turn).await?;
        let recording = self.recorder.begin(admitted.request(), ticket.job)?;
        let kept_in = admitted.request().session.as_deref();
        let kept_in = kept_in.and_then(|session| self.executor.conversation(session));
        let kept_in = kept_in.map(|folder| (folder, code_history::program(admitted.request())));
        let (mut reply, calls) = admitted.run(listener).await?;
        reply.run_id = recording.run_id();
        recording.end(&reply, calls);
        if let Some((folder, program)) = kept_in {
            let (reply, kept) = work(move |_| {
                let kept = code_history::keep(&folder, program, &reply);
                (reply, kept)
            })
            .await?;
            if let Err(error) = kept {
                tracing::warn!(%error, "a run is not in the history of its session");
            }
            return Ok(reply);
        }
        Ok(reply)
    }

    pub(crate) fn executor(&self) -> &Arc<Executor> {
        &self.executor
    }

    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }
}
