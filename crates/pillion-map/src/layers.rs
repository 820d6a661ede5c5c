//! Folders as layers: who calls into whom.

use std::collections::{BTreeMap, BTreeSet};

use super::folders::{FolderCalls, Layers};
use super::graph::Graph;
use super::link::Way;
use super::modules::folder;
use super::world::{NodeId, NodeKind};

impl Graph {
    /// The folders of a graph, by the resolved calls between them.
    pub fn layers(&self, tests: bool) -> &Layers {
        let [without, with] = &self.layers;
        match tests {
            true => with.get_or_init(|| self.find_layers(&|_| true)),
            false => {
                let is_test: Vec<bool> = (0..)
                    .zip(&self.files)
                    .map(|(at, file)| self.is_test_file(at) || is_among_tests(&file.sketched.path))
                    .collect();
                without.get_or_init(|| {
                    self.find_layers(&|node| !is_test[self.file_index(node) as usize])
                })
            }
        }
    }

    fn find_layers(&self, counts: &dyn Fn(NodeId) -> bool) -> Layers {
        let mut folders: BTreeMap<&str, FolderCalls> = BTreeMap::new();
        let mut pairs: BTreeSet<(&str, &str)> = BTreeSet::new();
        for node in self.nodes().filter(|node| counts(*node)) {
            let from = folder(self.path(node));
            let here = folders.entry(from).or_default();
            here.functions += usize::from(matches!(
                self.kind(node),
                NodeKind::Function | NodeKind::Method
            ));
            let out = self.out(node).iter();
            let calls = out.filter(|edge| edge.is_sure && edge.way == Way::Call);
            for edge in calls.filter(|edge| counts(edge.node)) {
                let to = folder(self.path(edge.node));
                if from != to {
                    pairs.insert((from, to));
                    folders.entry(from).or_default().calls_out += 1;
                    folders.entry(to).or_default().calls_in += 1;
                }
            }
        }
        let both = |(a, b): &&(&str, &str)| a < b && pairs.contains(&(*b, *a));
        let circles = pairs.iter().filter(both);
        Layers {
            circles: circles.map(|(a, b)| ((*a).into(), (*b).into())).collect(),
            folders: folders
                .into_iter()
                .map(|(path, calls)| (path.into(), calls))
                .collect(),
        }
    }
}

/// Whether a file lies among tests.
pub(crate) fn is_among_tests(path: &str) -> bool {
    let folders = folder(path).split('/');
    super::tests_of::is_conftest(path)
        || folders
            .into_iter()
            .any(|part| matches!(part, "tests" | "test" | "testing"))
}

/// Functions of a layer that an older contract shows.
const OLD_SHOWN: usize = 20;

impl Graph {
    /// Functions as layers, and files that call each other, in the words of the older contract.
    pub fn old_layers(&self) -> serde_json::Value {
        let is_function =
            |node: NodeId| matches!(self.kind(node), NodeKind::Function | NodeKind::Method);
        let is_call = |edge: &&super::graph::Edge| edge.is_sure && edge.way == Way::Call;
        let shown = |node: NodeId| serde_json::json!({ "file": self.path(node), "function": self.name(node) });
        let (mut entry, mut leaf, mut middle) = (Vec::new(), Vec::new(), 0);
        let mut pairs: BTreeSet<(&str, &str)> = BTreeSet::new();
        for node in self.nodes() {
            let calls = self.out(node).iter().filter(is_call);
            for edge in calls.clone() {
                let (from, to) = (self.path(node), self.path(edge.node));
                if from != to {
                    pairs.insert((from, to));
                }
            }
            let is_called = self.into(node).iter().any(|edge| is_call(&edge));
            match (calls.count() > 0, is_called) {
                _ if !is_function(node) => {}
                (true, false) => entry.push(node),
                (false, true) => leaf.push(node),
                (true, true) => middle += 1,
                (false, false) => {}
            }
        }
        let circles: Vec<serde_json::Value> = pairs
            .iter()
            .filter(|(a, b)| a < b && pairs.contains(&(*b, *a)))
            .map(|(a, b)| serde_json::json!({ "a": a, "b": b }))
            .collect();
        let folders = self.layers(true).folders.iter().map(|(path, calls)| {
            let ratio = calls.calls_out as f64 / calls.calls_in.max(1) as f64;
            let layer = match ratio {
                ratio if ratio > 2.0 => "HIGH (entry/controller)",
                ratio if ratio < 0.5 => "LOW (utility/data)",
                _ => "MIDDLE (service)",
            };
            let path: &str = if path.is_empty() { "." } else { path };
            serde_json::json!({
                "directory": path,
                "calls_out": calls.calls_out,
                "calls_in": calls.calls_in,
                "inferred_layer": layer,
                "function_count": calls.functions,
            })
        });
        let first = |nodes: &[NodeId]| -> Vec<serde_json::Value> {
            nodes
                .iter()
                .take(OLD_SHOWN)
                .map(|node| shown(*node))
                .collect()
        };
        serde_json::json!({
            "entry_layer": first(&entry),
            "leaf_layer": first(&leaf),
            "middle_layer_count": middle,
            "directory_layers": folders.collect::<Vec<_>>(),
            "summary": {
                "entry_count": entry.len(),
                "leaf_count": leaf.len(),
                "middle_count": middle,
                "circular_count": circles.len(),
            },
            "circular_dependencies": circles,
        })
    }
}
