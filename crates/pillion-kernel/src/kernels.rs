//! All kernels of an engine, by session.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result, work};
use pillion_lanes::{Executor, Lane, RunFolder, Throwaway, Whereabouts, session};
use pillion_process::{Secret, fill_random};
use pillion_runtime::managed::ProgressListener;

use crate::foreign::{KernelChoice, Program};
use crate::kernel::Kernel;
use crate::spare::Spares;
use crate::specs::{SearchPath, Specs};
use crate::start::{Make, new_key};

/// Sessions that are remembered; those without a kernel are forgotten first.
const MOST: usize = 256;
/// What was used within this time may be about to be used again.
const UNUSED_SECONDS: i64 = 60;

/// All kernels of an engine.
#[derive(Debug)]
pub struct Kernels {
    executor: Arc<Executor>,
    spares: Arc<Spares>,
    known: Arc<Known>,
    swept: Once,
}

type Known = Mutex<HashMap<String, Arc<Kernel>>>;

impl Kernels {
    /// Kernels behind the walls that `executor` puts up.
    pub fn new(executor: Arc<Executor>) -> Self {
        Self {
            spares: Arc::new(Spares::new(Arc::clone(&executor))),
            executor,
            known: Arc::default(),
            swept: Once::new(),
        }
    }

    /// The kernel of a session, if it is known.
    pub fn find(&self, session: &str) -> Option<Arc<Kernel>> {
        self.known().get(session).cloned()
    }

    /// Kernels that have started and wait for a session.
    pub fn spares(&self) -> usize {
        self.spares.count()
    }

    /// The executor that runs them.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Forget a session whose kernel has ended; one that runs stays known.
    pub fn forget(&self, session: &str) {
        let mut known = self.known();
        if known.get(session).is_some_and(|kernel| !kernel.is_alive()) {
            known.remove(session);
        }
    }

    /// Forget a session that was made for one kernel, and take its folder away, unless a cell has
    /// left something there.
    pub async fn forget_folder(&self, session: &str) {
        self.forget(session);
        let (root, id) = (self.executor.sessions(), session.to_owned());
        let removed = work(move |_| session::remove_unless_used(&root, &id));
        match removed.await {
            Ok(Ok(gone)) => tracing::debug!(session, gone, "a session is over"),
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            Ok(Err(error)) => tracing::warn!(session, %error, "its folder stays"),
            Err(error) => tracing::warn!(session, %error, "its folder stays"),
        }
    }

    /// Take away the folders of such sessions that daemons left which were killed; once. Sessions
    /// for one kernel begin with `prefix`.
    pub fn sweep(&self, prefix: &'static str) {
        let root = self.executor.sessions();
        self.swept.call_once(|| {
            tokio::spawn(work(move |_| {
                let old = jiff::Timestamp::now().as_second() - UNUSED_SECONDS;
                let left = session::all(&root).into_iter();
                for kept in left.filter(|kept| kept.id.starts_with(prefix) && kept.used < old) {
                    if let Err(error) = session::remove_unless_used(&root, &kept.id) {
                        tracing::debug!(session = kept.id, %error, "its folder stays");
                    }
                }
            }));
        });
    }

    /// All that are known, by session.
    pub fn all(&self) -> Vec<Arc<Kernel>> {
        let mut all: Vec<_> = self.known().values().cloned().collect();
        all.sort_by(|a, b| a.session().cmp(b.session()));
        all
    }

    /// The kernelspecs that a project sees.
    pub async fn specs(&self, whereabouts: Whereabouts, search: &SearchPath) -> Result<Specs> {
        let project = self.executor.project(whereabouts).await?;
        Specs::of_project(&project, search).await
    }

    /// The kernel of a session: the one that runs, whatever has changed around it since; else
    /// one as the project is now. Nothing is started. A session whose kernel runs has no other.
    pub async fn of_session(
        &self,
        session: &str,
        whereabouts: Whereabouts,
        wanted: &KernelChoice,
        memory_mb: Option<u64>,
        progress: &dyn ProgressListener,
    ) -> Result<Arc<Kernel>> {
        session::check_id(session)?;
        if let Some(kernel) = self.find(session).filter(|kernel| kernel.is_alive()) {
            self.expect(&kernel, whereabouts, wanted, progress).await?;
            return Ok(kernel);
        }
        self.make(session, whereabouts, wanted, None, memory_mb, progress)
            .await
    }

    /// Refuse if somebody wants another kernel than the one that runs.
    async fn expect(
        &self,
        kernel: &Kernel,
        whereabouts: Whereabouts,
        wanted: &KernelChoice,
        progress: &dyn ProgressListener,
    ) -> Result<()> {
        if wanted.is(kernel.name()) {
            return Ok(());
        }
        // Several kernelspecs may mean the same.
        let ground = self.executor.ground(Lane::User, whereabouts).await?;
        let program = Program::find(wanted, &ground, self.executor.dirs(), progress).await?;
        if program.name() == kernel.name() {
            return Ok(());
        }
        Err(runs_another(kernel))
    }

