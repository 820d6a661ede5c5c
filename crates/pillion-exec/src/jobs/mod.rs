//! Jobs: runs that nobody waits for. A queue with limits, what is known about each, and the
//! way to end them.
//!
//! A job is a row of the store and, until it ends, a task of this daemon. The store says what
//! is true about jobs; tasks only tell it. A task that is gone without a word leaves a row
//! whose owner is dead, and the next to look at it finds it lost.

pub(crate) mod feed;
mod fitting;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Lease, Peer, Result};
use pillion_lanes::{Outcome, Program, Reply, Request, Whereabouts};
use pillion_store::{End, Job, NewJob, StoreHandle};
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::ExecService;
use crate::operations::Run;
use crate::service::Ticket;
use feed::Feed;

/// Jobs that wait for their turn before callers are told to come back.
pub(crate) const QUEUED: usize = 64;
/// What a list shows of a program.
const LABEL: usize = 80;
/// How long whoever cancels a job waits for its end.
const CANCEL: Duration = Duration::from_secs(5);
/// How long the end of the daemon waits for jobs.
const STOP: Duration = Duration::from_secs(1);

/// The jobs of this daemon.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub(crate) store: StoreHandle,
    live: Mutex<HashMap<String, Arc<Live>>>,
    queue: Arc<Semaphore>,
    /// Fewer jobs run at once than runs may, so that who waits for a run gets a turn.
    gate: Semaphore,
    ending: CancellationToken,
}

/// A job that has not ended.
#[derive(Debug)]
pub(crate) struct Live {
    cancel: CancellationToken,
    pub(crate) feed: Feed,
}

impl Jobs {
    pub(crate) fn new(store: StoreHandle, parallel: usize, ending: CancellationToken) -> Self {
        Self {
            store,
            live: Mutex::default(),
            queue: Arc::new(Semaphore::new(QUEUED)),
            gate: Semaphore::new(parallel),
            ending,
        }
    }

    /// A job of this daemon that has not ended.
    pub(crate) fn live(&self, id: &str) -> Option<Arc<Live>> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.get(id).cloned()
    }

    /// Wait until all jobs have ended, which they do when the daemon is ending.
    pub(crate) async fn ended(&self) {
        let all = async {
            loop {
                let one = {
                    let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
                    live.values().next().cloned()
                };
                let Some(one) = one else { return };
                one.feed.ended().await;
                // It leaves the list before it says so.
                tokio::task::yield_now().await;
            }
        };
        let _ = tokio::time::timeout(STOP, all).await;
    }

    /// End a job; says whether this did.
    pub(crate) async fn cancel(&self, id: &str) -> Result<(Job, bool)> {
        let Some(live) = self.live(id) else {
            let job = self.store.job(id).await?.job;
            if job.status.is_final() {
                return Ok((job, false));
            }
            return Err(elsewhere(id));
        };
        live.cancel.cancel();
        let _ = tokio::time::timeout(CANCEL, live.feed.ended()).await;
        let job = self.store.job(id).await?.job;
        let cancelled = job.status == pillion_store::Status::Cancelled;
        Ok((job, cancelled))
    }
}

/// A job that another daemon runs.
pub(crate) fn elsewhere(id: &str) -> Error {
    Error::new(
        Code::Conflict,
        format!("job `{id}` belongs to another daemon that runs now"),
    )
    .hint("ask that daemon: `--instance` or `--socket` names it")
}

/// What was asked for, as it is kept.
#[derive(serde::Serialize)]
struct Asked<'a> {
    #[serde(flatten)]
    run: &'a Run,
    root: &'a Path,
}

