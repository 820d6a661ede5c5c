//! The map in step with the index: what changed is sketched and linked anew, with all that
//! looked at it.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{CancellationToken, Result, wanted};
use pillion_index::source::Source;
use pillion_index::{Index, MAX_FILE, content_hash};
use rayon::prelude::*;

use super::graph::Graph;
use super::graph_update::{Linked, NodePlaces};
use super::keys::{Key, fingerprints};
use super::link::{Links, links};
use super::modules::{Modules, is_init};
use super::read::sketch;
use super::sketch::Sketch;
use super::world::{Sketched, World};

/// What is kept of a file between two questions.
#[derive(Debug, Clone)]
struct Known {
    sketched: Arc<Sketched>,
    links: Arc<Links>,
}

/// Sketches from an earlier life, each with the hash of its file.
pub(crate) type SavedSketches = BTreeMap<Box<str>, ([u8; 16], Sketch)>;

/// The graph, and all that is needed to keep it in step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Map {
    files: BTreeMap<Arc<str>, Known>,
    modules: Arc<Modules>,
    graph: Arc<Graph>,
    /// Where the nodes of the graph are.
    places: NodePlaces,
}

/// What following took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Followed {
    pub sketched: usize,
    pub(crate) linked: usize,
    pub(crate) forgotten: usize,
}

impl Map {
    pub(crate) fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The sketches, to be kept on disk.
    pub(crate) fn sketches(&self) -> Vec<Arc<Sketched>> {
        let all = self.files.values();
        all.map(|known| Arc::clone(&known.sketched)).collect()
    }

    /// Take in what the index knows now. `kept` gives a sketch from an earlier life. Blocks:
    /// it reads and parses files, until nobody waits for it any more; `kept` then has the
    /// sketches that are made.
    pub(crate) fn follow(
        &mut self,
        index: &Index,
        root: &Path,
        kept: &mut SavedSketches,
        token: &CancellationToken,
    ) -> Result<Followed> {
        let mut followed = Followed::default();
        let gone: Vec<Arc<str>> = {
            let is_gone = |path: &&Arc<str>| index.get(path).is_none();
            self.files.keys().filter(is_gone).cloned().collect()
        };
        let stale: Vec<(&Arc<str>, [u8; 16], Option<Sketch>)> = index
            .hashes()
            .filter(|(path, hash)| {
                let known = self.files.get(*path);
                known.is_none_or(|known| known.sketched.hash != *hash)
            })
            .map(|(path, hash)| {
                let old = kept.remove(&**path).filter(|(known, _)| *known == hash);
                (path, hash, old.map(|(_, sketch)| sketch))
            })
            .collect();
        if gone.is_empty() && stale.is_empty() {
            return Ok(followed);
        }
        let fresh: Vec<Option<Arc<Sketched>>> = stale
            .into_par_iter()
            .map(
                |(path, hash, old)| match token.is_cancelled() && old.is_none() {
                    true => None,
                    false => read(root, path, hash, old),
                },
            )
            .collect();
        let fresh: Vec<Arc<Sketched>> = fresh.into_iter().flatten().collect();
        if let Err(stopped) = wanted(token) {
            keep(fresh, kept);
            return Err(stopped);
        }
        followed.sketched = fresh.len();
        followed.forgotten = gone.len();
        followed.linked = match self.update(fresh, &gone, token) {
            Ok(linked) => linked,
            Err(stopped) => {
                // Files without their links are no map: it is made anew from the sketches.
                keep(self.sketches(), kept);
                *self = Self::default();
                return Err(stopped);
            }
        };
        Ok(followed)
    }

    /// Take in files that are new or changed, and forget others; gives how many were linked.
    fn update(
        &mut self,
        fresh: Vec<Arc<Sketched>>,
        gone: &[Arc<str>],
        token: &CancellationToken,
    ) -> Result<usize> {
        let relink = self.take_in(fresh, gone);
        self.link(&relink, token)
    }

    /// Replace what changed; gives the files that have to be linked anew.
    fn take_in(&mut self, fresh: Vec<Arc<Sketched>>, gone: &[Arc<str>]) -> Relink {
        let is_first = self.files.is_empty();
        let mut changed: HashSet<Key> = HashSet::new();
        let mut names: HashSet<Arc<str>> = HashSet::new();
        let mut come_or_gone: Vec<Arc<str>> = gone.to_vec();
        for path in gone {
            if let Some(known) = self.files.remove(path) {
                let old = &known.sketched;
                changed.extend(fingerprints(&old.sketch, &old.keys).into_keys());
            }
        }
        for new in fresh {
            let path = Arc::clone(&new.path);
            match self.files.get(&path) {
                Some(known) => changed.extend(differences(&known.sketched, &new)),
                None => {
                    changed.extend(fingerprints(&new.sketch, &new.keys).into_keys());
                    come_or_gone.push(Arc::clone(&path));
                }
            }
            names.insert(Arc::clone(&path));
            let known = Known {
                sketched: new,
                links: Arc::default(),
            };
            self.files.insert(path, known);
        }
        if !come_or_gone.is_empty() {
            let paths = self.files.keys().map(|path| &**path);
            self.modules = Arc::new(Modules::of(paths));
        }
        // A package more or less moves the names of everything below it.
        if is_first || come_or_gone.iter().any(|path| is_init(path)) {
            return Relink::All;
        }
        for path in &come_or_gone {
            self.modules.touched(path, &mut |key| {
                changed.insert(key);
            });
        }
        Relink::These { names, changed }
    }

