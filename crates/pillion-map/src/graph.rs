//! The graph of a workspace: all nodes, and who uses whom.
//!
//! It is put together from the links of the files; after an edit, most of it is taken over
//! (`graph_update`). Questions walk it by dense numbers.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use pillion_index::facts::name_hash;
use pillion_index::language::Language;

use super::edge_lists::Lists;
use super::folders::Layers;
use super::keys::ByKey;
use super::link::{Links, Way};
use super::relations::Relations;
use super::sketch::MODULE;
use super::world::{LocalNode, NodeId, NodeKind, Sketched, own_name};

/// How many methods of a name there may be for a call of something unknown to be drawn.
pub(super) const MAX_GUESSES: usize = 5;

/// One end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The other end.
    pub node: NodeId,
    pub way: Way,
    /// Resolved, or only possible.
    pub is_sure: bool,
    /// The first line of the use, in the file of the one who uses.
    pub line: u32,
}

/// A file of the graph.
#[derive(Debug)]
pub struct GraphFile {
    pub(crate) sketched: Arc<Sketched>,
    pub(crate) links: Arc<Links>,
    /// The first of its nodes; they are one after the other.
    pub(crate) first: NodeId,
}

impl GraphFile {
    /// Its path, relative to the root.
    pub fn path(&self) -> &str {
        &self.sketched.path
    }
}

/// All nodes of a workspace, and who uses whom.
#[derive(Debug, Default)]
pub struct Graph {
    /// The language of its files.
    pub language: Language,
    /// Sorted by path.
    pub files: Vec<GraphFile>,
    /// The file of each node.
    pub(super) file_of: Vec<u32>,
    pub(super) out: Lists<Edge>,
    pub(super) into: Lists<Edge>,
    /// What a method overrides, and what overrides it.
    pub(super) above: Lists<NodeId>,
    pub(super) below: Lists<NodeId>,
    pub(super) importers: Lists<u32>,
    /// How many calls there are, and how many of them are resolved.
    pub calls: usize,
    /// How many of the calls are resolved.
    pub sure_calls: usize,
    /// Nodes by the hash of their own names; made when it is first asked for.
    pub(super) by_name: OnceLock<Vec<(u32, NodeId)>>,
    /// Without tests, and with them.
    pub(super) layers: [OnceLock<Layers>; 2],
    pub(super) alive: OnceLock<Vec<bool>>,
    pub(super) relations: OnceLock<Relations>,
}

impl Graph {
    /// The graph of files of a language.
    pub(crate) fn of_language(language: Language, files: Vec<(Arc<Sketched>, Arc<Links>)>) -> Self {
        Self {
            language,
            ..Self::of(files)
        }
    }

