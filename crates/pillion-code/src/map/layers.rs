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
pub(crate) struct Layers {
    pub(crate) folders: BTreeMap<Box<str>, FolderCalls>,
    pub(crate) circles: Vec<(Box<str>, Box<str>)>,
}

impl Graph {
    /// The folders of a graph, by the resolved calls between them.
    pub(crate) fn layers(&self) -> &Layers {
        self.layers.get_or_init(|| self.find_layers())
    }

    fn find_layers(&self) -> Layers {
        let mut folders: BTreeMap<&str, FolderCalls> = BTreeMap::new();
        let mut pairs: BTreeSet<(&str, &str)> = BTreeSet::new();
        for node in self.nodes() {
            let from = folder(self.path(node));
            let here = folders.entry(from).or_default();
            here.functions += usize::from(matches!(
                self.kind(node),
                NodeKind::Function | NodeKind::Method
            ));
            let out = self.out(node).iter();
            for edge in out.filter(|edge| edge.is_sure && edge.way == Way::Call) {
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
