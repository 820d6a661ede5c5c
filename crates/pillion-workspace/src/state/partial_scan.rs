//! Taking in news about single files and folders.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use pillion_process::stamp::{Look, Stamp};

use super::{Finding, WorkspaceState};
use crate::files::FileEntry;
use crate::known_files::Cause;
use crate::rules::{RULE_FILES, Rules, is_built_in, is_marker};
use crate::scan::{self, Stop};
use crate::watch::{self, News};

impl WorkspaceState {
    /// Look at what there is news of.
    pub(super) fn parts(&mut self, news: &News) -> Result<(), Stop> {
        let again = folders_to_list(news);
        if again.contains("") {
            return self.everything();
        }
        let again: Vec<_> = again.iter().filter(|path| !beneath(path, &again)).collect();
        for path in &again {
            self.forget(path);
        }
        for path in &again {
            self.list_again(path, news)?;
        }
        let listed: BTreeSet<String> = again.into_iter().cloned().collect();
        for (path, content) in &news.files {
            if !listed.contains(path) && !beneath(path, &listed) {
                self.look_at(path, Cause::Told(*content))?;
            }
        }
        if !news.inodes.is_empty() {
            self.look_at_links(news)?;
        }
        for path in &news.unnamed {
            if let Some(folder) = self.folders.get_mut(path).filter(|folder| !folder.marked) {
                self.reshaped = true;
                folder.left_out = scan::unnamed(&self.root.join(&**path), path, &folder.rules);
            }
        }
        Ok(())
    }

    /// Look at all names of files that have several.
    fn look_at_links(&mut self, news: &News) -> Result<(), Stop> {
        let inode = |file: &FileEntry| (file.stamp.dev, file.stamp.ino);
        let names = self.known.files.iter().filter_map(|file| {
            let content = news.inodes.get(&inode(file))?;
            Some((file.path.clone(), inode(file), *content))
        });
        let names: Vec<_> = names.collect();
        for (path, _, content) in &names {
            self.look_at(path, Cause::Told(*content))?;
        }
        if let Finding::Watching(watch) = &mut self.finding {
            let ours: BTreeSet<_> = names.iter().map(|(_, inode, _)| *inode).collect();
            for gone in news.inodes.keys().filter(|inode| !ours.contains(inode)) {
                watch.forget_linked(*gone);
            }
        }
        Ok(())
    }

    /// Forget a folder and those beneath it, with their watches.
    fn forget(&mut self, path: &str) {
        self.reshaped = true;
        let from = (Bound::Included(path), Bound::Unbounded);
        let after = self.folders.range::<str, _>(from).map(|(known, _)| known);
        // `a-b` sorts between `a` and `a/b` without being beneath it.
        let gone: Vec<_> = after
            .take_while(|known| known.starts_with(path))
            .filter(|known| known.len() == path.len() || known.as_bytes()[path.len()] == b'/')
            .cloned()
            .collect();
        for path in gone {
            let handle = self.folders.remove(&path).and_then(|folder| folder.watch);
            if let (Some(handle), Finding::Watching(watch)) = (handle, &mut self.finding) {
                watch.forget(&path, handle);
            }
        }
    }

    /// List what was forgotten, if it is still a folder and not ignored.
    fn list_again(&mut self, path: &str, news: &News) -> Result<(), Stop> {
        let found = match self.allowed(path, true).zip(scan::look(&self.root, path)) {
            Some(((dev, rules), (full, meta))) if meta.is_dir() => {
                let here = meta.dev();
                if dev != here
                    && let Some(why) = watch::distrust(&full)
                {
                    self.distrust = true;
                    return Err(Stop::Distrust(why));
                }
                self.scan(path.into(), here, rules)?
            }
            _ => Vec::new(),
        };
        let told = |path: &str| match news.files.get(path) {
            Some(true) => Cause::Told(true),
            // Its watch was given up for a moment.
            _ => Cause::Untold,
        };
        self.known.replace(&self.root, path, found, told);
        self.look_at(path, Cause::Told(true))
    }

    /// Look at one file.
    fn look_at(&mut self, path: &str, cause: Cause) -> Result<(), Stop> {
        let look = Look::now(self.distrust);
        let found = self.allowed(path, false).and(scan::look(&self.root, path));
        let Some((full, mut meta)) = found.filter(|(_, meta)| meta.is_file()) else {
            self.known.remove(path);
            return Ok(());
        };
        if let Finding::Watching(watch) = &mut self.finding
            && let Some(again) = scan::watch_links(watch, &full, &meta)?
        {
            meta = again;
        }
        let stamp = Stamp::from(&meta);
        let path = match self.known.files.get(path) {
            Some(known) => known.path.clone(),
            None => path.into(),
        };
        let settled = look.settles(&stamp);
        let entry = FileEntry {
            path,
            stamp,
            settled,
        };
        self.known.put(&self.root, entry, cause);
        Ok(())
    }

    /// The device and rules of the folder that something is in; none if it is ignored.
    fn allowed(&self, path: &str, is_folder: bool) -> Option<(u64, Rules)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.folders.get(parent).filter(|folder| !folder.marked)?;
        let ignored =
            is_built_in(name, is_folder) || folder.rules.ignore(&self.root.join(path), is_folder);
        (!ignored).then(|| (folder.dev, folder.rules.clone()))
    }

    /// Look at unsettled files again: as nobody told of a change, time alone settles them.
    pub(super) fn settle(&mut self) -> Result<(), Stop> {
        if matches!(self.finding, Finding::Watching(_)) {
            let unsettled: Vec<_> = self.known.unsettled().cloned().collect();
            for path in unsettled {
                self.look_at(&path, Cause::Told(false))?;
            }
            self.settled = Instant::now();
        }
        Ok(())
    }
}

/// The folders that must be listed again.
pub(super) fn folders_to_list(news: &News) -> BTreeSet<String> {
    let mut again = news.folders.clone();
    for path in news.files.keys().chain(&news.folders) {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        // A marker in the root marks nothing.
        if RULE_FILES.contains(&name) || (is_marker(name) && !parent.is_empty()) {
            again.insert(parent.to_owned());
        }
    }
    again
}

/// Whether a path is beneath one of these folders.
fn beneath(path: &str, folders: &BTreeSet<String>) -> bool {
    !folders.is_empty()
        && path
            .match_indices('/')
            .any(|(at, _)| folders.contains(&path[..at]))
}
