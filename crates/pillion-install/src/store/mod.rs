//! A folder of installed bundles, changed one step at a time.
//!
//! ```text
//! STORE/active_index.json         what is installed and active; replaced by a rename
//! STORE/TYPE/SCOPE/VERSION/       a bundle, moved here as a whole
//! STORE/.archives/TYPE/SCOPE/     the archive of each, for repairs
//! STORE/.staging/                 what is not done yet; anything here may go
//! STORE/.downloads/               what is on its way from another host
//! STORE/.history.json             which versions were active before, for rollbacks
//! STORE/.lock                     held by whoever changes something
//! ```

mod archive;
mod change;
mod collect;
mod files;
mod lock;
mod repair;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pillion_bundle::{ActiveIndex, BundleType, ByType, Compression, UnknownBundle, Version};
use pillion_runtime::bundle::{self, folder_of};
use serde::{Deserialize, Serialize};

pub(crate) use archive::CHECKSUM;
pub use archive::{ArchiveFile, Checked, Expected, check};
pub use change::{StoreChange, StoreOutcome};
pub use collect::{Collected, RemovedVersion};
pub(crate) use files::open;
pub use lock::{Locked, WaitLimit};
pub use repair::{Mended, VersionHealth, VersionState};

use crate::error::{Error, Result};

const ARCHIVES: &str = ".archives";
const STAGING: &str = ".staging";
const DOWNLOADS: &str = ".downloads";
const HISTORY: &str = ".history.json";

/// So many versions back one can go.
const MAX_HISTORY: usize = 16;

/// A store.
#[derive(Debug, Clone)]
pub struct BundleStore {
    root: PathBuf,
}

/// Which installed versions are meant; all if nothing is said.
#[derive(Debug, Clone, Default)]
pub struct VersionFilter {
    /// Of this type.
    pub kind: Option<BundleType>,
    /// Of this scope.
    pub scope: Option<String>,
    /// This version.
    pub version: Option<Version>,
}

impl VersionFilter {
    fn is_meant(&self, kind: BundleType, scope: &str, version: &Version) -> bool {
        self.kind.is_none_or(|meant| meant == kind)
            && self.scope.as_ref().is_none_or(|meant| meant == scope)
            && self.version.as_ref().is_none_or(|meant| meant == version)
    }
}

/// A version that is installed.
#[derive(Debug, Clone)]
pub struct InstalledVersion {
    /// Its type.
    pub kind: BundleType,
    /// Its scope.
    pub scope: String,
    /// Its version.
    pub version: Version,
    /// Its folder.
    pub path: PathBuf,
    /// The hash of its archive.
    pub sha256: pillion_bundle::Digest,
    /// When it was installed.
    pub installed_at: String,
    /// Whether it is the active one.
    pub active: bool,
    /// Whether a rollback would go to it.
    pub previous: bool,
}

impl InstalledVersion {
    /// What people call it.
    pub fn title(&self) -> String {
        format!("{}/{} {}", self.kind, self.scope, self.version)
    }
}

/// Versions that were active before, by type and scope, the last at the end.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct History(ByType<BTreeMap<String, Vec<Version>>>);

impl BundleStore {
    /// The store in this folder, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder for what is on its way from another host.
    pub fn downloads(&self) -> PathBuf {
        self.root.join(DOWNLOADS)
    }

    /// What is installed.
    pub fn index(&self) -> Result<ActiveIndex> {
        Ok(bundle::read_index(&self.root)?)
    }

    /// The installed versions that are meant, sorted.
    pub fn list(&self, which: &VersionFilter) -> Result<Vec<InstalledVersion>> {
        let index = self.index()?;
        let mut all = Vec::new();
        for (kind, scope, active) in index.iter() {
            let previous = self.previous(kind, scope, active);
            for (version, installed) in &active.versions {
                all.push(InstalledVersion {
                    kind,
                    scope: scope.to_owned(),
                    version: version.clone(),
                    path: folder_of(&self.root, kind, scope, version.as_str()),
                    sha256: installed.sha256.clone(),
                    installed_at: installed.installed_at.clone(),
                    active: *version == active.version,
                    previous: previous.as_ref() == Some(version),
                });
            }
        }
        all.retain(|entry| which.is_meant(entry.kind, &entry.scope, &entry.version));
        Ok(all)
    }

    /// What others installed of types that are not known here, as far as it may be meant.
    pub fn unknown(&self, which: &VersionFilter) -> Result<Vec<UnknownBundle>> {
        let mut all = self.index()?.unknown();
        all.retain(|one| {
            let version = which.version.as_ref().map(Version::as_str);
            which.kind.is_none()
                && (which.scope.is_none() || one.scope_id == which.scope)
                && (version.is_none() || one.version.as_deref() == version)
        });
        Ok(all)
    }

