//! The way of a job through the queue: it waits for its turn, is run, and says how it ended.

use std::sync::Arc;

use pillion_catalogue::{Error, Lease, Peer, Result};
use pillion_lanes::{Program, Reply, RunOutcome, RunRequest};
use pillion_store::{JobEnd, NewJob, StoredJob};
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;

use crate::ExecService;
use crate::jobs::{self, Live};
use crate::service::Ticket;

/// What a list shows of a program.
const LABEL: usize = 80;

/// Put a run into the queue. What was asked for is kept as `asked`.
pub(crate) async fn start(
    service: &Arc<ExecService>,
    request: RunRequest,
    asked: Box<RawValue>,
    peer: &Peer,
) -> Result<StoredJob> {
    if let Some(session) = &request.session {
        service.executor().check_session(session)?;
    }
    // Now, while the caller is there: a job outlives him.
    let _ = peer.variables();
    let place = service.jobs().place()?;
    let lease = service.executor().activity().lease();
    let service = Arc::clone(service);
    // A caller that goes away now leaves no job behind that nobody works on.
    let created = tokio::spawn(async move { create(service, request, asked, place, lease).await });
    created.await.map_err(Error::internal)?
}

async fn create(
    service: Arc<ExecService>,
    request: RunRequest,
    asked: Box<RawValue>,
    place: OwnedSemaphorePermit,
    lease: Lease,
) -> Result<StoredJob> {
    let jobs = service.jobs();
    let new = NewJob {
        session: request.session.clone(),
        lane: request.lane.name().to_owned(),
        label: label(&request.program),
        request: asked,
    };
    let job = jobs.store.store().await?.create(new).await?;
    let live = jobs.begin(&job.id);
    let id = job.id.clone();
    tokio::spawn({
        let service = Arc::clone(&service);
        async move {
            if let Err(error) = carry_out(&service, &id, &live, request, place).await {
                tracing::warn!(job = id, %error, "what became of a job cannot be kept");
                give_up(&service, &id).await;
            }
            service.jobs().end(&id, &live);
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
    request: RunRequest,
    place: OwnedSemaphorePermit,
) -> Result<()> {
    let jobs = service.jobs();
    let store = jobs.store.store().await?;
    let lane = request.lane;
    let turn = async {
        let among_jobs = jobs.turn().await?;
        let among_runs = service.executor().turn_in_order().await?;
        Ok::<_, Error>((among_jobs, among_runs))
    };
    let (_among_jobs, among_runs) = tokio::select! {
        biased;
        () = live.cancel.cancelled() => {
            store.finish(id, JobEnd::Cancelled, None).await?;
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
    let mut into = jobs::feed::Into(&live.feed);
    let reply = service
        .perform(request, live.cancel.clone(), &mut into, ticket)
        .await;
    let reply = reply.unwrap_or_else(|error| Reply::never_ran(lane, &error));
    let end = match reply.outcome {
        RunOutcome::Ok => JobEnd::Succeeded,
        RunOutcome::Cancelled => JobEnd::Cancelled,
        _ => JobEnd::Failed,
    };
    let result = jobs::result_limit::fit(reply)?;
    store.finish(id, end, Some(result)).await?;
    Ok(())
}

/// Say of a job that it does not go on, if that can be said.
async fn give_up(service: &ExecService, id: &str) {
    if let Ok(store) = service.jobs().store.store().await {
        let _ = store.finish(id, JobEnd::Cancelled, None).await;
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
