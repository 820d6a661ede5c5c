//! Looking at what is installed, and making it whole again.

use std::fs;
use std::path::{Path, PathBuf};

use pillion_bundle::{ActiveIndex, Compression, Installed};
use pillion_runtime::bundle::{self, BundleError, Depth, Unpacked, folder_of};
use pillion_runtime::managed::ProgressListener;

use super::archive::{ArchiveFile, Expected, manifest_in, unpack};
use super::change::now;
use super::{BundleStore, InstalledVersion, VersionFilter, files};
use crate::error::{Error, Result};
use crate::trust::TrustPolicy;

/// How an installed version is.
#[derive(Debug)]
pub struct Health {
    /// Which one.
    pub entry: InstalledVersion,
    /// How it is.
    pub state: VersionState,
}

/// How a version is.
#[derive(Debug)]
pub enum VersionState {
    /// As it was installed.
    Whole,
    /// It was damaged in this way, and is whole again.
    Repaired(BundleError),
    /// It is damaged.
    Damaged(BundleError),
    /// It is damaged, and this keeps it from being repaired.
    Beyond(BundleError, Box<Error>),
}

impl BundleStore {
    /// Look at every byte of the versions that are meant.
    pub fn verify(
        &self,
        which: &VersionFilter,
        progress: &dyn ProgressListener,
    ) -> Result<Vec<Health>> {
        let mut all = Vec::new();
        for entry in self.some(which)? {
            progress.step(&format!("looking at {}", entry.title()));
            let state = match self.health(&entry) {
                Ok(()) => VersionState::Whole,
                Err(damage) => VersionState::Damaged(damage),
            };
            all.push(Health { entry, state });
        }
        Ok(all)
    }

    /// Make the versions that are meant whole again, from the archives that they came in.
    pub fn repair(
        &self,
        which: &VersionFilter,
        progress: &dyn ProgressListener,
    ) -> Result<Vec<Health>> {
        let lock = self.lock()?;
        let is_unknown = self.index_with_bundles();
        if matches!(is_unknown, Err(Error::Damaged(BundleError::Index { .. }))) {
            progress.step("making the list of what is installed anew");
            self.rebuild_index()?;
        }
        let mut all = Vec::new();
        for entry in self.some(which)? {
            progress.step(&format!("looking at {}", entry.title()));
            let state = match self.health(&entry) {
                Ok(()) => VersionState::Whole,
                Err(damage) => {
                    let staging = self.staging(&lock)?;
                    let made = self.make_anew(&entry, &staging, progress);
                    let cleaned = files::remove_tree(&staging);
                    match made.and(cleaned) {
                        Ok(()) => VersionState::Repaired(damage),
                        Err(error) => VersionState::Beyond(damage, Box::new(error)),
                    }
                }
            };
            all.push(Health { entry, state });
        }
        Ok(all)
    }

    /// Whether a version is what was installed, to the last byte.
    fn health(&self, entry: &InstalledVersion) -> Result<(), BundleError> {
        let found = Unpacked::open(&entry.path)?;
        let manifest = &found.manifest;
        let is_it = manifest.bundle_type() == entry.kind
            && manifest.scope_id() == entry.scope
            && *manifest.version() == entry.version;
        let damaged = |what: String| BundleError::Damaged {
            root: entry.path.clone(),
            damages: vec![bundle::Damage {
                path: manifest.name().to_owned(),
                what,
            }],
            more: 0,
        };
        if !is_it {
            return Err(damaged(format!("is that of {}", manifest.title())));
        }
        // Whoever changes a file may have changed what the manifest says of it, too.
        let archived = self.archive_of(entry);
        let archived = archived.and_then(|path| manifest_in(&path, &entry.sha256).ok().flatten());
        if let Some(archived) = archived {
            let installed = fs::read(entry.path.join(manifest.name())).unwrap_or_default();
            if installed != archived {
                return Err(damaged("is not that of the archive".to_owned()));
            }
        }
        found.check(Depth::Full)
    }

    /// The archive that a version came in, if it is still there.
    fn archive_of(&self, entry: &InstalledVersion) -> Option<PathBuf> {
        let archives = [Compression::Zstd, Compression::Gzip]
            .map(|kind| self.archive(entry.kind, &entry.scope, &entry.version, kind));
        archives.into_iter().find(|path| path.is_file())
    }

