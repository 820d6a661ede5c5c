//! All projects that are remembered, and the one way to open one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_catalogue::Result;
use pillion_runtime::Dirs;

use crate::roots::Roots;
use crate::{MAX_PROJECTS, Project, Whereabouts};

/// One project, opened by the first caller while the others wait for it.
type Slot = Arc<tokio::sync::Mutex<Option<Arc<Project>>>>;

/// Hears of a project that is not handed out any more.
type Leaving = Box<dyn Fn(&Project) + Send + Sync>;

/// The projects of one pillion.
pub struct Projects {
    dirs: Dirs,
    roots: Roots,
    known: Mutex<Known>,
    leaving: Mutex<Vec<Leaving>>,
}

#[derive(Default)]
struct Known {
    slots: HashMap<Whereabouts, Entry>,
    /// How often a project was asked for.
    asked: u64,
}

struct Entry {
    slot: Slot,
    /// The number of the question that asked for it last.
    used: u64,
}

impl Projects {
    /// No project is open yet. Trust and what is known of Pythons are in `dirs`.
    pub fn new(dirs: Dirs) -> Self {
        Self {
            dirs,
            roots: Roots::default(),
            known: Mutex::default(),
            leaving: Mutex::default(),
        }
    }

    /// The folders that everything is kept in.
    pub fn dirs(&self) -> &Dirs {
        &self.dirs
    }

    /// Tell `hear` of every project that is not handed out any more, because it changed or is
    /// forgotten: what was made of it proves nothing from then on.
    pub fn on_leaving(&self, hear: impl Fn(&Project) + Send + Sync + 'static) {
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.push(Box::new(hear));
    }

    /// The project that `whereabouts` lies in, as it is now.
    pub async fn open(&self, whereabouts: Whereabouts) -> Result<Arc<Project>> {
        let root = self.roots.find(&whereabouts.root)?;
        self.at(Whereabouts {
            root,
            ..whereabouts
        })
        .await
    }

    /// The project whose root is exactly that of `place`, as it is now.
    pub async fn at(&self, place: Whereabouts) -> Result<Arc<Project>> {
        let slot = self.slot(&place);
        let mut slot = slot.lock().await;
        if let Some(project) = slot.as_ref().filter(|project| project.is_current()) {
            return Ok(Arc::clone(project));
        }
        if let Some(old) = slot.take() {
            tracing::info!(root = %old.root.display(), "configuration or interpreter changed");
            self.leave(&old);
        }
        let project = Arc::new(Project::open(place, &self.dirs).await?);
        *slot = Some(Arc::clone(&project));
        Ok(project)
    }

    fn slot(&self, place: &Whereabouts) -> Slot {
        let (slot, forgotten) = self.known().slot(place);
        for project in forgotten {
            self.leave(&project);
        }
        slot
    }

    fn leave(&self, project: &Project) {
        let leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.iter().for_each(|hear| hear(project));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// The slot for a place, and the projects that had to make room for it.
    fn slot(&mut self, place: &Whereabouts) -> (Slot, Vec<Arc<Project>>) {
        self.asked += 1;
        if let Some(entry) = self.slots.get_mut(place) {
            entry.used = self.asked;
            return (Arc::clone(&entry.slot), Vec::new());
        }
        let mut forgotten = Vec::new();
        while self.slots.len() >= MAX_PROJECTS
            && let Some(oldest) = self.oldest()
        {
            let slot = self.slots.remove(&oldest).map(|entry| entry.slot);
            let project = slot.and_then(Arc::into_inner);
            forgotten.extend(project.and_then(tokio::sync::Mutex::into_inner));
        }
        let slot = Slot::default();
        let entry = Entry {
            slot: Arc::clone(&slot),
            used: self.asked,
        };
        self.slots.insert(place.clone(), entry);
        (slot, forgotten)
    }

    /// The place that was not asked for longest. One that is being opened stays: whoever opens
    /// it would hand out a project that nobody looks after. There are never more of those than
    /// requests that are under way.
    fn oldest(&self) -> Option<Whereabouts> {
        let idle = self.slots.iter();
        let idle = idle.filter(|(_, entry)| Arc::strong_count(&entry.slot) == 1);
        let oldest = idle.min_by_key(|(_, entry)| entry.used);
        oldest.map(|(place, _)| place.clone())
    }
}

impl fmt::Debug for Projects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known().slots.len();
        f.debug_struct("Projects")
            .field("known", &known)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "projects_tests.rs"]
mod tests;
