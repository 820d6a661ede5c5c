//! The graph after an edit: what has nothing to do with the files that were linked anew is
//! taken over, with other numbers for its nodes.
//!
//! It is the same graph as one that is put together from nothing. Where that would take more
//! than moving numbers (files came or went, methods did that others may mean, definitions
//! changed places) it is put together from nothing instead.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use super::edge_lists::Lists;
use super::graph::{Edge, Graph, GraphFile, MAX_GUESSES};
use super::keys::{ByKey, Key};
use super::link::{Links, Way};
use super::sketch::MODULE;
use super::world::{NodeId, NodeKind, Sketched, own_name};

/// A node that is no more.
const GONE: NodeId = NodeId::MAX;
/// Keys that are kept although they lead nowhere; with more, the graph is made anew.
const MAX_LOST: usize = 4_096;

/// Files with their links, sorted by path.
pub(super) type Linked = Vec<(Arc<Sketched>, Arc<Links>)>;

/// Where the nodes of a graph are, for the next one.
#[derive(Debug, Clone, Default)]
pub(super) struct NodePlaces {
    /// The file of each node, and its place in it.
    ids: ByKey<(u32, u32)>,
    /// What files use, and is not there: should it come, they have to be looked at.
    lost: HashSet<Key>,
}

impl NodePlaces {
    /// The places of the nodes of files.
    pub(super) fn of(files: &Linked) -> Self {
        let total = files.iter().map(|(file, _)| file.nodes.len()).sum();
        let mut places = Self {
            ids: ByKey::with_capacity_and_hasher(total, Default::default()),
            lost: HashSet::new(),
        };
        for (at, (file, _)) in (0..).zip(files) {
            places.add(at, file);
        }
        for (_, links) in files {
            places.note_lost(links);
        }
        places
    }

    fn add(&mut self, at: u32, file: &Sketched) {
        for (local, node) in (0..).zip(&file.nodes) {
            self.ids.insert(node.key, (at, local));
        }
    }

    fn note_lost(&mut self, links: &Links) {
        let used = links.links.iter().map(|link| link.to);
        let overrides = links.overrides.iter().flat_map(|(a, b)| [*a, *b]);
        for key in used.chain(overrides) {
            if !self.ids.contains_key(&key) {
                self.lost.insert(key);
            }
        }
    }

    /// The graph after some files, by their places, were linked anew; nothing if it has to be
    /// put together from nothing.
    pub(super) fn follow(&mut self, old: &Graph, new: &Linked, linked: &[u32]) -> Option<Graph> {
        if old.files.len() != new.len() || self.lost.len() > MAX_LOST {
            return None;
        }
        let mut moved: HashSet<&str> = HashSet::new();
        for at in linked {
            let before = old.files.get(*at as usize)?;
            let (sketched, links) = new.get(*at as usize)?;
            let is_same =
                before.sketched.path == sketched.path && before.links.overrides == links.overrides;
            if !is_same
                || sketched
                    .nodes
                    .iter()
                    .any(|node| self.lost.contains(&node.key))
            {
                return None;
            }
            let (then, now) = (methods(&before.sketched), methods(sketched));
            let differ = then.symmetric_difference(&now);
            moved.extend(differ.map(|(_, name)| *name));
        }
        if is_guessed(new, &moved) {
            return None;
        }
        let moves = Moves::of(old, new, linked)?;
        for at in linked {
            let before = old.files.get(*at as usize)?;
            let (sketched, _) = new.get(*at as usize)?;
            if Arc::ptr_eq(&before.sketched, sketched) {
                continue;
            }
            for node in &before.sketched.nodes {
                self.ids.remove(&node.key);
            }
            self.add(*at, sketched);
            // Others may still name what is gone.
            let gone = before.sketched.nodes.iter().map(|node| node.key);
            self.lost
                .extend(gone.filter(|key| !self.ids.contains_key(key)));
        }
        for at in linked {
            self.note_lost(&new.get(*at as usize)?.1);
        }
        Some(moves.graph(old, new, &self.ids))
    }
}

/// The methods of a file, with their own names.
fn methods(file: &Sketched) -> HashSet<(Key, &str)> {
    let nodes = file.nodes.iter();
    let methods = nodes.filter(|node| node.kind == NodeKind::Method);
    methods
        .map(|node| (node.key, own_name(&node.name)))
        .collect()
}

