//! What stands at a place, by the text of its file alone.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Parameter, Stmt, TypeParam};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::index::Kind;
use crate::parsed::parsed;
use crate::source::{Position, Source};

/// A file to look at closely; it is parsed for every question.
#[derive(Debug)]
pub struct Syntax<'a> {
    source: &'a Source,
    path: &'a str,
}

/// What the token at a place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// A name.
    Name,
    /// A keyword, also one that is a keyword only there.
    Keyword,
    /// A string, a comment, a number, an operator.
    Other,
}

impl Syntax<'_> {
    /// What is wrong with a text, with the lines.
    pub fn errors(text: &str, path: &str) -> Vec<String> {
        parsed(text, path, |parsed| {
            let errors = parsed.errors().iter().map(|error| {
                let before = &text[..error.location.start().to_usize()];
                let line = before.matches('\n').count() + 1;
                format!("line {line}: {}", error.error)
            });
            errors.collect()
        })
    }
}

impl<'a> Syntax<'a> {
    /// A file with its text.
    pub fn of(source: &'a Source, path: &'a str) -> Self {
        Self { source, path }
    }

    fn offset(&self, at: Position) -> Option<TextSize> {
        let offset = self.source.offset(at)?;
        u32::try_from(offset).ok().map(TextSize::new)
    }

    /// What the token under or right before a cursor is.
    pub fn word(&self, at: Position) -> WordKind {
        let Some(offset) = self.offset(at) else {
            return WordKind::Other;
        };
        let touching = |token: &&ruff_python_ast::token::Token| {
            token.start() <= offset && offset <= token.end()
        };
        parsed(self.source.text(), self.path, |parsed| {
            let mut best = WordKind::Other;
            for token in parsed.tokens().iter().filter(touching) {
                match token.kind() {
                    TokenKind::Name => return WordKind::Name,
                    kind if kind.is_keyword() => best = WordKind::Keyword,
                    _ => {}
                }
            }
            best
        })
    }

    /// What a name that is defined at a place is, where it is no symbol of the index.
    pub fn kind(&self, at: Position) -> Option<Kind> {
        let offset = self.offset(at)?;
        let mut finder = KindFinder {
            offset,
            found: None,
        };
        parsed(self.source.text(), self.path, |parsed| {
            finder.visit_body(parsed.body());
        });
        finder.found
    }

    /// The documentation of what is defined at a place: of a class or function by the place
    /// of its name, of the module for the first place of the file.
    pub fn docstring(&self, name_at: Option<Position>) -> Option<String> {
        let offset = match name_at {
            Some(at) => Some(self.offset(at)?),
            None => None,
        };
        parsed(self.source.text(), self.path, |parsed| {
            let Some(offset) = offset else {
                return docstring(parsed.body());
            };
            let mut finder = BodyFinder {
                offset,
                found: None,
            };
            finder.visit_body(parsed.body());
            docstring(finder.found?)
        })
    }
}

struct KindFinder {
    offset: TextSize,
    found: Option<Kind>,
}

impl KindFinder {
    fn note(&mut self, range: TextRange, kind: Kind) {
        if range.contains_inclusive(self.offset) {
            self.found.get_or_insert(kind);
        }
    }
}

impl<'a> Visitor<'a> for KindFinder {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if !stmt.range().contains_inclusive(self.offset) {
            return;
        }
        visitor::walk_stmt(self, stmt);
        self.found.get_or_insert(Kind::Variable);
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.note(parameter.name.range, Kind::Parameter);
        visitor::walk_parameter(self, parameter);
    }

    fn visit_type_param(&mut self, parameter: &'a TypeParam) {
        self.note(parameter.name().range, Kind::Type);
        visitor::walk_type_param(self, parameter);
    }
}

struct BodyFinder<'a> {
    offset: TextSize,
    found: Option<&'a [Stmt]>,
}

impl<'a> Visitor<'a> for BodyFinder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if self.found.is_some() || !stmt.range().contains_inclusive(self.offset) {
            return;
        }
        let (name, body) = match stmt {
            Stmt::ClassDef(class) => (&class.name, &class.body),
            Stmt::FunctionDef(function) => (&function.name, &function.body),
            _ => return visitor::walk_stmt(self, stmt),
        };
        if name.range.contains_inclusive(self.offset) {
            self.found = Some(body);
        } else {
            visitor::walk_stmt(self, stmt);
        }
    }
}

/// The documentation that a body begins with, without its indentation.
fn docstring(body: &[Stmt]) -> Option<String> {
    let Some(Stmt::Expr(first)) = body.first() else {
        return None;
    };
    let text = first.value.as_string_literal_expr()?.value.to_str();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or("").trim();
    let rest: Vec<&str> = lines.collect();
    let indent = rest
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let mut out = vec![first];
    out.extend(
        rest.iter()
            .map(|line| line.get(indent..).unwrap_or("").trim_end()),
    );
    let text = out.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, column: u32) -> Position {
        Position { line, column }
    }

    #[test]
    fn kinds_words_and_docstrings_are_found() {
        let source = Source::decode(
            b"\"\"\"The module.\"\"\"\ndef f[T](first, *rest, key=1):\n    \"\"\"Line one.\n\n      Indented.\n    Done.\n    \"\"\"\n    local = first\n    return lambda inner: inner\n",
        );
        let syntax = Syntax::of(&source, "m.py");
        assert_eq!(syntax.kind(at(1, 9)), Some(Kind::Parameter));
        assert_eq!(syntax.kind(at(1, 17)), Some(Kind::Parameter));
        assert_eq!(syntax.kind(at(1, 6)), Some(Kind::Type));
        assert_eq!(syntax.kind(at(7, 5)), Some(Kind::Variable));
        assert_eq!(syntax.kind(at(8, 20)), Some(Kind::Parameter));
        assert_eq!(syntax.word(at(1, 1)), WordKind::Keyword);
        assert_eq!(syntax.word(at(1, 4)), WordKind::Name);
        assert_eq!(syntax.word(at(2, 8)), WordKind::Other);
        assert_eq!(syntax.word(at(99, 0)), WordKind::Other);
        assert_eq!(syntax.docstring(None).as_deref(), Some("The module."));
        assert_eq!(
            syntax.docstring(Some(at(1, 4))).as_deref(),
            Some("Line one.\n\n  Indented.\nDone.")
        );
        assert_eq!(syntax.docstring(Some(at(7, 5))), None);
    }
}
