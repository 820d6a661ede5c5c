//! The engines of one workspace: which one answers, with which Python, and what they said.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::parsed::parsed;
use pillion_index::source::Source;
use pillion_index::{Index, is_python};
use pillion_project::{Projects, Walls, Whereabouts};
use pillion_runtime::Dirs;
use pillion_runtime::managed::{EnvironmentState, Silent};
use pillion_supervisor::Supervisor;
use pillion_workspace::config::EngineChoice;
use pillion_workspace::{ChangeKind, FileChange};

use crate::cache::{Cache, CacheStatus};
use crate::engine::{self, LanguageServer, Make, basedpyright_program, limits, ty_program};
use crate::jedi::Jedi;
use crate::surroundings::{Pythons, Surroundings, SurroundingsId};
use crate::tools;

/// Pythons that engines of one workspace run with at the same time.
const MAX_SURROUNDINGS: usize = 4;
/// Files that engines are given as text at the same time.
const MAX_HANDED_OVER: usize = 128;

/// The engines of one workspace.
#[derive(Debug)]
pub struct Engines {
    root: PathBuf,
    supervisor: Arc<Supervisor>,
    projects: Arc<Projects>,
    /// Looked at by the first question while the others wait for it.
    surroundings: tokio::sync::Mutex<HashMap<Pythons, Arc<Surroundings>>>,
    running: Mutex<HashMap<(EngineChoice, SurroundingsId), Arc<LanguageServer>>>,
    /// Files whose text engines were given because their time stamps prove nothing.
    handed_over: Mutex<BTreeSet<PathBuf>>,
    /// What they answered since a file last changed.
    pub cache: Cache,
}

/// Who answers.
#[derive(Debug, Clone)]
pub enum EngineHandle {
    /// A language server.
    Server(Arc<LanguageServer>),
    /// Jedi, in a worker of pillion's own.
    Jedi(Arc<Jedi>),
}

impl Engines {
    /// The engines of the workspace at `root`; none of them runs yet.
    pub fn new(root: PathBuf, supervisor: Arc<Supervisor>, projects: Arc<Projects>) -> Self {
        Self {
            root,
            supervisor,
            projects,
            surroundings: tokio::sync::Mutex::default(),
            running: Mutex::default(),
            handed_over: Mutex::default(),
            cache: Cache::default(),
        }
    }

