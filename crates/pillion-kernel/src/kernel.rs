//! The kernel of a session: there or not, whose process it is, and how to end it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_lanes::{Executor, Lane, RunFolder};
use pillion_project::Walls;
use pillion_supervisor::{Cause, Ended, Hold, Pool, Supervisor};
use pillion_workspace::config::NotebookConfig;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::client::KernelClient;
use crate::foreign::{KernelChoice, Program};
use crate::packages::PackageSource;
use crate::received::Channel;
use crate::spare::Spares;
use crate::start::{ANSWER_TIMEOUT, Make, connect};

/// How long a kernel may take to end by itself.
const EXIT_TIMEOUT: Duration = Duration::from_millis(300);

/// What a kernel is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Life")]
pub enum KernelLife {
    /// There is none: the next cell starts it.
    Absent,
    /// It is on its way.
    Starting,
    /// It waits for a cell.
    Idle,
    /// It runs one.
    Busy,
    /// It ended although nobody asked it to, and what it knew is lost.
    Dead,
}

/// A kernel that can be asked, for as long as this is held.
#[derive(Debug, Clone)]
pub struct ReadyKernel {
    /// What keeps it.
    pub hold: Hold,
    /// Who speaks with it.
    pub client: Arc<KernelClient>,
    /// What happened to the one before, if this one is new and that one was not asked to end.
    pub lost: Option<String>,
}

/// The kernel of a session.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) make: Make,
    key: String,
    supervisor: Arc<Supervisor>,
    executor: Arc<Executor>,
    spares: Arc<Spares>,
    starting: AtomicBool,
    /// Shared by those who end cells that nobody waits for: the next cell would be ended with one.
    pub(crate) quiet: Arc<tokio::sync::RwLock<()>>,
    state: tokio::sync::Mutex<State>,
    current: std::sync::Mutex<Option<Arc<KernelClient>>>,
    /// Where other programs find the sockets of this process of it.
    pub(crate) file: tokio::sync::Mutex<Option<(u64, PathBuf)>>,
}

#[derive(Debug, Default)]
struct State {
    client: Option<(u64, Arc<KernelClient>)>,
    /// Nobody empties its folder while it lives.
    place: Option<RunFolder>,
    /// Hears how its process ends.
    ending: Option<JoinHandle<Option<Ended>>>,
    /// How the one before ended.
    last: Option<Ended>,
    /// What became of a kernel that was made otherwise.
    lost: Option<String>,
}

impl Kernel {
    /// A kernel that is not started; `lost` is what happened to the one before.
    pub(crate) fn new(
        make: Make,
        executor: &Arc<Executor>,
        spares: &Arc<Spares>,
        lost: Option<String>,
    ) -> Self {
        Self {
            key: format!("kernel\0{}", make.session),
            supervisor: Arc::clone(executor.supervisor()),
            executor: Arc::clone(executor),
            spares: Arc::clone(spares),
            make,
            starting: AtomicBool::new(false),
            quiet: Arc::default(),
            state: tokio::sync::Mutex::new(State {
                lost,
                ..State::default()
            }),
            current: std::sync::Mutex::default(),
            file: tokio::sync::Mutex::default(),
        }
    }

    /// The session it belongs to.
    pub fn session(&self) -> &str {
        &self.make.session
    }

    /// The name of its kind.
    pub fn name(&self) -> &str {
        self.make.program.name()
    }

    /// The language of its cells.
    pub fn language(&self) -> &str {
        self.make.program.language()
    }

    /// What was asked for when it was made.
    pub(crate) fn wanted(&self) -> &KernelChoice {
        &self.make.wanted
    }

    /// Whose ipykernel it is, if it is one.
    pub fn source(&self) -> Option<PackageSource> {
        match &self.make.program {
            Program::Ipykernel(packages) => Some(packages.source),
            Program::Foreign(_) => None,
        }
    }

    /// What its project says about notebooks.
    pub fn config(&self) -> &NotebookConfig {
        &self.make.ground.project.config.notebook
    }

