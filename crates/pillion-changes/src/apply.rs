//! Bringing files from one state to another: all of them, or none.
//!
//! First every new content is written beside its target, where it does no harm; lack of
//! space or of permission shows then. Only then do old and new files change places
//! ([`super::swap`]), and the old ones are looked at before they are thrown away. If something
//! fails all the same, what was done is taken back.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustix::fs::{Access, access};

use super::content::{
    Content, PathChange, PathState, folders_above, held, held_at, nearest_folder,
};
use super::manifest::{Folders, sync_folder};
use super::swap::{OPENING, Settled, Swap, Swapped, settled};

/// Files to be brought from one state to another.
pub(super) struct Carry<'a> {
    pub(super) root: &'a Path,
    /// The transaction: names its temporary files.
    pub(super) id: &'a str,
    /// The folders as they were.
    pub(super) folders: &'a Folders,
    /// The folders as they are to be, if that is known.
    pub(super) wanted: Option<&'a Folders>,
    pub(super) swap: Swap,
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
    /// Somebody changed the file meanwhile, and then again; the earlier version is kept here.
    Kept(String),
    /// Somebody has the file open for writing.
    Open,
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What was done so far.
#[derive(Default)]
struct Progress<'a> {
    /// Each with the place where what was there before lies now.
    done: Vec<(&'a PathChange, &'a Path)>,
    made: Vec<PathBuf>,
    /// Folders whose names changed.
    touched: BTreeSet<PathBuf>,
}