    /// A kernel for somebody alone, in a session of its own. Both go away with it.
    pub async fn alone(
        &self,
        whereabouts: Whereabouts,
        wanted: &KernelChoice,
        memory_mb: Option<u64>,
        progress: &dyn ProgressListener,
    ) -> Result<Alone> {
        let session = Throwaway::new(self.executor.sessions());
        let kernel = self
            .make(
                session.name(),
                whereabouts,
                wanted,
                None,
                memory_mb,
                progress,
            )
            .await?;
        Ok(Alone {
            kernel,
            session: Some(session),
            known: Arc::clone(&self.known),
        })
    }

    /// The same, for a kernel whose messages are signed with the key of somebody else, who
    /// speaks with it directly.
    pub async fn with_key(
        &self,
        session: &str,
        whereabouts: Whereabouts,
        key: Arc<Secret>,
        memory_mb: Option<u64>,
        progress: &dyn ProgressListener,
    ) -> Result<Arc<Kernel>> {
        session::check_id(session)?;
        let python = KernelChoice::default();
        let key = Some(key);
        self.make(session, whereabouts, &python, key, memory_mb, progress)
            .await
    }

    async fn make(
        &self,
        session: &str,
        whereabouts: Whereabouts,
        wanted: &KernelChoice,
        given: Option<Arc<Secret>>,
        memory_mb: Option<u64>,
        progress: &dyn ProgressListener,
    ) -> Result<Arc<Kernel>> {
        let ground = self.executor.ground(Lane::User, whereabouts).await?;
        // A session goes on with what it had.
        let before = self.find(session).filter(|_| wanted.name.is_none());
        let wanted = before.map_or_else(|| wanted.clone(), |kernel| kernel.wanted().clone());
        let program = Program::find(&wanted, &ground, self.executor.dirs(), progress).await?;
        let place = RunFolder::new(
            &self.executor.sessions(),
            Lane::User,
            Some(session),
            ground.level,
        )?;
        let idle = Duration::from_secs_f64(ground.project.config.notebook.idle_minutes * 60.0);
        let make = Make {
            session: session.to_owned(),
            ground,
            wanted,
            program,
            memory_mb,
            idle,
            is_key_given: given.is_some(),
            key: match given {
                Some(key) => key,
                None => new_key()?,
            },
            seen: PathBuf::new(),
            tmp: PathBuf::new(),
            folder: None,
            later: None,
            room: Arc::default(),
        }
        .at(&place);
        let mut known = self.known();
        // Somebody else may have been faster; and one that ended is started again as it was,
        // unless its project has changed.
        let before = known.get(session);
        if let Some(kernel) = before.filter(|known| known.is_alive() || known.is_made_of(&make)) {
            return match make.wanted.name.is_none() || make.program.name() == kernel.name() {
                true => Ok(Arc::clone(kernel)),
                false => Err(runs_another(kernel)),
            };
        }
        if let Some(kernel) = before {
            kernel.let_go();
        }
        let lost = before.and_then(|kernel| kernel.was_lost());
        if known.len() >= MOST {
            known.retain(|_, kernel| kernel.is_alive());
        }
        let kernel = Arc::new(Kernel::new(make, &self.executor, &self.spares, lost));
        known.insert(session.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<Kernel>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn runs_another(kernel: &Kernel) -> Error {
    let (session, name) = (kernel.session(), kernel.name());
    let what = format!("session `{session}` has a kernel `{name}`, which runs");
    Error::new(Code::Conflict, what).hint(format!(
        "name another session, or end it first: `pillion notebook shutdown {session}`"
    ))
}

/// A kernel for somebody alone. It ends when this is dropped, whatever it does then, and its
/// folder goes with it.
#[derive(Debug)]
pub struct Alone {
    kernel: Arc<Kernel>,
    session: Option<Throwaway>,
    known: Arc<Known>,
}

impl Alone {
    /// The kernel.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let (kernel, session) = (Arc::clone(&self.kernel), self.session.take());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(kernel.session());
        drop(known);
        tokio::spawn(async move {
            kernel.shut_down().await;
            // One that was still on its way.
            kernel.let_go();
            drop(session);
        });
    }
}

/// An id that nobody else has, in the form of a UUID: Jupyter's clients know kernels by such.
///
/// # Errors
/// If the system has no randomness.
pub fn new_id() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes)?;
    // Version 4, which is random, and its variant.
    bytes[6] = 0x40 | (bytes[6] & 0x0f);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    let parts = [0..4, 4..6, 6..8, 8..10, 10..16];
    Ok(parts.map(|part| hex::encode(&bytes[part])).join("-"))
}

#[cfg(test)]
mod tests {
    use super::new_id;

    #[test]
    fn an_id_is_a_uuid_of_its_own() {
        let (one, two) = (new_id().unwrap(), new_id().unwrap());
        assert_ne!(one, two);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&one[14..15], "4");
        assert!("89ab".contains(&one[19..20]), "{one}");
    }
}