    /// The graph of files, sorted by path, with their links.
    pub(crate) fn of(files: Vec<(Arc<Sketched>, Arc<Links>)>) -> Self {
        let mut graph = Self::default();
        let total: usize = files.iter().map(|(file, _)| file.nodes.len()).sum();
        let mut ids: ByKey<NodeId> = ByKey::with_capacity_and_hasher(total, Default::default());
        let mut modules: ByKey<u32> = ByKey::default();
        let mut methods: HashMap<&str, Vec<NodeId>> = HashMap::new();
        let mut count: NodeId = 0;
        for (at, (sketched, _)) in (0..).zip(&files) {
            modules.insert(sketched.key(MODULE), at);
            for node in &sketched.nodes {
                ids.insert(node.key, count);
                if node.kind == NodeKind::Method {
                    methods.entry(own_name(&node.name)).or_default().push(count);
                }
                graph.file_of.push(at);
                count += 1;
            }
        }
        let mut edges: Vec<(NodeId, Edge)> = Vec::new();
        let mut overrides: Vec<(NodeId, NodeId)> = Vec::new();
        let mut imports: Vec<(u32, u32)> = Vec::new();
        let mut first = 0;
        for (at, (sketched, links)) in (0..).zip(&files) {
            for link in &links.links {
                if let Some(to) = ids.get(&link.to) {
                    let edge = Edge {
                        node: *to,
                        way: link.way,
                        is_sure: link.is_sure,
                        line: link.line,
                    };
                    edges.push((first + link.from, edge));
                }
            }
            for guess in &links.guesses {
                let candidates = methods.get(sketched.sketch.names.get(guess.name));
                for to in candidates.into_iter().flatten() {
                    if candidates.is_some_and(|all| all.len() > MAX_GUESSES) {
                        break;
                    }
                    // What is known from another call needs no guess.
                    if links.calls(guess.from, |key| ids.get(key) == Some(to)) {
                        continue;
                    }
                    let edge = Edge {
                        node: *to,
                        way: Way::Call,
                        is_sure: false,
                        line: guess.line,
                    };
                    edges.push((first + guess.from, edge));
                }
            }
            let above = links.overrides.iter();
            overrides.extend(above.filter_map(|(from, to)| Some((*ids.get(from)?, *ids.get(to)?))));
            let imported = links.imports.iter().filter_map(|key| modules.get(key));
            imports.extend(imported.map(|to| (at, *to)));
            first += u32::try_from(sketched.nodes.len()).unwrap_or(0);
        }
        overrides.sort_unstable();
        overrides.dedup();
        let nodes = graph.file_of.len();
        let flip = |(a, b): &(u32, u32)| (*b, *a);
        let back = edges.iter().map(|(from, edge)| {
            let node = *from;
            (edge.node, Edge { node, ..*edge })
        });
        let back: Vec<_> = back.collect();
        (graph.into, graph.out) =
            rayon::join(|| Lists::of(nodes, &back), || Lists::of(nodes, &edges));
        graph.below = Lists::of(nodes, &overrides.iter().map(flip).collect::<Vec<_>>());
        graph.above = Lists::of(nodes, &overrides);
        let imported: Vec<_> = imports.iter().map(flip).collect();
        graph.importers = Lists::of(files.len(), &imported);
        drop(methods);
        graph.count_calls();
        let mut first = 0;
        for (sketched, links) in files {
            let nodes = u32::try_from(sketched.nodes.len()).unwrap_or(0);
            graph.files.push(GraphFile {
                sketched,
                links,
                first,
            });
            first += nodes;
        }
        graph
    }

    pub(super) fn count_calls(&mut self) {
        let calls = self.out.all().iter().filter(|edge| edge.way == Way::Call);
        self.calls = calls.clone().count();
        self.sure_calls = calls.filter(|edge| edge.is_sure).count();
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.file_of.len()
    }

