//! Bringing files from one state to another: all of them, or none.
//!
//! First every new content is written beside its target, where it does no harm; lack of
//! space or of permission shows then. Only then are names changed, each after a last look at
//! what is there. If something fails all the same, what was done is taken back.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustix::fs::{Access, access};

use super::content::{Change, Content, folders_above, held, nearest_folder};
use super::manifest::{Folders, sync_folder};

/// Files to be brought from one state to another.
pub(super) struct Carry<'a> {
    pub(super) root: &'a Path,
    /// The transaction: names its temporary files.
    pub(super) id: &'a str,
    /// The folders as they were.
    pub(super) folders: &'a Folders,
    /// The folders as they are to be, if that is known.
    pub(super) wanted: Option<&'a Folders>,
}

/// Why it was not done.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) path: String,
    pub(super) why: Why,
    /// Files that could not be taken back.
    pub(super) stuck: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Why {
    /// The system refused.
    Io(io::Error),
    /// Somebody changed the file meanwhile.
    Changed,
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What was done so far.
#[derive(Default)]
struct Progress<'a> {
    done: Vec<&'a Change>,
    made: Vec<PathBuf>,
    /// Folders whose names changed.
    touched: BTreeSet<PathBuf>,
}

impl Carry<'_> {
    /// Carry changes out. `step` is called before each name is changed; its error counts
    /// as one of the system.
    pub(super) fn out(
        &self,
        changes: &[Change],
        step: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), Failed> {
        let failed = |path: &str, why, stuck| Failed {
            path: path.to_owned(),
            why,
            stuck,
        };
        let temporaries: Vec<PathBuf> = changes.iter().map(|c| self.temporary(&c.path)).collect();
        let prepared = changes
            .par_iter()
            .zip(&temporaries)
            .try_for_each(|(change, temporary)| {
                self.prepare(change, temporary)
                    .map_err(|error| (change.path.clone(), error))
            });
        if let Err((path, error)) = prepared {
            remove_all(&temporaries);
            return Err(failed(&path, error.into(), Vec::new()));
        }
        let mut progress = Progress::default();
        let renamed = self.change_names(changes, &temporaries, &mut progress, step);
        let synced = renamed.and_then(|()| {
            let last = changes.last().map(|change| change.path.clone());
            let sync = |folder: &PathBuf| match sync_folder(folder) {
                // It was removed as it became empty.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                other => other,
            };
            let synced = progress.touched.iter().try_for_each(sync);
            synced.map_err(|error| (last.unwrap_or_default(), error.into()))
        });
        synced.map_err(|(path, why)| {
            remove_all(&temporaries);
            let stuck = self.take_back(&progress);
            failed(&path, why, stuck)
        })
    }

    /// Remove what a killed process left behind.
    pub(super) fn clean(&self, changes: &[Change]) {
        for change in changes {
            let name = self.temporary_name(&change.path);
            for above in folders_above(&change.path) {
                let _ = fs::remove_file(self.root.join(above).join(&name));
            }
            let _ = fs::remove_file(self.root.join(&name));
        }
    }

    /// Where the new content of a file waits: in the same file system, and under a name that
    /// can be found again after a crash.
    fn temporary(&self, path: &str) -> PathBuf {
        nearest_folder(self.root, path).join(self.temporary_name(path))
    }

    fn temporary_name(&self, path: &str) -> String {
        let hash = super::content::hash(path.as_bytes());
        format!(".pillion-{}-{}.tmp", self.id, &hash[..16])
    }

    fn prepare(&self, change: &Change, temporary: &Path) -> io::Result<()> {
        if change.before.is_some() {
            // A rename would replace it all the same, but it was not meant to be changed.
            access(self.root.join(&change.path), Access::WRITE_OK)?;
        }
        match &change.after {
            Some(content) => write(temporary, content),
            None => {
                let folder = nearest_folder(self.root, &change.path);
                Ok(access(&folder, Access::WRITE_OK | Access::EXEC_OK)?)
            }
        }
    }

    /// Deletions come first: a folder may have to stand where a file was.
    fn change_names<'a>(
        &self,
        changes: &'a [Change],
        temporaries: &[PathBuf],
        progress: &mut Progress<'a>,
        step: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), (String, Why)> {
        let at = |change: &Change, why: Why| (change.path.clone(), why);
        let deletions = changes.iter().filter(|change| change.after.is_none());
        for change in deletions.clone() {
            step().map_err(|error| at(change, error.into()))?;
            self.check(change).map_err(|why| at(change, why))?;
            let path = self.root.join(&change.path);
            fs::remove_file(&path).map_err(|error| at(change, error.into()))?;
            progress.done.push(change);
            progress.touched.extend(path.parent().map(Path::to_owned));
        }
        let kept: BTreeSet<&str> = changes
            .iter()
            .filter(|change| change.after.is_some())
            .flat_map(|change| folders_above(&change.path))
            .collect();
        for change in deletions {
            for folder in folders_above(&change.path) {
                let wanted = self.wanted.is_some_and(|all| all.contains_key(folder));
                let path = self.root.join(folder);
                if wanted || kept.contains(folder) || remove_folder(&path).is_err() {
                    break;
                }
                progress.touched.extend(path.parent().map(Path::to_owned));
            }
        }
        for (change, temporary) in changes.iter().zip(temporaries) {
            if change.after.is_none() {
                continue;
            }
            step().map_err(|error| at(change, error.into()))?;
            self.make_folders(&change.path, self.wanted, progress)
                .map_err(|error| at(change, error.into()))?;
            self.check(change).map_err(|why| at(change, why))?;
            let path = self.root.join(&change.path);
            fs::rename(temporary, &path).map_err(|error| at(change, error.into()))?;
            progress.done.push(change);
            progress.touched.extend(path.parent().map(Path::to_owned));
        }
        Ok(())
    }

    fn check(&self, change: &Change) -> Result<(), Why> {
        match held(self.root, &change.path)?.is(change.before.as_ref()) {
            true => Ok(()),
            false => Err(Why::Changed),
        }
    }

    fn make_folders(
        &self,
        path: &str,
        modes: Option<&Folders>,
        progress: &mut Progress<'_>,
    ) -> io::Result<()> {
        for folder in folders_above(path).into_iter().rev() {
            let at = self.root.join(folder);
            match fs::create_dir(&at) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            if let Some(mode) = modes.and_then(|modes| modes.get(folder)) {
                fs::set_permissions(&at, Permissions::from_mode(*mode))?;
            }
            progress.touched.extend(at.parent().map(Path::to_owned));
            progress.made.push(at);
        }
        Ok(())
    }

    /// Undo what was done; says which files that failed for.
    fn take_back(&self, progress: &Progress<'_>) -> Vec<String> {
        let mut stuck = Vec::new();
        let mut again = Progress::default();
        for change in progress.done.iter().rev() {
            if self.restore(change, &mut again).is_err() {
                stuck.push(change.path.clone());
            }
            // What is below must be gone before a file can take the folder's name.
            for folder in folders_above(&change.path) {
                let path = self.root.join(folder);
                if !progress.made.contains(&path) || fs::remove_dir(&path).is_err() {
                    break;
                }
            }
        }
        for folder in progress.made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
        for folder in progress.touched.iter().chain(&again.touched) {
            let _ = sync_folder(folder);
        }
        stuck.sort();
        stuck
    }

    fn restore(&self, change: &Change, progress: &mut Progress<'_>) -> io::Result<()> {
        if !held(self.root, &change.path)?.is(change.after.as_ref()) {
            return Err(io::Error::other("changed meanwhile"));
        }
        let path = self.root.join(&change.path);
        match &change.before {
            None => fs::remove_file(&path),
            Some(content) => {
                self.make_folders(&change.path, Some(self.folders), progress)?;
                let temporary = self.temporary(&change.path);
                write(&temporary, content)?;
                fs::rename(&temporary, &path)
            }
        }
    }
}

/// Write a new file, so that it lasts; nothing stays if that fails.
fn write(path: &Path, content: &Content) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let written = (|| {
        let mut options = File::options();
        // Nobody else may read it before it has its own mode.
        options.mode(if content.mode.is_some() { 0o600 } else { 0o666 });
        let mut file = options.write(true).create_new(true).open(path)?;
        file.write_all(&content.bytes)?;
        if let Some((user, group)) = content.owner {
            // Only root may give files away; for others it is theirs already, or stays theirs.
            let _ = fchown(&file, Some(user), Some(group));
        }
        if let Some(mode) = content.mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

fn remove_all(paths: &[PathBuf]) {
    for path in paths {
        let _ = fs::remove_file(path);
    }
}

/// Remove a folder in which nothing is left but what Python compiled.
fn remove_folder(path: &Path) -> io::Result<()> {
    let compiled = path.join("__pycache__");
    let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    if let [only] = &*entries
        && only.path() == compiled
        && only.file_type()?.is_dir()
    {
        fs::remove_dir_all(&compiled)?;
    }
    fs::remove_dir(path)
}
