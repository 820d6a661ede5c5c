//! Refactorings: what a change of the code consists of.
//!
//! # Theory of operation
//!
//! Nothing here writes a file: what is made becomes a change set of `pillion-changes`, which is
//! shown or carried out by whoever asked for it. [`rename`] and [`signature`] ask
//! `pillion-symbols` for every place that means a name; [`moving`] asks no engine, for which file
//! an import means is told by the files. Extracting and inlining are [`rope`]'s, imports are
//! ruff's ([`organize`]), and rewriting by patterns is ast-grep's ([`codemod`]). What a
//! refactoring saw but left alone it lists, with the reason.

pub mod codemod;
mod collisions;
pub mod documents;
mod dynamic;
mod embedded;
mod embedded_uses;
mod implicit_uses;
pub mod inline_context;
mod left_alone;
mod line_ends;
mod lookups;
pub mod moving;
mod names;
pub mod organize;
mod parse_check;
pub mod range;
pub mod rename;
pub mod rope;
pub mod signature;
pub mod strings;
mod subject;

use pillion_catalogue::{Error, Result};
use pillion_index::parsed::parsed;

/// A file as it would be after a refactoring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewText {
    /// The file, relative to the workspace.
    pub path: String,
    /// Its text, decoded, with its own line ends.
    pub text: String,
}

/// What a refactoring made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refactored {
    /// The files that change.
    pub files: Vec<NewText>,
    /// What the caller should look at.
    pub warnings: Vec<String>,
}

/// Where a text has its first syntax error, if it has one.
pub(crate) fn syntax_error(text: &str, path: &str) -> Option<String> {
    parsed(text, path, |parsed| {
        parsed.errors().first().map(|error| error.error.to_string())
    })
}

/// Refuse a text that a refactoring broke.
pub(crate) fn still_parses(text: &str, path: &str) -> Result<()> {
    match syntax_error(text, path) {
        None => Ok(()),
        Some(why) => Err(Error::internal(format!(
            "the refactoring would break `{path}`: {why}; nothing was changed"
        ))),
    }
}