/// Whether one of some names is called on something unknown: then it matters to others how
/// many methods have it.
fn is_guessed(files: &Linked, names: &HashSet<&str>) -> bool {
    let is_named = |(file, links): &(Arc<Sketched>, Arc<Links>)| {
        let mut guesses = links.guesses.iter();
        guesses.any(|guess| names.contains(file.sketch.names.get(guess.name)))
    };
    !names.is_empty() && files.iter().any(is_named)
}

/// From the nodes of one graph to those of the next.
struct Moves {
    /// Whether a file was linked anew.
    is_linked: Vec<bool>,
    /// The first node of each file.
    firsts: Vec<NodeId>,
    /// The new number of each old node.
    new_of: Vec<NodeId>,
    /// The old number of each new node.
    old_of: Vec<NodeId>,
}

impl Moves {
    /// Nothing if definitions that stay changed their order.
    fn of(old: &Graph, new: &Linked, linked: &[u32]) -> Option<Self> {
        let mut is_linked = vec![false; new.len()];
        for at in linked {
            *is_linked.get_mut(*at as usize)? = true;
        }
        let count: usize = new.iter().map(|(file, _)| file.nodes.len()).sum();
        let mut moves = Self {
            is_linked,
            firsts: Vec::with_capacity(new.len()),
            new_of: vec![GONE; old.file_of.len()],
            old_of: vec![GONE; count],
        };
        let mut first: NodeId = 0;
        for (file, (sketched, _)) in old.files.iter().zip(new) {
            moves.firsts.push(first);
            let mut next = 0;
            for (local, node) in (0..).zip(&file.sketched.nodes) {
                let found = match Arc::ptr_eq(&file.sketched, sketched) {
                    true => Some(local),
                    false => place_of(sketched, node.key, next)?,
                };
                if let Some(place) = found {
                    next = place + 1;
                    moves.new_of[(file.first + local) as usize] = first + place;
                    moves.old_of[(first + place) as usize] = file.first + local;
                }
            }
            first += u32::try_from(sketched.nodes.len()).ok()?;
        }
        Some(moves)
    }

    fn new_id(&self, old: NodeId) -> Option<NodeId> {
        let new = self.new_of.get(old as usize).copied();
        new.filter(|node| *node != GONE)
    }

    fn graph(&self, old: &Graph, new: &Linked, ids: &ByKey<(u32, u32)>) -> Graph {
        let fresh = self.fresh(old, new, ids);
        let mut graph = Graph {
            language: old.language,
            ..Graph::default()
        };
        for (at, (sketched, links)) in new.iter().enumerate() {
            graph.files.push(GraphFile {
                sketched: Arc::clone(sketched),
                links: Arc::clone(links),
                first: self.firsts[at],
            });
            let file = u32::try_from(at).unwrap_or(u32::MAX);
            let nodes = sketched.nodes.len();
            graph.file_of.extend(std::iter::repeat_n(file, nodes));
        }
        let back = |(from, edge): &(NodeId, Edge)| {
            (
                edge.node,
                Edge {
                    node: *from,
                    ..*edge
                },
            )
        };
        let mut into: Vec<(NodeId, Edge)> = fresh.iter().map(back).collect();
        into.sort_unstable();
        // What leaves a file that was linked anew is all fresh; what comes into it is not.
        let is_linked = |file: u32| self.is_linked[file as usize];
        (graph.out, graph.into) = rayon::join(
            || {
                let keeps = |from: NodeId, _: &Edge| !is_linked(graph.file_of[from as usize]);
                self.edges(&old.out, &fresh, keeps)
            },
            || {
                let keeps = |_, edge: &Edge| !is_linked(old.file_index(edge.node));
                self.edges(&old.into, &into, keeps)
            },
        );
        graph.above = self.nodes(&old.above);
        graph.below = self.nodes(&old.below);
        graph.importers = importers(new);
        graph.by_name = self.by_name(old, &graph);
        graph.count_calls();
        graph
    }

