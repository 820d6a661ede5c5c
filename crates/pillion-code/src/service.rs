//! The service behind `code.*`: one project per workspace.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pillion_catalogue::{Caller, Context, Result};
use pillion_engines::cache::CacheStatus;
use pillion_engines::engines::Engines;
use pillion_project::Projects;
use pillion_runtime::Dirs;
use pillion_supervisor::Supervisor;
use pillion_symbols::project::{CodeProject, View};
use pillion_workspace::{ClockStatus, WorkspaceOptions, root};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::maps::{MappedView, Maps};
use crate::roots;

/// Workspaces that are kept open; the one not asked for longest is closed for another.
const MAX_WORKSPACES: usize = 32;

/// The most files of a folder that nobody named and nothing marks as a project: a question
/// about a script in a home folder must not read all of it.
const GUESSED_FILES: usize = 20_000;

/// Answers questions about code.
#[derive(Debug)]
pub struct CodeService {
    supervisor: Arc<Supervisor>,
    common: Arc<Projects>,
    projects: Mutex<HashMap<PathBuf, Open>>,
    /// Held while an engine is asked about text that is in no file.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Open {
    /// Nobody named it, and nothing marks it as a project.
    guessed: bool,
    project: Arc<CodeProject>,
    maps: Arc<Maps>,
    used: Instant,
}

/// A workspace whose code is asked about.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CodeStatus {
    /// Its folder.
    pub root: String,
    /// Its clock.
    pub clock: ClockStatus,
    /// Answers that are kept.
    pub cache: CacheStatus,
}

impl CodeService {
    /// A service whose engines are kept by `supervisor`.
    pub fn new(supervisor: Arc<Supervisor>, common: Arc<Projects>) -> Self {
        Self {
            supervisor,
            common,
            projects: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// The workspace that a request means, as it is now.
    pub(crate) async fn view(
        cx: &Context<Self>,
        caller: &Caller,
        about: Option<&Path>,
    ) -> Result<View> {
        let root = roots::root_of(caller, about)?;
        let guessed = caller.root.is_none() && !root::is_marked(&root);
        cx.service().project(root, guessed).view().await
    }

    /// A view with the maps of its workspace.
    pub(crate) fn mapped(&self, view: View) -> MappedView {
        let projects = self.projects();
        let open = projects.get(view.root());
        let open = open.filter(|open| Arc::ptr_eq(&open.project, &view.project));
        let maps = match open {
            Some(open) => Arc::clone(&open.maps),
            // The workspace was closed meanwhile for another: this question has maps of its own.
            None => Arc::new(Maps::new(view.root(), self.common.dirs())),
        };
        drop(projects);
        MappedView { view, maps }
    }

    pub(crate) fn turn(&self) -> &tokio::sync::Mutex<()> {
        &self.turn
    }

    pub(crate) fn dirs(&self) -> &Dirs {
        self.common.dirs()
    }

    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// The answers that are kept.
    pub fn cache(&self) -> CacheStatus {
        let mut sum = CacheStatus::default();
        for open in self.projects().values() {
            let cache = open.project.engines().cache_status();
            sum.size += cache.size;
            sum.files += cache.files;
            sum.invalidations += cache.invalidations;
        }
        sum
    }

    /// Take in what changed in the workspaces that are open, as far as that is done in time.
    pub async fn follow(&self, limit: Duration) {
        let open: Vec<Arc<CodeProject>> = {
            let projects = self.projects();
            projects
                .values()
                .map(|open| Arc::clone(&open.project))
                .collect()
        };
        let views = open.iter().map(CodeProject::view);
        // Whoever asks next goes on where this ended, and is told what went wrong.
        let _ = tokio::time::timeout(limit, futures::future::join_all(views)).await;
    }

    /// The workspaces that are open.
    pub fn status(&self) -> Vec<CodeStatus> {
        let projects = self.projects();
        let mut all: Vec<_> = projects
            .iter()
            .map(|(root, open)| CodeStatus {
                root: root.display().to_string(),
                clock: open.project.workspace().status(),
                cache: open.project.engines().cache_status(),
            })
            .collect();
        all.sort_by(|a, b| a.root.cmp(&b.root));
        all
    }

    pub(crate) fn project(&self, root: PathBuf, guessed: bool) -> Arc<CodeProject> {
        let mut projects = self.projects();
        if let Some(open) = projects.get_mut(&root).filter(|o| guessed || !o.guessed) {
            open.used = Instant::now();
            return Arc::clone(&open.project);
        }
        if projects.len() >= MAX_WORKSPACES {
            let oldest = projects.iter().min_by_key(|(_, open)| open.used);
            if let Some(oldest) = oldest.map(|(root, _)| root.clone()) {
                projects.remove(&oldest);
            }
        }
        let engines = Engines::new(
            root.clone(),
            Arc::clone(&self.supervisor),
            Arc::clone(&self.common),
        );
        let mut options = WorkspaceOptions::default();
        if guessed {
            options.max_files = GUESSED_FILES;
        }
        let dirs = self.common.dirs();
        let project = Arc::new(CodeProject::new(root.clone(), options, engines, dirs));
        let open = Open {
            guessed,
            project: Arc::clone(&project),
            maps: Arc::new(Maps::new(&root, dirs)),
            used: Instant::now(),
        };
        projects.insert(root, open);
        project
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<PathBuf, Open>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
