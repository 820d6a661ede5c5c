//! A workspace with its index and engines, all kept at the same moment of its clock.
//!
//! Every question begins with [`CodeProject::view`]: the clock is read, what changed is parsed
//! into the index and told to the engines that run, and only then is the question asked.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use pillion_catalogue::{Code, Error, Result, work};
use pillion_changes::Journal;
use pillion_engines::engines::Engines;
use pillion_index::answers::Unread;
use pillion_index::language::is_any_source;
use pillion_index::source::Source;
use pillion_index::{Index, IndexStore};
use pillion_runtime::Dirs;
use pillion_workspace::{Changes, Clock, Snapshot, Workspace, WorkspaceOptions};
use tokio::sync::Mutex;

use crate::texts::Texts;

/// How long after the last change the index is written to disk.
const SETTLE: Duration = Duration::from_secs(2);

/// A workspace with its index and engines.
#[derive(Debug)]
pub struct CodeProject {
    workspace: Workspace,
    store: IndexStore,
    journal: Journal,
    state: Mutex<State>,
    engines: Engines,
    saving: AtomicBool,
    /// An index that was on its way when its caller went away. What it has read is proven
    /// file by file, so the next caller goes on from there.
    begun: Arc<std::sync::Mutex<Option<Index>>>,
}

#[derive(Debug, Default)]
struct State {
    index: Option<Index>,
    /// The moment the engines know of.
    told: Option<Clock>,
    changed: Option<Instant>,
    /// Whether the journal was looked at for changes that a killed process began.
    is_recovered: bool,
}

/// The workspace at one moment: what questions are answered from.
#[derive(Debug, Clone)]
pub struct View {
    /// The workspace.
    pub project: Arc<CodeProject>,
    /// Its files.
    pub snapshot: Snapshot,
    /// What is known about those of Python.
    pub index: Index,
    /// What was read of them, and of files outside, since somebody asked.
    pub(crate) texts: Arc<Texts>,
}

impl CodeProject {
    /// The workspace at `root`; nothing in it is read yet.
    pub fn new(root: PathBuf, options: WorkspaceOptions, engines: Engines, dirs: &Dirs) -> Self {
        Self {
            store: IndexStore::new(&dirs.usable_cache(), &root),
            journal: Journal::new(dirs, &root),
            workspace: Workspace::new(root, options),
            state: Mutex::default(),
            engines,
            saving: AtomicBool::new(false),
            begun: Arc::default(),
        }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// Its files and its clock.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The changes that were carried out in it.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The engines that answer about it.
    pub fn engines(&self) -> &Engines {
        &self.engines
    }

    /// The workspace as it is now: nothing in it is older than this call.
    pub async fn view(self: &Arc<Self>) -> Result<View> {
        // Read under the lock, so that what is told to engines is told in order.
        let mut state = self.state.lock().await;
        if !state.is_recovered {
            let journal = self.journal.clone();
            // Questions can be answered all the same; the next one tries again.
            match work(move |_| journal.recover()).await? {
                Ok(_) => state.is_recovered = true,
                Err(error) => tracing::warn!(%error, "the journal of changes cannot be read"),
            }
        }
        let snapshot = self.workspace.synced().await?;
        let clock = snapshot.clock();
        if state.told != Some(clock) {
            // A copy, so that a caller who gives up meanwhile leaves everything as it was.
            let known = state.index.clone();
            let (store, seen) = (self.store.clone(), snapshot.clone());
            let begun = Arc::clone(&self.begun);
            let follow = work(move |token| {
                let begun = || begun.lock().unwrap_or_else(PoisonError::into_inner);
                let further = begun().take().or(known);
                let mut index = further.unwrap_or_else(|| store.load());
                let followed = index.follow(&seen, token);
                if followed.is_err() {
                    *begun() = Some(index.clone());
                }
                followed.map(|followed| (index, followed))
            });
            let (index, followed) = follow.await??;
            match snapshot.changes_since(state.told) {
                Changes::These(changes) => {
                    let before = state.index.clone().unwrap_or_default();
                    self.engines.changed(&changes, &before, &index);
                }
                Changes::Everything if state.told.is_some() => self.engines.restart(),
                Changes::Everything => {}
            }
            state.index = Some(index);
            state.told = Some(clock);
            if followed.parsed + followed.forgotten > 0 {
                state.changed = Some(Instant::now());
                self.save_later();
            }
        }
        Ok(View {
            project: Arc::clone(self),
            snapshot,
            index: state.index.clone().unwrap_or_default(),
            texts: Arc::default(),
        })
    }

    /// Write the index once nothing has changed for a while.
    fn save_later(self: &Arc<Self>) {
        if self.saving.swap(true, Ordering::Relaxed) {
            return;
        }
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SETTLE).await;
                let Some(project) = weak.upgrade() else {
                    return;
                };
                let mut state = project.state.lock().await;
                if state.changed.is_some_and(|at| at.elapsed() < SETTLE) {
                    continue;
                }
                let index = state.index.clone().unwrap_or_default();
                state.changed = None;
                drop(state);
                project.saving.store(false, Ordering::Relaxed);
                let store = project.store.clone();
                if let Ok(Err(error)) = work(move |_| store.save(&index)).await {
                    tracing::warn!(%error, "the index could not be written");
                }
                return;
            }
        });
    }
}

impl View {
    /// The folder of the workspace.
    pub fn root(&self) -> &Path {
        self.project.root()
    }

    /// The moment, as answers carry it.
    pub fn clock(&self) -> String {
        self.snapshot.clock().to_string()
    }

    /// Sources that are there, but could not be looked at.
    pub fn unread(&self) -> Option<Unread> {
        Unread::of(&self.snapshot, is_any_source)
    }

    /// The text of a file as it was when this view was first asked for it, if it can be read.
    pub fn source(&self, path: &Path) -> Option<Arc<Source>> {
        self.texts.get(&self.root().join(path))
    }

    /// The text of a file of the workspace, which a request names.
    pub fn readable(&self, path: &str) -> Result<Arc<Source>> {
        self.source(Path::new(path)).ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("`{path}` is no file that can be read"),
            )
            .hint("name a file, not a folder, and check that it may be read")
        })
    }
}
