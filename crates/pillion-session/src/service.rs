//! The service: sessions that are there, and the turn that each of them may have.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pillion_agents::{SkipReply, SkipRequest};
use pillion_catalogue::{Code, Context, Error, Result, commit, work};
use pillion_course::Roots;
use pillion_expert::Consultations;
use pillion_lanes::{Executor, Whereabouts, session};
use pillion_runtime::Dirs;
use pillion_store::StoreHandle;
use pillion_sync::Sync;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::content::{self, Contents};
use crate::export::{self, Written};
use crate::folder::{Folder, hold};
use crate::load;
use crate::log::TurnLog;
use crate::models::{Models, variables};
use crate::progress;
use crate::turn::{self, Claim, Running};

/// Sessions without a turn that are remembered, with the events of their last one.
const MOST_IDLE: usize = 128;

/// Sessions of learners.
#[derive(Debug)]
pub struct SessionService {
    executor: Arc<Executor>,
    pub(crate) contents: Arc<Contents>,
    pub(crate) sync: Sync,
    pub(crate) models: Models,
    consultations: Consultations,
    known: Mutex<HashMap<String, Known>>,
    turns: TaskTracker,
    ending: CancellationToken,
    swept: std::sync::Once,
}

/// What this process knows about a session beside its folder.
#[derive(Debug)]
struct Known {
    /// It was made or taken up by this process.
    attached: bool,
    /// Whoever changes the session has this.
    change: Arc<tokio::sync::Mutex<()>>,
    turn: Option<CurrentTurn>,
    /// A turn is about to begin; this ends it already.
    beginning: Option<CancellationToken>,
    used: Instant,
}

impl Known {
    /// What ends the turn that is about to begin, and the one that runs.
    fn cancels(&self) -> impl Iterator<Item = &CancellationToken> {
        let turn = self.turn.as_ref().map(|turn| &turn.cancel);
        self.beginning.iter().chain(turn)
    }

    /// Whether a turn runs or is about to.
    fn is_busy(&self) -> bool {
        self.beginning.is_some() || self.turn.as_ref().is_some_and(|turn| !turn.log.is_over())
    }
}

#[derive(Debug, Clone)]
struct CurrentTurn {
    log: Arc<TurnLog>,
    cancel: CancellationToken,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            attached: false,
            change: Arc::default(),
            turn: None,
            beginning: None,
            used: Instant::now(),
        }
    }
}

impl SessionService {
    /// A service whose sessions are below the folder of `executor`'s sessions, and whose
    /// deliveries wait in `store`. When `ending` is cancelled, so are turns.
    pub fn new(
        executor: Arc<Executor>,
        dirs: Dirs,
        store: StoreHandle,
        ending: CancellationToken,
    ) -> Self {
        Self {
            sync: Sync::new(store, &ending),
            consultations: Consultations::new(Arc::clone(&executor)),
            executor,
            contents: Arc::new(Contents::new(dirs)),
            models: Models::default(),
            known: Mutex::default(),
            turns: TaskTracker::new(),
            ending,
            swept: std::sync::Once::new(),
        }
    }

    /// End all turns, and wait for that; nothing of them stays.
    pub async fn stop(&self) {
        for cancel in self.known().values().flat_map(Known::cancels) {
            cancel.cancel();
        }
        self.turns.close();
        self.turns.wait().await;
        self.sync.stop().await;
    }

    /// The folder that folders of sessions are in.
    pub(crate) fn root(&self) -> PathBuf {
        self.executor.sessions()
    }

    /// The folders of content of whoever asks.
    pub(crate) fn roots(&self, cx: &Context<Self>) -> Roots {
        let get = variables(&cx.request().peer);
        content::roots(|name| get(name))
    }

    /// Whether this process made the session, or took it up.
    pub(crate) fn is_attached(&self, id: &str) -> bool {
        self.with(id, |known| known.attached)
    }

    /// Note that this process did so.
    pub(crate) fn note_attached(&self, id: &str) {
        self.with(id, |known| known.attached = true);
    }

    /// Begin a turn; what happens in it is in the log. It goes on without whoever asked.
    pub(crate) async fn begin_turn(
        self: &Arc<Self>,
        cx: &Context<Self>,
        id: &str,
        message: String,
    ) -> Result<Arc<TurnLog>> {
        let folder = Folder::find(&self.root(), id)?;
        // Of several who ask at once one begins, and the others are told so.
        let beginning = Beginning::new(self, id)?;
        let change = self.with(id, |known| Arc::clone(&known.change));
        let claim = change.lock_owned().await;
        let model = self.models.of(&cx.request().peer)?;
        let whereabouts = Whereabouts::of_caller(cx)?;
        let (contents, roots) = (Arc::clone(&self.contents), self.roots(cx));
        let found = folder.clone();
        let loaded = work(move |_| turn::load(&found, &roots, &contents)).await??;
        let (log, cancel) = (TurnLog::new(), beginning.cancel.clone());
        let current = CurrentTurn {
            log: Arc::clone(&log),
            cancel: cancel.clone(),
        };
        self.with(id, |known| {
            known.attached = true;
            known.turn = Some(current);
        });
        drop(beginning);
        let running = Running {
            consultations: self.consultations.clone(),
            sync: self.sync.clone(),
            folder,
            model,
            whereabouts,
            log: Arc::clone(&log),
            cancel,
            _lease: self.executor.activity().lease(),
            _claim: claim,
        };
        // Whoever waits for this session reads the log, which is closed whatever happens.
        self.turns.spawn(running.perform(loaded, message));
        Ok(log)
    }

