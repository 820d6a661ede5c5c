//! The map of each language in step with the workspace: what changed is read anew, and
//! linked with all that sees it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{CancellationToken, Result, wanted, work};
use pillion_index::content_hash;
use pillion_index::language::{Language, is_source};
use pillion_index::source::Source;
use pillion_workspace::{Clock, FileEntry, Snapshot, Stamp};
use rayon::prelude::*;
use tokio::sync::Mutex;

use super::super::graph::Graph;
use super::super::link::Links;
use super::link::links;
use super::manifests::{Manifests, is_manifest};
use super::members;
use super::outlined_file::OutlinedFile;
use super::{MAX_TEXT, outline};

/// The maps of a workspace, by language.
#[derive(Debug, Default)]
pub struct LanguageMaps {
    by_language: Mutex<HashMap<Language, Arc<Mutex<LanguageState>>>>,
}

/// The map of one language at one moment.
#[derive(Debug, Clone)]
pub struct LanguageMap {
    /// Who uses whom.
    pub graph: Arc<Graph>,
    /// The files with their outlines, by path.
    pub files: Arc<BTreeMap<Arc<str>, Arc<OutlinedFile>>>,
    /// The files as they were when the map was first asked for.
    pub first: Arc<BTreeMap<Arc<str>, [u8; 16]>>,
}

impl LanguageMaps {
    /// The map of a language as a snapshot sees it.
    pub async fn follow(&self, language: Language, snapshot: &Snapshot) -> Result<LanguageMap> {
        let state = {
            let mut all = self.by_language.lock().await;
            Arc::clone(all.entry(language).or_default())
        };
        let mut state = state.lock_owned().await;
        if state.clock != Some(snapshot.clock()) {
            let snapshot = snapshot.clone();
            // The lock goes along: a caller who gives up leaves nothing half done.
            let follow = work(move |token| {
                let followed = state.follow(language, &snapshot, token);
                followed.map(|()| state)
            });
            state = follow.await??;
        }
        Ok(LanguageMap {
            graph: Arc::clone(&state.graph),
            files: Arc::clone(&state.files),
            first: Arc::clone(&state.first),
        })
    }
}

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    stamp: Stamp,
    settled: bool,
}

/// The map of one language, and all that is needed to keep it in step.
#[derive(Debug, Default)]
pub(super) struct LanguageState {
    clock: Option<Clock>,
    seen: HashMap<Arc<str>, Seen>,
    files: Arc<BTreeMap<Arc<str>, Arc<OutlinedFile>>>,
    links: BTreeMap<Arc<str>, Arc<Links>>,
    manifests: Arc<Manifests>,
    graph: Arc<Graph>,
    first: Arc<BTreeMap<Arc<str>, [u8; 16]>>,
    /// Files that were read for a map that was on its way when its caller went away.
    begun: HashMap<Arc<str>, Arc<OutlinedFile>>,
}

impl LanguageState {
    /// Take in what a snapshot shows. Blocks: it reads and parses files, until nobody waits
    /// for it any more. What it has read by then is used the next time.
    fn follow(
        &mut self,
        language: Language,
        snapshot: &Snapshot,
        token: &CancellationToken,
    ) -> Result<()> {
        let files = snapshot.files();
        let sources = files.iter().filter(|file| is_source(language, &file.path));
        let is_known = |file: &&FileEntry| {
            let seen = self.seen.get(&file.path);
            seen.is_some_and(|seen| seen.settled && seen.stamp == file.stamp)
        };
        let look: Vec<&FileEntry> = sources.filter(|file| !is_known(file)).collect();
        let fresh: Vec<(&FileEntry, Option<Arc<OutlinedFile>>)> = look
            .into_par_iter()
            .take_any_while(|_| !token.is_cancelled())
            .map(|file| (file, self.read(language, snapshot.root(), file)))
            .collect();
        if let Err(stopped) = wanted(token) {
            let read = fresh.into_iter().filter_map(|(_, outlined)| outlined);
            self.begin_with(read.collect());
            return Err(stopped);
        }
        let is_gone = |path: &&Arc<str>| files.get(path).is_none();
        let mut gone: Vec<Arc<str>> = self.files.keys().filter(is_gone).cloned().collect();
        let mut changed = Vec::new();
        for (file, outlined) in fresh {
            let (stamp, settled) = (file.stamp, file.settled);
            self.seen
                .insert(Arc::clone(&file.path), Seen { stamp, settled });
            match outlined {
                Some(outlined) => changed.push(outlined),
                None => gone.push(Arc::clone(&file.path)),
            }
        }
        let paths = files.iter().map(|file| &*file.path);
        let manifests = Manifests::read(snapshot.root(), paths.filter(|path| is_manifest(path)));
        let count = match self.update(language, changed, &gone, manifests, token) {
            Ok(count) => count,
            Err(stopped) => {
                // Files without their links are no map: it is made anew from what was read.
                let read = self.files.values().cloned().collect();
                *self = Self {
                    first: Arc::clone(&self.first),
                    ..Self::default()
                };
                self.begin_with(read);
                return Err(stopped);
            }
        };
        self.begun = HashMap::new();
        tracing::debug!(
            language = language.name(),
            linked = count,
            "the map follows"
        );
        if self.clock.is_none() && self.first.is_empty() {
            let hashes = self.files.iter();
            let hashes = hashes.map(|(path, outlined)| (Arc::clone(path), outlined.sketched.hash));
            self.first = Arc::new(hashes.collect());
        }
        self.clock = Some(snapshot.clock());
        Ok(())
    }