impl Carry<'_> {
    /// Carry changes out. `step` is called before each name is changed; its error counts
    /// as one of the system.
    pub(super) fn out(
        &self,
        changes: &[PathChange],
        step: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), Failed> {
        let failed = |path: &str, why, stuck| Failed {
            path: path.to_owned(),
            why,
            stuck,
        };
        let asides: Vec<PathBuf> = changes.iter().map(|change| self.aside(change)).collect();
        let prepared = changes
            .par_iter()
            .zip(&asides)
            .try_for_each(|(change, aside)| {
                self.prepare(change, aside)
                    .map_err(|error| (change.path.clone(), error))
            });
        if let Err((path, error)) = prepared {
            remove_all(&asides);
            return Err(failed(&path, error.into(), Vec::new()));
        }
        let mut progress = Progress::default();
        let renamed = self.change_names(changes, &asides, &mut progress, step);
        // Whoever was about to open a file has it open a moment later, and is seen then.
        let settled = renamed
            .and_then(|()| settle(&progress))
            .inspect(|()| std::thread::sleep(OPENING))
            .and_then(|()| settle(&progress));
        let synced = settled.and_then(|()| {
            remove_all(&asides);
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
            let stuck = self.take_back(&progress);
            for (change, aside) in changes.iter().zip(&asides) {
                discard(change, aside);
            }
            failed(&path, why, stuck)
        })
    }

    /// Put back or remove what a killed process left beside the files; says which files
    /// others had changed.
    pub(super) fn reclaim(&self, changes: &[PathChange]) -> Vec<String> {
        let mut left = Vec::new();
        for change in changes {
            let name = self.aside_name(&change.path);
            let folders = folders_above(&change.path).into_iter().chain([""]);
            for folder in folders.map(|folder| self.root.join(folder)) {
                let aside = folder.join(&name);
                let _ = fs::remove_file(unfinished(&aside));
                if fs::symlink_metadata(&aside).is_err() {
                    continue;
                }
                if let Err(error) = self.reclaim_one(change, &aside, &mut left) {
                    tracing::warn!(path = change.path, %error, "a file lies beside its place");
                    left.push(change.path.clone());
                }
            }
        }
        left
    }

    fn reclaim_one(
        &self,
        change: &PathChange,
        aside: &Path,
        left: &mut Vec<String>,
    ) -> io::Result<()> {
        let (before, after) = (change.before.as_ref(), change.after.as_ref());
        if settled(aside, &[before, after])? == Settled::Same {
            return fs::remove_file(aside);
        }
        // It came out in the swap, and is not what was read: it belongs where it was.
        left.push(change.path.clone());
        let path = self.root.join(&change.path);
        let is_back = match after {
            Some(after) => self.swap.replace(aside, &path, after)? == Swapped::Done,
            None => self.swap.place(aside, &path)?,
        };
        match (is_back, after) {
            (true, Some(_)) => fs::remove_file(aside),
            (true, None) => Ok(()),
            (false, _) => {
                left.push(keep_aside(self.root, aside, &change.path)?);
                Ok(())
            }
        }
    }

    /// Where the new content of a file waits, and the old one lies once it was taken away: in
    /// the same file system, under a name that can be found again after a crash.
    fn aside(&self, change: &PathChange) -> PathBuf {
        let near = nearest_folder(self.root, &change.path);
        let device = |folder: &Path| fs::metadata(folder).ok().map(|meta| meta.dev());
        // A folder out of which all is deleted is to go away as well.
        let folder = match change.after.is_none() && device(&near) == device(self.root) {
            true => self.root.to_owned(),
            false => near,
        };
        folder.join(self.aside_name(&change.path))
    }

    fn aside_name(&self, path: &str) -> String {
        let hash = super::content::hash(path.as_bytes());
        format!(".pillion-{}-{}.tmp", self.id, &hash[..16])
    }

    fn prepare(&self, change: &PathChange, aside: &Path) -> io::Result<()> {
        if change.before.is_some() {
            // A rename would replace it all the same, but it was not meant to be changed.
            access(self.root.join(&change.path), Access::WRITE_OK)?;
        }
        match &change.after {
            Some(content) => write(aside, content),
            None => {
                let folder = nearest_folder(self.root, &change.path);
                Ok(access(&folder, Access::WRITE_OK | Access::EXEC_OK)?)
            }
        }
    }

    /// Deletions come first: a folder may have to stand where a file was.
    fn change_names<'a>(
        &self,
        changes: &'a [PathChange],
        asides: &'a [PathBuf],
        progress: &mut Progress<'a>,
        step: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), (String, Why)> {
        let at = |change: &PathChange, why: Why| (change.path.clone(), why);
        let deletions = changes.iter().zip(asides);
        let deletions = deletions.filter(|(change, _)| change.after.is_none());
        for (change, aside) in deletions.clone() {
            step().map_err(|error| at(change, error.into()))?;
            self.change_name(change, aside)
                .map_err(|why| at(change, why))?;
            progress.done.push((change, aside));
            let path = self.root.join(&change.path);
            progress.touched.extend(path.parent().map(Path::to_owned));
            progress.touched.extend(aside.parent().map(Path::to_owned));
        }
        let kept: BTreeSet<&str> = changes
            .iter()
            .filter(|change| change.after.is_some())
            .flat_map(|change| folders_above(&change.path))
            .collect();
        for (change, _) in deletions {
            for folder in folders_above(&change.path) {
                let wanted = self.wanted.is_some_and(|all| all.contains_key(folder));
                let path = self.root.join(folder);
                if wanted || kept.contains(folder) || remove_folder(&path).is_err() {
                    break;
                }
                progress.touched.extend(path.parent().map(Path::to_owned));
            }
        }
        for (change, aside) in changes.iter().zip(asides) {
            if change.after.is_none() {
                continue;
            }
            step().map_err(|error| at(change, error.into()))?;
            self.make_folders(&change.path, self.wanted, progress)
                .map_err(|error| at(change, error.into()))?;
            self.change_name(change, aside)
                .map_err(|why| at(change, why))?;
            let path = self.root.join(&change.path);
            progress.done.push((change, aside));
            progress.touched.extend(path.parent().map(Path::to_owned));
        }
        Ok(())
    }

    /// Bring one path from its state before to the one after; nothing is lost that others
    /// wrote there.
    fn change_name(&self, change: &PathChange, aside: &Path) -> Result<(), Why> {
        // Mostly this shows it already; and that no link leads out of the root by now.
        if !held(self.root, &change.path)?.is(change.before.as_ref()) {
            return Err(Why::Changed);
        }
        let path = self.root.join(&change.path);
        let swapped = match (&change.before, &change.after) {
            (Some(before), Some(_)) => self.swap.replace(aside, &path, before)?,
            (Some(before), None) => self.swap.remove(&path, aside, before)?,
            (None, Some(_)) => match self.swap.place(aside, &path)? {
                true => Swapped::Done,
                false => Swapped::Changed,
            },
            (None, None) => Swapped::Done,
        };
        match swapped {
            Swapped::Done => Ok(()),
            Swapped::Changed => Err(Why::Changed),
            Swapped::Overtaken => Err(Why::Kept(keep_aside(self.root, aside, &change.path)?)),
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
        for (change, aside) in progress.done.iter().rev() {
            match self.restore(change, aside, &mut again) {
                Ok(None) => {}
                Ok(Some(kept)) => stuck.push(kept),
                Err(_) => stuck.push(change.path.clone()),
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

    /// Bring one path back. What lies aside is what was there before, with whatever others
    /// wrote to it since. If something of others stands at the path by now, it stays, and what
    /// they wrote to the other one gets a name beside it, which is the answer.
    fn restore(
        &self,
        change: &PathChange,
        aside: &Path,
        progress: &mut Progress<'_>,
    ) -> io::Result<Option<String>> {
        let path = self.root.join(&change.path);
        let back = change.before.as_ref();
        let is_there = || Ok::<_, io::Error>(!matches!(held_at(aside)?, PathState::Nothing));
        if let Some(content) = back {
            self.make_folders(&change.path, Some(self.folders), progress)?;
            if !is_there()? {
                write(aside, content)?;
            }
        }
        let changed = || io::Error::other("changed meanwhile");
        let swapped = match (back, &change.after) {
            (Some(_), Some(after)) => self.swap.replace(aside, &path, after)?,
            (Some(_), None) => match self.swap.place(aside, &path)? {
                true => return Ok(None),
                false => Swapped::Changed,
            },
            (None, Some(after)) => self.swap.remove(&path, aside, after)?,
            (None, None) => return Ok(None),
        };
        let is_ours = match swapped {
            Swapped::Done => settled(aside, &[change.after.as_ref()])? == Settled::Same,
            _ => held_at(aside)?.is(back) || !is_there()?,
        };
        match (swapped, is_ours) {
            (Swapped::Done, true) => Ok(None),
            (_, false) => keep_aside(self.root, aside, &change.path).map(Some),
            (_, true) => Err(changed()),
        }
    }
}

/// See that what was taken away is still what was read, before it is thrown away.
fn settle(progress: &Progress<'_>) -> Result<(), (String, Why)> {
    for (change, aside) in &progress.done {
        let Some(before) = &change.before else {
            continue;
        };
        let why = match settled(aside, &[Some(before)]) {
            Ok(Settled::Same) => continue,
            Ok(Settled::Changed) => Why::Changed,
            Ok(Settled::Open) => Why::Open,
            Err(error) => Why::Io(error),
        };
        return Err((change.path.clone(), why));
    }
    Ok(())
}

/// Give what others wrote, and what has no place any more, a name that can be found; it is
/// the answer.
fn keep_aside(root: &Path, aside: &Path, path: &str) -> io::Result<String> {
    let swap = Swap { can_exchange: true };
    for n in 1.. {
        let kept = format!("{path}.kept-{n}");
        let to = root.join(&kept);
        if swap.place(aside, &to)? {
            tracing::warn!(
                path,
                kept,
                "what others wrote meanwhile is kept beside the file"
            );
            return Ok(kept);
        }
    }
    Err(io::Error::other("there is no name for it"))
}

/// A file that is still being written has another name: only what is whole may change places.
fn unfinished(aside: &Path) -> PathBuf {
    aside.with_extension("new.tmp")
}

/// Write a new file, so that it lasts; nothing stays if that fails.
fn write(aside: &Path, content: &Content) -> io::Result<()> {
    let path = &unfinished(aside);
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
        file.sync_all()?;
        fs::rename(path, aside)
    })();
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

/// Remove what lies aside after a failure, if it is known: all else is of others.
fn discard(change: &PathChange, aside: &Path) {
    let known = [change.before.as_ref(), change.after.as_ref()];
    let is_known = held_at(aside).is_ok_and(|found| known.iter().any(|one| found.is(*one)));
    match fs::symlink_metadata(aside).is_ok() {
        true if is_known => drop(fs::remove_file(aside)),
        true => tracing::warn!(path = change.path, aside = %aside.display(),
            "what others wrote meanwhile lies beside the file"),
        false => {}
    }
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
