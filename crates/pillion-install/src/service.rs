//! The service: where stores are, and whom they trust.

use std::path::{Path, PathBuf};

use pillion_runtime::{Dirs, bundle};

use crate::BundleStore;
use crate::error::Result;
use crate::trust::TrustPolicy;

/// The service behind `bundle.*` and `registry.*`.
#[derive(Debug)]
pub struct InstallService {
    dirs: Dirs,
}

impl InstallService {
    /// A service for the user of these folders.
    pub fn new(dirs: Dirs) -> Self {
        Self { dirs }
    }

    /// The store that is meant: the one that is named, seen from a folder, else the user's.
    pub fn store(&self, named: Option<&Path>, from: &Path) -> BundleStore {
        let root: PathBuf = match named {
            Some(named) => from.join(named),
            None => bundle::default_store(&self.dirs),
        };
        BundleStore::new(root)
    }

    /// Whose bundles are taken.
    pub fn trust(
        &self,
        named: &[String],
        from: &Path,
        allow_unsigned: bool,
    ) -> Result<TrustPolicy> {
        TrustPolicy::of(&self.dirs, named, from, allow_unsigned)
    }
}
