//! The one map of a workspace: made at the first question, then kept in step.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pillion_catalogue::{Error, Result, work};
use pillion_index::{Index, IndexStore};
use tokio::sync::Mutex;

use super::graph::Graph;
use super::languages::LanguageMap;
use super::sketch::FORMAT;
use super::update::{Map, SavedSketches};

/// How long after the last change the sketches are written to disk.
const SETTLE: Duration = Duration::from_secs(2);

/// Keeps the map of a workspace.
#[derive(Debug)]
pub struct WorkspaceMap {
    root: PathBuf,
    store: IndexStore,
    state: Arc<Mutex<State>>,
    saving: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    map: Map,
    /// What the map is in step with.
    index: Option<Index>,
    /// The files as they were at the first question, by path with a hash of their bytes.
    first: Option<Index>,
    /// When it last took something in.
    changed: Option<Instant>,
    /// Sketches of a map that was on its way when its caller went away.
    begun: SavedSketches,
}

/// The map at one moment.
#[derive(Debug, Clone)]
pub struct MapSnapshot {
    /// Who uses whom.
    pub graph: Arc<Graph>,
    /// The files that it is made of.
    pub files: MapFiles,
}

/// The files of a map, now and as they were when it was first asked for.
#[derive(Debug, Clone)]
pub enum MapFiles {
    /// Files of Python, as the index knows them.
    Python {
        /// What they are now.
        now: Index,
        /// What they were when the map was first asked for.
        first: Index,
    },
    /// Files of another language.
    Other(LanguageMap),
}

impl MapFiles {
    /// The files that changed since the map was first asked for: those that are new or
    /// other, and those that are gone.
    pub fn changed(&self) -> (Vec<String>, Vec<String>) {
        match self {
            Self::Python { now, first } => (
                differ(now.hashes(), |path| first.hash(path)),
                missing(first.hashes(), |path| now.hash(path).is_some()),
            ),
            Self::Other(map) => {
                let now = map.files.iter();
                let now = now.map(|(path, outlined)| (path, outlined.sketched.hash));
                let first = map.first.iter().map(|(path, hash)| (path, *hash));
                (
                    differ(now, |path| map.first.get(path).copied()),
                    missing(first, |path| map.files.contains_key(path)),
                )
            }
        }
    }
}

type Hashed<'a> = (&'a Arc<str>, [u8; 16]);

fn differ<'a>(
    now: impl Iterator<Item = Hashed<'a>>,
    first: impl Fn(&str) -> Option<[u8; 16]>,
) -> Vec<String> {
    now.filter(|(path, hash)| first(path) != Some(*hash))
        .map(|(path, _)| path.to_string())
        .collect()
}

fn missing<'a>(
    first: impl Iterator<Item = Hashed<'a>>,
    is_there: impl Fn(&str) -> bool,
) -> Vec<String> {
    first
        .filter(|(path, _)| !is_there(path))
        .map(|(path, _)| path.to_string())
        .collect()
}

impl WorkspaceMap {
    /// The map of the workspace at `root`, with its sketches below the folder `cache`.
    pub fn new(cache: &Path, root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            store: IndexStore::of_kind(cache, root, "map", FORMAT),
            state: Arc::default(),
            saving: Arc::default(),
        }
    }

    /// The map of the Python of an index.
    pub async fn follow(&self, index: &Index) -> Result<MapSnapshot> {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        if state
            .index
            .as_ref()
            .is_some_and(|known| known.is_same(index))
        {
            return Ok(state.mapped());
        }
        let (index, root, store) = (index.clone(), self.root.clone(), self.store.clone());
        // The lock goes along: a caller who gives up leaves nothing half done.
        let follow = work(move |token| {
            let state = &mut *state;
            let mut kept = SavedSketches::new();
            if state.index.is_none() {
                kept.extend(store.read().unwrap_or_default());
            }
            kept.append(&mut state.begun);
            let followed = state.map.follow(&index, &root, &mut kept, token);
            if followed.is_err() {
                state.begun = kept;
            }
            let followed = followed?;
            state.first.get_or_insert_with(|| index.clone());
            state.index = Some(index);
            state.changed = Some(Instant::now());
            tracing::debug!(?followed, "the map follows");
            Ok::<_, Error>((state.mapped(), followed))
        });
        let (mapped, followed) = follow.await??;
        if followed.sketched + followed.forgotten > 0 {
            self.save_later();
        }
        Ok(mapped)
    }

    /// Write the sketches once nothing has changed for a while: who edits and asks in turns
    /// should not wait beside it.
    fn save_later(&self) {
        if self.saving.swap(true, Ordering::Relaxed) {
            return;
        }
        let (state, store) = (Arc::downgrade(&self.state), self.store.clone());
        let saving = Arc::clone(&self.saving);
        tokio::spawn(async move {
            let sketches = loop {
                tokio::time::sleep(SETTLE).await;
                let Some(state) = state.upgrade() else {
                    return;
                };
                let state = state.lock().await;
                if state.changed.is_none_or(|at| at.elapsed() >= SETTLE) {
                    saving.store(false, Ordering::Relaxed);
                    break state.map.sketches();
                }
            };
            let write = work(move |_| {
                let all: Vec<_> = sketches
                    .iter()
                    .map(|file| (&*file.path, (file.hash, &file.sketch)))
                    .collect();
                store.write(&all)
            });
            if let Ok(Err(error)) = write.await {
                tracing::warn!(%error, "the map could not be written");
            }
        });
    }
}

impl State {
    fn mapped(&self) -> MapSnapshot {
        MapSnapshot {
            graph: Arc::clone(self.map.graph()),
            files: MapFiles::Python {
                now: self.index.clone().unwrap_or_default(),
                first: self.first.clone().unwrap_or_default(),
            },
        }
    }
}
