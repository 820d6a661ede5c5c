//! Patterns in languages other than Python, by trees of tree-sitter; and what is no syntax.
//!
//! A file is read once per change into [`facts`] ([`collect`]), driven by a table for its
//! language. Rules for [`types`] and [`functions`] are the same for all; those for the doors of
//! a program, such as routes and entry points, are beside the table of each language.
//! [`wide`] sees which types fulfil which interfaces across files, [`manifest`] what the
//! files beside the sources say.

mod c;
mod collect;
mod facts;
mod functions;
mod go;
mod interfaces;
mod java;
mod manifest;
mod memo;
mod rust;
mod singletons;
mod types;
mod typescript;

use pillion_index::language::Language;
use pillion_index::source::Source;

pub use manifest::programs;
pub use memo::Trees;

use self::collect::Dialect;
use self::facts::Facts;
use self::interfaces::Shared;
use super::Found;
use crate::languages::{Mistake, is_test_file, mistakes, tree};

/// Folders of what belongs to tests, if only as what they are tried on.
const OF_TESTS: &[&str] = &["tests", "test", "__tests__", "testdata", "fixtures"];

/// What is known of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Read {
    found: Vec<Found>,
    shared: Shared,
    mistakes: Vec<Mistake>,
}

impl Read {
    /// What is no syntax of the language.
    pub(super) fn messages(&self) -> Vec<String> {
        let all = self.mistakes.iter();
        all.map(|mistake| mistake.message.clone()).collect()
    }
}

/// What rules found in a file.
pub(super) struct Signs<'s> {
    source: &'s Source,
    found: Vec<Found>,
}

impl Signs<'_> {
    fn add(&mut self, kind: &'static str, at: usize, confidence: u8, what: String) {
        self.found.push(Found {
            kind,
            line: self.source.position(at).line + 1,
            confidence,
            description: what,
        });
    }
}

/// How a language is read: its table, its own rules, and what its tests share.
type Rules = (
    Dialect,
    fn(&Facts<'_>, &mut Signs<'_>),
    fn(&Facts<'_>, &mut Signs<'_>),
);

fn rules(language: Language) -> Option<Rules> {
    Some(match language {
        Language::Typescript | Language::Javascript => {
            (typescript::DIALECT, typescript::look, typescript::fixtures)
        }
        Language::Go => (go::DIALECT, go::look, go::fixtures),
        Language::Rust => (rust::DIALECT, rust::look, rust::fixtures),
        Language::Java => (java::DIALECT, java::look, java::fixtures),
        Language::C => (c::DIALECT, c::look, |_, _| ()),
        Language::Python | Language::Auto => return None,
    })
}

/// Read a file.
pub(super) fn read(language: Language, path: &str, source: &Source) -> Read {
    let text = source.text();
    let Some((dialect, look, fixtures)) = rules(language) else {
        return Read::default();
    };
    let tree = match tree(language, path, text) {
        Ok(tree) => tree,
        Err(why) => {
            return Read {
                mistakes: vec![why.mistake()],
                ..Read::default()
            };
        }
    };
    let root = tree.root_node();
    let facts = collect::facts(&dialect, root, path, text);
    let mut signs = Signs {
        source,
        found: Vec::new(),
    };
    let is_test = is_of_tests(language, path);
    let mut shared = Shared::default();
    if is_test {
        fixtures(&facts, &mut signs);
    } else {
        look(&facts, &mut signs);
        types::look(&facts, &mut signs);
        functions::look(&facts, &mut signs);
        shared = Shared::of(&facts, source);
    }
    Read {
        found: signs.found,
        shared,
        mistakes: mistakes(root, source),
    }
}

/// Whether a file belongs to tests.
fn is_of_tests(language: Language, path: &str) -> bool {
    is_test_file(language, path) || path.split('/').any(|part| OF_TESTS.contains(&part))
}

#[cfg(test)]
mod golden;
