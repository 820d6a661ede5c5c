//! One transaction of a journal: checked, staged, carried out; and what becomes of one whose
//! process was killed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pillion_catalogue::{Code, Error, Result};
use serde_json::json;

use super::apply::{Carry, Failed, Why};
use super::content::{PathChange, PathState, held};
use super::journal::{Applied, Journal, Recovered, unwritten};
use super::manifest::{Label, Manifest};

/// How long another transaction may take.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);
/// How often the lock is tried.
const POLL_EVERY: Duration = Duration::from_millis(5);
/// What is being removed has this before its name: it does not count any more, and whoever
/// finds it removes the rest.
const TRASH: &str = "trash-";
/// Files that a message names.
const NAMED: usize = 5;

impl Journal {
    /// Wait until no other transaction runs, in this process or another. The lock ends with
    /// the process that holds it.
    pub(super) fn lock(&self) -> Result<File> {
        self.make_folder()?;
        let path = self.folder.join("lock");
        let file = File::create(&path).map_err(|e| unwritten("the journal has no lock", &e))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_TIMEOUT => {
                    std::thread::sleep(POLL_EVERY);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::new(
                        Code::Busy,
                        "another change of this workspace is being carried out",
                    )
                    .hint("try again"));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(unwritten("the journal cannot be locked", &error));
                }
            }
        }
    }

    /// Carry changes out; `undoes` is the transaction that they take back.
    pub(super) fn transact(
        &self,
        mut changes: Vec<PathChange>,
        title: &str,
        undoes: Option<&Manifest>,
        step: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<Applied> {
        self.check(&mut changes)?;
        let ids = self.ids()?;
        let id = next_id(ids.last());
        let folder = self.folder.join(&id);
        let label = Label {
            id: id.clone(),
            at: Timestamp::now().as_second(),
            title: title.to_owned(),
            undoes: undoes.map(|manifest| manifest.id.clone()),
            wanted: undoes.map(|manifest| manifest.folders.clone()),
        };
        let manifest = Manifest::stage(&folder, &self.root, label, &changes).map_err(|error| {
            self.discard(&id);
            unwritten(
                "nothing was changed, as the journal cannot be written",
                &error,
            )
        })?;
        let carried = self.carry(&manifest).out(&changes, step);
        if let Err(failed) = carried {
            if failed.stuck.is_empty() {
                self.discard(&id);
            }
            return Err(explain(&failed));
        }
        // All is as it should be; without the mark the next to look finds just that.
        if let Err(error) = Manifest::mark_done(&folder) {
            tracing::warn!(%id, %error, "a transaction could not be marked as done");
        }
        self.prune();
        Ok(Applied {
            id: Some(id),
            title: title.to_owned(),
            files: manifest.paths(),
            undoes: manifest.undoes,
        })
    }

    /// See that every file is as the changes expect it, and note what is really there.
    fn check(&self, changes: &mut [PathChange]) -> Result<()> {
        let mut different = Vec::new();
        for change in changes {
            let found = held(&self.root, &change.path)
                .map_err(|e| unwritten(&format!("`{}` cannot be read", change.path), &e))?;
            if !found.is(change.before.as_ref()) {
                different.push(change.path.clone());
            } else if let PathState::File(content) = found {
                change.before = Some(content);
            }
        }
        if different.is_empty() {
            return Ok(());
        }
        let names = named(&different);
        Err(Error::new(
            Code::Conflict,
            format!("changed meanwhile: {names}; nothing was written"),
        )
        .hint("ask for the change again: it is worked out from the files as they are")
        .data(json!({ "files": different })))
    }

    /// Complete or drop what is not done. The lock is held.
    pub(super) fn recover_locked(&self) -> Result<Recovered> {
        let mut recovered = Recovered::default();
        for id in self.ids()? {
            let folder = self.folder.join(&id);
            if Manifest::is_done(&folder) {
                continue;
            }
            let loaded = Manifest::load(&folder).and_then(|manifest| match manifest {
                Some(manifest) => {
                    let changes = manifest.changes(&folder)?;
                    Ok(Some((manifest, changes)))
                }
                None => Ok(None),
            });
            match loaded {
                // Nothing was written yet.
                Ok(None) => self.discard(&id),
                Ok(Some((manifest, changes))) => {
                    self.complete(&manifest, &changes, &mut recovered);
                    if let Err(error) = Manifest::mark_done(&folder) {
                        tracing::warn!(%id, %error, "a transaction could not be marked as done");
                    }
                }
                Err(error) => {
                    tracing::warn!(%id, %error, "an unfinished transaction cannot be read");
                }
            }
        }
        self.sweep();
        // Whoever was killed may not have come to it.
        self.prune();
        if !recovered.left.is_empty() {
            tracing::warn!(
                files = ?recovered.left,
                "a change was interrupted, and these files were changed by others since"
            );
        }
        Ok(recovered)
    }

    fn complete(&self, manifest: &Manifest, changes: &[PathChange], recovered: &mut Recovered) {
        let carry = self.carry(manifest);
        recovered.left.extend(carry.reclaim(changes));
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for change in changes {
            match held(&self.root, &change.path) {
                Ok(found) if found.is(change.after.as_ref()) => new.push(change.reversed()),
                Ok(found) if found.is(change.before.as_ref()) => old.push(change.clone()),
                _ => recovered.left.push(change.path.clone()),
            }
        }
        recovered.left.sort();
        recovered.left.dedup();
        let id = manifest.id.clone();
        match carry.out(&old, &mut || Ok(())) {
            Ok(()) => recovered.completed.push(id),
            // Forward is barred, so back: half of a change is worse than none.
            Err(failed) => {
                tracing::warn!(%id, path = failed.path, why = ?failed.why,
                    "an interrupted change cannot be completed and is taken back");
                recovered.left.extend(failed.stuck);
                let back = Carry {
                    wanted: Some(&manifest.folders),
                    ..carry
                };
                match back.out(&new, &mut || Ok(())) {
                    Ok(()) => recovered.taken_back.push(id),
                    Err(_) => recovered
                        .left
                        .extend(new.into_iter().map(|change| change.path)),
                }
            }
        }
    }

    fn carry<'a>(&'a self, manifest: &'a Manifest) -> Carry<'a> {
        Carry {
            root: &self.root,
            id: &manifest.id,
            folders: &manifest.folders,
            wanted: manifest.wanted.as_ref(),
            swap: self.swap,
        }
    }

    /// The transactions, oldest first.
    pub(super) fn ids(&self) -> Result<Vec<String>> {
        let mut ids = self
            .names()
            .map_err(|e| unwritten("the journal cannot be read", &e))?;
        ids.retain(|name| is_id(name));
        ids.sort();
        Ok(ids)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    /// Forget down to the bounds: first what was taken back already, then the oldest. The
    /// newest one stays.
    fn prune(&self) {
        let (Ok(mut ids), Ok(history)) = (self.ids(), self.history()) else {
            return;
        };
        ids.reverse();
        let newest = ids.first().cloned();
        let is_spent = |id: &String| {
            let past = history.iter().find(|past| past.id == *id);
            past.is_some_and(|past| past.undone || past.undoes.is_some())
        };
        ids.sort_by_key(|id| Some(id) != newest.as_ref() && is_spent(id));
        let (mut kept, mut bytes) = (0, 0);
        for id in &ids {
            let folder = self.folder.join(id);
            bytes += size(&folder);
            kept += 1;
            // One that is not done may still be needed to bring files back.
            if kept > 1
                && Manifest::is_done(&folder)
                && (kept > self.max_kept || bytes > self.max_bytes)
            {
                self.discard(id);
            }
        }
    }

    /// Remove a transaction. Without the rename a part of one could be taken for a whole
    /// that was not carried out yet.
    fn discard(&self, id: &str) {
        let trash = self.folder.join(format!("{TRASH}{id}"));
        if fs::rename(self.folder.join(id), &trash).is_ok() {
            let _ = fs::remove_dir_all(trash);
        }
    }

    fn sweep(&self) {
        let names = self.names().unwrap_or_default();
        for name in names.iter().filter(|name| name.starts_with(TRASH)) {
            let _ = fs::remove_dir_all(self.folder.join(name));
        }
    }
}

/// Ids are times, so that they sort and never come again.
fn next_id(last: Option<&String>) -> String {
    let now = u64::try_from(Timestamp::now().as_microsecond()).unwrap_or(0);
    let last = last.and_then(|id| u64::from_str_radix(id, 16).ok());
    format!("{:014x}", now.max(last.map_or(0, |last| last + 1)))
}

fn is_id(name: &str) -> bool {
    name.len() == 14 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    sizes.sum()
}

fn named(files: &[String]) -> String {
    let shown: Vec<String> = files.iter().take(NAMED).map(|f| format!("`{f}`")).collect();
    match files.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What happened, and that the files are as they were; or which are not.
fn explain(failed: &Failed) -> Error {
    let path = &failed.path;
    let (code, what) = match &failed.why {
        Why::Changed => (Code::Conflict, format!("`{path}` was changed meanwhile")),
        Why::Kept(kept) => (
            Code::Conflict,
            format!("`{path}` was changed twice meanwhile (the first is kept as `{kept}`)"),
        ),
        Why::Open => (
            Code::Conflict,
            format!("another program has `{path}` open for writing"),
        ),
        Why::Io(error) => (
            Code::WriteFailed,
            format!("`{path}` cannot be written: {error}"),
        ),
    };
    if failed.stuck.is_empty() {
        return Error::new(code, format!("{what}; all files are as they were"))
            .data(json!({ "files": [path] }));
    }
    let stuck = named(&failed.stuck);
    Error::new(
        code,
        format!("{what}; these could not be taken back: {stuck}"),
    )
    .hint("the next change, or opening the workspace again, completes it")
    .data(json!({ "files": failed.stuck }))
}
