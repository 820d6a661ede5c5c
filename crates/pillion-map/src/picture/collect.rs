//! As much of the graph as can be read at a glance.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::{Node, Picture, PictureEdge};
use crate::layers::is_among_tests;
use crate::link::Way;
use crate::{Graph, NodeId, NodeKind};

/// What a picture shows.
#[derive(Debug)]
pub enum PictureSubject {
    /// Packages, or modules if there are few, and who uses whom.
    Packages,
    /// The functions that most calls lead to and from.
    Calls,
    /// What is called by some functions, and what calls them.
    Around(Vec<NodeId>),
    /// Who is affected if some functions change.
    Impact(Vec<NodeId>),
}

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Boxes.
    pub nodes: usize,
    /// Steps from what was asked about.
    pub depth: usize,
    /// Whether tests are shown.
    pub tests: bool,
}

impl Graph {
    /// A picture of a part of it.
    pub fn picture(&self, wanted: &PictureSubject, bounds: Bounds) -> Picture {
        match wanted {
            PictureSubject::Packages => self.packages(bounds),
            PictureSubject::Calls => self.busiest(bounds),
            PictureSubject::Around(targets) => self.around(targets, bounds),
            PictureSubject::Impact(targets) => self.walk(targets, bounds, |node| {
                let users = self.users(node).into_iter();
                users.map(|user| user.node).collect()
            }),
        }
    }

    /// Whether a node is not in a file of tests, or those are wanted.
    fn shows(&self, node: NodeId, bounds: Bounds) -> bool {
        bounds.tests
            || !self.is_test_file(self.file_index(node)) && !is_among_tests(self.path(node))
    }

    /// Who calls some functions, and whom they call: from callers on to their callers, from
    /// what is called on to what that calls.
    fn around(&self, targets: &[NodeId], bounds: Bounds) -> Picture {
        let sides: RefCell<HashMap<NodeId, bool>> = RefCell::default();
        let is_call = |edge: &&crate::graph::Edge| edge.way == Way::Call;
        self.walk(targets, bounds, |node| {
            let mut sides = sides.borrow_mut();
            let side = sides.get(&node).copied();
            let mut next = Vec::new();
            for (is_up, edges) in [(true, self.into(node)), (false, self.out(node))] {
                if side.is_none_or(|side| side == is_up) {
                    for edge in edges.iter().filter(is_call) {
                        if !targets.contains(&edge.node) {
                            sides.entry(edge.node).or_insert(is_up);
                        }
                        next.push(edge.node);
                    }
                }
            }
            next
        })
    }

