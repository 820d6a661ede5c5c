//! Removing what nobody needs any more.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pillion_bundle::Version;

use super::{
    ARCHIVES, BundleStore, DOWNLOADS, InstalledVersion, Locked, STAGING, VersionFilter, files,
};
use crate::error::{Error, Result};

/// A download that nobody went on with for so long is given up.
const OLD_DOWNLOAD: Duration = Duration::from_secs(24 * 60 * 60);

/// What a collection did, or would do.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    /// Versions that are gone.
    pub versions: Vec<RemovedVersion>,
    /// Versions that would be, but that a process runs from.
    pub in_use: Vec<InstalledVersion>,
    /// Other things that are gone: archives, leftovers.
    pub others: Vec<PathBuf>,
    /// How many bytes they had.
    pub bytes: u64,
}

/// A version that is gone.
#[derive(Debug, Clone)]
pub struct RemovedVersion {
    /// Which one.
    pub entry: InstalledVersion,
    /// How many bytes it had, with its archive.
    pub bytes: u64,
}

impl BundleStore {
    /// Remove versions that are not active, but for the `keep` last ones that were; archives of
    /// what is not installed; what was left by those who did not come to an end. Without the lock
    /// only tell.
    pub fn collect(
        &self,
        lock: Option<&Locked>,
        which: &VersionFilter,
        keep: usize,
    ) -> Result<Collected> {
        if !self.root.is_dir() {
            return Ok(Collected::default());
        }
        let mut done = Collected::default();
        let staging = self.root.join(STAGING);
        if staging.exists() {
            done.bytes += size(&staging);
            done.others.push(staging.clone());
        }
        for entry in self.superfluous(which, keep)? {
            if is_in_use(&entry.path) {
                done.in_use.push(entry);
                continue;
            }
            let bytes = size(&entry.path);
            done.bytes += bytes;
            done.versions.push(RemovedVersion { entry, bytes });
        }
        let going: Vec<&InstalledVersion> =
            done.versions.iter().map(|removed| &removed.entry).collect();
        // Without the list nobody knows what is superfluous, and all would be: that is an error.
        let unused = self.unused(&going)?;
        done.bytes += unused.iter().map(|path| size(path)).sum::<u64>();
        if lock.is_some() {
            files::remove_tree(&staging)?;
            self.remove(&done.versions, &staging, &unused)?;
            remove_all(&unused)?;
            files::remove_tree(&staging)?;
        }
        done.others.extend(unused);
        Ok(done)
    }

    /// Versions that neither are active nor were so lately.
    fn superfluous(&self, which: &VersionFilter, keep: usize) -> Result<Vec<InstalledVersion>> {
        let index = self.index()?;
        let history = self.history();
        let mut all = self.list(which)?;
        all.retain(|entry| {
            let Some(active) = index.get(entry.kind, &entry.scope) else {
                return false;
            };
            let before = history.0.known.get(&entry.kind);
            let before = before.and_then(|scopes| scopes.get(&entry.scope));
            let mut kept: Vec<&Version> = Vec::new();
            for version in before.into_iter().flatten().rev() {
                let counts = *version != active.version && active.versions.contains_key(version);
                if counts && !kept.contains(&version) && kept.len() < keep {
                    kept.push(version);
                }
            }
            !entry.active && !kept.contains(&&entry.version)
        });
        Ok(all)
    }

    /// First nobody finds them any more, then they go.
    fn remove(
        &self,
        versions: &[RemovedVersion],
        staging: &Path,
        unused: &[PathBuf],
    ) -> Result<()> {
        if versions.is_empty() {
            return Ok(());
        }
        let mut index = self.index()?;
        for RemovedVersion { entry, .. } in versions {
            index.forget(entry.kind, &entry.scope, &entry.version);
        }
        match self.write_index(&index) {
            // On a full disk there is no room to note what goes: first goes what no list has.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::StorageFull => {
                remove_all(unused)?;
                self.write_index(&index)?;
            }
            written => written?,
        }
        fs::create_dir_all(staging).map_err(Error::io("make", staging))?;
        for (number, RemovedVersion { entry, .. }) in versions.iter().enumerate() {
            let aside = staging.join(number.to_string());
            match fs::rename(&entry.path, &aside) {
                Ok(()) => files::sync_parent(&entry.path)?,
                // It was gone before.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("remove", &entry.path)(error)),
            }
            files::remove_tree(&aside)?;
        }
        Ok(())
    }

    /// Folders of versions that the index does not know, archives of versions that are not
    /// installed, downloads that were given up, and what was never renamed to its place.
    ///
    /// A folder goes only if it is certain that we made it, and it can be made again: if the
    /// archive that it came in is there. So it goes before the archive does.
    fn unused(&self, going: &[&InstalledVersion]) -> Result<Vec<PathBuf>> {
        let installed = self.list(&VersionFilter::default())?;
        let stays = |folder: &Path, name: &str| {
            installed.iter().any(|entry| {
                let version = entry.version.as_str();
                let is_its = |rest: &str| rest.is_empty() || rest.starts_with(".tar.");
                folder.ends_with(Path::new(entry.kind.as_str()).join(&entry.scope))
                    && name.strip_prefix(version).is_some_and(is_its)
                    && !going.iter().any(|gone| gone.path == entry.path)
            })
        };
        let mut unused = Vec::new();
        let is_known = |path: &Path| installed.iter().any(|entry| entry.path == path);
        for (kind, scope, version, folder) in self.version_folders() {
            if !is_known(&folder) && self.came_in(&folder, kind, &scope, &version).is_some() {
                unused.push(folder);
            }
        }
        for kind in pillion_bundle::BundleType::ALL {
            for scope in entries(&self.root.join(ARCHIVES).join(kind.as_str())) {
                for path in entries(&scope) {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    if !stays(&scope, &name) {
                        unused.push(path);
                    }
                }
            }
        }
        unused.extend(entries(&self.root).into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with('.') && name.ends_with(".tmp") && path.is_file()
        }));
        for path in entries(&self.root.join(DOWNLOADS)) {
            let age = path.metadata().and_then(|meta| meta.modified());
            let age = age.ok().and_then(|time| time.elapsed().ok());
            if age.is_some_and(|age| age > OLD_DOWNLOAD) {
                unused.push(path);
            }
        }
        Ok(unused)
    }
}

fn remove_all(paths: &[PathBuf]) -> Result<()> {
    paths.iter().try_for_each(|path| files::remove_tree(path))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The bytes of a file, or of all files below a folder.
fn size(path: &Path) -> u64 {
    let Ok(meta) = path.symlink_metadata() else {
        return 0;
    };
    match meta.is_dir() {
        true => entries(path).iter().map(|path| size(path)).sum(),
        false => meta.len(),
    }
}

/// Whether a process runs a program of this folder. Elsewhere than on Linux nobody knows: there
/// a running program's files stay until it ends, or cannot be removed.
fn is_in_use(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    let processes = Path::new("/proc")
        .read_dir()
        .into_iter()
        .flatten()
        .flatten();
    processes
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with(|c: char| c.is_ascii_digit())
        })
        .filter_map(|entry| fs::read_link(entry.path().join("exe")).ok())
        .any(|program| program.starts_with(&folder))
}