/// Put a run into the queue.
pub(crate) async fn start(
    service: &Arc<ExecService>,
    run: Run,
    place: Whereabouts,
    peer: &Peer,
) -> Result<Job> {
    let jobs = service.jobs();
    if jobs.ending.is_cancelled() {
        return Err(Error::new(Code::ShuttingDown, "the daemon is ending"));
    }
    let asked = Asked {
        run: &run,
        root: &place.root,
    };
    let asked = to_raw_value(&asked).map_err(Error::internal)?;
    let request = run.request(place, peer)?;
    if let Some(session) = &request.session {
        service.executor().check_session(session)?;
    }
    // Now, while the caller is there: a job outlives him.
    let _ = peer.variables();
    let place = Arc::clone(&jobs.queue).try_acquire_owned().map_err(|_| {
        Error::new(Code::Busy, format!("{QUEUED} jobs are waiting already"))
            .hint("try again when some have ended, or cancel one")
    })?;
    let lease = service.executor().activity().lease();
    let service = Arc::clone(service);
    // A caller that goes away now leaves no job behind that nobody works on.
    let created = tokio::spawn(async move { create(service, request, asked, place, lease).await });
    created.await.map_err(Error::internal)?
}

async fn create(
    service: Arc<ExecService>,
    request: Request,
    asked: Box<RawValue>,
    place: OwnedSemaphorePermit,
    lease: Lease,
) -> Result<Job> {
    let jobs = service.jobs();
    let new = NewJob {
        session: request.session.clone(),
        lane: request.lane.name().to_owned(),
        label: label(&request.program),
        request: asked,
    };
    let job = jobs.store.store().await?.create(new).await?;
    let live = Arc::new(Live {
        cancel: jobs.ending.child_token(),
        feed: Feed::default(),
    });
    {
        let mut all = jobs.live.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(job.id.clone(), Arc::clone(&live));
    }
    let id = job.id.clone();
    tokio::spawn({
        let service = Arc::clone(&service);
        async move {
            if let Err(error) = carry_out(&service, &id, &live, request, place).await {
                tracing::warn!(job = id, %error, "what became of a job cannot be kept");
                give_up(&service, &id).await;
            }
            let mut all = service
                .jobs()
                .live
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            all.remove(&id);
            drop(all);
            live.feed.end();
            drop(lease);
        }
    });
    Ok(job)
}

/// Wait for its turn, run it, and say how it ended.
async fn carry_out(
    service: &Arc<ExecService>,
    id: &str,
    live: &Live,
    request: Request,
    place: OwnedSemaphorePermit,
) -> Result<()> {
    let jobs = service.jobs();
    let store = jobs.store.store().await?;
    let lane = request.lane;
    let turn = async {
        let among_jobs = jobs.gate.acquire().await.map_err(Error::internal)?;
        let among_runs = service.executor().turn_in_order().await?;
        Ok::<_, Error>((among_jobs, among_runs))
    };
    let (_among_jobs, among_runs) = tokio::select! {
        biased;
        () = live.cancel.cancelled() => {
            store.finish(id, End::Cancelled, None).await?;
            return Ok(());
        }
        turn = turn => turn?,
    };
    drop(place);
    store.start(id).await?;
    let ticket = Ticket {
        turn: Some(among_runs),
        job: Some(id),
    };
    let mut into = feed::Into(&live.feed);
    let reply = service
        .perform(request, live.cancel.clone(), &mut into, ticket)
        .await;
    let reply = reply.unwrap_or_else(|error| Reply::never_ran(lane, &error));
    let end = match reply.outcome {
        Outcome::Ok => End::Succeeded,
        Outcome::Cancelled => End::Cancelled,
        _ => End::Failed,
    };
    let result = fitting::fit(reply)?;
    store.finish(id, end, Some(result)).await?;
    Ok(())
}

/// Say of a job that it does not go on, if that can be said.
async fn give_up(service: &ExecService, id: &str) {
    if let Ok(store) = service.jobs().store.store().await {
        let _ = store.finish(id, End::Cancelled, None).await;
    }
}

/// What a list shows: a name, or the first line that says something.
fn label(program: &Program) -> String {
    let text = match program {
        Program::Code(text) => text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default(),
        Program::File(name) | Program::Module(name) => name,
        Program::Function { function, .. } => function,
    };
    match text.chars().count() > LABEL {
        true => text.chars().take(LABEL - 3).chain("...".chars()).collect(),
        false => text.to_owned(),
    }
}
