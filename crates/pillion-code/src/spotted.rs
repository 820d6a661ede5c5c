//! The place that a question is about.

use std::sync::Arc;

use pillion_catalogue::{Code, Error};

use crate::index::ParseError;
use crate::project::View;
use crate::source::{Position, Source, Span};

/// A place that is asked about.
#[derive(Debug, Clone)]
pub(crate) struct Spotted {
    /// The file, relative to the root.
    pub(crate) path: String,
    pub(crate) at: Position,
    pub(crate) source: Arc<Source>,
    /// Whether the module itself is meant, and no place in it.
    pub(crate) is_module: bool,
}

impl Spotted {
    /// The name there, and where it stands.
    pub(crate) fn word(&self) -> Option<(&str, Span)> {
        match self.is_module {
            true => None,
            false => self.source.word_at(self.at),
        }
    }

    /// Whether the file reaches that far. Engines answer for the next line if not.
    pub(crate) fn exists(&self) -> bool {
        !self.is_module && self.source.offset(self.at).is_some()
    }

    /// What the parser did not understand in the file.
    pub(crate) fn parse_errors(&self, view: &View) -> Vec<ParseError> {
        let facts = view.index.get(&self.path);
        facts.map_or_else(Vec::new, |facts| facts.parse_errors.to_vec())
    }
}

/// A refactoring is asked for where there is nothing to change. Not a malformed request: the
/// contract tells the two apart by their status.
pub(crate) fn nothing_here(what: impl Into<String>) -> Error {
    Error::new(Code::NotFound, what).hint("lines and columns count from 1; point at a name")
}
