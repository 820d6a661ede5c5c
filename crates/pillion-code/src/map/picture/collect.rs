//! As much of the graph as can be read at a glance.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::{Edge, Node, Picture};
use crate::map::{Graph, NodeId, NodeKind};

/// What a picture shows.
#[derive(Debug)]
pub(crate) enum Wanted<'a> {
    /// Packages, or modules if there are few, and who uses whom.
    Packages,
    /// The functions that most calls lead to and from.
    Calls,
    /// What is called by some functions, and what calls them.
    Around(&'a [NodeId]),
    /// Who is affected if some functions change.
    Impact(&'a [NodeId]),
}

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Boxes.
    pub(crate) nodes: usize,
    /// Steps from what was asked about.
    pub(crate) depth: usize,
    /// Whether tests are shown.
    pub(crate) tests: bool,
}

impl Graph {
    /// A picture of a part of it.
    pub(crate) fn picture(&self, wanted: &Wanted<'_>, bounds: Bounds) -> Picture {
        match wanted {
            Wanted::Packages => self.packages(bounds),
            Wanted::Calls => self.busiest(bounds),
            Wanted::Around(targets) => self.walk(targets, bounds, |node| {
                let out = self.out(node).iter().map(|edge| edge.node);
                let into = self.into(node).iter().map(|edge| edge.node);
                out.chain(into).collect()
            }),
            Wanted::Impact(targets) => self.walk(targets, bounds, |node| {
                let users = self.users(node).into_iter();
                users.map(|user| user.node).collect()
            }),
        }
    }

    /// Whether a node is not in a file of tests, or those are wanted.
    fn shows(&self, node: NodeId, bounds: Bounds) -> bool {
        bounds.tests || !self.is_test_file(self.file_index(node))
    }

    /// Files in groups: as fine as there is room for.
    fn packages(&self, bounds: Bounds) -> Picture {
        let shown = |node: NodeId| self.shows(node, bounds);
        let mut paths: Vec<&str> = Vec::new();
        for node in self.nodes().filter(|node| shown(*node)) {
            if paths.last() != Some(&self.path(node)) {
                paths.push(self.path(node));
            }
        }
        let deepest = paths.iter().map(|path| path.matches('/').count()).max();
        let mut levels = (0..=deepest.unwrap_or(0) + 1).rev();
        let fits = |level: &usize| {
            let groups: HashSet<&str> = paths.iter().map(|path| group(path, *level)).collect();
            groups.len() <= bounds.nodes
        };
        let level = levels.find(fits).unwrap_or(0);
        let mut functions: BTreeMap<&str, usize> = BTreeMap::new();
        let mut weights: BTreeMap<(&str, &str), (usize, bool)> = BTreeMap::new();
        for node in self.nodes().filter(|node| shown(*node)) {
            let from = group(self.path(node), level);
            let count = functions.entry(from).or_default();
            let kind = self.kind(node);
            *count += usize::from(matches!(kind, NodeKind::Function | NodeKind::Method));
            for edge in self.out(node) {
                let path = self.path(edge.node);
                let to = group(path, level);
                if to != from && shown(edge.node) {
                    let (weight, is_sure) = weights.entry((from, to)).or_default();
                    *weight += 1;
                    *is_sure |= edge.is_sure;
                }
            }
        }
        let places: BTreeMap<&str, usize> = functions.keys().copied().zip(0..).collect();
        let nodes = functions.iter().map(|(name, count)| Node {
            label: dotted(name),
            note: format!("{count} functions"),
            is_target: false,
        });
        let edges = weights.iter().map(|((from, to), (weight, is_sure))| Edge {
            from: places[from],
            to: places[to],
            weight: *weight,
            is_sure: *is_sure,
        });
        Picture {
            title: "Packages: who uses whom".into(),
            nodes: nodes.collect(),
            edges: edges.collect(),
            left_out: 0,
        }
    }

    /// The functions with the most resolved calls.
    fn busiest(&self, bounds: Bounds) -> Picture {
        let is_function = |node: &NodeId| {
            matches!(self.kind(*node), NodeKind::Function | NodeKind::Method)
                && self.shows(*node, bounds)
        };
        let mut all: Vec<NodeId> = self.nodes().filter(is_function).collect();
        let calls = |node: &NodeId| {
            let sure =
                |edges: &[crate::map::graph::Edge]| edges.iter().filter(|e| e.is_sure).count();
            sure(self.into(*node)) + sure(self.out(*node))
        };
        all.sort_by_cached_key(|node| std::cmp::Reverse(calls(node)));
        let left_out = all.len().saturating_sub(bounds.nodes);
        all.truncate(bounds.nodes);
        self.between("The busiest functions", &all, &[], left_out)
    }

    /// What can be reached from some nodes, the nearest first.
    fn walk(
        &self,
        targets: &[NodeId],
        bounds: Bounds,
        next: impl Fn(NodeId) -> Vec<NodeId>,
    ) -> Picture {
        let mut seen: HashSet<NodeId> = targets.iter().copied().collect();
        let mut all: Vec<NodeId> = Vec::new();
        let mut open: VecDeque<(NodeId, usize)> = targets.iter().map(|node| (*node, 0)).collect();
        let mut left_out = 0;
        while let Some((node, depth)) = open.pop_front() {
            if all.len() == bounds.nodes {
                left_out += 1;
                continue;
            }
            all.push(node);
            if depth == bounds.depth {
                continue;
            }
            for other in next(node) {
                if self.shows(other, bounds) && seen.insert(other) {
                    open.push_back((other, depth + 1));
                }
            }
        }
        let names: Vec<&str> = targets.iter().map(|node| self.name(*node)).collect();
        self.between(
            &format!("Around {}", names.join(", ")),
            &all,
            targets,
            left_out,
        )
    }

    /// Some nodes, with all edges between them.
    fn between(
        &self,
        title: &str,
        nodes: &[NodeId],
        targets: &[NodeId],
        left_out: usize,
    ) -> Picture {
        let places: HashMap<NodeId, usize> = nodes.iter().copied().zip(0..).collect();
        let mut weights: BTreeMap<(usize, usize), (usize, bool)> = BTreeMap::new();
        for node in nodes {
            for edge in self.out(*node) {
                let ends = places.get(node).zip(places.get(&edge.node));
                if let Some((from, to)) = ends.filter(|(from, to)| from != to) {
                    let (weight, is_sure) = weights.entry((*from, *to)).or_default();
                    *weight += 1;
                    *is_sure |= edge.is_sure;
                }
            }
        }
        let shown = nodes.iter().map(|node| Node {
            label: self.name(*node).to_owned(),
            note: format!("{}:{}", self.path(*node), self.line(*node)),
            is_target: targets.contains(node),
        });
        let edges = weights
            .into_iter()
            .map(|((from, to), (weight, is_sure))| Edge {
                from,
                to,
                weight,
                is_sure,
            });
        Picture {
            title: title.to_owned(),
            nodes: shown.collect(),
            edges: edges.collect(),
            left_out,
        }
    }
}

/// The first parts of a path: so many folders, and then all of it.
fn group(path: &str, level: usize) -> &str {
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let folders = path.matches('/').count();
    match level.checked_sub(1) {
        None => "",
        Some(_) if level > folders => path,
        Some(at) => slashes.nth(at).map_or(path, |end| &path[..end]),
    }
}

/// A group as people name it.
fn dotted(group: &str) -> String {
    match group {
        "" => "(all)".into(),
        file if file.contains('.') => file.to_owned(),
        folder => folder.replace('/', "."),
    }
}