    /// Link what has to be, and put the graph together; gives how many were linked.
    fn link(&mut self, relink: &Relink, token: &CancellationToken) -> Result<usize> {
        let world = World {
            files: self
                .files
                .values()
                .map(|known| Arc::clone(&known.sketched))
                .collect(),
            modules: Arc::clone(&self.modules),
        };
        let todo: Vec<u32> = (0..)
            .zip(self.files.iter())
            .filter(|(_, (path, known))| relink.wants(path, &known.links))
            .map(|(id, _)| id)
            .collect();
        // A few files are done sooner than all would be begun again.
        let stops = || matches!(relink, Relink::All) && token.is_cancelled();
        let linked: Vec<(u32, Links)> = todo
            .par_iter()
            .take_any_while(|_| !stops())
            .map(|id| (*id, links(&world, *id)))
            .collect();
        if linked.len() < todo.len() {
            wanted(token)?;
        }
        let mut linked = linked.into_iter().peekable();
        for (id, known) in (0..).zip(self.files.values_mut()) {
            if let Some((_, links)) = linked.next_if(|(next, _)| *next == id) {
                known.links = Arc::new(links);
            }
        }
        let all = self.files.values();
        let all = all.map(|known| (Arc::clone(&known.sketched), Arc::clone(&known.links)));
        let all: Linked = all.collect();
        let followed = match relink {
            Relink::All => None,
            Relink::These { .. } => self.places.follow(&self.graph, &all, &todo),
        };
        self.graph = Arc::new(followed.unwrap_or_else(|| {
            self.places = NodePlaces::of(&all);
            Graph::of(all)
        }));
        Ok(todo.len())
    }
}

enum Relink {
    All,
    /// These files, and those that looked at what changed.
    These {
        names: HashSet<Arc<str>>,
        changed: HashSet<Key>,
    },
}

impl Relink {
    fn wants(&self, path: &Arc<str>, links: &Links) -> bool {
        match self {
            Self::All => true,
            Self::These { names, changed } => {
                names.contains(path)
                    || if changed.len() < links.saw.len() {
                        let mut changed = changed.iter();
                        changed.any(|key| links.saw.binary_search(key).is_ok())
                    } else {
                        links.saw.iter().any(|key| changed.contains(key))
                    }
            }
        }
    }
}

/// The keys of a file that lead to something else than before.
fn differences(old: &Sketched, new: &Sketched) -> Vec<Key> {
    let before = fingerprints(&old.sketch, &old.keys);
    let after = fingerprints(&new.sketch, &new.keys);
    let differs = |(key, print): (&Key, &u64)| (after.get(key) != Some(print)).then_some(*key);
    let mut keys: Vec<Key> = before.iter().filter_map(differs).collect();
    keys.extend(after.keys().filter(|key| !before.contains_key(key)));
    keys
}

/// Sketches for the next time.
fn keep(sketches: Vec<Arc<Sketched>>, kept: &mut SavedSketches) {
    for one in sketches {
        let (path, hash) = ((&*one.path).into(), one.hash);
        let sketch = Arc::try_unwrap(one).map_or_else(|one| one.sketch.clone(), |one| one.sketch);
        kept.insert(path, (hash, sketch));
    }
}

/// The sketch of a file: one that is kept, or from its text.
fn read(
    root: &Path,
    path: &Arc<str>,
    hash: [u8; 16],
    kept: Option<Sketch>,
) -> Option<Arc<Sketched>> {
    let (hash, sketch) = match kept {
        Some(sketch) => (hash, sketch),
        None => {
            let bytes = std::fs::read(root.join(&**path)).ok()?;
            if bytes.len() as u64 > MAX_FILE {
                (hash, sketch(&Source::from_text(""), path))
            } else {
                // If it changed a moment ago, the next question sees another hash.
                (content_hash(&bytes), sketch(&Source::decode(&bytes), path))
            }
        }
    };
    Some(Arc::new(Sketched::new(Arc::clone(path), hash, sketch)))
}

#[cfg(test)]
impl Map {
    /// Take in texts; `None` is a file that is gone.
    pub(crate) fn edit(&mut self, files: &[(&str, Option<&str>)]) -> usize {
        let mut fresh = Vec::new();
        let mut gone = Vec::new();
        for (path, text) in files {
            let path: Arc<str> = (*path).into();
            match text {
                Some(text) => {
                    let hash = content_hash(text.as_bytes());
                    let sketch = sketch(&Source::from_text(text), &path);
                    fresh.push(Arc::new(Sketched::new(path, hash, sketch)));
                }
                None => gone.push(path),
            }
        }
        let update = self.update(fresh, &gone, &CancellationToken::new());
        update.expect("nobody stops it")
    }
}
