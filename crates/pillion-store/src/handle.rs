//! The one way to the store: opened when something is first to be kept or looked up.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::{JobDetail, JobFilter, JobPage, Store, StoreError, StoreOptions, StoredJob, owner};

/// The store's folder and file below the data folder. The folder is the store's own.
pub const FILE: &str = "jobs/jobs.sqlite";

/// A handle on a store that may not be open yet. An engine makes one and gives a clone of it
/// to each service: clones share the store, and so its threads and its life.
#[derive(Clone)]
pub struct StoreHandle {
    shared: Arc<Shared>,
}

struct Shared {
    /// Where the file is. It is asked when the store is opened, not before: the answer may
    /// depend on what can be written then.
    path: Box<dyn Fn() -> PathBuf + Send + Sync>,
    options: StoreOptions,
    store: OnceCell<Store>,
}

impl std::fmt::Debug for StoreHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_open = self.shared.store.initialized();
        f.debug_struct("StoreHandle")
            .field("is_open", &is_open)
            .finish_non_exhaustive()
    }
}

impl StoreHandle {
    /// A handle on the store in the file that `path` names.
    pub fn new(path: impl Fn() -> PathBuf + Send + Sync + 'static, options: StoreOptions) -> Self {
        Self {
            shared: Arc::new(Shared {
                path: Box::new(path),
                options,
                store: OnceCell::new(),
            }),
        }
    }

    /// The store. Whoever asks first opens it, and what daemons that have died left unfinished
    /// is lost.
    pub async fn store(&self) -> Result<&Store, StoreError> {
        let shared = &self.shared;
        let open = || open((shared.path)(), shared.options);
        shared.store.get_or_try_init(open).await
    }

    /// A job with all that is known about it. One whose daemon has died is lost by now.
    pub async fn job(&self, id: &str) -> Result<JobDetail, StoreError> {
        let store = self.store().await?;
        let found = store.get(id).await?;
        if !is_orphan(&found.job) {
            return Ok(found);
        }
        store.lose().await?;
        store.get(id).await
    }

    /// The newest jobs, and how many there are. Those whose daemons have died are lost by now.
    pub async fn jobs(&self, filter: JobFilter) -> Result<JobPage, StoreError> {
        let store = self.store().await?;
        let found = store.list(filter.clone()).await?;
        if !found.jobs.iter().any(is_orphan) {
            return Ok(found);
        }
        store.lose().await?;
        store.list(filter).await
    }
}

async fn open(path: PathBuf, options: StoreOptions) -> Result<Store, StoreError> {
    let store = Store::open(&path, options).await?;
    if let Some(aside) = store.set_aside() {
        tracing::warn!(file = %aside.display(), "the store was damaged: it was put aside");
    }
    let lost = store.lose().await?;
    if !lost.is_empty() {
        tracing::info!(
            jobs = lost.len(),
            "jobs of daemons that have ended are lost"
        );
    }
    store.prune().await?;
    Ok(store)
}

/// Another daemon began it, and has died since.
fn is_orphan(job: &StoredJob) -> bool {
    !job.status.is_final() && !owner::is_alive(&job.owner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn clones_open_one_store_and_only_when_it_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, asked) = (folder.path().join(FILE), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&asked);
        let path = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            file.clone()
        };
        let handle = StoreHandle::new(path, StoreOptions::default());
        let other = handle.clone();
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        assert!(!folder.path().join(FILE).exists());
        let (one, two) = tokio::join!(handle.store(), other.store());
        assert_eq!(one.unwrap().owner(), two.unwrap().owner(), "one life");
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