    fn begin_with(&mut self, read: Vec<Arc<OutlinedFile>>) {
        let named = read.into_iter();
        let named = named.map(|outlined| (Arc::clone(&outlined.sketched.path), outlined));
        self.begun.extend(named);
    }

    /// A file as it is now: the one that is known if its bytes are.
    fn read(&self, language: Language, root: &Path, file: &FileEntry) -> Option<Arc<OutlinedFile>> {
        let bytes = match file.stamp.size > MAX_TEXT {
            true => Vec::new(),
            false => std::fs::read(root.join(&*file.path)).ok()?,
        };
        let hash = content_hash(&bytes);
        let known = [self.files.get(&file.path), self.begun.get(&file.path)];
        let mut known = known.into_iter().flatten();
        if let Some(known) = known.find(|known| known.sketched.hash == hash) {
            return Some(Arc::clone(known));
        }
        let source = Source::decode(&bytes);
        let outline = outline(language, &file.path, source.text());
        Some(Arc::new(OutlinedFile::new(
            Arc::clone(&file.path),
            hash,
            outline,
        )))
    }

    /// Take in files that are new or changed, and forget others; gives how many were linked.
    fn update(
        &mut self,
        language: Language,
        fresh: Vec<Arc<OutlinedFile>>,
        gone: &[Arc<str>],
        manifests: Manifests,
        token: &CancellationToken,
    ) -> Result<usize> {
        let mut is_seen = *self.manifests != manifests;
        let mut changed: Vec<Arc<str>> = Vec::new();
        self.manifests = Arc::new(manifests);
        let files = Arc::make_mut(&mut self.files);
        for path in gone {
            self.seen.remove(path);
            self.links.remove(path);
            is_seen |= files.remove(path).is_some();
        }
        for outlined in fresh {
            let path = Arc::clone(&outlined.sketched.path);
            let before = files.insert(Arc::clone(&path), Arc::clone(&outlined));
            match before {
                Some(before) if Arc::ptr_eq(&before, &outlined) => continue,
                Some(before) => is_seen |= before.surface != outlined.surface,
                None => is_seen = true,
            }
            changed.push(path);
        }
        if !is_seen && changed.is_empty() {
            return Ok(0);
        }
        let all: Vec<Arc<OutlinedFile>> = files.values().cloned().collect();
        let codebase = members::codebase(language, all, Arc::clone(&self.manifests));
        // What others see of a file stays mostly the same; if not, all are linked anew.
        let todo: Vec<(u32, &Arc<str>)> = (0..)
            .zip(self.files.keys())
            .filter(|(_, path)| is_seen || changed.contains(path))
            .collect();
        let count = todo.len();
        let linked: Vec<(Arc<str>, Arc<Links>)> = todo
            .into_par_iter()
            .take_any_while(|_| !token.is_cancelled())
            .map(|(id, path)| (Arc::clone(path), Arc::new(links(&codebase, id))))
            .collect();
        if linked.len() < count {
            wanted(token)?;
        }
        self.links.extend(linked);
        let files = self.files.iter().map(|(path, outlined)| {
            let links = self.links.get(path).cloned().unwrap_or_default();
            (Arc::clone(&outlined.sketched), links)
        });
        self.graph = Arc::new(Graph::of_language(language, files.collect()));
        Ok(count)
    }
}

#[cfg(test)]
impl LanguageState {
    /// Take in texts; `None` is a file that is gone.
    pub(super) fn edit(&mut self, language: Language, files: &[(&str, Option<&str>)]) -> usize {
        let mut manifests = (*self.manifests).clone();
        let (mut fresh, mut gone) = (Vec::new(), Vec::new());
        for (path, text) in files {
            match text {
                Some(text) if is_manifest(path) => manifests.add(path, text),
                Some(text) if is_source(language, path) => {
                    let hash = content_hash(text.as_bytes());
                    let outline = outline(language, path, text);
                    fresh.push(Arc::new(OutlinedFile::new((*path).into(), hash, outline)));
                }
                Some(_) => {}
                None => gone.push((*path).into()),
            }
        }
        let token = CancellationToken::new();
        let update = self.update(language, fresh, &gone, manifests.sorted(), &token);
        update.expect("nobody stops it")
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }
}
