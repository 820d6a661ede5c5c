//! What carries out runs: runtimes, zygotes, folders and the gate for runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Activity, Code, Error, Result};
use pillion_project::{Project, Projects, Whereabouts};
use pillion_runtime::{Dirs, most_walls};
use pillion_sandbox::{Level, Means};
use pillion_supervisor::Supervisor;
use pillion_workspace::LaneConfig;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::lane::{self, LONGEST, Lane, MOST_MEMORY_MB};
use crate::runtime::{self, Runtime};
use crate::slot_pool::SlotPool;
use crate::tools::Host;
use crate::zygote::Make;

/// Makes of zygotes whose slots are kept warm.
const MAX_SLOT_POOLS: usize = 64;
/// Runs that wait for their turn before callers are told to come back.
const MAX_WAITING: usize = 256;

/// Runs code of others, in lanes. All services of an engine share one, and so its gate.
#[derive(Debug)]
pub struct Executor {
    projects: Arc<Projects>,
    activity: Activity,
    most: Level,
    means: OnceCell<Means>,
    supervisor: Arc<Supervisor>,
    /// Those that were needed last are at the end.
    slot_pools: Mutex<Vec<Arc<SlotPool>>>,
    parallel: usize,
    gate: Semaphore,
    waiting: Semaphore,
    host: OnceLock<Arc<dyn Host>>,
    sessions: OnceLock<SessionsRoot>,
}

/// Where sessions are kept, and which there are.
#[derive(Debug, Clone)]
pub struct SessionsRoot {
    /// The folder that folders of sessions are in.
    pub root: PathBuf,
    /// Only sessions that are there already run code: somebody else makes them.
    pub only_known: bool,
}

