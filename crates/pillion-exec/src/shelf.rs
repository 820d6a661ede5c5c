//! The store, opened when something is first to be kept or looked up.

use pillion_catalogue::{Code, Error, Result};
use pillion_runtime::Dirs;
use pillion_store::{Job, JobDetail, Options, Retention, Store, StoreError, owner};
use tokio::sync::OnceCell;

/// The store's folder and file below the data folder. The folder is the store's own.
const FILE: &str = "jobs/jobs.sqlite";

/// Where the store stands.
pub(crate) struct Shelf {
    dirs: Dirs,
    store: OnceCell<Store>,
}

impl std::fmt::Debug for Shelf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl Shelf {
    pub(crate) fn new(dirs: Dirs) -> Self {
        Self {
            dirs,
            store: OnceCell::new(),
        }
    }

    /// The store; what daemons that have died left unfinished is lost.
    pub(crate) async fn store(&self) -> Result<&Store> {
        self.store.get_or_try_init(|| self.open()).await
    }

    async fn open(&self) -> Result<Store> {
        let path = self.dirs.usable_data().join(FILE);
        let options = Options {
            retention: retention(),
            ..Options::default()
        };
        let store = Store::open(&path, options).await.map_err(failed)?;
        if let Some(aside) = store.set_aside() {
            tracing::warn!(file = %aside.display(), "the store was damaged: it was put aside");
        }
        let lost = store.lose().await.map_err(failed)?;
        if !lost.is_empty() {
            tracing::info!(
                jobs = lost.len(),
                "jobs of daemons that have ended are lost"
            );
        }
        store.prune().await.map_err(failed)?;
        Ok(store)
    }

    /// A job with all that is known about it.
    pub(crate) async fn job(&self, id: &str) -> Result<JobDetail> {
        let store = self.store().await?;
        let found = store.get(id).await.map_err(failed)?;
        if !is_orphan(&found.job) {
            return Ok(found);
        }
        store.lose().await.map_err(failed)?;
        store.get(id).await.map_err(failed)
    }

    /// The newest jobs, and how many there are.
    pub(crate) async fn jobs(&self, filter: pillion_store::Filter) -> Result<pillion_store::Jobs> {
        let store = self.store().await?;
        let found = store.list(filter.clone()).await.map_err(failed)?;
        if !found.jobs.iter().any(is_orphan) {
            return Ok(found);
        }
        store.lose().await.map_err(failed)?;
        store.list(filter).await.map_err(failed)
    }
}

/// Another daemon began it, and has died since.
fn is_orphan(job: &Job) -> bool {
    !job.status.is_final() && !owner::is_alive(&job.owner)
}

fn retention() -> Retention {
    let standard = Retention::default();
    let kept = std::env::var(pillion_protocol::vars::PILLION_JOBS_KEPT);
    Retention {
        jobs: kept
            .ok()
            .and_then(|kept| kept.parse().ok())
            .unwrap_or(standard.jobs),
        ..standard
    }
}

/// The store's errors as callers get them.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands on"
)]
pub(crate) fn failed(error: StoreError) -> Error {
    let code = match &error {
        StoreError::NoJob { .. } => Code::NotFound,
        StoreError::Conflict { .. } => Code::Conflict,
        StoreError::TooBig { .. } => Code::InvalidParams,
        StoreError::Busy { .. } | StoreError::Locked { .. } => Code::Busy,
        StoreError::Closed => Code::ShuttingDown,
        _ => Code::WriteFailed,
    };
    Error::new(code, error.to_string()).hint(error.hint())
}
