//! Who implements a protocol without saying so: classes that have all of its members.

use pillion_index::source::Span;
use pillion_index::{Facts, Kind};

use crate::named::{Finder, IndexedDefinition, Name};
use crate::project::View;

/// Places that implement the protocol, or the member of one, that is defined at a place: files
/// and spans of names. None if it is no protocol.
pub fn implementations(view: &View, file: &str, at: Span) -> Vec<(String, Span)> {
    let Some(facts) = view.index.get(file) else {
        return Vec::new();
    };
    let Some(index) = facts.named_at(at.start) else {
        return Vec::new();
    };
    let symbol = &facts.symbols[index];
    let (class, member) = match facts.container(symbol) {
        _ if symbol.kind == Kind::Class => (index, None),
        Some(class) => (class, Some(&*symbol.name)),
        None => return Vec::new(),
    };
    if !is_protocol(facts, class) {
        return Vec::new();
    }
    let wanted: Vec<&str> = members(facts, class);
    if wanted.is_empty() {
        return Vec::new();
    }
    let finder = Finder::new(view);
    let mut found = Vec::new();
    for (path, facts) in view.index.iter() {
        let classes = (0..facts.symbols.len()).filter(|at| facts.symbols[*at].kind == Kind::Class);
        for other in classes.filter(|other| !is_protocol(facts, *other)) {
            let has = |name: &&str| member_of(&finder, path, facts, other, name);
            if wanted.iter().any(|name| has(name).is_none()) {
                continue;
            }
            match member {
                None => found.push((path.to_string(), facts.symbols[other].name_span)),
                Some(name) => {
                    let own = has(&name);
                    let span = own.as_ref().and_then(|one| finder.name_span(one));
                    found.extend(
                        own.zip(span)
                            .map(|(one, span)| (one.file.to_string(), span)),
                    );
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Whether a class says that it is a protocol itself.
fn is_protocol(facts: &Facts, class: usize) -> bool {
    let bases = &facts.symbols[class].bases;
    let last = |base: &str| base.rsplit('.').next().unwrap_or_default().to_owned();
    bases.iter().any(|base| last(base) == "Protocol")
}

/// What a protocol asks for.
fn members(facts: &Facts, class: usize) -> Vec<&str> {
    let own = facts
        .symbols
        .iter()
        .filter(|one| facts.container(one) == Some(class));
    let mut names: Vec<&str> = own
        .filter(|one| one.kind.is_callable() || one.kind == Kind::Attribute)
        .map(|one| &*one.name)
        .filter(|name| !matches!(*name, "__init__" | "__slots__" | "__doc__"))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What a class has under a name: its own, or that of a base.
fn member_of(
    finder: &Finder<'_>,
    path: &str,
    facts: &Facts,
    class: usize,
    name: &str,
) -> Option<IndexedDefinition> {
    let own = facts
        .symbols
        .iter()
        .position(|one| &*one.name == name && facts.container(one) == Some(class));
    if let Some(index) = own {
        let file = path.into();
        return Some(IndexedDefinition { file, index });
    }
    if facts.symbols[class].bases.is_empty() {
        return None;
    }
    let mut parts: Vec<String> = facts.name_path(class).split('/').map(Into::into).collect();
    parts.push(name.to_owned());
    let name = Name {
        within: Some(path.to_owned()),
        parts,
        from_top: true,
    };
    finder.inherited_member(path, &name)
}
