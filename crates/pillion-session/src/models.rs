//! Which model answers: that of whoever asks.
//!
//! A daemon serves several programs of its user, and knows the keys of none. Each call brings
//! the settings of its own process; who sends them over HTTP has the server's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pillion_catalogue::{Code, Error, Peer, Result};
use pillion_model::{Model, ModelErrorKind, ModelSettings, VARIABLES};

/// Models that are kept, with their connections.
const MOST: usize = 8;

/// The models that were asked, the one that was asked last at the end.
#[derive(Debug, Default)]
pub(crate) struct Models {
    known: Mutex<Vec<(Chosen, Model)>>,
}

/// What was said, to be compared: a hash, since a key is among it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen([u8; 32]);

impl Models {
    /// The model of `peer`.
    pub(crate) fn of(&self, peer: &Peer) -> Result<Model> {
        let get = variables(peer);
        let chosen = Chosen::new(&*get);
        let mut known = self.known();
        if let Some(at) = known.iter().position(|(one, _)| *one == chosen) {
            let found = known.remove(at);
            let model = found.1.clone();
            known.push(found);
            return Ok(model);
        }
        let settings =
            ModelSettings::from_vars(|name| get(name)).map_err(|error| failed(&error))?;
        let model = Model::new(settings).map_err(|error| failed(&error))?;
        if known.len() >= MOST {
            known.remove(0);
        }
        known.push((chosen, model.clone()));
        Ok(model)
    }

    fn known(&self) -> MutexGuard<'_, Vec<(Chosen, Model)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a variable is read.
pub(crate) type VariableReader = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How variables of `peer` are read.
pub(crate) fn variables(peer: &Peer) -> VariableReader {
    match peer.variables() {
        None => Arc::new(|name| std::env::var(name).ok()),
        Some(theirs) => {
            let theirs = theirs.clone();
            Arc::new(move |name| {
                let value = theirs.get(std::ffi::OsStr::new(name))?;
                value.to_str().map(ToOwned::to_owned)
            })
        }
    }
}

impl Chosen {
    fn new(get: &dyn Fn(&str) -> Option<String>) -> Self {
        use sha2::{Digest, Sha256};
        let mut hash = Sha256::new();
        for (name, _) in VARIABLES {
            let value = get(name).unwrap_or_default();
            hash.update((value.len() as u64).to_le_bytes());
            hash.update(value.as_bytes());
        }
        Self(hash.finalize().into())
    }
}

/// What went wrong with a model, as doors tell it.
pub(crate) fn failed(error: &pillion_model::Error) -> Error {
    let code = match error.kind {
        ModelErrorKind::Unauthorized => Code::Unauthorized,
        ModelErrorKind::Timeout => Code::Timeout,
        ModelErrorKind::Cancelled => Code::Cancelled,
        ModelErrorKind::Settings => Code::InvalidConfig,
        _ => Code::Unreachable,
    };
    Error::new(code, error.message.clone()).hint(error.hint.clone())
}
