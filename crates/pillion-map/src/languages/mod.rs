//! Maps of languages other than Python: TypeScript and JavaScript, Go, Rust, Java and C.
//!
//! One pure function per language reads a text into an [`outline`], driven by a query of
//! tree-sitter ([`reader`]). The [`codebase`] holds all files of a language with the tables that
//! lead from one to another, [`resolve`] says what a path means at a place ([`imports`] from
//! file to file, with [`scripts`], [`crates`] and [`headers`]), [`members`] whose the methods
//! are that stand beside their types, and [`link`] makes of it the same links that Python's
//! map has, so that the same graph answers the same questions. No type checker is asked: what
//! the syntax does not settle is only possible, never resolved.

mod c;
mod changed;
mod codebase;
mod crates;
mod go;
mod headers;
mod imports;
mod java;
mod link;
mod manifests;
mod members;
mod nodes;
pub(super) mod outline;
mod outlined_file;
mod paths;
mod reader;
mod resolve;
mod rust;
mod scripts;
mod testing;
mod tree;
mod typescript;
mod update;
mod words;

use pillion_index::language::Language;

pub use changed::changed;
pub use outline::{Def, DefKind, Outline, Path};
pub(crate) use testing::is_test_file;
pub use testing::{command, quoted};
pub(crate) use tree::{Mistake, mistakes, tree};
pub use update::{LanguageMap, LanguageMaps};

/// Larger files are listed but not read: nobody wrote them.
pub const MAX_TEXT: u64 = 2 << 20;

/// The outline of a text in a language; that of Python is read elsewhere.
pub fn outline(language: Language, path: &str, text: &str) -> Outline {
    match language {
        Language::Typescript | Language::Javascript => typescript::outline(path, text),
        Language::Go => go::outline(path, text),
        Language::Rust => rust::outline(path, text),
        Language::Java => java::outline(path, text),
        Language::C => c::outline(path, text),
        Language::Python | Language::Auto => Outline::default(),
    }
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod incremental;
#[cfg(test)]
mod malformed;
