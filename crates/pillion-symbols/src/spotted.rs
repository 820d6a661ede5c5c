//! The place that a question is about.

use std::sync::Arc;

use pillion_catalogue::{Code, Error};
use pillion_index::ParseError;
use pillion_index::keywords::may_be_keyword;
use pillion_index::source::{Position, Source, Span};
use pillion_index::syntax::{Syntax, WordKind};

use crate::project::View;

/// A place that is asked about.
#[derive(Debug, Clone)]
pub struct Spotted {
    /// The file, relative to the root.
    pub path: String,
    /// The place in it.
    pub at: Position,
    /// The text of the file.
    pub source: Arc<Source>,
    /// Whether the module itself is meant, and no place in it.
    pub is_module: bool,
}

impl Spotted {
    /// The name there, and where it stands.
    pub fn word(&self) -> Option<(&str, Span)> {
        match self.is_module {
            true => None,
            false => self.source.word_at(self.at),
        }
    }

    /// What the word there is. Names inside of strings, as in annotations, are names too: the
    /// engine decides.
    pub fn kind_of_word(&self) -> WordKind {
        match self.word() {
            None => WordKind::Other,
            // Only what spells a keyword is worth a look at the whole file.
            Some((name, _)) if may_be_keyword(name) => {
                match Syntax::of(&self.source, &self.path).word(self.at) {
                    WordKind::Keyword => WordKind::Keyword,
                    _ => WordKind::Name,
                }
            }
            Some(_) => WordKind::Name,
        }
    }

    /// Whether the file reaches that far. Engines answer for the next line if not.
    pub fn exists(&self) -> bool {
        !self.is_module && self.source.offset(self.at).is_some()
    }

    /// What the parser did not understand in the file.
    pub fn parse_errors(&self, view: &View) -> Vec<ParseError> {
        let facts = view.index.get(&self.path);
        facts.map_or_else(Vec::new, |facts| facts.parse_errors.to_vec())
    }
}

/// A refactoring is asked for where there is nothing to change. Not a malformed request: the
/// contract tells the two apart by their status.
pub fn nothing_here(what: impl Into<String>) -> Error {
    Error::new(Code::NotFound, what).hint("lines and columns count from 1; point at a name")
}