    /// Bytes that one of its cells may write and show.
    pub fn most_output(&self) -> u64 {
        self.make.ground.config.output_kb << 10
    }

    /// The program it runs: a Python, or that of its kernelspec.
    pub fn executable(&self) -> &std::path::Path {
        match &self.make.program {
            Program::Ipykernel(_) => &self.make.ground.runtime.executable,
            Program::Foreign(foreign) => foreign
                .argv
                .first()
                .map_or("".as_ref(), |word| word.as_ref()),
        }
    }

    /// The Python of its project, if it is a Python kernel.
    pub async fn python(&self) -> Option<PathBuf> {
        self.source()?;
        let python = self.make.ground.project.python(Walls::UnlessTrusted).await;
        let choice = python.choice().ok()?;
        Some(choice.interpreter.executable.clone())
    }

    /// What it is doing.
    pub fn life(&self) -> KernelLife {
        if self.starting.load(Ordering::Relaxed) {
            return KernelLife::Starting;
        }
        match &*self.current() {
            None => KernelLife::Absent,
            Some(client) if client.is_over() => KernelLife::Dead,
            Some(client) if client.is_busy() => KernelLife::Busy,
            Some(_) => KernelLife::Idle,
        }
    }

    /// Whether its process runs.
    pub(crate) fn is_alive(&self) -> bool {
        self.current()
            .as_ref()
            .is_some_and(|client| !client.is_over())
    }

    /// Have it, starting it if there is none.
    pub async fn ready(&self) -> Result<ReadyKernel> {
        drop(self.quiet.write().await);
        self.have().await
    }

    async fn have(&self) -> Result<ReadyKernel> {
        let mut state = self.state.lock().await;
        let had = state
            .client
            .as_ref()
            .is_some_and(|(_, client)| !client.is_over());
        let starting = Flag::set(&self.starting, !had);
        if !had {
            if let Some(ending) = state.ending.take() {
                let ended = tokio::time::timeout(ANSWER_TIMEOUT, ending).await;
                state.last = ended.ok().and_then(|ended| ended.ok().flatten());
                // What cells do to their kernel is no reason not to start the next one.
                self.let_go();
            }
            self.prepare(&mut state).await?;
            if let Some((hold, client)) = self.take_spare().await {
                let lost = Self::lost(&state);
                self.note(&mut state, &hold, &client);
                return Ok(ReadyKernel { hold, client, lost });
            }
        }
        let hold = loop {
            let hold = self.pool().hold().await?;
            match &state.client {
                // Its sockets are closed: it is about to be gone, and another will come.
                Some((process, client)) if *process == hold.process() && client.is_over() => {
                    let ended = hold.ended();
                    drop(hold);
                    state.last = tokio::time::timeout(ANSWER_TIMEOUT, ended)
                        .await
                        .ok()
                        .flatten();
                }
                Some((process, client)) if *process == hold.process() => {
                    let client = Arc::clone(client);
                    return Ok(ReadyKernel {
                        hold,
                        client,
                        lost: None,
                    });
                }
                _ => break hold,
            }
        };
        let lost = Self::lost(&state);
        let client = match connect(&hold, &self.make).await {
            Ok(client) => client,
            Err(error) => {
                // It says where its sockets are only once.
                self.kill(&hold).await;
                let message = format!("the kernel does not answer: {error}");
                return Err(Error::new(Code::StartFailed, message)
                    .hint("`pillion logs` has more; the next cell starts another"));
            }
        };
        let client = Arc::new(client);
        self.note(&mut state, &hold, &client);
        drop(starting);
        Ok(ReadyKernel { hold, client, lost })
    }

