//! What carries out runs: runtimes, zygotes, folders and the gate for runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Activity, Code, Error, Result};
use pillion_project::{Project, Projects, Whereabouts};
use pillion_runtime::{Dirs, most_walls};
use pillion_sandbox::{Level, Means, Policy};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::keeper::{IDLE, Keeper};
use crate::lane::Lane;
use crate::runtime::{self, Runtime};
use crate::tools::Host;
use crate::zygote::Make;

/// Zygotes that live at the same time.
const MAX_ZYGOTES: usize = 4;
/// Runs that wait for their turn before callers are told to come back.
const MAX_WAITING: usize = 256;
/// Between two looks for zygotes that nobody needs.
const LOOK: Duration = Duration::from_secs(30);

/// Runs code of others, in lanes. All services of an engine share one, and so its gate.
#[derive(Debug)]
pub struct Executor {
    projects: Arc<Projects>,
    activity: Activity,
    most: Level,
    means: OnceCell<Means>,
    zygotes: Mutex<Vec<(Key, Arc<Keeper>)>>,
    parallel: usize,
    gate: Semaphore,
    waiting: Semaphore,
    host: OnceLock<Arc<dyn Host>>,
}

/// Zygotes are the same if they were made of the same.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    lane: Lane,
    runtime: Runtime,
    policy: Policy,
    imports: Vec<String>,
    slots: usize,
}

impl Executor {
    /// An executor that runs the Pythons of `projects`, and keeps its things in their folders.
    pub fn new(projects: Arc<Projects>, activity: Activity) -> Self {
        // Two waiting for the disk or for a tool are no load.
        let parallel = std::thread::available_parallelism().map_or(2, usize::from) * 2;
        let parallel = parallel.max(4);
        Self {
            host: OnceLock::new(),
            projects,
            activity,
            most: most_walls(),
            means: OnceCell::new(),
            zygotes: Mutex::default(),
            parallel,
            gate: Semaphore::new(parallel),
            waiting: Semaphore::new(MAX_WAITING),
        }
    }

    /// So many runs go on at once.
    pub fn parallel(&self) -> usize {
        self.parallel
    }

    /// What can be enforced on this machine.
    pub async fn means(&self) -> &Means {
        self.means
            .get_or_init(|| async {
                crate::session::sweep(&self.sessions());
                pillion_sandbox::probe(self.most).await
            })
            .await
    }

    pub(crate) fn dirs(&self) -> &Dirs {
        self.projects.dirs()
    }

    /// Functions that runs may call are called by this; said once.
    pub fn set_host(&self, host: Arc<dyn Host>) {
        let _ = self.host.set(host);
    }

    pub(crate) fn host(&self) -> Option<Arc<dyn Host>> {
        self.host.get().cloned()
    }

    /// What keeps the daemon from going idle.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The folder that folders of sessions are in.
    pub fn sessions(&self) -> PathBuf {
        self.dirs().usable_data().join("sessions")
    }

    /// The project at `whereabouts`, as it is now, if its lanes may have what it asks for.
    pub async fn project(&self, whereabouts: Whereabouts) -> Result<Arc<Project>> {
        let project = self.projects.open(whereabouts).await?;
        runtime::demand(&project)?;
        Ok(project)
    }

    /// A place among the runs, when it is this one's turn.
    pub async fn turn(&self) -> Result<SemaphorePermit<'_>> {
        let busy = || {
            Error::new(Code::Busy, "too many runs are waiting already")
                .hint("try again when some have ended, or start a job")
        };
        let _waiting = self.waiting.try_acquire().map_err(|_| busy())?;
        self.gate.acquire().await.map_err(Error::internal)
    }

    /// The same for somebody who has waited in a queue of his own, such as a job.
    pub async fn turn_in_order(&self) -> Result<SemaphorePermit<'_>> {
        self.gate.acquire().await.map_err(Error::internal)
    }

    /// The keeper of the zygote for such runs.
    pub(crate) fn keeper(
        self: &Arc<Self>,
        lane: Lane,
        runtime: &Runtime,
        policy: &Policy,
        (imports, slots): (&[String], usize),
    ) -> Arc<Keeper> {
        let key = Key {
            lane,
            runtime: runtime.clone(),
            policy: Policy {
                folder: pillion_sandbox::Folder::Throwaway,
                ..policy.clone()
            },
            imports: imports.to_vec(),
            slots,
        };
        let mut zygotes = self.zygotes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = zygotes.iter().position(|(known, _)| *known == key) {
            let found = zygotes.remove(at);
            let keeper = Arc::clone(&found.1);
            zygotes.push(found);
            return keeper;
        }
        if zygotes.is_empty() {
            tokio::spawn(retire_idle(Arc::downgrade(self)));
        }
        if zygotes.len() >= MAX_ZYGOTES {
            // The one that was not needed for longest; runs that are in it end it later.
            zygotes.remove(0);
        }
        let make = Make {
            runtime: runtime.clone(),
            policy: key.policy.clone(),
            imports: key.imports.clone(),
            fixed_hashes: lane == Lane::Expert,
            handed: (lane == Lane::User).then(|| self.sessions()),
        };
        let keeper = Arc::new(Keeper::new(make, slots));
        zygotes.push((key, Arc::clone(&keeper)));
        keeper
    }

    /// Slots that wait, over all zygotes.
    pub async fn warm_slots(&self) -> usize {
        let keepers: Vec<_> = {
            let zygotes = self.zygotes.lock().unwrap_or_else(PoisonError::into_inner);
            zygotes
                .iter()
                .map(|(_, keeper)| Arc::clone(keeper))
                .collect()
        };
        let mut warm = 0;
        for keeper in keepers {
            warm += keeper.warm().await;
        }
        warm
    }
}

/// End zygotes that nobody needed for a while, until there are none.
async fn retire_idle(executor: std::sync::Weak<Executor>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(executor) = executor.upgrade() else {
            return;
        };
        let keepers: Vec<_> = {
            let zygotes = executor
                .zygotes
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            zygotes.clone()
        };
        for (key, keeper) in keepers {
            if !keeper.rest(IDLE).await {
                let mut zygotes = executor
                    .zygotes
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                zygotes.retain(|(known, _)| *known != key);
            }
        }
        let zygotes = executor
            .zygotes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if zygotes.is_empty() {
            return;
        }
    }
}
