//! From the index's symbols to what callers see of them.

use crate::answers::{Location, Outlined};
use crate::index::Facts;
use crate::source::Span;

/// A symbol in an outline.
pub fn outlined(file: &str, facts: &Facts, index: usize) -> Outlined {
    let symbol = &facts.symbols[index];
    Outlined {
        name: symbol.name.to_string(),
        kind: symbol.kind,
        line: symbol.span.start.line + 1,
        end_line: last_line(symbol.span) + 1,
        name_line: symbol.name_span.start.line + 1,
        column: symbol.name_span.start.column + 1,
        file: file.to_owned(),
        container: facts.container_path(symbol),
        name_path: facts.name_path(index),
        signature: symbol.signature.as_ref().map(ToString::to_string),
        summary: symbol.summary.as_ref().map(ToString::to_string),
    }
}

/// The last line that has a character of a span.
pub fn last_line(span: Span) -> u32 {
    if span.end.column == 0 && span.end.line > span.start.line {
        span.end.line - 1
    } else {
        span.end.line
    }
}

/// A place as callers see it.
pub fn location(file: String, span: Span, preview: String) -> Location {
    Location {
        file,
        line: span.start.line + 1,
        column: span.start.column + 1,
        end_line: span.end.line + 1,
        end_column: span.end.column + 1,
        name: None,
        kind: None,
        preview,
        external: false,
    }
}