    /// Whether it has no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All nodes, by file and by where they are defined.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        0..u32::try_from(self.file_of.len()).unwrap_or(u32::MAX)
    }

    /// The nodes of a file; the first is the module itself.
    pub fn nodes_of(&self, file: u32) -> std::ops::Range<NodeId> {
        self.files.get(file as usize).map_or(0..0, |file| {
            let count = u32::try_from(file.sketched.nodes.len()).unwrap_or(0);
            file.first..file.first + count
        })
    }

    /// The line that a node's name stands on.
    pub fn line(&self, node: NodeId) -> u32 {
        let file = self.file(node);
        let scope = file.zip(self.node(node));
        let scope = scope.and_then(|(file, node)| file.sketched.sketch.scope(node.scope));
        scope.map_or(1, |scope| scope.line)
    }

    /// The lines of further definitions of a node: overloads, setters.
    pub fn again(&self, node: NodeId) -> impl Iterator<Item = u32> + use<'_> {
        let place = self.file(node).zip(self.node(node));
        place.into_iter().flat_map(|(file, local)| {
            let sketched = &file.sketched;
            let scopes = sketched.sketch.scopes.iter().zip(&sketched.keys);
            let same = scopes.filter(move |(scope, key)| {
                **key == local.key && scope.kind != super::sketch::ScopeKind::Inner
            });
            same.skip(1).map(|(scope, _)| scope.line)
        })
    }

    /// The file that a node is in.
    pub fn file(&self, node: NodeId) -> Option<&GraphFile> {
        let file = self.file_of.get(node as usize)?;
        self.files.get(*file as usize)
    }

    /// The place of a node's file among all.
    pub(crate) fn file_index(&self, node: NodeId) -> u32 {
        self.file_of.get(node as usize).copied().unwrap_or_default()
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&LocalNode> {
        let file = self.file(id)?;
        file.sketched.nodes.get((id - file.first) as usize)
    }

    /// The path of the file that a node is in.
    pub fn path(&self, node: NodeId) -> &str {
        self.file(node).map_or("", |file| &file.sketched.path)
    }

    /// The name of a node, such as `Class.method`.
    pub fn name(&self, node: NodeId) -> &str {
        self.node(node).map_or("", |node| &node.name)
    }

    /// What a node is.
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.node(node).map_or(NodeKind::Module, |node| node.kind)
    }

    /// The place of a file among all, by its path.
    pub fn file_at(&self, path: &str) -> Option<u32> {
        let found = self
            .files
            .binary_search_by(|file| (*file.sketched.path).cmp(path));
        found.ok().and_then(|at| u32::try_from(at).ok())
    }

    /// Nodes whose own name may be this one.
    pub fn named(&self, name: &str) -> impl Iterator<Item = NodeId> + use<'_> {
        self.named_by(name_hash(name))
    }

    /// Nodes whose own name has this [`name_hash`].
    pub(crate) fn named_by(&self, hash: u32) -> impl Iterator<Item = NodeId> + use<'_> {
        let by_name = self.by_name.get_or_init(|| {
            let own = |id| self.node(id).map(|node| (node.own, id));
            let mut all: Vec<(u32, NodeId)> = self.nodes().filter_map(own).collect();
            all.sort_unstable();
            all
        });
        let start = by_name.partition_point(|(own, _)| *own < hash);
        let found = by_name[start..]
            .iter()
            .take_while(move |(own, _)| *own == hash);
        found.map(|(_, node)| *node)
    }

    /// What a node uses.
    pub fn out(&self, node: NodeId) -> &[Edge] {
        self.out.get(node)
    }

    /// Who uses a node.
    pub fn into(&self, node: NodeId) -> &[Edge] {
        self.into.get(node)
    }

    /// What a method overrides.
    pub(crate) fn above(&self, node: NodeId) -> &[NodeId] {
        self.above.get(node)
    }

    /// What overrides a method.
    pub fn below(&self, node: NodeId) -> &[NodeId] {
        self.below.get(node)
    }

    /// The files that import a file.
    pub(crate) fn importers(&self, file: u32) -> &[u32] {
        self.importers.get(file)
    }

    /// Everything in it, one line each: two graphs are the same if these are.
    #[cfg(test)]
    pub(crate) fn dump(&self) -> String {
        let mut lines = vec![format!("calls {} {}", self.calls, self.sure_calls)];
        let label = |node: NodeId| format!("{}:{}", self.path(node), self.name(node));
        for node in self.nodes() {
            lines.push(format!("node {} {:?}", label(node), self.kind(node)));
            for edge in self.out(node) {
                let (way, sure) = (edge.way, if edge.is_sure { "" } else { "?" });
                let (from, to) = (label(node), label(edge.node));
                lines.push(format!("{way:?}{sure} {from} -> {to} @{}", edge.line));
            }
            for edge in self.into(node) {
                lines.push(format!("into {} {edge:?}", label(node)));
            }
            let own = own_name(self.name(node));
            let place = self.named(own).position(|other| other == node);
            lines.push(format!("named {} {place:?}", label(node)));
            for below in self.below(node) {
                lines.push(format!("overridden {} by {}", label(node), label(*below)));
            }
            for above in self.above(node) {
                lines.push(format!("override {} -> {}", label(node), label(*above)));
            }
        }
        for (at, file) in (0..).zip(&self.files) {
            for from in self.importers(at) {
                let from = &self.files[*from as usize].sketched.path;
                lines.push(format!("import {from} -> {}", file.sketched.path));
            }
            let links = &file.links;
            let rest = (&links.lost, &links.bases, &links.open, &links.hooked);
            lines.push(format!("links {} {rest:?}", file.sketched.path));
        }
        lines.sort();
        lines.join("\n")
    }
}
