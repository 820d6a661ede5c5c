//! All pools of all workspaces.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use pillion_catalogue::Activity;

use crate::{Events, Pool, SidecarSpec, WorkspaceStatus};

/// Processes of all pools together, before the least recently used that is not busy has to go.
/// There is one number for all kinds, as they share one memory: room for 20 kernels, with a
/// worker, an engine or a zygote beside each, and some to spare.
const MAX_PROCESSES: usize = 48;
/// Pools that are remembered although they have no process.
const MAX_POOLS: usize = 128;

/// Holds every sidecar of this pillion.
#[derive(Debug)]
pub struct Supervisor {
    pools: Mutex<HashMap<String, Arc<Pool>>>,
    events: Events,
    activity: Activity,
}

impl Supervisor {
    /// A supervisor without sidecars. Living processes count as activity.
    pub fn new(activity: Activity) -> Self {
        Self {
            pools: Mutex::default(),
            events: Events::default(),
            activity,
        }
    }

    /// News about the sidecars.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// The pool known by `key`, made by `spec` if there is none.
    pub fn pool(&self, key: &str, size: usize, spec: impl FnOnce() -> SidecarSpec) -> Arc<Pool> {
        let mut pools = self.pools();
        if let Some(pool) = pools.get(key).cloned() {
            // One without a process is about to start one.
            if pool.alive() == 0 {
                make_room(&mut pools, key);
            }
            return pool;
        }
        make_room(&mut pools, key);
        let pool = Pool::new(spec(), size, self.events.clone(), self.activity.clone());
        let pool = Arc::new(pool);
        pools.insert(key.to_owned(), Arc::clone(&pool));
        pool
    }

    /// The pools of a workspace, or all of them.
    pub fn pools_of(&self, workspace: Option<&Path>) -> Vec<Arc<Pool>> {
        let pools = self.pools();
        let wanted = |pool: &&Arc<Pool>| workspace.is_none_or(|root| pool.spec().workspace == root);
        pools.values().filter(wanted).cloned().collect()
    }

    /// Let the sidecars of a workspace, or all, finish what they do and end. The next call
    /// starts new ones. Says how many pools there were.
    pub fn retire(&self, workspace: Option<&Path>) -> usize {
        let mut pools = self.pools();
        let before = pools.len();
        pools.retain(|_, pool| {
            let keep = workspace.is_some_and(|root| pool.spec().workspace != root);
            if !keep {
                pool.retire();
            }
            keep
        });
        before - pools.len()
    }

    /// Let the sidecars of one pool finish what they do and end.
    pub fn let_go(&self, key: &str) {
        if let Some(pool) = self.pools().remove(key) {
            pool.retire();
        }
    }

    /// The pool known by `from` is known by `to` from now on, and seen under another name.
    pub fn hand_over(&self, from: &str, to: &str, name: &str) {
        let mut pools = self.pools();
        let Some(pool) = pools.remove(from) else {
            return;
        };
        pool.rename(name);
        if let Some(before) = pools.insert(to.to_owned(), pool) {
            before.retire();
        }
    }

    /// What people see of it all, sorted by root.
    pub fn workspaces(&self) -> Vec<WorkspaceStatus> {
        let mut found: BTreeMap<String, WorkspaceStatus> = BTreeMap::new();
        for pool in self.pools().values() {
            let root = pool.spec().workspace.display().to_string();
            let (started, used) = (seconds(pool.started()), seconds(pool.used()));
            let entry = found
                .entry(root.clone())
                .or_insert_with(|| WorkspaceStatus {
                    root,
                    pid: std::process::id(),
                    started,
                    last_activity: used,
                    sidecars: Vec::new(),
                });
            entry.started = entry.started.min(started);
            entry.last_activity = entry.last_activity.max(used);
            entry.sidecars.extend(pool.status());
        }
        found.into_values().collect()
    }

    /// End every sidecar: politely for at most `grace`, then by force.
    pub async fn stop_all(&self, grace: Duration) {
        let pools: Vec<_> = self.pools().drain().map(|(_, pool)| pool).collect();
        let polite = futures::future::join_all(pools.iter().map(|pool| pool.stop()));
        // What has not ended by then is killed when its handle is dropped.
        let _ = tokio::time::timeout(grace, polite).await;
    }

    fn pools(&self) -> MutexGuard<'_, HashMap<String, Arc<Pool>>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Let go of pools that have not been used for the longest time, for a process of the pool that
/// is known by `key`, or will be.
fn make_room(pools: &mut HashMap<String, Arc<Pool>>, key: &str) {
    loop {
        let alive: usize = pools.values().map(|pool| pool.alive()).sum();
        let crowded = pools.len() >= MAX_POOLS && !pools.contains_key(key);
        if alive < MAX_PROCESSES && !crowded {
            return;
        }
        let oldest = pools
            .iter()
            .filter(|(known, _)| *known != key)
            .filter(|(_, pool)| !pool.is_loaded() && (crowded || pool.alive() > 0))
            .min_by_key(|(_, pool)| pool.used())
            .map(|(key, _)| key.clone());
        let Some(pool) = oldest.and_then(|key| pools.remove(&key)) else {
            return;
        };
        tracing::info!(root = %pool.spec().workspace.display(), "evicted: too many sidecars");
        tokio::spawn(async move { pool.stop().await });
    }
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
