//! Where a name occurs: every NAME token that spells it.

use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{CancellationToken, Result, wanted};
use rayon::prelude::*;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::Ranged;

use super::Index;
use crate::parsed::parsed;
use crate::source::{Source, Span};

/// A name in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mention {
    /// The file.
    pub path: Arc<str>,
    /// Where it stands.
    pub span: Span,
    /// The line it stands on.
    pub preview: String,
    /// Whether it is taken from something: `receiver.name`.
    pub is_attribute: bool,
}

impl Index {
    /// Every place where a name is written as a name. Blocks: it reads the files.
    pub fn mentions(
        &self,
        root: &Path,
        name: &str,
        token: &CancellationToken,
    ) -> Result<Vec<Mention>> {
        let files = self.files_with(name);
        let found: Vec<Vec<Mention>> = files
            .par_iter()
            .take_any_while(|_| !token.is_cancelled())
            .map(|path| match std::fs::read(root.join(&**path)) {
                Ok(bytes) => mentions_in(&Source::decode(&bytes), path, name),
                // It vanished a moment ago.
                Err(_) => Vec::new(),
            })
            .collect();
        wanted(token)?;
        Ok(found.into_iter().flatten().collect())
    }
}

/// Every place in a file where a name is written as a name.
pub fn mentions_in(source: &Source, path: &Arc<str>, name: &str) -> Vec<Mention> {
    let text = source.text();
    if memchr::memmem::find(text.as_bytes(), name.as_bytes()).is_none() {
        return Vec::new();
    }
    parsed(text, path, |parsed| {
        let mut found = Vec::new();
        let mut after_dot = false;
        for token in parsed.tokens().iter() {
            if token.kind() == TokenKind::Name && &text[token.range()] == name {
                let span = Span {
                    start: source.position(token.start().to_usize()),
                    end: source.position(token.end().to_usize()),
                };
                found.push(Mention {
                    path: Arc::clone(path),
                    span,
                    preview: preview(source, span),
                    is_attribute: after_dot,
                });
            }
            if !token.kind().is_trivia() {
                after_dot = token.kind() == TokenKind::Dot;
            }
        }
        found
    })
}

/// Characters of a line that an answer shows.
const PREVIEW: usize = 160;

/// The line a span begins on, as answers show it.
pub fn preview(source: &Source, span: Span) -> String {
    let line = source.line(span.start.line).unwrap_or("").trim();
    match line.char_indices().nth(PREVIEW) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}
