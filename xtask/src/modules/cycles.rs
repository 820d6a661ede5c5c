//! Modules that use each other.
//!
//! A cycle is among siblings: two or more children of one module (or of the root) each of
//! which uses the others, directly or through others of them. What is in a module's own
//! modules counts as the module's; a use counts where the item stands and not where it is
//! re-exported. A module and its own children are one thing that is read together: a parent
//! uses its children, and they what stands in the parent itself, which is no cycle.
//!
//! Only what is named is seen: a method of another module that is called on a value is not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Tree, Use};

/// Siblings that use each other.
#[derive(Debug)]
pub(crate) struct Cycle {
    /// The module whose children they are.
    parent: String,
    modules: Vec<String>,
    /// Who uses whom, and where.
    uses: Vec<(String, String, Vec<Use>)>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self
            .modules
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        write!(
            f,
            "in `{}`, {} use each other",
            self.parent,
            names.join(", ")
        )?;
        for (from, to, places) in &self.uses {
            write!(f, "\n  `{from}` uses `{to}`:")?;
            for place in places {
                let path = place.path.join("::");
                write!(f, "\n    {}:{}: {path}", place.file.display(), place.line)?;
            }
        }
        Ok(())
    }
}

/// Who uses whom among siblings, and where.
type Edges<'a> = BTreeMap<usize, BTreeMap<usize, Vec<&'a Use>>>;

impl Tree {
    /// All cycles, those of the root's children first.
    pub(crate) fn cycles(&self) -> Vec<Cycle> {
        let edges = self.edges();
        let mut done = BTreeSet::new();
        let mut cycles = Vec::new();
        for module in edges.keys() {
            let members = members(&edges, *module);
            if members.len() > 1 && done.insert(members.clone()) {
                cycles.push(self.cycle(&edges, &members));
            }
        }
        cycles
    }

    fn edges(&self) -> Edges<'_> {
        let mut edges = Edges::new();
        for (module, known) in self.modules.iter().enumerate() {
            for place in &known.uses {
                let siblings = self
                    .target(module, place)
                    .and_then(|target| self.siblings(module, target));
                if let Some((from, to)) = siblings {
                    let places = edges.entry(from).or_default().entry(to).or_default();
                    places.push(place);
                }
            }
        }
        edges
    }

    /// The two siblings that two modules are or are in. None if one is in the other.
    fn siblings(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let above: Vec<usize> = self.ancestors(from).collect();
        let beyond: Vec<usize> = self.ancestors(to).collect();
        let apart = above
            .iter()
            .rev()
            .zip(beyond.iter().rev())
            .find(|(one, other)| one != other)?;
        Some((*apart.0, *apart.1))
    }

    fn cycle(&self, edges: &Edges<'_>, members: &BTreeSet<usize>) -> Cycle {
        let name = |module: usize| self.modules[module].name.clone();
        let mut uses = Vec::new();
        for from in members {
            for (to, places) in edges.get(from).into_iter().flatten() {
                if members.contains(to) {
                    let mut places: Vec<Use> = places.iter().copied().cloned().collect();
                    places
                        .dedup_by(|one, other| (&one.file, one.line) == (&other.file, other.line));
                    said(&mut places);
                    uses.push((name(*from), name(*to), places));
                }
            }
        }
        // The fewest uses are the likeliest to be cut.
        uses.sort_by_key(|(_, _, places)| places.len());
        let parent = members
            .first()
            .and_then(|first| self.modules[*first].parent)
            .map(|parent| self.path(parent));
        Cycle {
            parent: parent.unwrap_or_default(),
            modules: members.iter().copied().map(name).collect(),
            uses,
        }
    }
}

/// Leave out what a file names once more after it imported it.
fn said(places: &mut Vec<Use>) {
    let is_full = |place: &Use| {
        let first = place.path.first().map(String::as_str);
        matches!(first, Some("crate" | "self" | "super"))
    };
    let full: BTreeSet<_> = places
        .iter()
        .filter(|place| is_full(place))
        .map(|place| place.file.clone())
        .collect();
    places.retain(|place| is_full(place) || !full.contains(&place.file));
}

/// A module with all that it reaches and that reach it.
fn members(edges: &Edges<'_>, module: usize) -> BTreeSet<usize> {
    let mut found = reached(edges, module);
    found.retain(|other| reached(edges, *other).contains(&module));
    found.insert(module);
    found
}

/// What a module uses, directly or through others.
fn reached(edges: &Edges<'_>, module: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![module];
    while let Some(at) = open.pop() {
        for other in edges.get(&at).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(*other) {
                open.push(*other);
            }
        }
    }
    found
}
