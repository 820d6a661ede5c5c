//! Folders as layers: who calls into whom.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Graph;
use super::link::Way;
use super::modules::folder;
use super::world::NodeKind;

/// Where a folder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// It calls others and nobody calls it.
    Entry,
    Middle,
    /// Others call it and it calls nobody.
    Leaf,
    /// It has nothing to do with other folders.
    Isolated,
}

/// A folder, with the calls that cross its border.
#[derive(Debug, Clone, Default)]
pub(crate) struct FolderCalls {
    pub(crate) calls_out: usize,
    pub(crate) calls_in: usize,
    pub(crate) functions: usize,
}

impl FolderCalls {
    pub(crate) fn layer(&self) -> Layer {
        match (self.calls_out, self.calls_in) {
            (0, 0) => Layer::Isolated,
            (_, 0) => Layer::Entry,
            (0, _) => Layer::Leaf,
            // Almost all of one is that one.
            (out, into) if out >= 4 * into => Layer::Entry,
            (out, into) if into >= 4 * out => Layer::Leaf,
            _ => Layer::Middle,
        }
    }
}

/// Folders by path, and pairs of them that call each other.
#[derive(Debug, Default)]
pub(crate) struct Layers<'g> {
    pub(crate) folders: BTreeMap<&'g str, FolderCalls>,
    pub(crate) circles: Vec<(&'g str, &'g str)>,
}

impl Graph {
    /// The folders of a graph, by the resolved calls between them.
    pub(crate) fn layers(&self) -> Layers<'_> {
        let mut layers = Layers::default();
        let mut pairs: BTreeSet<(&str, &str)> = BTreeSet::new();
        for node in self.nodes() {
            let from = folder(self.path(node));
            let here = layers.folders.entry(from).or_default();
            here.functions += usize::from(matches!(
                self.kind(node),
                NodeKind::Function | NodeKind::Method
            ));
            let out = self.out(node).iter();
            for edge in out.filter(|edge| edge.is_sure && edge.way == Way::Call) {
                let to = folder(self.path(edge.node));
                if from != to {
                    pairs.insert((from, to));
                    layers.folders.entry(from).or_default().calls_out += 1;
                    layers.folders.entry(to).or_default().calls_in += 1;
                }
            }
        }
        layers.circles = pairs
            .iter()
            .filter(|(a, b)| a < b && pairs.contains(&(*b, *a)))
            .copied()
            .collect();
        layers
    }
}