    /// The events of the turn that runs, or of the last one.
    pub(crate) fn turn(&self, id: &str) -> Result<Arc<TurnLog>> {
        Folder::find(&self.root(), id)?;
        let known = self.known();
        let turn = known.get(id).and_then(|known| known.turn.as_ref());
        turn.map(|turn| Arc::clone(&turn.log)).ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("no turn of session `{id}` is known here"),
            )
            .hint("`session.history` has those that were completed")
        })
    }

    /// End the turn that runs or is about to, if one does, and wait until it has ended.
    pub(crate) async fn cancel_turn(&self, id: &str) {
        let change = {
            let known = self.known();
            let Some(known) = known.get(id).filter(|known| known.is_busy()) else {
                return;
            };
            for cancel in known.cancels() {
                cancel.cancel();
            }
            Arc::clone(&known.change)
        };
        // The turn has it until it has told its end and cleaned up.
        drop(change.lock().await);
    }

    /// Leave a task out.
    pub(crate) async fn skip_task(
        &self,
        cx: &Context<Self>,
        id: &str,
        asked: SkipRequest,
    ) -> Result<SkipReply> {
        let folder = Folder::find(&self.root(), id)?;
        let _claim = self.claim(id).await?;
        let (contents, roots) = (Arc::clone(&self.contents), self.roots(cx));
        commit(move || progress::skip(&folder, &roots, &contents, &asked)).await?
    }

    /// End a session: its final report.
    pub(crate) async fn end(&self, cx: &Context<Self>, id: &str) -> Result<String> {
        let folder = Folder::find(&self.root(), id)?;
        let _claim = self.claim(id).await?;
        let (contents, roots) = (Arc::clone(&self.contents), self.roots(cx));
        commit(move || progress::end(&folder, &roots, &contents)).await?
    }

    /// Write a session into a file.
    pub(crate) async fn export(&self, id: &str, path: PathBuf) -> Result<Written> {
        let folder = Folder::find(&self.root(), id)?;
        let _claim = self.claim(id).await?;
        commit(move || export::export(&folder, &path)).await?
    }

    /// Delete a session.
    pub(crate) async fn delete(&self, id: &str) -> Result<()> {
        let folder = Folder::find(&self.root(), id)?;
        let claim = self.claim(id).await?;
        let root = self.root();
        commit(move || -> Result<()> {
            let held = hold(&folder)?;
            if session::stays_in_use(&folder.path(session::WORKSPACE)) {
                let what = format!("code of session `{}` runs", folder.id());
                return Err(Error::new(Code::Conflict, what)
                    .hint("wait for it, or end its kernel: `notebook.shutdown`"));
            }
            let gone = root.join(session::name_of_run());
            std::fs::rename(folder.base(), &gone).map_err(Error::internal)?;
            drop(held);
            session::remove(&gone);
            Ok(())
        })
        .await??;
        drop(claim);
        self.known().remove(id);
        self.sync.detach(id);
        self.sync.forget(id).await.map_err(Error::internal)
    }

    /// Be the one who changes a session. While a turn runs that is its task.
    pub(crate) async fn claim(&self, id: &str) -> Result<Claim> {
        let change = self.with(id, |known| match known.is_busy() {
            true => Err(busy(id)),
            false => Ok(Arc::clone(&known.change)),
        })?;
        Ok(change.lock_owned().await)
    }

    fn with<T>(&self, id: &str, look: impl FnOnce(&mut Known) -> T) -> T {
        let mut all = self.known();
        if all.len() >= MOST_IDLE && !all.contains_key(id) {
            forget_oldest(&mut all);
        }
        let known = all.entry(id.to_owned()).or_default();
        known.used = Instant::now();
        look(known)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take away content that no session has any more; once.
    pub(crate) fn sweep(&self) {
        let (root, overlays) = (self.root(), self.contents.store());
        self.swept.call_once(|| {
            tokio::spawn(work(move |_| {
                let all = Folder::all(&root);
                let paths = all.iter().filter_map(|folder| load::paths(folder).ok());
                let in_use: HashSet<String> = paths.filter_map(|paths| paths.overlay).collect();
                content::sweep(&overlays, &in_use);
            }));
        });
    }
}

/// A session without a turn is known by its folder: the one that was not used for longest goes.
fn forget_oldest(all: &mut HashMap<String, Known>) {
    let idle = all.iter().filter(|(_, known)| {
        // Somebody waits for it, or has it.
        !known.is_busy() && Arc::strong_count(&known.change) == 1
    });
    let oldest = idle.min_by_key(|(_, known)| known.used);
    if let Some(id) = oldest.map(|(id, _)| id.clone()) {
        all.remove(&id);
    }
}

/// A turn that is about to begin; no other does while this is there.
struct Beginning<'a> {
    service: &'a SessionService,
    id: &'a str,
    /// What ends the turn, from now on.
    cancel: CancellationToken,
}

impl<'a> Beginning<'a> {
    fn new(service: &'a SessionService, id: &'a str) -> Result<Self> {
        let cancel = service.ending.child_token();
        let is_first = service.with(id, |known| {
            let is_busy = known.is_busy();
            if !is_busy {
                known.beginning = Some(cancel.clone());
            }
            !is_busy
        });
        match is_first {
            true => Ok(Self {
                service,
                id,
                cancel,
            }),
            false => Err(busy(id)),
        }
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        self.service.with(self.id, |known| known.beginning = None);
    }
}

fn busy(id: &str) -> Error {
    let what = format!("session `{id}` has a turn that is not over");
    Error::new(Code::Conflict, what).hint("wait for its `complete`, or cancel it: `session.cancel`")
}
