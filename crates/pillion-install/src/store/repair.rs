//! Looking at what is installed, and making it whole again.

use std::fs;
use std::path::{Path, PathBuf};

use pillion_bundle::{
    ActiveIndex, BundleLimits, BundleType, Compression, Digest, Installed, Manifest, Version,
};
use pillion_runtime::bundle::{self, BundleError, Depth, Unpacked};
use pillion_runtime::managed::ProgressListener;

use super::archive::{ArchiveFile, Expected, manifest_in, unpack};
use super::{BundleStore, InstalledVersion, Locked, STAGING, VersionFilter, files, now};
use crate::error::{Error, Result};
use crate::trust::TrustPolicy;

/// How an installed version is.
#[derive(Debug)]
pub struct VersionHealth {
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

/// What a repair found and did.
#[derive(Debug)]
pub struct Mended {
    /// How the versions are now.
    pub bundles: Vec<VersionHealth>,
    /// Folders of bundles that are in no list: the archive that each came in is gone.
    pub unlisted: Vec<PathBuf>,
    /// Folders of bundles of types that are not known here and that no list names any more.
    pub unknown: Vec<PathBuf>,
}

impl BundleStore {
    /// Look at every byte of the versions that are meant.
    pub fn verify(
        &self,
        which: &VersionFilter,
        progress: &dyn ProgressListener,
    ) -> Result<Vec<VersionHealth>> {
        let mut all = Vec::new();
        let meant = match self.unknown(which)?.is_empty() {
            true => self.some(which)?,
            false => self.list(which)?,
        };
        for entry in meant {
            progress.step(&format!("looking at {}", entry.title()));
            let state = match self.health(&entry) {
                Ok(()) => VersionState::Whole,
                Err(damage) => VersionState::Damaged(damage),
            };
            all.push(VersionHealth { entry, state });
        }
        Ok(all)
    }

    /// Make the versions that are meant whole again, from the archives that they came in.
    pub fn repair(
        &self,
        lock: &Locked,
        which: &VersionFilter,
        progress: &dyn ProgressListener,
    ) -> Result<Mended> {
        // Whatever is there was left by somebody who did not come to an end.
        files::remove_tree(&self.root.join(STAGING))?;
        if matches!(self.index(), Err(Error::Damaged(BundleError::Index { .. }))) {
            progress.step("making the list of what is installed anew");
            self.rebuild_index()?;
        }
        let unlisted = self.unlisted(which)?;
        let unknown = self.unlisted_unknown(which)?;
        let is_there = !unlisted.is_empty() || !self.unknown(which)?.is_empty();
        let meant = match is_there || !unknown.is_empty() {
            true => self.list(which)?,
            false => self.some(which)?,
        };
        let mut all = Vec::new();
        for entry in meant {
            progress.step(&format!("looking at {}", entry.title()));
            let state = match self.health(&entry) {
                Ok(()) => VersionState::Whole,
                Err(damage) => {
                    let staging = self.staging(lock)?;
                    let made = self.make_anew(&entry, &staging, progress);
                    let cleaned = files::remove_tree(&staging);
                    match made.and(cleaned) {
                        Ok(()) => VersionState::Repaired(damage),
                        Err(error) => VersionState::Beyond(damage, Box::new(error)),
                    }
                }
            };
            all.push(VersionHealth { entry, state });
        }
        Ok(Mended {
            bundles: all,
            unlisted,
            unknown,
        })
    }

    /// Whether a version is what was installed, to the last byte.
    fn health(&self, entry: &InstalledVersion) -> Result<(), BundleError> {
        let found = opened(&entry.path, entry.kind, &entry.scope, &entry.version)?;
        let manifest = &found.manifest;
        // Whoever changes a file may have changed what the manifest says of it, too.
        let archived = self.archive_of(entry);
        let archived = archived.and_then(|path| manifest_in(&path, &entry.sha256).ok().flatten());
        if let Some(archived) = archived {
            let installed = fs::read(entry.path.join(manifest.name())).unwrap_or_default();
            if installed != archived {
                return Err(wrong_manifest(
                    &found,
                    "is not that of the archive".to_owned(),
                ));
            }
        }
        found.check(Depth::Full)
    }

    /// The archive that a version came in, if it is still there.
    fn archive_of(&self, entry: &InstalledVersion) -> Option<PathBuf> {
        let mut archives = self.archives_of(entry.kind, &entry.scope, &entry.version);
        if archives.len() > 1 {
            // One of them was left by somebody who did not come to an end.
            let is_its = |path: &PathBuf| bundle::hash(path).is_ok_and(|sum| sum == entry.sha256);
            let its = archives.iter().position(is_its).unwrap_or_default();
            archives.swap(0, its);
        }
        archives.into_iter().next()
    }

    /// The archives that are kept under the name of a version.
    fn archives_of(&self, kind: BundleType, scope: &str, version: &Version) -> Vec<PathBuf> {
        let all = Compression::ALL.map(|made| self.archive(kind, scope, version, made));
        all.into_iter().filter(|path| path.is_file()).collect()
    }

