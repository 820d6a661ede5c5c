//! The process that asks, as far as the door knows it: its variables and its folder. Both are
//! read when they are needed, which is while it waits for an answer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

/// Variables by their names.
type Variables = BTreeMap<OsString, OsString>;
type Lazy<T> = Arc<LazyLock<Option<T>, Box<dyn FnOnce() -> Option<T> + Send + Sync>>>;

/// Another process that asks; by default it is our own.
#[derive(Clone, Default)]
pub struct Peer {
    seen: Option<(Lazy<Variables>, Lazy<PathBuf>)>,
}

impl Peer {
    /// A process whose variables and folder these give, if they can be read.
    pub fn new(
        variables: impl FnOnce() -> Option<Variables> + Send + Sync + 'static,
        folder: impl FnOnce() -> Option<PathBuf> + Send + Sync + 'static,
    ) -> Self {
        let variables: Box<dyn FnOnce() -> _ + Send + Sync> = Box::new(variables);
        let folder: Box<dyn FnOnce() -> _ + Send + Sync> = Box::new(folder);
        Self {
            seen: Some((
                Arc::new(LazyLock::new(variables)),
                Arc::new(LazyLock::new(folder)),
            )),
        }
    }

    /// Its variables; none if it is our own process, or cannot be seen.
    pub fn variables(&self) -> Option<&Variables> {
        let (variables, _) = self.seen.as_ref()?;
        LazyLock::force(variables).as_ref()
    }

    /// The folder it is in; none if it is our own process, or cannot be seen.
    pub fn folder(&self) -> Option<PathBuf> {
        let (_, folder) = self.seen.as_ref()?;
        LazyLock::force(folder).clone()
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").finish_non_exhaustive()
    }
}