    /// Those that are meant, of which there must be one.
    pub(crate) fn some(&self, which: &VersionFilter) -> Result<Vec<InstalledVersion>> {
        let found = self.list(which)?;
        match found.is_empty() {
            false => Ok(found),
            true => Err(self.nothing()),
        }
    }

    /// Nothing that is meant is installed.
    fn nothing(&self) -> Error {
        Error::NotFound {
            what: format!("no such bundle is installed in `{}`", self.root.display()),
            hint: "`pillion bundle list` shows what is; `pillion bundle install FILE` installs"
                .to_owned(),
        }
    }

    /// The one type and scope that are meant.
    pub(crate) fn one_scope(&self, which: &VersionFilter) -> Result<(BundleType, String)> {
        let any = VersionFilter {
            version: None,
            ..which.clone()
        };
        let found = self.some(&any)?;
        let mut scopes: Vec<_> = found.iter().map(|e| (e.kind, e.scope.clone())).collect();
        scopes.dedup();
        match <[_; 1]>::try_from(scopes) {
            Ok([one]) => Ok(one),
            Err(several) => {
                let names: Vec<_> = several.iter().map(|(k, s)| format!("{k}/{s}")).collect();
                Err(Error::Input {
                    what: format!("several bundles are installed: {}", names.join(", ")),
                    hint: "say which one with `--type` and `--scope`".to_owned(),
                })
            }
        }
    }

    /// Where the archive of a version is kept.
    pub(crate) fn archive(
        &self,
        kind: BundleType,
        scope: &str,
        version: &Version,
        compression: Compression,
    ) -> PathBuf {
        let folder = self.root.join(ARCHIVES).join(kind.as_str()).join(scope);
        folder.join(format!("{version}.{compression}"))
    }

    /// A folder of one's own for what is not done yet. Whatever else is there was left by
    /// somebody who did not come to an end, as the lock is held.
    pub(crate) fn staging(&self, _lock: &Locked) -> Result<PathBuf> {
        let staging = self.root.join(STAGING);
        files::remove_tree(&staging)?;
        fs::create_dir_all(&staging).map_err(Error::io("make", &staging))?;
        Ok(staging)
    }

    /// Replace the list of what is installed. From here on it is so.
    pub(crate) fn write_index(&self, index: &ActiveIndex) -> Result<()> {
        let path = self.root.join(ActiveIndex::NAME);
        let mut bytes = serde_json::to_vec_pretty(index)
            .map_err(io::Error::other)
            .map_err(Error::io("write", &path))?;
        bytes.push(b'\n');
        files::write_durably(&path, &bytes)
    }

    fn history(&self) -> History {
        // It only says where a rollback goes: without it, that has to be said.
        let bytes = fs::read(self.root.join(HISTORY)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The version that was active before the one that is.
    pub(crate) fn previous(
        &self,
        kind: BundleType,
        scope: &str,
        active: &pillion_bundle::Active,
    ) -> Option<Version> {
        let history = self.history();
        let versions = history.0.known.get(&kind)?.get(scope)?;
        let mut back = versions.iter().rev();
        let found = back.find(|v| **v != active.version && active.versions.contains_key(v));
        found.cloned()
    }

    /// Note that a version is about to be followed by another.
    pub(crate) fn remember(&self, kind: BundleType, scope: &str, version: &Version) -> Result<()> {
        self.change_history(kind, scope, |versions| {
            if versions.last() != Some(version) {
                versions.push(version.clone());
            }
        })
    }

    /// Note that one went back to a version.
    pub(crate) fn went_back(&self, kind: BundleType, scope: &str, to: &Version) -> Result<()> {
        self.change_history(kind, scope, |versions| {
            if let Some(at) = versions.iter().rposition(|version| version == to) {
                versions.truncate(at);
            }
        })
    }

    fn change_history(
        &self,
        kind: BundleType,
        scope: &str,
        change: impl FnOnce(&mut Vec<Version>),
    ) -> Result<()> {
        let mut history = self.history();
        let scopes = history.0.known.entry(kind).or_default();
        let versions = scopes.entry(scope.to_owned()).or_default();
        change(versions);
        let surplus = versions.len().saturating_sub(MAX_HISTORY);
        versions.drain(..surplus);
        let path = self.root.join(HISTORY);
        let bytes = serde_json::to_vec(&history)
            .map_err(io::Error::other)
            .map_err(Error::io("write", &path))?;
        files::write_durably(&path, &bytes)
    }
}

/// The time now, to the second.
fn now() -> String {
    let now = jiff::Timestamp::now();
    let seconds = jiff::Timestamp::from_second(now.as_second());
    seconds.unwrap_or(now).to_string()
}