    /// The hash of the archive that the version in this folder came in: the one with the same
    /// manifest, else one that says that it is of this version.
    pub(super) fn came_in(
        &self,
        folder: &Path,
        kind: BundleType,
        scope: &str,
        version: &Version,
    ) -> Option<Digest> {
        let name = kind.manifest_name();
        let installed = fs::read(folder.join(name)).ok();
        let archives = self.archives_of(kind, scope, version);
        let mut found: Vec<(Digest, Vec<u8>)> = archives
            .iter()
            .filter_map(|path| {
                let sha256 = bundle::hash(path).ok()?;
                let bytes = manifest_in(path, &sha256).ok()??;
                let manifest = Manifest::parse(name, &bytes, &BundleLimits::default()).ok()?;
                is_of(&manifest, kind, scope, version).then_some((sha256, bytes))
            })
            .collect();
        let same = |(_, bytes): &(Digest, Vec<u8>)| installed.as_ref() == Some(bytes);
        let at = found.iter().position(same).unwrap_or_default();
        (at < found.len()).then(|| found.swap_remove(at).0)
    }

    /// The folders that are named as those of versions are.
    pub(super) fn version_folders(&self) -> Vec<(BundleType, String, Version, PathBuf)> {
        let mut all = Vec::new();
        for kind in BundleType::ALL {
            let scopes = self.root.join(kind.as_str()).read_dir();
            for scope in scopes.into_iter().flatten().flatten() {
                let versions = scope.path().read_dir().into_iter().flatten().flatten();
                for folder in versions {
                    let scope = scope.file_name().into_string().ok();
                    let version = folder.file_name().into_string().ok();
                    let version = version.and_then(|name| name.parse().ok());
                    if let (Some(scope), Some(version)) = (scope, version) {
                        all.push((kind, scope, version, folder.path()));
                    }
                }
            }
        }
        all.sort();
        all
    }

    /// Bundles that are not in the list, and of which no archive is there that says what they
    /// should be.
    fn unlisted(&self, which: &VersionFilter) -> Result<Vec<PathBuf>> {
        let index = self.index()?;
        let mut folders = self.version_folders();
        folders.retain(|(kind, scope, version, folder)| {
            let known = index.get(*kind, scope);
            which.is_meant(*kind, scope, version)
                && known.is_none_or(|active| !active.versions.contains_key(version))
                && opened(folder, *kind, scope, version).is_ok()
                && self.came_in(folder, *kind, scope, version).is_none()
        });
        Ok(folders.into_iter().map(|(.., folder)| folder).collect())
    }

    /// Bundles of types that are not known here, of which the list has none. What they came in and
    /// which was active only those know who installed them.
    fn unlisted_unknown(&self, which: &VersionFilter) -> Result<Vec<PathBuf>> {
        let listed = self.index()?.unknown();
        let mut folders = bundle::unknown_folders(&self.root);
        folders.retain(|folder| {
            let named = folder.strip_prefix(&self.root).ok();
            let mut parts = named.into_iter().flatten();
            let kind = parts.next();
            which.kind.is_none()
                && which.scope.is_none()
                && which.version.is_none()
                && !listed
                    .iter()
                    .any(|one| kind == Some(one.bundle_type.as_ref()))
        });
        Ok(folders)
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
    pub(super) fn find_lost_index(&self, progress: &dyn ProgressListener) -> Result<()> {
        if self.root.join(ActiveIndex::NAME).exists() || self.index().is_ok() {
            return Ok(());
        }
        self.rebuild_index()?;
        let all = VersionFilter::default();
        for folder in self.unlisted(&all)? {
            let folder = folder.display();
            progress.step(&format!(
                "`{folder}` is not in the new list: the archive that it came in is gone"
            ));
        }
        for folder in self.unlisted_unknown(&all)? {
            let folder = folder.display();
            progress.step(&format!(
                "`{folder}` is not in the new list: its type is not known here"
            ));
        }
        Ok(())
    }

    /// The list of what is installed, from the folders that are there. The newest version of
    /// each becomes the active one: nobody knows which one was. What the old list says of types that
    /// are not known here is not lost with the rest.
    fn rebuild_index(&self) -> Result<()> {
        let mut index: ActiveIndex = bundle::read_unknown(&self.root);
        for (kind, scope, version, folder) in self.version_folders() {
            let Some(sha256) = self.came_in(&folder, kind, &scope, &version) else {
                continue;
            };
            let entry = Installed {
                path: folder.display().to_string(),
                sha256,
                installed_at: now(),
                others: Default::default(),
            };
            index.install(kind, &scope, &version, entry);
        }
        self.write_index(&index)
    }
}

/// The bundle in this folder, if it is this version.
pub(super) fn opened(
    folder: &Path,
    kind: BundleType,
    scope: &str,
    version: &Version,
) -> Result<Unpacked, BundleError> {
    let found = Unpacked::open(folder)?;
    match is_of(&found.manifest, kind, scope, version) {
        true => Ok(found),
        false => {
            let what = format!("is that of {}", found.manifest.title());
            Err(wrong_manifest(&found, what))
        }
    }
}

fn is_of(manifest: &Manifest, kind: BundleType, scope: &str, version: &Version) -> bool {
    manifest.bundle_type() == kind && manifest.scope_id() == scope && manifest.version() == version
}

fn wrong_manifest(found: &Unpacked, what: String) -> BundleError {
    BundleError::Damaged {
        root: found.root.clone(),
        damages: vec![bundle::Damage {
            path: found.manifest.name().to_owned(),
            what,
        }],
        more: 0,
    }
}
