//! Installing, switching, and switching back.

use std::fs;
use std::path::{Path, PathBuf};

use pillion_bundle::{
    ActiveIndex, BundleType, Compression, Digest, Hashing, Installed, Platform, Version,
};
use pillion_runtime::bundle::{Depth, Unpacked, folder_of};
use pillion_runtime::managed::ProgressListener;

use super::archive::{ArchiveFile, Expected, not_too_large, unpack};
use super::repair::opened;
use super::{BundleStore, Locked, VersionFilter, files, now};
use crate::counting_reader::Counting;
use crate::error::{Error, Result};
use crate::trust::TrustPolicy;

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOutcome {
    /// A version was installed, and is active.
    Installed,
    /// It was installed already and is whole; it is active now.
    Kept,
    /// Another version became active.
    Switched,
    /// It was active already.
    Unchanged,
}

/// A change that was made.
#[derive(Debug, Clone)]
pub struct StoreChange {
    /// What was done.
    pub outcome: StoreOutcome,
    /// The type.
    pub kind: BundleType,
    /// The scope.
    pub scope: String,
    /// The version that is active now.
    pub version: Version,
    /// The version that was active before.
    pub before: Option<Version>,
    /// The folder of the active version.
    pub path: PathBuf,
    /// The trusted key that signed it, where it was just installed.
    pub signed_by: Option<String>,
}

impl BundleStore {
    /// Check an archive, install it and make it the active version.
    pub fn install(
        &self,
        lock: &Locked,
        source: &ArchiveFile,
        trust: &TrustPolicy,
        which: &VersionFilter,
        progress: &dyn ProgressListener,
    ) -> Result<StoreChange> {
        let staging = self.staging(lock)?;
        let done = self.install_staged(&staging, source, trust, which, progress);
        // Whether it worked or not, nothing of it is needed any more.
        let cleaned = files::remove_tree(&staging);
        let done = done?;
        cleaned?;
        Ok(done)
    }

    fn install_staged(
        &self,
        staging: &Path,
        source: &ArchiveFile,
        trust: &TrustPolicy,
        which: &VersionFilter,
        progress: &dyn ProgressListener,
    ) -> Result<StoreChange> {
        // A copy of our own: what is checked is what is unpacked and kept.
        let copy = staging.join("archive");
        let digest = copied(source, &copy, progress)?;
        if source.checksum.as_ref().is_some_and(|sum| *sum != digest) {
            return Err(Error::refused(&source.name)(
                pillion_bundle::Error::ArchiveHash,
            ));
        }
        let expected = Expected {
            kind: which.kind,
            scope: which.scope.clone(),
            version: which.version.clone(),
            platform: Platform::here(),
        };
        let tree = staging.join("tree");
        let mut file = fs::File::open(&copy).map_err(Error::io("read", &copy))?;
        let checked = unpack(&mut file, source, trust, &expected, &tree, progress)?;
        let manifest = &checked.verified.manifest;
        let (kind, scope) = (manifest.bundle_type(), manifest.scope_id().to_owned());
        let version = manifest.version().clone();
        self.find_lost_index(progress)?;
        let mut index = self.index()?;
        if index.iter().next().is_none() {
            // From now on a list that is not there is one that was lost.
            self.write_index(&index)?;
        }
        let known = index.get(kind, &scope);
        let before = known.map(|active| active.version.clone());
        let installed = known.and_then(|active| active.versions.get(&version));
        if installed.is_some_and(|installed| installed.sha256 != digest) {
            return Err(Error::Conflict {
                what: format!(
                    "another {kind}/{scope} {version} is installed: its archive has another hash"
                ),
                hint: "give each build a version of its own".to_owned(),
            });
        }
        if let Some(twin) = twin(&index, kind, &scope, &version) {
            return Err(Error::Conflict {
                what: format!(
                    "{twin} is installed, whose folder is that of {kind}/{scope} {version} where \
                     capitals do not count"
                ),
                hint: "write the scope and the version as they were written before".to_owned(),
            });
        }
        let target = folder_of(&self.root, kind, &scope, version.as_str());
        let same_manifest = || {
            let of = |folder: &Path| fs::read(folder.join(manifest.name())).ok();
            of(&target).is_some_and(|there| Some(there) == of(&tree))
        };
        let is_whole = installed.is_some()
            && same_manifest()
            && Unpacked::open(&target).is_ok_and(|found| found.check(Depth::Full).is_ok());
        progress.step("writing to disk");
        files::sync_tree(staging)?;
        let kept = self.archive(kind, &scope, &version, checked.verified.compression);
        files::place(&copy, &kept, &staging.join("old-archive"))?;
        // Of somebody who did not come to an end.
        for other in Compression::ALL {
            if other != checked.verified.compression {
                let stale = self.archive(kind, &scope, &version, other);
                files::remove_tree(&signature_of(&stale))?;
                files::remove_tree(&stale)?;
            }
        }
        if let Some(signature) = &source.signature {
            let path = signature_of(&kept);
            files::write_durably(&path, signature.as_bytes())?;
        }
        if !is_whole {
            files::place(&tree, &target, &staging.join("old-tree"))?;
        }
        if let Some(before) = before.as_ref().filter(|before| **before != version) {
            self.remember(kind, &scope, before)?;
        }
        let at = installed.map_or_else(now, |installed| installed.installed_at.clone());
        let entry = Installed {
            path: target.display().to_string(),
            sha256: digest,
            installed_at: at,
            others: installed.map_or_else(Default::default, |installed| installed.others.clone()),
        };
        index.install(kind, &scope, &version, entry);
        self.write_index(&index)?;
        Ok(StoreChange {
            outcome: match is_whole {
                true => StoreOutcome::Kept,
                false => StoreOutcome::Installed,
            },
            kind,
            scope,
            version,
            before,
            path: target,
            signed_by: checked.signed_by,
        })
    }