    /// Files in groups: as fine as there is room for.
    fn packages(&self, bounds: Bounds) -> Picture {
        let shown = |node: NodeId| self.shows(node, bounds);
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for node in self.nodes().filter(|node| shown(*node)) {
            *sizes.entry(self.path(node)).or_default() += 1;
        }
        let groups = groups(&sizes, bounds.nodes);
        let group = |path| group(&groups, path);
        let mut functions: BTreeMap<&str, usize> = BTreeMap::new();
        let mut weights: BTreeMap<(&str, &str), (usize, bool)> = BTreeMap::new();
        for node in self.nodes().filter(|node| shown(*node)) {
            let from = group(self.path(node));
            let count = functions.entry(from).or_default();
            let kind = self.kind(node);
            *count += usize::from(matches!(kind, NodeKind::Function | NodeKind::Method));
            for edge in self.out(node) {
                let to = group(self.path(edge.node));
                if to != from && shown(edge.node) {
                    let (weight, is_sure) = weights.entry((from, to)).or_default();
                    *weight += 1;
                    *is_sure |= edge.is_sure;
                }
            }
        }
        // Who imports a module uses it, whatever it takes from it.
        for (at, file) in (0..).zip(&self.files) {
            let to = group(&file.sketched.path);
            for user in self.importers(at) {
                let Some(user) = self.files.get(*user as usize) else {
                    continue;
                };
                let from = group(&user.sketched.path);
                if from != to && shown(user.first) && shown(file.first) {
                    let (weight, is_sure) = weights.entry((from, to)).or_default();
                    *weight += 1;
                    *is_sure = true;
                }
            }
        }
        let places: BTreeMap<&str, usize> = functions.keys().copied().zip(0..).collect();
        let nodes = functions.iter().map(|(name, count)| Node {
            label: dotted(name),
            note: format!("{count} functions"),
            is_target: false,
        });
        let edges = weights
            .iter()
            .map(|((from, to), (weight, is_sure))| PictureEdge {
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
            lighter: 0,
        }
        .thin_out()
    }

    /// The functions with the most resolved calls.
    fn busiest(&self, bounds: Bounds) -> Picture {
        let is_function = |node: &NodeId| {
            matches!(self.kind(*node), NodeKind::Function | NodeKind::Method)
                && self.shows(*node, bounds)
        };
        let mut all: Vec<NodeId> = self.nodes().filter(is_function).collect();
        let calls = |node: &NodeId| {
            let sure = |edges: &[crate::graph::Edge]| edges.iter().filter(|e| e.is_sure).count();
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
            .map(|((from, to), (weight, is_sure))| PictureEdge {
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
            lighter: 0,
        }
        .thin_out()
    }
}

/// Folders and files that all files fall into: the largest folder is opened as long as
/// there is room for what is in it.
fn groups<'a>(sizes: &BTreeMap<&'a str, usize>, most: usize) -> BTreeSet<&'a str> {
    let mut groups = BTreeSet::from([""]);
    loop {
        let mut inside: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
        for (path, size) in sizes {
            let around = group(&groups, path);
            if let Some(part) = next_part(path, around) {
                let (total, parts) = inside.entry(around).or_default();
                *total += size;
                parts.insert(part);
            }
        }
        let fits = |parts: &BTreeSet<&str>| groups.len() - 1 + parts.len() <= most;
        let open = inside.into_iter().filter(|(_, (_, parts))| fits(parts));
        let Some((around, (_, parts))) = open.max_by_key(|(_, (total, _))| *total) else {
            return groups;
        };
        groups.remove(around);
        groups.extend(parts);
    }
}

/// The group that a file falls into.
fn group<'g>(groups: &BTreeSet<&'g str>, path: &str) -> &'g str {
    let mut part = path;
    loop {
        match (groups.get(part), part.rsplit_once('/')) {
            (Some(group), _) => return group,
            (None, Some((folder, _))) => part = folder,
            (None, None) => return "",
        }
    }
}

/// A file or folder right inside of another, on the way to a file.
fn next_part<'a>(path: &'a str, around: &str) -> Option<&'a str> {
    let start = match around {
        "" => 0,
        folder => folder.len() + 1,
    };
    let rest = path.get(start..).filter(|rest| !rest.is_empty())?;
    let end = rest.find('/').map_or(path.len(), |at| start + at);
    Some(&path[..end])
}

/// A group as people name it.
fn dotted(group: &str) -> String {
    match group {
        "" => "(all)".into(),
        file if file.contains('.') => file.to_owned(),
        folder => folder.replace('/', "."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_folders_are_opened_while_there_is_room() {
        let sizes = BTreeMap::from([
            ("setup.py", 1),
            ("src/big/a.py", 50),
            ("src/big/b.py", 40),
            ("src/big/c/d.py", 9),
            ("src/small/x.py", 2),
            ("src/small/y.py", 2),
        ]);
        let shown = |most: usize| groups(&sizes, most).into_iter().collect::<Vec<_>>();
        assert_eq!(shown(1), [""]);
        assert_eq!(shown(2), ["setup.py", "src"]);
        assert_eq!(shown(3), ["setup.py", "src/big", "src/small"]);
        let five = [
            "setup.py",
            "src/big/a.py",
            "src/big/b.py",
            "src/big/c/d.py",
            "src/small",
        ];
        assert_eq!(shown(5), five);
        assert_eq!(shown(99).len(), 6);
        let all = groups(&sizes, 5);
        assert_eq!(group(&all, "src/big/c/d.py"), "src/big/c/d.py");
        assert_eq!(group(&all, "src/small/y.py"), "src/small");
        assert_eq!(group(&all, "elsewhere.py"), "");
    }
}
