//! Kernels as Jupyter's servers offer them: under ids, to several clients at once.
//!
//! The kernels are those of sessions, whoever started them: what runs for `notebook.*` is listed
//! here, and what is started here is the kernel of a session of its own, unless one was named.
//! What is remembered beside them is what Jupyter's clients ask about: ids, how many clients
//! there are, when something was last said, and which notebook belongs to which kernel.
//! The conversation of a client with a kernel is in `jupyter_channels.rs`.

mod notebooks;
mod served;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_catalogue::{Code, Error, Result};
use pillion_kernel::{KernelChoice, KernelLife, Kernels};
use pillion_lanes::Whereabouts;

pub(crate) use notebooks::{Notebooks, Opened};
pub use served::KernelModel;
pub(crate) use served::{Served, written};

/// Kernels that are remembered.
const MOST: usize = 256;
/// Sessions that are made for a kernel begin with this.
pub(crate) const SESSION: &str = "jupyter-";

/// Kernels under their ids.
#[derive(Debug, Default)]
pub(crate) struct Gateway {
    served: Mutex<HashMap<String, Arc<Served>>>,
    pub(crate) notebooks: Notebooks,
}

impl Gateway {
    /// All kernels that run, and those that were asked for here; in the order of their sessions.
    pub(crate) fn all(&self, kernels: &Kernels) -> Result<Vec<Arc<Served>>> {
        let mut served = self.served();
        served.retain(|_, served| served.is_kept || is_there(kernels, &served.session));
        for kernel in kernels.all() {
            let session = kernel.session();
            let is_known = served.values().any(|served| served.session == session);
            if !is_known && is_there(kernels, session) {
                let new = Arc::new(Served::new(session.to_owned(), None)?);
                served.insert(new.id.clone(), new);
            }
        }
        let mut all: Vec<_> = served.values().cloned().collect();
        all.sort_by(|a, b| a.session.cmp(&b.session));
        Ok(all)
    }

    /// The kernel of this id.
    pub(crate) fn find(&self, kernels: &Kernels, id: &str) -> Result<Arc<Served>> {
        let all = self.all(kernels)?;
        let found = all.into_iter().find(|served| served.id == id);
        found.ok_or_else(|| {
            Error::new(Code::NotFound, format!("there is no kernel `{id}`"))
                .hint("`pillion kernel list` shows those there are")
        })
    }

    /// The kernel of a session, or one with a session of its own. Nothing is started.
    pub(crate) fn add(
        &self,
        kernels: &Kernels,
        session: Option<String>,
        whereabouts: Whereabouts,
        wanted: KernelChoice,
    ) -> Result<Arc<Served>> {
        kernels.sweep(SESSION);
        let all = self.all(kernels)?;
        if let Some(session) = &session
            && let Some(known) = all.iter().find(|served| served.session == *session)
        {
            return Ok(Arc::clone(known));
        }
        if all.len() >= MOST {
            return Err(Error::new(Code::Busy, format!("there are {MOST} kernels"))
                .hint("shut down those that are not needed: `pillion kernel list`"));
        }
        let mut new = Served::new(String::new(), Some(whereabouts))?;
        new.wanted = wanted;
        new.session = session.unwrap_or_else(|| format!("{SESSION}{}", new.id));
        let new = Arc::new(new);
        self.served().insert(new.id.clone(), Arc::clone(&new));
        Ok(new)
    }

    /// It is gone, and so is what belonged to it.
    pub(crate) fn remove(&self, id: &str) {
        if let Some(served) = self.served().remove(id) {
            served.gone.cancel();
        }
        self.notebooks.forget(id);
    }

    /// The kernel of a session is about to end and to come back: its clients are told so.
    pub(crate) fn restarting(&self, session: &str) -> Option<served::Restarting> {
        let served = self.served();
        let found = served.values().find(|served| served.session == session);
        found.map(Served::restarting)
    }

    fn served(&self) -> MutexGuard<'_, HashMap<String, Arc<Served>>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a session was made for one kernel, and is nobody's when that has ended.
pub(crate) fn is_own(session: &str) -> bool {
    session.starts_with(SESSION)
}

fn is_there(kernels: &Kernels, session: &str) -> bool {
    let life = kernels.find(session).map(|kernel| kernel.life());
    matches!(
        life,
        Some(KernelLife::Starting | KernelLife::Idle | KernelLife::Busy)
    )
}