    fn make_anew(
        &self,
        entry: &InstalledVersion,
        staging: &Path,
        progress: &dyn ProgressListener,
    ) -> Result<()> {
        let Some(path) = self.archive_of(entry) else {
            return Err(Error::NotFound {
                what: "the archive that it came in is gone".to_owned(),
                hint: "install it again: `pillion bundle install FILE`".to_owned(),
            });
        };
        // Its signature was checked when it came; that it is the same archive, its hash tells.
        let source = ArchiveFile {
            name: path.display().to_string(),
            signature: None,
            checksum: Some(entry.sha256.clone()),
            path: path.clone(),
        };
        let trust = TrustPolicy {
            allow_unsigned: true,
            ..TrustPolicy::default()
        };
        let expected = Expected {
            kind: Some(entry.kind),
            scope: Some(entry.scope.clone()),
            version: Some(entry.version.clone()),
            platform: None,
        };
        let tree = staging.join("tree");
        let mut file = fs::File::open(&path).map_err(Error::io("read", &path))?;
        unpack(&mut file, &source, &trust, &expected, &tree, progress)?;
        files::sync_tree(staging)?;
        files::place(&tree, &entry.path, &staging.join("old-tree"))
    }

    /// Make a list that is gone anew. Else the next installation would begin another, and nobody
    /// would know of the rest any more.
    pub(super) fn find_lost_index(&self) -> Result<()> {
        match self.has_lost_index() {
            true => self.rebuild_index(),
            false => Ok(()),
        }
    }

    /// What is installed; an error if there are bundles and no list of them.
    pub(super) fn index_with_bundles(&self) -> Result<ActiveIndex> {
        match self.has_lost_index() {
            true => Err(Error::Damaged(BundleError::Index {
                path: self.root.join(ActiveIndex::NAME),
                why: "it is gone, and bundles are there".to_owned(),
            })),
            false => self.index(),
        }
    }

    fn has_lost_index(&self) -> bool {
        !self.root.join(ActiveIndex::NAME).exists() && self.has_bundles()
    }

    /// Whether there are folders of bundles, whatever the list says.
    fn has_bundles(&self) -> bool {
        let mut kinds = pillion_bundle::BundleType::ALL.iter();
        kinds.any(|kind| {
            let scopes = self.root.join(kind.as_str()).read_dir();
            let mut scopes = scopes.into_iter().flatten().flatten();
            scopes.any(|scope| {
                scope
                    .path()
                    .read_dir()
                    .is_ok_and(|mut all| all.next().is_some())
            })
        })
    }

    /// The list of what is installed, from the folders that are there. The newest version of
    /// each becomes the active one: nobody knows which one was.
    fn rebuild_index(&self) -> Result<()> {
        let mut index = ActiveIndex::default();
        for kind in pillion_bundle::BundleType::ALL {
            let scopes = self.root.join(kind.as_str()).read_dir();
            for scope in scopes.into_iter().flatten().flatten() {
                let versions = scope.path().read_dir().into_iter().flatten().flatten();
                let mut found: Vec<Unpacked> = versions
                    .filter_map(|version| Unpacked::open(&version.path()).ok())
                    .collect();
                found.sort_by(|one, other| one.manifest.version().cmp(other.manifest.version()));
                for Unpacked { root, manifest } in found {
                    let (scope, version) = (manifest.scope_id(), manifest.version());
                    // A copy that somebody made of one is none.
                    if root != folder_of(&self.root, kind, scope, version.as_str()) {
                        continue;
                    }
                    let archives = [Compression::Zstd, Compression::Gzip]
                        .map(|compression| self.archive(kind, scope, version, compression));
                    let archive = archives.iter().find(|path| path.is_file());
                    let Some(sha256) = archive.and_then(|path| bundle::hash(path).ok()) else {
                        continue;
                    };
                    let entry = Installed {
                        path: root.display().to_string(),
                        sha256,
                        installed_at: now(),
                    };
                    index.install(kind, scope, version, entry);
                }
            }
        }
        self.write_index(&index)
    }
}
