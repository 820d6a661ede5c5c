//! The Python worker package: embedded in this binary, laid out on disk.
//!
//! It lies in `worker/HASH` in the cache folder, named after its contents, so that several
//! versions of pillion live beside each other. A record in it holds each file's stamp:
//! while all stamps hold, nothing is read. If one does not, contents are compared and what
//! differs is written anew.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use pillion_process::stamp::Stamp;
use rust_embed::{Embed, EmbeddedFile};
use serde::{Deserialize, Serialize};

use crate::bytecode;
use crate::dirs::{self, Dirs, DirsError};
use crate::file;

#[derive(Embed)]
#[folder = "../../python"]
#[include = "__main__.py"]
#[include = "pillion/*.py"]
#[exclude = "pillion/desktop.py"]
struct Embedded;

/// The record of all stamps, in the folder it vouches for.
const RECORD: &str = ".complete";
/// How many packages are kept.
const KEEP: usize = 3;
/// A package is kept this long: a process that just started may still read from it.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// Why the worker package is not there.
#[derive(Debug, thiserror::Error)]
pub enum WorkerFilesError {
    /// There is no folder for it.
    #[error(transparent)]
    Dirs(#[from] DirsError),
    /// It could not be written.
    #[error("cannot write the worker package to `{path}`: {source}")]
    Write {
        /// Its folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl WorkerFilesError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Dirs(error) => error.hint(),
            Self::Write { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "the disk is full: make room, or set `PILLION_HOME` to a folder elsewhere".into()
            }
            Self::Write { .. } => "set `PILLION_HOME` to a folder that you can write".into(),
        }
    }
}

/// The folder with the worker package (`python FOLDER` runs it), complete and unchanged.
pub fn worker_dir(dirs: &Dirs) -> Result<PathBuf, WorkerFilesError> {
    let package = package();
    let all = dirs.writable_cache()?.join("worker");
    let path = all.join(&package.hash[..16]);
    package
        .lay_out(&path)
        .map_err(|source| WorkerFilesError::Write {
            path: path.clone(),
            source,
        })?;
    Ok(path)
}

/// The files of the package by their paths, for those who pack it themselves.
pub fn embedded() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let files = package().files.iter();
    files.map(|(name, file)| (name.as_str(), file.data.as_ref()))
}

/// Files by their path in the package.
struct Package {
    files: Vec<(String, EmbeddedFile)>,
    hash: String,
}

fn package() -> &'static Package {
    static PACKAGE: OnceLock<Package> = OnceLock::new();
    PACKAGE.get_or_init(|| {
        let mut names: Vec<String> = Embedded::iter().map(Cow::into_owned).collect();
        names.sort();
        let files: Vec<_> = names
            .into_iter()
            .filter_map(|name| Embedded::get(&name).map(|f| (name, f)))
            .collect();
        let hash = file::sha256(
            files
                .iter()
                .flat_map(|(name, f)| [name.as_bytes(), &f.data]),
        );
        Package { files, hash }
    })
}

/// What proves a package.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// A machine that stopped may have lost what it had not written to disk, without a trace
    /// in any stamp. What was written before is compared once after each start.
    boot: String,
    files: BTreeMap<String, Stamp>,
}

/// What is wrong with the package as it lies there, before it is put right: files that are
/// missing or not as they should be. Nothing is wrong with one that is not there at all.
pub(crate) fn damages(dirs: &Dirs) -> Vec<PathBuf> {
    let package = package();
    let path = dirs.usable_cache().join("worker").join(&package.hash[..16]);
    if !path.is_dir() {
        return Vec::new();
    }
    let wrong = package.files.iter().filter_map(|(name, embedded)| {
        let target = path.join(name);
        let found = std::fs::read(&target).ok();
        (found.as_deref() != Some(&*embedded.data)).then_some(target)
    });
    wrong.chain(bytecode::forget_damaged(&path)).collect()
}

impl Package {
    fn lay_out(&self, path: &Path) -> io::Result<()> {
        if self.is_recorded(path) {
            return Ok(());
        }
        if path.is_dir() {
            return self.repair(path);
        }
        let Some(all) = path.parent() else {
            return Ok(());
        };
        dirs::create_writable(all)?;
        let temporary = file::temporary_beside(path);
        let made = self.repair(&temporary);
        let placed = made.and_then(|()| std::fs::rename(&temporary, path));
        if let Err(error) = placed {
            let _ = std::fs::remove_dir_all(&temporary);
            // Another process was faster: its package is as good as ours.
            return if path.is_dir() {
                self.lay_out_over(path)
            } else {
                Err(error)
            };
        }
        prune(all, path);
        Ok(())
    }

    fn lay_out_over(&self, path: &Path) -> io::Result<()> {
        if self.is_recorded(path) {
            Ok(())
        } else {
            self.repair(path)
        }
    }

    /// Whether every file still is the one that was written.
    fn is_recorded(&self, path: &Path) -> bool {
        let Ok(bytes) = std::fs::read(path.join(RECORD)) else {
            return false;
        };
        let Ok(record) = serde_json::from_slice::<Record>(&bytes) else {
            return false;
        };
        record.boot == file::boot()
            && record.files.len() == self.files.len()
            && self
                .files
                .iter()
                .all(|(name, _)| record.files.get(name) == Some(&Stamp::of(&path.join(name))))
    }

    /// Write what is missing or differs, then record it all.
    fn repair(&self, path: &Path) -> io::Result<()> {
        let mut record = Record {
            boot: file::boot(),
            ..Record::default()
        };
        for (name, embedded) in &self.files {
            let target = path.join(name);
            if let Some(folder) = target.parent() {
                dirs::create_writable(folder)?;
            }
            if std::fs::read(&target).ok().as_deref() != Some(&*embedded.data) {
                if target.is_dir() {
                    std::fs::remove_dir_all(&target)?;
                }
                file::write_atomically(&target, &embedded.data)?;
            }
            make_readable(path, &target)?;
            let stamp = Stamp::from(&target.metadata()?);
            record.files.insert(name.clone(), stamp);
        }
        file::write_atomically(&path.join(RECORD), &serde_json::to_vec(&record)?)
    }
}

/// Where pillion is root, lanes read the package as somebody else. The folder around it is
/// private, so nobody else gets to it.
fn make_readable(package: &Path, file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644))?;
    for folder in file
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(package))
    {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Remove packages of other versions, and what killed processes left half done.
fn prune(all: &Path, current: &Path) {
    let Ok(entries) = all.read_dir() else { return };
    let mut others: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path != current)
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .collect();
    others.sort();
    let is_old = |time: &SystemTime| time.elapsed().is_ok_and(|age| age > GRACE);
    let kept = others
        .iter()
        .rev()
        .filter(|(_, path)| path.extension().is_none())
        .take(KEEP - 1)
        .map(|(_, path)| path.clone())
        .collect::<Vec<_>>();
    for (_, path) in others
        .iter()
        .filter(|(time, path)| is_old(time) && !kept.contains(path))
    {
        tracing::debug!(path = %path.display(), "removing an old worker package");
        let _ = std::fs::remove_dir_all(path);
    }
}

#[cfg(test)]
#[path = "worker_files_tests.rs"]
mod tests;
