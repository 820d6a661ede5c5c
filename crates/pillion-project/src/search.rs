//! The search for a project's Python, made once for all who want it.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pillion_runtime::Dirs;
use pillion_runtime::discovery::{DiscoveryRequest, Proven};
use pillion_workspace::Config;

use crate::caller_folder::Whereabouts;

/// How a Python is asked who it is that comes with the folder, or that the folder names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walls {
    /// As any program: for those who will run it with all rights anyway.
    None,
    /// Behind walls, unless the user trusts the folder.
    UnlessTrusted,
}

/// One search, and what it found.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// Held by the one who searches; the others wait.
    turn: tokio::sync::Mutex<()>,
    found: Mutex<Option<Found>>,
}

#[derive(Debug, Clone)]
struct Found {
    python: Arc<Proven>,
    at: Instant,
}

impl Search {
    /// What is found. A failure counts for those only who were waiting when it was met, unless
    /// `lasting` says that it may stand for as long as nothing changed.
    pub(crate) async fn python(
        &self,
        request: DiscoveryRequest<'_>,
        dirs: &Dirs,
        lasting: bool,
    ) -> Arc<Proven> {
        let asked = Instant::now();
        let _turn = self.turn.lock().await;
        let known = self.found().clone().filter(|found| {
            found.python.choice().is_ok()
                || found.at > asked
                || (lasting && found.python.is_current())
        });
        if let Some(found) = known {
            return found.python;
        }
        let python = Arc::new(Proven::find(request, dirs).await);
        *self.found() = Some(Found {
            python: Arc::clone(&python),
            at: Instant::now(),
        });
        python
    }

    /// Whether nothing was found that is another by now. What could not be found is nothing
    /// that anybody uses.
    pub(crate) fn is_current(&self) -> bool {
        let found = self.found();
        let python = found.as_ref().map(|found| &found.python);
        python.is_none_or(|python| python.choice().is_err() || python.is_current())
    }

    fn found(&self) -> MutexGuard<'_, Option<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is searched for.
pub(crate) fn request<'a>(
    root: &'a Path,
    config: &'a Config,
    place: &'a Whereabouts,
    walled: bool,
) -> DiscoveryRequest<'a> {
    DiscoveryRequest {
        explicit: place.python.as_deref(),
        configured: config.python.interpreter.as_deref(),
        virtual_env: place.virtual_env.as_deref(),
        conda_prefix: place.conda_prefix.as_deref(),
        walled,
        ..DiscoveryRequest::new(root)
    }
}
