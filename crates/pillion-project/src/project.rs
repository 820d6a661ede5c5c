//! One project: root, configuration, trust and Python, with the proof of each.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pillion_catalogue::{Result, work};
use pillion_process::stamp::{Look, Stamps};
use pillion_process::watch::Watched;
use pillion_runtime::Dirs;
use pillion_runtime::discovery::Proven;
use pillion_runtime::trust::{self, TrustRecords};
use pillion_workspace::{Config, config};

use crate::caller_folder::Whereabouts;
use crate::search::{self, Search, Walls};

/// A project as it was found, and what says whether it still is so.
#[derive(Debug)]
pub struct Project {
    /// Its folder.
    pub root: PathBuf,
    /// What its `pillion.toml` says.
    pub config: Config,
    is_trusted: bool,
    place: Whereabouts,
    dirs: Dirs,
    /// Of `pillion.toml` and of the record of trust.
    stamps: Watched,
    /// What `pillion.toml` held.
    text: Option<String>,
    /// Whether the stamps alone prove that: no write can have come with the same stamp.
    is_settled: AtomicBool,
    plain: Search,
    walled: Search,
    kept: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Project {
    /// Read what is at `place`, on a thread of its own.
    pub(crate) async fn open(place: Whereabouts, dirs: &Dirs) -> Result<Self> {
        let dirs = dirs.clone();
        work(move |_| Self::read(place, dirs)).await?
    }

    fn read(place: Whereabouts, dirs: Dirs) -> Result<Self> {
        let root = place.root.clone();
        let trust = TrustRecords::new(&dirs);
        // Stamps are taken before what they prove is read.
        let look = Look::now(true);
        let stamps = Stamps::of([root.join(config::FILE), trust.record(&root)]);
        // Read once: what is trusted is the very text that was understood.
        let (config, text) = Config::read_text(&root)?;
        let is_trusted = trust.holds_for(&root, text.as_deref().map(str::as_bytes));
        Ok(Self {
            root,
            config,
            is_trusted,
            place,
            dirs,
            is_settled: AtomicBool::new(stamps.settle(look)),
            stamps: stamps.into(),
            text,
            plain: Search::default(),
            walled: Search::default(),
            kept: Mutex::default(),
        })
    }

    /// Whether all that was found is still so.
    pub fn is_current(&self) -> bool {
        self.is_configuration_current() && self.plain.is_current() && self.walled.is_current()
    }

    /// A file that was written just before it was read may be written again with the same
    /// stamp. Until that moment is over its text decides.
    fn is_configuration_current(&self) -> bool {
        let look = Look::now(true);
        if !self.stamps.hold() {
            return false;
        }
        if self.is_settled.load(Ordering::Relaxed) {
            return true;
        }
        let is_settled = self.stamps.stamps().settle(look);
        let is_same = std::fs::read_to_string(self.root.join(config::FILE)).ok() == self.text;
        self.is_settled
            .store(is_same && is_settled, Ordering::Relaxed);
        is_same
    }

    /// Whether its user has said that he trusts it as it is.
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Whether the caller named the Python himself.
    pub fn is_python_named(&self) -> bool {
        self.place.python.is_some()
    }

    /// Refuse what only a folder gets that its user trusts, if it asks for some of it.
    pub fn demand(&self, settings: &[String]) -> Result<()> {
        match self.is_trusted || settings.is_empty() {
            true => Ok(()),
            false => Err(trust::refused(&self.root, settings)),
        }
    }

    /// Its Python, or why there is none; in the latter case it is looked for again by the next
    /// one who asks.
    pub async fn python(&self, walls: Walls) -> Arc<Proven> {
        self.search(walls, false).await
    }

    /// Its Python, for those who can do without. That there is none is believed for as long as
    /// nothing changed where it was looked for.
    pub async fn python_if_any(&self, walls: Walls) -> Arc<Proven> {
        self.search(walls, true).await
    }

    async fn search(&self, walls: Walls, lasting: bool) -> Arc<Proven> {
        let walled = walls == Walls::UnlessTrusted && !self.is_trusted;
        // What was said without walls may be anything, so both are kept apart.
        let search = if walled { &self.walled } else { &self.plain };
        let request = search::request(&self.root, &self.config, &self.place, walled);
        search.python(request, &self.dirs, lasting).await
    }

    /// Something of a service's own, which it keeps for as long as this project is current.
    pub fn kept<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kept
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        // It was put there under the name of its type.
        Arc::clone(entry).downcast().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_second_write_with_the_same_stamp_is_seen() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path().join("pillion"));
        let file = home.path().join(config::FILE);
        fs::write(&file, "[python]\nworkers = 1\n").unwrap();
        let place = Whereabouts {
            root: home.path().to_owned(),
            ..Whereabouts::default()
        };
        let mut project = Project::read(place, dirs).unwrap();
        assert!(project.is_current());
        fs::write(&file, "[python]\nworkers = 2\n").unwrap();
        // As if both had been written in the same moment of the kernel's.
        project.stamps = Stamps::of([file]).into();
        assert!(!project.is_current());
        // A stamp from long before the look is proof enough.
        *project.is_settled.get_mut() = true;
        assert!(project.is_current());
    }
}
