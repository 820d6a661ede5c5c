//! What types tell about what is taken from variables, laid over the graph.
//!
//! The graph follows from the code's own words. Where those do not say what a receiver is, an
//! engine may know: its answers are kept here, beside the graph, for one question to the map.

use std::collections::{HashMap, HashSet};

use pillion_index::facts::name_hash;
use pillion_index::source::Position;

use super::graph::{Edge, Graph, GraphFile};
use super::link::Way;
use super::sketch::{Expr, Nature, ScopeKind, Site};
use super::world::{NodeId, NodeKind};

/// A place about which types may tell more than the code's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSite {
    /// The place of its file among all.
    pub file: u32,
    /// The place in it.
    pub at: Position,
    /// The node whose code it is.
    from: NodeId,
    /// [`name_hash`] of the name that is taken.
    pub own: u32,
    is_call: bool,
}

/// What types may tell more about.
#[derive(Debug, Default)]
pub struct Open {
    /// Sorted by file and place.
    pub sites: Vec<OpenSite>,
    /// Nodes that also take a name, by its [`name_hash`], in a way that only the code's own
    /// words are followed for: that the others mean something else says nothing about those.
    pub doubts: Vec<(NodeId, u32)>,
}

/// What is meant at a place, as an engine says.
#[derive(Debug, Default)]
pub struct Meaning {
    /// The nodes that are meant.
    pub nodes: Vec<NodeId>,
    /// Whether it can also be something that is no node.
    pub has_others: bool,
}

/// What a node can mean by a name that it takes from something.
#[derive(Debug, Default)]
struct Meant {
    /// Whether there is a place about which nobody knows anything.
    is_doubtful: bool,
    nodes: Vec<NodeId>,
}

/// What types tell.
#[derive(Debug, Default)]
pub struct Types {
    meant: HashMap<(NodeId, u32), Meant>,
    out: HashMap<NodeId, Vec<Edge>>,
    into: HashMap<NodeId, Vec<Edge>>,
}

impl Types {
    /// Take in what is meant at a place; nothing if nobody knows.
    pub fn learn(&mut self, graph: &Graph, site: &OpenSite, meaning: Option<&Meaning>) {
        let meant = self.meant.entry((site.from, site.own)).or_default();
        let Some(Meaning { nodes, has_others }) = meaning else {
            meant.is_doubtful = true;
            return;
        };
        meant.nodes.extend(nodes);
        for node in nodes {
            let is_call = site.is_call || graph.nature(*node) == Some(Nature::Property);
            let edge = Edge {
                node: *node,
                way: if is_call { Way::Call } else { Way::Reference },
                // Of several that it may be, none is sure.
                is_sure: nodes.len() == 1 && !has_others,
                line: site.at.line + 1,
            };
            self.out.entry(site.from).or_default().push(edge);
            let node = site.from;
            let back = self.into.entry(edge.node).or_default();
            back.push(Edge { node, ..edge });
        }
    }

    /// Take in that a node may mean more by a name than types tell.
    pub fn doubt(&mut self, place: (NodeId, u32)) {
        self.meant.entry(place).or_default().is_doubtful = true;
    }

    /// Whether types say that one node does not use another, although its name fits.
    pub(crate) fn rules_out(&self, graph: &Graph, from: NodeId, to: NodeId) -> bool {
        if self.meant.is_empty() {
            return false;
        }
        let own = graph.node(to).map_or(0, |node| node.own);
        let meant = self.meant.get(&(from, own));
        meant.is_some_and(|meant| !meant.is_doubtful && !meant.nodes.contains(&to))
    }

    /// Whether types say everything that a node means by a name.
    pub(crate) fn settles(&self, from: NodeId, own: u32) -> bool {
        let meant = self.meant.get(&(from, own));
        meant.is_some_and(|meant| !meant.is_doubtful)
    }

    /// What types say that a node uses.
    pub fn out(&self, node: NodeId) -> &[Edge] {
        self.out.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Who uses a node, as types say.
    pub fn into(&self, node: NodeId) -> &[Edge] {
        self.into.get(&node).map_or(&[], Vec::as_slice)
    }
}

impl Graph {
    fn nature(&self, node: NodeId) -> Option<Nature> {
        let scope = self.node(node)?.scope;
        let scope = self.file(node)?.sketched.sketch.scope(scope);
        scope.map(|scope| scope.nature)
    }

    /// The calls of a node, with what types say about them: each callee once, the surest way.
    pub fn calls_of(&self, node: NodeId, types: &Types) -> Vec<Edge> {
        let is_open = |edge: &&Edge| edge.is_sure || !types.rules_out(self, node, edge.node);
        let own = self.out(node).iter().filter(is_open);
        let both = own.chain(types.out(node)).copied();
        let mut all: Vec<Edge> = both.filter(|edge| edge.way == Way::Call).collect();
        if !types.out(node).is_empty() {
            all.sort_by_key(|edge| (edge.node, !edge.is_sure, edge.line));
            all.dedup_by_key(|edge| edge.node);
        }
        all
    }

