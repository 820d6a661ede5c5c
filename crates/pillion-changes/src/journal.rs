//! The journal of a workspace: transactions that were carried out, and the way back.
//!
//! One folder per workspace, with a folder per transaction and a lock that holds between
//! processes. What a killed process began is completed by the next one that looks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use pillion_catalogue::{Code, Error, Result};
use pillion_process::private_folder;
use pillion_runtime::Dirs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::content::{PathChange, hash};
use super::manifest::{Manifest, sync_folder};
use super::set::ChangeSet;
use super::swap::Swap;

/// Transactions that are kept.
const MAX_KEPT: usize = 50;
/// Bytes that all of them together may have.
const MAX_BYTES: u64 = 200 << 20;

/// The transactions of a workspace.
#[derive(Debug, Clone)]
pub struct Journal {
    dirs: Dirs,
    pub(super) folder: PathBuf,
    pub(super) root: PathBuf,
    pub(super) max_kept: usize,
    pub(super) max_bytes: u64,
    pub(super) swap: Swap,
}

/// A transaction that was carried out.
#[derive(Debug, Clone)]
pub struct Applied {
    /// What `undo` takes; nothing if there was nothing to do.
    pub id: Option<String>,
    /// What it was for.
    pub title: String,
    /// The paths that it changed.
    pub files: Vec<String>,
    /// The transaction that it took back.
    pub undoes: Option<String>,
}

/// What was found unfinished, and what became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Transactions that were completed.
    pub completed: Vec<String>,
    /// Transactions that could not be completed and were taken back.
    pub taken_back: Vec<String>,
    /// Files that somebody changed meanwhile, or that could not be written: left as they are.
    pub left: Vec<String>,
}

/// A transaction in the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Past {
    /// What `undo` takes.
    pub id: String,
    /// When it was carried out.
    pub when: String,
    /// What it was for.
    pub title: String,
    /// The paths that it changed.
    pub files: Vec<String>,
    /// The transaction that it took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// Whether it was taken back.
    pub undone: bool,
}

impl Journal {
    /// The journal of the workspace at `root`, below the state folder.
    pub fn new(dirs: &Dirs, root: &Path) -> Self {
        let name = hash(root.as_os_str().as_encoded_bytes());
        Self {
            folder: dirs.usable_state().join("undo").join(&name[..24]),
            dirs: dirs.clone(),
            root: root.to_owned(),
            max_kept: MAX_KEPT,
            max_bytes: MAX_BYTES,
            swap: Swap { can_exchange: true },
        }
    }

    /// Carry a change set out: all of it, or nothing.
    pub fn apply(&self, set: &ChangeSet, title: &str) -> Result<Applied> {
        self.apply_with(set, title, &mut || Ok(()))
    }

    /// The same; `step` is called before each name is changed. Tests stop it there.
    pub fn apply_with(
        &self,
        set: &ChangeSet,
        title: &str,
        step: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<Applied> {
        if set.root() != self.root {
            return Err(Error::internal("a change set of another workspace"));
        }
        let changes = set.changes()?;
        if changes.is_empty() {
            return Ok(Applied {
                id: None,
                title: title.to_owned(),
                files: Vec::new(),
                undoes: None,
            });
        }
        let lock = self.lock()?;
        self.recover_locked()?;
        let applied = self.transact(changes, title, None, step);
        drop(lock);
        applied
    }

    /// Take a transaction back, or the last one that was not; as a transaction of its own.
    pub fn undo(&self, id: Option<&str>) -> Result<Applied> {
        let lock = self.lock()?;
        self.recover_locked()?;
        let history = self.history()?;
        let past = match id {
            Some(id) => history.iter().find(|past| past.id == id),
            None => history
                .iter()
                .find(|past| past.undoes.is_none() && !past.undone),
        };
        let past = past.ok_or_else(|| match id {
            Some(id) => Error::new(Code::NotFound, format!("no transaction `{id}`"))
                .hint("`code.history` lists them"),
            None => Error::new(Code::NotFound, "there is nothing to undo"),
        })?;
        let folder = self.folder.join(&past.id);
        let load = || {
            let manifest = Manifest::load(&folder)?;
            let manifest = manifest.ok_or_else(|| io::Error::other("its manifest is gone"))?;
            let changes = manifest.changes(&folder)?;
            Ok::<_, io::Error>((manifest, changes))
        };
        let (manifest, changes) =
            load().map_err(|error| unwritten("the transaction cannot be read", &error))?;
        let back = changes.iter().map(PathChange::reversed).collect();
        let title = format!("undo: {}", manifest.title);
        let applied = self.transact(back, &title, Some(&manifest), &mut || Ok(()));
        drop(lock);
        applied
    }

    /// Complete what a killed process began. Does nothing, and makes no folder, where no
    /// transaction ever was.
    pub fn recover(&self) -> Result<Recovered> {
        if !self.folder.is_dir() {
            return Ok(Recovered::default());
        }
        let lock = self.lock()?;
        let recovered = self.recover_locked();
        drop(lock);
        recovered
    }

    /// Make the folder of the journal, so that it lasts, where only this user can look.
    pub(super) fn make_folder(&self) -> Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let state = self.dirs.writable_state();
        let state = state
            .map_err(|error| Error::new(Code::WriteFailed, error.to_string()).hint(error.hint()))?;
        private_folder::ensure(&self.folder)
            .map_err(|error| Error::new(Code::WriteFailed, error.to_string()))?;
        let above = self.folder.ancestors().skip(1);
        for folder in above.take_while(|folder| folder.starts_with(&state)) {
            sync_folder(folder).map_err(|e| unwritten("the journal cannot be made", &e))?;
        }
        Ok(())
    }

    /// The transactions, newest first.
    pub fn history(&self) -> Result<Vec<Past>> {
        let mut all = Vec::new();
        let mut undone: BTreeSet<String> = BTreeSet::new();
        let mut takes_back: BTreeMap<String, String> = BTreeMap::new();
        for id in self.ids()? {
            let folder = self.folder.join(&id);
            if !Manifest::is_done(&folder) {
                continue;
            }
            let manifest = match Manifest::load(&folder) {
                Ok(Some(manifest)) => manifest,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(%id, %error, "a transaction in the journal cannot be read");
                    continue;
                }
            };
            if let Some(other) = &manifest.undoes {
                takes_back.insert(id.clone(), other.clone());
                // Taking back an undo brings back what it had taken back, and so on.
                let (mut next, mut is_undone) = (Some(other), true);
                while let Some(id) = next {
                    if is_undone {
                        undone.insert(id.clone());
                    } else {
                        undone.remove(id);
                    }
                    (next, is_undone) = (takes_back.get(id), !is_undone);
                }
            }
            let when = Timestamp::from_second(manifest.at).unwrap_or_default();
            all.push(Past {
                files: manifest.paths(),
                when: when.to_string(),
                title: manifest.title,
                undoes: manifest.undoes,
                undone: false,
                id,
            });
        }
        for past in &mut all {
            past.undone = undone.contains(&past.id);
        }
        all.reverse();
        Ok(all)
    }
}

pub(super) fn unwritten(what: &str, error: &io::Error) -> Error {
    Error::new(Code::WriteFailed, format!("{what}: {error}"))
}
