//! Modules that would import each other.
//!
//! Only imports that run when a module is imported count: not those in functions, nor those
//! for type checkers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pillion_catalogue::{Code, Error};
use pillion_index::modules::{Modules, join, parent};
use pillion_index::scopes::{MODULE, Scopes};
use serde_json::json;

/// Modules that are looked at.
const MAX_MODULES: usize = 5_000;

type Read<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// Who imports whom, as far as it was asked.
pub(super) struct Imports<'a> {
    modules: &'a Modules,
    /// The text of a file.
    read: Read<'a>,
    known: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Imports<'a> {
    pub(super) fn new(modules: &'a Modules, read: impl Fn(&str) -> Option<String> + 'a) -> Self {
        Self {
            modules,
            read: Box::new(read),
            known: BTreeMap::new(),
        }
    }

    /// The way from a module back to itself, if there is one.
    pub(super) fn way_back(&mut self, key: &str) -> Option<Vec<String>> {
        let imports = self.of(key).clone();
        self.way(&imports, |other| other == key)
    }

    /// The modules that one imports while it is imported.
    pub(super) fn of(&mut self, key: &str) -> &BTreeSet<String> {
        if !self.known.contains_key(key) {
            let file = self.modules.file(key);
            let text = file.and_then(|file| Some((file, (self.read)(file)?)));
            let found = text.map(|(file, text)| {
                let scopes = Scopes::of(&text, file);
                imported(self.modules, file, &scopes)
            });
            self.known.insert(key.to_owned(), found.unwrap_or_default());
        }
        self.known.entry(key.to_owned()).or_default()
    }

    /// A change of what a module imports.
    pub(super) fn set(&mut self, key: &str, imports: BTreeSet<String>) {
        self.known.insert(key.to_owned(), imports);
    }

    /// The way from some modules to one that `ends` accepts: each imports the next.
    pub(super) fn way(
        &mut self,
        from: &BTreeSet<String>,
        ends: impl Fn(&str) -> bool,
    ) -> Option<Vec<String>> {
        let mut came_from: BTreeMap<String, Option<String>> = BTreeMap::new();
        let mut open: VecDeque<String> = from.iter().cloned().collect();
        came_from.extend(from.iter().map(|key| (key.clone(), None)));
        while let Some(key) = open.pop_front() {
            if ends(&key) {
                let mut way = vec![key.clone()];
                let mut next = came_from.get(&key).cloned().flatten();
                while let Some(key) = next {
                    next = came_from.get(&key).cloned().flatten();
                    way.push(key);
                }
                way.reverse();
                return Some(way);
            }
            if came_from.len() > MAX_MODULES {
                return None;
            }
            for import in self.of(&key).clone() {
                if !came_from.contains_key(&import) {
                    came_from.insert(import.clone(), Some(key.clone()));
                    open.push_back(import);
                }
            }
        }
        None
    }
}

/// The modules of the workspace that a text imports while it is imported.
pub(super) fn imported(modules: &Modules, file: &str, scopes: &Scopes) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let own = pillion_index::modules::key(file);
    let statements = scopes.imports.iter();
    for statement in statements.filter(|s| s.scope == MODULE && !s.for_types) {
        for name in &statement.names {
            let module = statement.from.as_ref().map_or(&name.name, |(from, _)| from);
            let Some(target) = modules.find(file, module) else {
                continue;
            };
            let inner = statement.from.as_ref();
            let inner = inner.map(|_| join(&target.key, &name.name));
            let inner = inner.filter(|key| modules.has(key));
            let is_inner = inner.is_some();
            let key = inner.unwrap_or_else(|| target.key.clone());
            // A package that a module lies in is being imported already.
            if !is_inner || !is_above(&target.key, own) {
                reach(&mut all, &target.key, own);
            }
            if statement.from.is_some() || !is_above(&key, own) {
                all.insert(key);
            }
        }
    }
    all.remove(own);
    all
}

/// The modules of the workspace that a text takes names from while it is imported: they have
/// to have run by then.
pub(super) fn taken_from(modules: &Modules, file: &str, scopes: &Scopes) -> BTreeSet<String> {
    let statements = scopes.imports.iter();
    let mut all = BTreeSet::new();
    for statement in statements.filter(|s| s.scope == MODULE && !s.for_types) {
        let Some((from, _)) = &statement.from else {
            continue;
        };
        let Some(target) = modules.find(file, from) else {
            continue;
        };
        let is_inner = |name: &str| modules.has(&join(&target.key, name));
        if statement.names.iter().any(|name| !is_inner(&name.name)) {
            all.insert(target.key);
        }
    }
    all
}

/// The packages on the way to a module are imported with it.
pub(super) fn reach(all: &mut BTreeSet<String>, key: &str, own: &str) {
    let mut above = key;
    while !above.is_empty() {
        if !is_above(above, own) {
            all.insert(above.to_owned());
        }
        above = parent(above);
    }
}

fn is_above(package: &str, key: &str) -> bool {
    let below = key.strip_prefix(package);
    below.is_some_and(|below| below.starts_with('/'))
}

/// What is wrong with a move after which modules import each other.
pub(super) fn refused<'a>(modules: &Modules, cycle: impl IntoIterator<Item = &'a String>) -> Error {
    let chain: Vec<String> = cycle.into_iter().map(|key| modules.dotted(key)).collect();
    Error::new(
        Code::Conflict,
        format!("modules would import each other: {}", chain.join(" -> ")),
    )
    .hint("move what they share to a third module, or say `allow_cycles`")
    .data(json!({ "cycle": chain }))
}
