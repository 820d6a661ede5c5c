//! Interfaces that several types of a project fulfil, wherever those are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pillion_index::source::Source;

use super::super::Pattern;
use super::facts::{Facts, Kind, listed, words};

/// Names that a description lists.
const MAX_LISTED: usize = 5;
/// Methods that an interface must have before a type fulfils it without saying so.
const MIN_METHODS: usize = 2;

/// What other files have to know of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shared {
    /// Names, lines, and methods with how much they are given.
    interfaces: Vec<(String, u32, BTreeSet<String>)>,
    /// Types that say that they fulfil an interface.
    fulfils: Vec<(String, String)>,
    /// The methods of types that need not say it.
    methods: BTreeMap<String, BTreeSet<String>>,
    /// Words in the types of fields.
    held: BTreeSet<String>,
}

impl Shared {
    pub(super) fn of(facts: &Facts<'_>, source: &Source) -> Self {
        let signatures = |of: &str| -> BTreeSet<String> {
            let methods = facts.methods(of);
            methods
                .map(|m| format!("{}/{}", m.name, m.params.len()))
                .collect()
        };
        let interfaces = facts.types.iter().filter(|one| one.kind == Kind::Interface);
        let interfaces = interfaces.map(|one| {
            let line = source.position(one.at).line + 1;
            (one.name.to_owned(), line, signatures(one.name))
        });
        let said = facts
            .types
            .iter()
            .flat_map(|one| one.bases.iter().map(|base| (one.name, *base)));
        let fulfils = facts.fulfils.iter().copied().chain(said);
        let held = facts.types.iter().flat_map(|one| &one.fields);
        // Rust says which fields are behind a trait.
        let needs_dyn = facts.path.ends_with(".rs");
        let held = held
            .flat_map(|(_, kind)| {
                let before = std::iter::once("").chain(words(kind));
                before.zip(words(kind))
            })
            .filter(|(before, _)| !needs_dyn || *before == "dyn")
            .map(|(_, word)| word.to_owned());
        let interfaces: Vec<_> = interfaces.collect();
        let mut methods = BTreeMap::new();
        // Only Go's types fulfil what they do not name.
        if facts.path.ends_with(".go") {
            let is_interface = |name: &str| {
                let known = facts.type_named(name);
                known.is_some_and(|known| known.kind == Kind::Interface)
            };
            let owners = facts.by_owner.keys().copied();
            for owner in owners.filter(|owner| !is_interface(owner)) {
                methods
                    .entry(owner.to_owned())
                    .or_insert_with(|| signatures(owner));
            }
        }
        Self {
            interfaces,
            fulfils: fulfils.map(|(a, b)| (a.to_owned(), b.to_owned())).collect(),
            methods,
            held: held.collect(),
        }
    }
}

/// Where an interface is, and its methods.
type Place<'a> = (&'a Arc<str>, u32, &'a BTreeSet<String>);

/// The interfaces that at least two types fulfil. A name that two interfaces have is left
/// out: nobody knows which is meant.
pub(super) fn patterns<'a>(
    files: &(impl Iterator<Item = (&'a Arc<str>, &'a Shared)> + Clone),
) -> Vec<Pattern> {
    let mut interfaces: BTreeMap<&str, Vec<Place<'_>>> = BTreeMap::new();
    let mut said: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    // By folder and name, because the methods of a type may be in several files.
    let mut types: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (path, shared) in files.clone() {
        for (name, line, methods) in &shared.interfaces {
            interfaces
                .entry(name)
                .or_default()
                .push((path, *line, methods));
        }
        for (one, interface) in &shared.fulfils {
            said.entry(interface).or_default().insert(one);
        }
        let folder = crate::modules::folder(path);
        for (name, methods) in &shared.methods {
            let known = types.entry((folder, name)).or_default();
            known.extend(methods.iter().map(String::as_str));
        }
    }
    let is_held = |name: &str| files.clone().any(|(_, shared)| shared.held.contains(name));
    let mut found = Vec::new();
    for (name, all) in &interfaces {
        let [(path, line, methods)] = all[..] else {
            continue;
        };
        let mut by: BTreeSet<&str> = said.get(name).cloned().unwrap_or_default();
        let sure = if by.len() > 1 { 90 } else { 80 };
        if methods.len() >= MIN_METHODS {
            let fits = types
                .iter()
                .filter(|(_, own)| methods.iter().all(|m| own.contains(&**m)));
            by.extend(fits.map(|((_, name), _)| *name));
        }
        if by.len() < 2 {
            continue;
        }
        let kind = if is_held(name) {
            "strategy"
        } else {
            "interface"
        };
        let shown = listed(by.iter().take(MAX_LISTED));
        let count = by.len();
        found.push(Pattern {
            kind,
            file: Arc::clone(path),
            line,
            confidence: sure,
            description: format!("`{name}` is fulfilled by {count} types: {shown}"),
        });
    }
    found
}