    /// The configuration and the Python of the workspace, as they are now. Engines that
    /// were started with others end.
    pub async fn surroundings(&self, pythons: &Pythons) -> Result<Arc<Surroundings>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut all = self.surroundings.lock().await;
        // The workspace is the folder that was named, whatever lies above it.
        let project = self.projects.at(Whereabouts {
            root: self.root.clone(),
            python: pythons.named.clone(),
            virtual_env: pythons.virtual_env.clone(),
            conda_prefix: pythons.conda_prefix.clone(),
        });
        let project = project.await?;
        // Without a Python most can still be answered.
        let python = project.python_if_any(Walls::UnlessTrusted).await;
        if let Some(known) = all.get(pythons)
            && Arc::ptr_eq(&known.project, &project)
            && Arc::ptr_eq(&known.python, &python)
        {
            return Ok(Arc::clone(known));
        }
        if let Some(old) = all.remove(pythons) {
            self.leave(old.id);
        }
        if pythons.named.is_some() {
            // Nobody gets a Python other than the one they asked for.
            python.choice()?;
        }
        if all.len() >= MAX_SURROUNDINGS
            && let Some(oldest) = all.values().map(|around| around.id).min()
        {
            all.retain(|_, around| around.id != oldest);
            self.leave(oldest);
        }
        let surroundings = Arc::new(Surroundings {
            id: COUNT.fetch_add(1, Ordering::Relaxed),
            project,
            python,
        });
        all.insert(pythons.clone(), Arc::clone(&surroundings));
        Ok(surroundings)
    }

    /// End the engines of surroundings that are no more.
    fn leave(&self, id: SurroundingsId) {
        self.running().retain(|(_, around), _| *around != id);
        self.cache.invalidate();
    }

    /// Whether an engine can be asked for types without fetching it first.
    pub async fn is_at_hand(&self, choice: EngineChoice, around: &Surroundings) -> bool {
        if self.running().contains_key(&(choice, around.id)) {
            return true;
        }
        match choice {
            EngineChoice::Ty => match tools::managed(self.dirs()).await {
                Ok(managed) => matches!(managed.state(), EnvironmentState::Ready { .. }),
                Err(_) => false,
            },
            EngineChoice::Basedpyright => true,
            EngineChoice::Jedi => false,
        }
    }

    /// The engine to ask; it starts with the first question.
    pub async fn speaker(
        &self,
        choice: EngineChoice,
        around: &Surroundings,
        index: &Index,
    ) -> Result<EngineHandle> {
        if choice != EngineChoice::Ty && !around.project.is_trusted() {
            self.check_own(choice, around)?;
        }
        if choice == EngineChoice::Jedi {
            let jedi = Jedi::new(&self.root, around, &self.supervisor, self.dirs()).await?;
            return Ok(EngineHandle::Jedi(Arc::new(jedi)));
        }
        if let Some(server) = self.running().get(&(choice, around.id)) {
            return Ok(EngineHandle::Server(Arc::clone(server)));
        }
        let make = self.make(choice, around).await?;
        let mut running = self.running();
        // Another question may have been faster.
        let server = running.entry((choice, around.id)).or_insert_with(|| {
            let server = LanguageServer::new(&self.supervisor, &make);
            let foreign = index.iter().filter(|(_, facts)| facts.needs_handing_over());
            foreign.for_each(|(path, _)| hand_over(&server, &self.root.join(&**path)));
            Arc::new(server)
        });
        Ok(EngineHandle::Server(Arc::clone(server)))
    }

    /// These engines run the project's Python, or are programs of its environment. Neither may
    /// be the folder's own if nobody trusts it.
    fn check_own(&self, choice: EngineChoice, around: &Surroundings) -> Result<()> {
        around
            .project
            .demand(&around.project.config.code.demands())?;
        let python = around.python.choice();
        if python.is_ok_and(|python| python.source.is_of_folder()) {
            let what = format!(
                "`{}` would run the Python that came with `{}`, and you have not said that you \
                 trust this folder",
                choice.name(),
                self.root.display()
            );
            let hint = format!("if you know it: `pillion trust {}`", self.root.display());
            return Err(Error::new(Code::Untrusted, what).hint(hint));
        }
        Ok(())
    }

    async fn make(&self, choice: EngineChoice, around: &Surroundings) -> Result<Make> {
        let python = around.python.choice().ok();
        let python = python.map(|choice| choice.interpreter.clone());
        let (engine, program) = match choice {
            EngineChoice::Basedpyright => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let program = basedpyright_program(python.as_ref(), &path)?;
                (engine::ServerKind::Basedpyright, program)
            }
            EngineChoice::Ty | EngineChoice::Jedi => {
                let managed = tools::managed(self.dirs()).await?;
                (engine::ServerKind::Ty, ty_program(&managed, &Silent).await?)
            }
        };
        let config = &around.project.config.code;
        Ok(Make {
            engine,
            program,
            root: self.root.clone(),
            python,
            cache: self.dirs().usable_cache(),
            limits: limits(
                Some(config.memory_soft_mb << 20),
                Some(config.memory_hard_mb << 20),
                Some(Duration::from_secs_f64(config.idle_minutes * 60.0)),
            ),
        })
    }

    /// Tell the engines what changed, before the next question. An engine believes that a
    /// file is unchanged while its modification time is the same; where that proves nothing
    /// it is handed the text instead.
    pub fn changed(&self, changes: &[FileChange], before: &Index, now: &Index) {
        let relevant = changes.iter().filter(|change| matters(&change.path));
        let relevant: Vec<&FileChange> = relevant.collect();
        if relevant.is_empty() {
            return;
        }
        self.cache.invalidate();
        let mut told: Vec<_> = relevant
            .iter()
            .map(|change| (self.root.join(&*change.path), kind(change.kind)))
            .collect();
        let mut handed_over = self.handed_over();
        let running = self.running();
        for change in &relevant {
            let path = self.root.join(&*change.path);
            let by_text = now.needs_text(&change.path, before);
            for server in running.values() {
                match by_text {
                    true => hand_over(server, &path),
                    false => server.close_document(&path),
                }
            }
            match by_text {
                true => drop(handed_over.insert(path)),
                false => drop(handed_over.remove(&path)),
            }
        }
        if handed_over.len() > MAX_HANDED_OVER {
            // By now the files prove themselves again, but for those that never do.
            let old = std::mem::take(&mut *handed_over);
            for path in old {
                let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
                if name.is_some_and(|name| now.needs_text(name, now)) {
                    handed_over.insert(path);
                    continue;
                }
                running
                    .values()
                    .for_each(|server| server.close_document(&path));
                told.push((path, engine::LspChangeKind::Changed));
            }
        }
        for server in running.values() {
            server.changed(&told);
        }
    }

    fn handed_over(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.handed_over
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// So much changed that nobody knows what: begin anew.
    pub fn restart(&self) {
        self.cache.invalidate();
        self.running().clear();
    }

    /// Where pillion keeps what is its own.
    pub fn dirs(&self) -> &Dirs {
        self.projects.dirs()
    }

    /// How many answers of these engines are kept.
    pub fn cache_status(&self) -> CacheStatus {
        self.cache.status()
    }

    fn running(
        &self,
    ) -> MutexGuard<'_, HashMap<(EngineChoice, SurroundingsId), Arc<LanguageServer>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Give an engine the text of a file that it could not decode; or none, if it would fall over
/// it: one file must not take the answers about all others down.
fn hand_over(server: &LanguageServer, path: &Path) {
    let Ok(bytes) = std::fs::read(path) else {
        return;
    };
    let source = Source::decode(&bytes);
    let name = path.to_string_lossy();
    let is_too_deep = parsed(source.text(), &name, |parsed| {
        parsed.beyond_engines().is_some()
    });
    let text = if is_too_deep { "" } else { source.text() };
    server.open_document(path, text);
}

/// Whether a change of a file can change what an engine says.
fn matters(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_python(path)
        || matches!(
            name,
            "pyproject.toml" | "ty.toml" | "pyrightconfig.json" | "py.typed"
        )
}

fn kind(kind: ChangeKind) -> engine::LspChangeKind {
    match kind {
        ChangeKind::Created => engine::LspChangeKind::Created,
        ChangeKind::Modified => engine::LspChangeKind::Changed,
        ChangeKind::Deleted => engine::LspChangeKind::Deleted,
    }
}