    /// The edges of the files that were linked anew, sorted.
    fn fresh(&self, old: &Graph, new: &Linked, ids: &ByKey<(u32, u32)>) -> Vec<(NodeId, Edge)> {
        let mut edges = Vec::new();
        let id_of = |key: &Key| {
            let (file, local) = ids.get(key)?;
            Some(self.firsts.get(*file as usize)? + local)
        };
        for (at, (sketched, links)) in new.iter().enumerate().filter(|(at, _)| self.is_linked[*at])
        {
            let first = self.firsts[at];
            for link in &links.links {
                let Some(node) = id_of(&link.to) else {
                    continue;
                };
                let edge = Edge {
                    node,
                    way: link.way,
                    is_sure: link.is_sure,
                    line: link.line,
                };
                edges.push((first + link.from, edge));
            }
            for guess in &links.guesses {
                let name = sketched.sketch.names.get(guess.name);
                // No method of this name came or went, so the old ones are all there are.
                let is_meant = |node: &NodeId| {
                    old.kind(*node) == NodeKind::Method && own_name(old.name(*node)) == name
                };
                let found: Vec<NodeId> = old.named(name).filter(is_meant).collect();
                if found.len() > MAX_GUESSES {
                    continue;
                }
                for node in found.into_iter().filter_map(|node| self.new_id(node)) {
                    if !links.calls(guess.from, |key| id_of(key) == Some(node)) {
                        let edge = Edge {
                            node,
                            way: Way::Call,
                            is_sure: false,
                            line: guess.line,
                        };
                        edges.push((first + guess.from, edge));
                    }
                }
            }
        }
        edges.sort_unstable();
        edges
    }

    /// Lists of edges: what is kept of the old ones, and fresh ones, sorted by list.
    fn edges(
        &self,
        old: &Lists<Edge>,
        fresh: &[(NodeId, Edge)],
        keeps: impl Fn(NodeId, &Edge) -> bool,
    ) -> Lists<Edge> {
        let mut lists = Lists::like(old);
        let mut fresh = fresh.iter().peekable();
        for (id, before) in (0..).zip(&self.old_of) {
            // Numbers keep their order, so what is kept is sorted still.
            for edge in old.get(*before).iter().filter(|edge| keeps(id, edge)) {
                if let Some(node) = self.new_id(edge.node) {
                    lists.push(Edge { node, ..*edge });
                }
            }
            let mut is_sorted = true;
            while let Some((_, edge)) = fresh.next_if(|(list, _)| *list == id) {
                lists.push(*edge);
                is_sorted = false;
            }
            lists.close(is_sorted);
        }
        lists
    }

    /// Lists of nodes, all of which are kept.
    fn nodes(&self, old: &Lists<NodeId>) -> Lists<NodeId> {
        let mut lists = Lists::like(old);
        for before in &self.old_of {
            let kept = old
                .get(*before)
                .iter()
                .filter_map(|node| self.new_id(*node));
            kept.for_each(|node| lists.push(node));
            lists.close(true);
        }
        lists
    }

    /// The nodes by name, if somebody asked for them before.
    fn by_name(&self, old: &Graph, new: &Graph) -> OnceLock<Vec<(u32, NodeId)>> {
        let Some(known) = old.by_name.get() else {
            return OnceLock::new();
        };
        let kept = known
            .iter()
            .filter_map(|(own, node)| Some((*own, self.new_id(*node)?)));
        let mut all: Vec<(u32, NodeId)> = kept.collect();
        let before = all.len();
        let come = (0..).zip(&self.old_of).filter(|(_, old)| **old == GONE);
        all.extend(come.filter_map(|(id, _)| Some((new.node(id)?.own, id))));
        if all.len() > before {
            all.sort();
        }
        OnceLock::from(all)
    }
}

/// Where a definition is in a file, not before `next`; `None` inside if it is gone, outside
/// if it stands before others that it stood behind.
fn place_of(file: &Sketched, key: Key, next: u32) -> Option<Option<u32>> {
    let behind = file.nodes.get(next as usize..)?.iter();
    let found = behind.zip(next..).find(|(node, _)| node.key == key);
    match found {
        Some((_, place)) => Some(Some(place)),
        None => {
            let is_before = file.nodes[..next as usize]
                .iter()
                .any(|node| node.key == key);
            (!is_before).then_some(None)
        }
    }
}

fn importers(files: &Linked) -> Lists<u32> {
    let modules: ByKey<u32> = (0..)
        .zip(files)
        .map(|(at, (file, _))| (file.key(MODULE), at))
        .collect();
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for (at, (_, links)) in (0..).zip(files) {
        let imported = links.imports.iter().filter_map(|key| modules.get(key));
        pairs.extend(imported.map(|to| (*to, at)));
    }
    Lists::of(files.len(), &pairs)
}
