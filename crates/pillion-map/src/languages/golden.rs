//! One small project for each rule of resolution, and for what must not be resolved.

use pillion_index::language::Language;

use super::super::link::Way;
use super::update::LanguageState;
use crate::Graph;

pub(super) fn mapped(language: Language, files: &[(&str, &str)]) -> LanguageState {
    let mut map = LanguageState::default();
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (*path, Some(*text)))
        .collect();
    map.edit(language, &files);
    map
}

fn label(graph: &Graph, node: u32) -> String {
    let path = graph.path(node);
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    format!("{stem}:{}", graph.name(node))
}

/// The edges of a project, as `file:user -> file:used`, with `?>` if only possible.
fn edges(language: Language, files: &[(&str, &str)], way: Way) -> Vec<String> {
    let map = mapped(language, files);
    let graph = map.graph();
    let mut found = Vec::new();
    for node in graph.nodes() {
        for edge in graph.out(node).iter().filter(|edge| edge.way == way) {
            let mark = if edge.is_sure { "->" } else { "?>" };
            let [from, to] = [node, edge.node].map(|node| label(graph, node));
            found.push(format!("{from} {mark} {to}"));
        }
    }
    found.sort();
    found
}

fn calls(language: Language, files: &[(&str, &str)]) -> Vec<String> {
    edges(language, files, Way::Call)
}

/// The functions that nobody reaches.
fn dead(language: Language, files: &[(&str, &str)]) -> Vec<String> {
    let map = mapped(language, files);
    let (dead, _) = map.graph().dead(&[], &std::collections::HashSet::new());
    dead.into_iter()
        .map(|found| label(map.graph(), found.node))
        .collect()
}

mod c;
mod go;
mod java;
mod rust;
mod typescript;