impl Executor {
    /// An executor that runs the Pythons of `projects`, and keeps its things in their folders.
    /// Its zygotes are looked after by `supervisor`.
    pub fn new(projects: Arc<Projects>, activity: Activity, supervisor: Arc<Supervisor>) -> Self {
        // Two waiting for the disk or for a tool are no load.
        let parallel = std::thread::available_parallelism().map_or(2, usize::from) * 2;
        let parallel = parallel.max(4);
        Self {
            host: OnceLock::new(),
            sessions: OnceLock::new(),
            projects,
            activity,
            most: most_walls(),
            means: OnceCell::new(),
            supervisor,
            slot_pools: Mutex::default(),
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

    /// The folders that all of it is kept in.
    pub fn dirs(&self) -> &Dirs {
        self.projects.dirs()
    }

    /// What looks after everything that lives longer than a run.
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
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

    /// Sessions are kept here; said once, before the first is needed.
    pub fn set_sessions(&self, sessions: SessionsRoot) {
        let _ = self.sessions.set(sessions);
    }

    /// The folder that folders of sessions are in.
    pub fn sessions(&self) -> PathBuf {
        match self.sessions.get() {
            Some(sessions) => sessions.root.clone(),
            None => self.dirs().usable_data().join("sessions"),
        }
    }

    /// The folder of a session that is a conversation, if somebody else makes sessions: what is
    /// to be known about its runs is kept there.
    pub fn conversation(&self, id: &str) -> Option<PathBuf> {
        let sessions = self.sessions.get().filter(|sessions| sessions.only_known)?;
        Some(sessions.root.join(id))
    }

    /// Whether code may run in the session of this name, which need not be there yet unless
    /// somebody else makes sessions.
    pub fn check_session(&self, id: &str) -> Result<()> {
        let is_name = crate::session::check_id(id);
        let Some(sessions) = self.sessions.get().filter(|sessions| sessions.only_known) else {
            return is_name;
        };
        match is_name.is_ok() && sessions.root.join(id).is_dir() {
            true => Ok(()),
            false => Err(crate::session::no_session(id)),
        }
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

    /// The warm slots of the zygote for runs of this lane in the project at `root`.
    pub(crate) fn slot_pool(
        &self,
        root: &Path,
        lane: Lane,
        runtime: &Runtime,
        config: &LaneConfig,
    ) -> Arc<SlotPool> {
        // Slots are confined ahead by the most that any run may have; each lowers its own.
        let ahead = lane::limits(config, Some(MOST_MEMORY_MB), LONGEST.as_secs_f64());
        let make = Make {
            root: root.to_owned(),
            lane,
            runtime: runtime.clone(),
            policy: lane.policy(runtime, config, ahead, None),
            imports: config.imports.clone(),
            handed: (lane == Lane::User).then(|| self.sessions()),
            idle: Duration::from_secs_f64(config.idle_minutes * 60.0),
        };
        let mut slot_pools = self.slot_pools();
        let known = |slot_pool: &Arc<SlotPool>| slot_pool.is_of(&make, config.slots);
        if let Some(at) = slot_pools.iter().position(known) {
            let slot_pool = slot_pools.remove(at);
            slot_pools.push(Arc::clone(&slot_pool));
            return slot_pool;
        }
        // Slots whose zygote has ended are let go of.
        for slot_pool in slot_pools.iter() {
            slot_pool.warm();
        }
        if slot_pools.len() >= MAX_SLOT_POOLS {
            slot_pools.remove(0);
        }
        let slot_pool = SlotPool::new(Arc::clone(&self.supervisor), make, config.slots);
        let slot_pool = Arc::new(slot_pool);
        slot_pools.push(Arc::clone(&slot_pool));
        slot_pool
    }

    /// Slots that wait, over all zygotes.
    pub fn warm_slots(&self) -> usize {
        self.slot_pools()
            .iter()
            .map(|slot_pool| slot_pool.warm())
            .sum()
    }

    fn slot_pools(&self) -> MutexGuard<'_, Vec<Arc<SlotPool>>> {
        self.slot_pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pillion_project::Stamps;

    fn executor(home: &Path) -> Executor {
        let projects = Arc::new(Projects::new(Dirs::under(home)));
        let supervisor = Arc::new(Supervisor::new(Activity::default()));
        Executor::new(projects, Activity::default(), supervisor)
    }

    fn runtime() -> Runtime {
        Runtime {
            executable: "/python".into(),
            worker: "/worker".into(),
            view: Vec::new(),
            packages: Vec::new(),
            proof: Stamps::default(),
            is_foreign: false,
        }
    }

    #[tokio::test]
    async fn runs_wait_for_their_turn_and_too_many_are_told_to_come_back() {
        let home = tempfile::tempdir().unwrap();
        let executor = Arc::new(executor(home.path()));
        let mut running = Vec::new();
        for _ in 0..executor.parallel() {
            running.push(executor.turn().await.unwrap());
        }
        let waiting: Vec<_> = (0..MAX_WAITING)
            .map(|_| {
                let executor = Arc::clone(&executor);
                tokio::spawn(async move { executor.turn().await.map(drop) })
            })
            .collect();
        while executor.waiting.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let error = executor.turn().await.unwrap_err();
        assert_eq!(error.code, Code::Busy);
        assert!(error.hint.is_some());
        drop(running);
        for one in waiting {
            one.await.unwrap().unwrap();
        }
        assert!(executor.turn().await.is_ok());
    }

    #[tokio::test]
    async fn runs_of_the_same_make_share_a_zygote_and_others_do_not() {
        let home = tempfile::tempdir().unwrap();
        let executor = executor(home.path());
        let config = LaneConfig::default();
        let root = Path::new("/one");
        let slot_pool = |root, lane, config| executor.slot_pool(root, lane, &runtime(), config);
        let first = slot_pool(root, Lane::Expert, &config);
        assert!(Arc::ptr_eq(&first, &slot_pool(root, Lane::Expert, &config)));
        // What a single run asks for is lowered in its slot.
        let slower = LaneConfig {
            timeout_s: 1.0,
            memory_mb: 1,
            ..config.clone()
        };
        assert!(Arc::ptr_eq(&first, &slot_pool(root, Lane::Expert, &slower)));
        assert!(!Arc::ptr_eq(&first, &slot_pool(root, Lane::User, &config)));
        assert!(!Arc::ptr_eq(
            &first,
            &slot_pool(Path::new("/two"), Lane::Expert, &config)
        ));
        let with_imports = LaneConfig {
            imports: vec!["json".to_owned()],
            ..config.clone()
        };
        assert!(!Arc::ptr_eq(
            &first,
            &slot_pool(root, Lane::Expert, &with_imports)
        ));
        let mut changed = runtime();
        changed.packages.push("/packages".into());
        let other = executor.slot_pool(root, Lane::Expert, &changed, &config);
        assert!(!Arc::ptr_eq(&first, &other));
        assert_eq!(executor.warm_slots(), 0, "nothing was started");
    }

    #[tokio::test]
    async fn the_make_that_was_not_needed_for_longest_is_let_go_of() {
        let home = tempfile::tempdir().unwrap();
        let executor = executor(home.path());
        let config = LaneConfig::default();
        let slot_pool = |number: usize| {
            let root = PathBuf::from(format!("/{number}"));
            executor.slot_pool(&root, Lane::Expert, &runtime(), &config)
        };
        let (busy, idle) = (slot_pool(0), slot_pool(1));
        for number in 2..MAX_SLOT_POOLS + 5 {
            slot_pool(number);
            assert!(Arc::ptr_eq(&busy, &slot_pool(0)), "{number}");
        }
        assert_eq!(executor.slot_pools().len(), MAX_SLOT_POOLS);
        assert!(!Arc::ptr_eq(&idle, &slot_pool(1)));
    }
}