    /// Make an installed version the active one: the one that is named, else the newest.
    pub fn activate(&self, _lock: &Locked, which: &VersionFilter) -> Result<StoreChange> {
        let (kind, scope) = self.one_scope(which)?;
        let newest = self.some(&VersionFilter {
            kind: Some(kind),
            scope: Some(scope.clone()),
            version: which.version.clone(),
        })?;
        let newest = newest.into_iter().map(|entry| entry.version).max();
        let version = newest.ok_or_else(|| no_previous(kind, &scope))?;
        self.switch(kind, &scope, &version, |store, before| {
            store.remember(kind, &scope, before)
        })
    }

    /// Make the version active that was so before.
    pub fn rollback(&self, _lock: &Locked, which: &VersionFilter) -> Result<StoreChange> {
        let (kind, scope) = self.one_scope(which)?;
        let index = self.index()?;
        let active = index.get(kind, &scope);
        let previous = active.and_then(|active| self.previous(kind, &scope, active));
        let previous = previous.ok_or_else(|| no_previous(kind, &scope))?;
        let change = self.switch(kind, &scope, &previous, |_, _| Ok(()))?;
        self.went_back(kind, &scope, &previous)?;
        Ok(change)
    }

    /// Switch to an installed version, if it is whole. `note` is told of the old one first.
    fn switch(
        &self,
        kind: BundleType,
        scope: &str,
        version: &Version,
        note: impl FnOnce(&Self, &Version) -> Result<()>,
    ) -> Result<StoreChange> {
        let mut index = self.index()?;
        let before = index.get(kind, scope).map(|active| active.version.clone());
        let path = folder_of(&self.root, kind, scope, version.as_str());
        opened(&path, kind, scope, version)?.check(Depth::Cheap)?;
        let is_other = before.as_ref() != Some(version);
        if is_other {
            if let Some(before) = &before {
                note(self, before)?;
            }
            if !index.activate(kind, scope, version) {
                return Err(no_previous(kind, scope));
            }
            self.write_index(&index)?;
        }
        Ok(StoreChange {
            outcome: match is_other {
                true => StoreOutcome::Switched,
                false => StoreOutcome::Unchanged,
            },
            kind,
            scope: scope.to_owned(),
            version: version.clone(),
            before,
            path,
            signed_by: None,
        })
    }
}

fn no_previous(kind: BundleType, scope: &str) -> Error {
    Error::NotFound {
        what: format!("no other version of {kind}/{scope} was active before"),
        hint: "`pillion bundle list` shows what is installed; `pillion bundle activate \
               --version V` switches to one"
            .to_owned(),
    }
}

/// What is installed under a name that differs in capitals only.
fn twin(index: &ActiveIndex, kind: BundleType, scope: &str, version: &Version) -> Option<String> {
    let all = index.iter().filter(|(known, ..)| *known == kind);
    let mut all = all.flat_map(|(_, scope, active)| {
        let versions = active.versions.keys();
        versions.map(move |version| (scope, version.as_str()))
    });
    let is_twin = |(known_scope, known): &(&str, &str)| match *known_scope == scope {
        true => *known != version.as_str() && known.eq_ignore_ascii_case(version.as_str()),
        false => known_scope.eq_ignore_ascii_case(scope),
    };
    let (scope, version) = all.find(is_twin)?;
    Some(format!("{kind}/{scope} {version}"))
}

/// Where the signature of an archive is kept.
fn signature_of(archive: &Path) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(pillion_bundle::signature::ENDING);
    PathBuf::from(name)
}

/// Copy an archive, and give its hash.
fn copied(source: &ArchiveFile, to: &Path, progress: &dyn ProgressListener) -> Result<Digest> {
    let file = files::open(&source.path).map_err(Error::io("read", &source.path))?;
    let size = file.metadata().map_err(Error::io("read", &source.path))?;
    not_too_large(size.len(), source)?;
    progress.step(&format!("copying {}", source.name));
    let mut reader = Hashing::new(Counting::new(file, Some(size.len()), progress));
    let mut copy = fs::File::create(to).map_err(Error::io("write", to))?;
    std::io::copy(&mut reader, &mut copy).map_err(Error::io("write", to))?;
    Ok(reader.finish().1)
}