    /// A kernel that has started already, if there is one as this one would be.
    async fn take_spare(&self) -> Option<(Hold, Arc<KernelClient>)> {
        if self.make.is_key_given || self.source().is_none() {
            return None;
        }
        let spare = self.spares.take(&self.make)?;
        let room = self.make.room();
        let given = self.spares.give(&spare, &self.make, &self.key, room).await;
        match given {
            Ok(hold) => Some((hold, Arc::clone(&spare.client))),
            Err(error) => {
                tracing::warn!(%error, session = self.session(), "a spare kernel was of no use");
                None
            }
        }
    }

    /// This is its process from now on.
    fn note(&self, state: &mut State, hold: &Hold, client: &Arc<KernelClient>) {
        state.client = Some((hold.process(), Arc::clone(client)));
        state.ending = Some(tokio::spawn(hold.ended()));
        state.lost = None;
        *self.current() = Some(Arc::clone(client));
        self.spares.refill(&self.make);
    }

    /// The one that runs, without starting any.
    pub async fn running(&self) -> Option<ReadyKernel> {
        match self.is_alive() {
            true => self.have().await.ok(),
            false => None,
        }
    }

    /// Its folder, and what that holds before it starts.
    async fn prepare(&self, state: &mut State) -> Result<()> {
        let level = self.make.ground.level;
        let sessions = self.executor.sessions();
        let mut place = RunFolder::new(&sessions, Lane::User, Some(self.session()), level)?;
        let before = place.prepare().await?;
        self.make.measured(&before);
        state.place = Some(place);
        Ok(())
    }

    /// What is said about the kernel before, if it was one that should not have ended.
    fn lost(state: &State) -> Option<String> {
        match (&state.client, &state.last) {
            (None, _) => state.lost.clone(),
            (Some(_), Some(ended)) => Some(format!("the kernel {}", ended.exit)),
            (Some(_), None) => Some("the kernel ended".to_owned()),
        }
    }

    /// What became of it, if it ended although nobody asked for that.
    pub(crate) fn was_lost(&self) -> Option<String> {
        let state = self.state.try_lock().ok()?;
        Self::lost(&state).filter(|_| !self.is_alive())
    }

    /// Whether it is made as `make` says.
    pub(crate) fn is_made_of(&self, make: &Make) -> bool {
        self.make.is_like(make)
    }

    /// Nobody starts it any more.
    pub(crate) fn let_go(&self) {
        self.supervisor.let_go(&self.key);
    }

    /// End its process at once. The next cell starts another.
    pub async fn kill(&self, hold: &Hold) {
        let ended = hold.ended();
        // First it is let go of, so that its death is no crash to anybody.
        self.supervisor.let_go(&self.key);
        hold.kill(Cause::Stop);
        let _ = tokio::time::timeout(ANSWER_TIMEOUT, ended).await;
    }

    /// End it politely, then by force. Says whether there was one.
    pub async fn shut_down(&self) -> bool {
        let ready = self.running().await;
        let mut state = self.state.lock().await;
        // Also one that ended by itself is nobody's any more.
        self.supervisor.let_go(&self.key);
        if let Some(ready) = &ready {
            let client = &ready.client;
            let for_good = json!({ "restart": false });
            let asked = client.ask(Channel::Control, "shutdown_request", &for_good);
            if asked.await.is_ok() {
                let _ = tokio::time::timeout(EXIT_TIMEOUT, client.hung_up()).await;
            }
            self.kill(&ready.hold).await;
        }
        *self.current() = None;
        // Its folder can be emptied from now on.
        *state = State::default();
        ready.is_some()
    }

    fn pool(&self) -> Arc<Pool> {
        self.supervisor.pool(&self.key, 1, || self.make.spec())
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Option<Arc<KernelClient>>> {
        self.current
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

pub(crate) fn gone(error: &io::Error) -> Error {
    Error::new(Code::Crashed, format!("the kernel is gone: {error}"))
        .hint("the next cell starts a new one, which knows nothing of earlier cells")
}

/// Set for as long as it lives.
struct Flag<'a>(&'a AtomicBool);

impl<'a> Flag<'a> {
    fn set(flag: &'a AtomicBool, to: bool) -> Self {
        flag.store(to, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Flag<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
