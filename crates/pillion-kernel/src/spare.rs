//! Kernels that have started before anybody asks for one.
//!
//! A spare is a kernel behind the walls that a session's will have, but without a folder: that is
//! named when a session takes it, and put there by its init (`pillion_sandbox::Named`). Until
//! then it runs nothing. It is an ordinary child of the supervisor, so it ends when nobody wants
//! it for long, and makes room for others.
//!
//! When a session has its kernel, the next spare of the same make is started; so the first kernel
//! of a project starts cold, and the others find one.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pillion_catalogue::{Code, Error, Result};
use pillion_lanes::{Executor, session};
use pillion_sandbox::{Disk, Level, Named, Settled, TMP, WORK, message};
use pillion_supervisor::{Hold, SidecarSpec};
use serde_json::json;

use crate::client::KernelClient;
use crate::foreign::Program;
use crate::start::{ANSWER_TIMEOUT, Make, connect, new_key, not_started};

/// Spares that wait, one for each make. The oldest makes room.
const MOST: usize = 2;
/// How long the next one waits, so that it takes no processor time from the first cell.
const DELAY: Duration = Duration::from_millis(500);
/// What people see of it until it has a session.
const NAME: &str = "kernel-spare";

/// All spares of an engine.
#[derive(Debug)]
pub(crate) struct Spares {
    executor: Arc<Executor>,
    waiting: Mutex<Vec<Spare>>,
    started: AtomicU64,
}

/// A kernel without a session.
#[derive(Debug)]
pub(crate) struct Spare {
    make: Make,
    /// How the supervisor knows it.
    key: String,
    process: u64,
    pub(crate) client: Arc<KernelClient>,
    life: Arc<Mutex<Life>>,
}

/// What a process of it is started as.
#[derive(Debug, Default)]
struct Life {
    /// Where the folder of the last one is named.
    naming: Option<UnixStream>,
    /// Whose it is; whatever starts in its place then is an ordinary kernel of this make.
    taken: Option<Make>,
}

impl Spares {
    pub(crate) fn new(executor: Arc<Executor>) -> Self {
        Self {
            executor,
            waiting: Mutex::default(),
            started: AtomicU64::new(0),
        }
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        let waiting = self.waiting();
        waiting
            .iter()
            .filter(|spare| !spare.client.is_over())
            .count()
    }

    /// One that is as `make` says.
    pub(crate) fn take(&self, make: &Make) -> Option<Spare> {
        let mut waiting = self.waiting();
        waiting.retain(|spare| !spare.client.is_over());
        let at = waiting.iter().position(|spare| spare.make.is_like(make))?;
        Some(waiting.remove(at))
    }

    /// See to it that there is one like `make`, soon.
    pub(crate) fn refill(self: &Arc<Self>, make: &Make) {
        let wanted = make.ground.project.config.notebook.spare;
        let is_python = matches!(make.program, Program::Ipykernel(_));
        // Without namespaces a folder has to be known before the start.
        if !wanted || !is_python || make.ground.level != Level::L3 {
            return;
        }
        let (spares, make) = (Arc::clone(self), make.clone());
        tokio::spawn(async move {
            tokio::time::sleep(DELAY).await;
            if spares.has(&make) {
                return;
            }
            if let Err(error) = spares.start(make).await {
                tracing::warn!(%error, "no spare kernel");
            }
        });
    }

    fn has(&self, make: &Make) -> bool {
        let waiting = self.waiting();
        let mut alive = waiting.iter().filter(|spare| !spare.client.is_over());
        alive.any(|spare| spare.make.is_like(make))
    }

    async fn start(&self, mut make: Make) -> Result<()> {
        make.session = format!("spare {}", self.started.fetch_add(1, Ordering::Relaxed));
        make.later = Some(self.executor.sessions());
        make.folder = None;
        (make.seen, make.tmp) = (WORK.into(), TMP.into());
        make.room = Arc::default();
        make.key = new_key()?;
        let life = Arc::new(Mutex::new(Life::default()));
        let key = format!("kernel\0{}", make.session);
        let spec = spec(&make, &life);
        let supervisor = self.executor.supervisor();
        let hold = supervisor.pool(&key, 1, || spec).hold().await?;
        let connected = connect(&hold, &make).await;
        let client = connected.map_err(|error| {
            supervisor.let_go(&key);
            not_started(&error)
        })?;
        let spare = Spare {
            process: hold.process(),
            client: Arc::new(client),
            make,
            key,
            life,
        };
        let mut waiting = self.waiting();
        waiting.retain(|spare| !spare.client.is_over());
        while waiting.len() >= MOST {
            supervisor.let_go(&waiting.remove(0).key);
        }
        waiting.push(spare);
        Ok(())
    }

    /// Give a spare to a session, which is prepared: `disk` is what its folder may hold. It is
    /// known to the supervisor by `key` then. One that cannot be given is let go of.
    pub(crate) async fn give(
        &self,
        spare: &Spare,
        make: &Make,
        key: &str,
        disk: Option<Disk>,
    ) -> Result<Hold> {
        let supervisor = self.executor.supervisor();
        let given = async {
            let hold = supervisor.pool(&spare.key, 1, || spec(&spare.make, &spare.life));
            let hold = hold.hold().await?;
            if hold.process() != spare.process {
                return Err(Error::new(Code::Crashed, "the spare kernel ended"));
            }
            let settled =
                tokio::time::timeout(ANSWER_TIMEOUT, spare.settle(&hold, &make.session, disk));
            let settled = settled.await.map_err(io::Error::from).flatten();
            settled.map_err(|error| not_started(&error))?;
            Ok(hold)
        };
        match given.await {
            Ok(hold) => {
                spare.life().taken = Some(make.clone());
                supervisor.hand_over(&spare.key, key, &make.name());
                Ok(hold)
            }
            Err(error) => {
                supervisor.let_go(&spare.key);
                Err(error)
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Spare>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spare {
    /// Have its folder put where it looks for it, and tell it to go there.
    async fn settle(&self, hold: &Hold, session: &str, disk: Option<Disk>) -> io::Result<()> {
        let naming = self.life().naming.take();
        let naming = naming.ok_or_else(|| io::Error::other("it has a folder already"))?;
        let named = Named {
            folder: session::part(session).to_string_lossy().into_owned(),
            disk,
        };
        // It fits, and its init reads it at once.
        message::send(&naming, &named, &[])?;
        let mut naming = tokio::net::UnixStream::from_std(naming)?;
        let (settled, _): (Settled, _) = message::hear(&mut naming).await?;
        if let Some(why) = settled.failed {
            return Err(io::Error::other(why));
        }
        message::send(hold.channel(), &json!({}), &[])
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As its supervisor knows it.
fn spec(make: &Make, life: &Arc<Mutex<Life>>) -> SidecarSpec {
    let (own, life) = (make.clone(), Arc::clone(life));
    let launch = move || {
        let mut life = life.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = &life.taken {
            return taken.start(None).map_err(|error| not_started(&error));
        }
        let started = UnixStream::pair().and_then(|(ours, theirs)| {
            ours.set_nonblocking(true)?;
            life.naming = Some(ours);
            own.start(Some(OwnedFd::from(theirs)))
        });
        started.map_err(|error| not_started(&error))
    };
    SidecarSpec {
        name: NAME.to_owned(),
        launch: Arc::new(launch),
        ..make.spec()
    }
}