    /// The names of the methods among some nodes that types can tell something about.
    pub fn method_names(&self, nodes: &[NodeId]) -> HashSet<u32> {
        let methods = nodes.iter().filter_map(|id| self.node(*id).zip(Some(*id)));
        methods
            .filter(|(node, id)| node.kind == NodeKind::Method && !self.is_test(*id))
            .map(|(node, _)| node.own)
            .collect()
    }

    /// The places where one of some names is taken from something unclear, sorted.
    pub fn open_sites(&self, names: &HashSet<u32>) -> Open {
        let mut doubted: HashSet<u32> = HashSet::new();
        for node in names.iter().flat_map(|own| self.named_by(*own)) {
            let doubts = self.into(node).iter().filter(|edge| !edge.is_sure);
            doubted.extend(doubts.map(|edge| self.file_index(edge.node)));
        }
        let mut open = Open::default();
        for (at, file) in (0..).zip(&self.files) {
            if doubted.contains(&at) || is_loose(file, names) {
                self.sites_of(at, &|own| names.contains(&own), &mut open);
            }
        }
        open
    }

    /// The places of some files where a name that a method has is taken from something
    /// unclear, sorted.
    pub fn open_sites_in(&self, is_meant: impl Fn(&str) -> bool) -> Open {
        let is_method = |own: u32| {
            let mut named = self.named_by(own);
            named.any(|node| self.kind(node) == NodeKind::Method)
        };
        let mut open = Open::default();
        for (at, file) in (0..).zip(&self.files) {
            if is_meant(&file.sketched.path) {
                self.sites_of(at, &is_method, &mut open);
            }
        }
        open
    }

    fn sites_of(&self, at: u32, is_wanted: &dyn Fn(u32) -> bool, open: &mut Open) {
        let Some(file) = self.files.get(at as usize) else {
            return;
        };
        let sketch = &file.sketched.sketch;
        let before = open.sites.len();
        for site in &sketch.sites {
            let own = name_hash(sketch.names.get(site.name));
            let from = file.first + file.sketched.node(site.scope);
            if is_wanted(own) && !self.explains(from, own, site, &sketch.sites) {
                open.sites.push(OpenSite {
                    file: at,
                    at: site.at,
                    from,
                    own,
                    is_call: site.is_call,
                });
            }
        }
        if open.sites.len() > before {
            note_doubts(file, is_wanted, open);
        }
    }

    /// Whether a resolved edge is about this very place.
    pub(super) fn explains(&self, from: NodeId, own: u32, site: &Site, all: &[Site]) -> bool {
        let line = site.at.line;
        let mut sure = self.out(from).iter().filter(|edge| edge.is_sure);
        let is_known = sure.any(|edge| {
            let is_named = self.node(edge.node).is_some_and(|node| node.own == own);
            is_named && edge.line == line + 1
        });
        if !is_known {
            return false;
        }
        // Of two on one line, it may be about the other.
        let start = all.partition_point(|other| other.at.line < line);
        let beside = all[start..]
            .iter()
            .take_while(|other| other.at.line == line);
        beside.filter(|other| other.name == site.name).count() == 1
    }

    /// The definition whose name stands on a line.
    pub fn at_line(&self, path: &str, line: u32) -> Option<NodeId> {
        let file = self.files.get(self.file_at(path)? as usize)?;
        let scopes = (0..).zip(&file.sketched.sketch.scopes);
        let mut here = scopes.filter(|(id, scope)| {
            let is_defined = matches!(scope.kind, ScopeKind::Class | ScopeKind::Function);
            *id != 0 && is_defined && scope.line == line
        });
        let (id, _) = here.next()?;
        Some(file.first + file.sketched.node(id))
    }

    /// The definition whose name stands at a place.
    pub fn defined_at(&self, path: &str, line: u32, site: &OpenSite) -> Option<NodeId> {
        let file = self.files.get(self.file_at(path)? as usize)?;
        let scopes = (0..).zip(&file.sketched.sketch.scopes);
        let mut here = scopes.filter(|(_, scope)| scope.line == line);
        here.find_map(|(id, _)| {
            let local = file.sketched.node(id);
            let node = file.sketched.nodes.get(local as usize)?;
            (node.own == site.own).then_some(file.first + local)
        })
    }
}

/// Whether one of some names is taken from something unclear anywhere in a file.
fn is_loose(file: &GraphFile, names: &HashSet<u32>) -> bool {
    let lists = [&file.sketched.sketch.loose, &file.links.loose];
    lists
        .into_iter()
        .any(|list| match names.len() < list.len() / 8 {
            true => names.iter().any(|name| list.binary_search(name).is_ok()),
            false => list.iter().any(|name| names.contains(name)),
        })
}

/// Note what a file takes from what its own words tell.
fn note_doubts(file: &GraphFile, is_wanted: &dyn Fn(u32) -> bool, open: &mut Open) {
    let sketch = &file.sketched.sketch;
    for used in &sketch.uses {
        let mut expr = used.expr;
        while let Expr::Attribute(receiver, name) = sketch.expr(expr) {
            let own = name_hash(sketch.names.get(name));
            if is_wanted(own) && !sketch.is_unclear(used.scope, receiver) {
                let from = file.first + file.sketched.node(used.scope);
                open.doubts.push((from, own));
            }
            expr = receiver;
        }
    }
}
