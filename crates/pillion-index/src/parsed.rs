//! Syntax trees of Python: the one place that parses, and lends stack to whoever walks.
//!
//! A tree is as deep as its text nests, and `----1` nests with every character. The parser, its
//! own checks, every visitor and even the drop of a tree go down level by level on the stack,
//! and a stack that overflows ends the process for all who share it. So a tree exists only
//! while [`parsed`] runs: on a stack with room for all that a text of this length can nest, and
//! handed on only if it is not deeper than [`MAX_DEPTH`]. A text that nests deeper has an empty
//! tree and one error that says so; its words are still there as tokens.

use ruff_python_ast::token::{Token, TokenFlags, TokenKind, Tokens};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Expr, InterpolatedStringElement, ModExpression, ModModule, Pattern, PySourceType, Stmt,
    StringLiteral,
};
use ruff_python_parser::{self as ruff, Mode, ParseError, ParseErrorType, lexer};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::keywords::may_be_keyword;

/// Levels of a tree that are walked. Python itself gives up between 200 (brackets) and some
/// thousands (sums); what people and generators write stays far below.
pub const MAX_DEPTH: usize = 2_000;
/// Levels that engines are given. ty walks on stacks of its own, which overflow between 500 and
/// 1,000 levels; what is deeper is kept from it.
pub(crate) const ENGINE_DEPTH: usize = 300;
/// Levels that the parser has room for. A shorter text cannot nest deeper than it is long; of
/// a longer one the tokens are counted first.
const ROOM: usize = 20_000;
/// Bytes of stack that one level takes in the parser at most, with and without optimisation.
const PARSER_LEVEL: usize = if cfg!(debug_assertions) {
    16 << 10
} else {
    6 << 10
};
/// Bytes of stack that one level takes in a walker at most.
const WALKER_LEVEL: usize = if cfg!(debug_assertions) {
    16 << 10
} else {
    4 << 10
};
/// What is needed besides, whatever the depth.
const BASE: usize = 256 << 10;

/// How a file is to be parsed.
fn source_type(path: &str) -> PySourceType {
    if path.ends_with(".pyi") {
        PySourceType::Stub
    } else {
        PySourceType::Python
    }
}

/// A module that was parsed.
#[derive(Debug)]
pub struct Parsed {
    tree: ruff::Parsed<ModModule>,
    /// Tokens and error of a text that nests too deeply; its tree is empty.
    refused: Option<(Tokens, [ParseError; 1])>,
    /// Whether it nests deeper than engines can follow, and where.
    beyond_engines: Option<TextRange>,
}

impl Parsed {
    /// The statements of the module; none if it nests too deeply.
    pub fn body(&self) -> &[Stmt] {
        &self.tree.syntax().body
    }

    /// Its tokens; those of a text that is far too deep are its words and dots only.
    pub fn tokens(&self) -> &Tokens {
        let refused = self.refused.as_ref();
        refused.map_or_else(|| self.tree.tokens(), |(tokens, _)| tokens)
    }

    /// Where it nests deeper than engines can follow, if it does.
    pub fn beyond_engines(&self) -> Option<TextRange> {
        self.beyond_engines
    }

    /// Whether it nests deeper than is read at all.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// What is wrong with it.
    pub fn errors(&self) -> &[ParseError] {
        let refused = self.refused.as_ref();
        refused.map_or_else(|| self.tree.errors(), |(_, errors)| errors)
    }
}

/// Parse a file and look at it.
pub fn parsed<R>(text: &str, path: &str, read: impl FnOnce(&Parsed) -> R) -> R {
    let source_type = source_type(path);
    let refused = |tokens, error: ParseError| Parsed {
        tree: ruff::parse_unchecked_source("", source_type),
        beyond_engines: Some(error.location),
        refused: Some((tokens, [error])),
    };
    if let Err(at) = fits(text) {
        return read(&refused(words(text), too_deep(at)));
    }
    on_stack(text.len().min(ROOM) * PARSER_LEVEL, || {
        let tree = ruff::parse_unchecked_source(text, source_type);
        let mut depth = Depth::default();
        depth.visit_body(&tree.syntax().body);
        match depth.refused() {
            None => {
                let parsed = Parsed {
                    tree,
                    refused: None,
                    beyond_engines: depth.place.filter(|_| depth.deepest > ENGINE_DEPTH),
                };
                // The tree is dropped on the same stack that it was read on.
                on_stack(depth.deepest * WALKER_LEVEL, move || read(&parsed))
            }
            Some(error) => read(&refused(tree.tokens().clone(), error)),
        }
    })
}

/// Parse an expression and look at it; nothing if it is none, or nests too deeply.
pub fn expression<R>(text: &str, read: impl FnOnce(&Expr) -> R) -> Option<R> {
    fits(text).ok()?;
    one(text.len(), || ruff::parse_expression(text), read)
}

/// Parse the expression that a string in an annotation holds, and look at it; nothing if it
/// holds none, or one that nests too deeply.
pub fn annotation<R>(
    text: &str,
    literal: &StringLiteral,
    read: impl FnOnce(&Expr) -> R,
) -> Option<R> {
    fits(text.get(literal.range.to_std_range())?).ok()?;
    let parse = || ruff::parse_string_annotation(text, literal);
    one(literal.range.len().to_usize(), parse, read)
}

fn one<R>(
    length: usize,
    parse: impl FnOnce() -> Result<ruff::Parsed<ModExpression>, ParseError>,
    read: impl FnOnce(&Expr) -> R,
) -> Option<R> {
    on_stack(length.min(ROOM) * PARSER_LEVEL, || {
        let parsed = parse().ok()?;
        let mut depth = Depth::default();
        depth.visit_expr(parsed.expr());
        match depth.refused() {
            None => on_stack(depth.deepest * WALKER_LEVEL, move || {
                Some(read(parsed.expr()))
            }),
            Some(_) => None,
        }
    })
}

/// Run something that needs so many bytes of stack, and what everything needs.
fn on_stack<R>(bytes: usize, run: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(bytes + BASE, bytes + 2 * BASE, run)
}

fn too_deep(location: TextRange) -> ParseError {
    let what = format!("it nests too deeply: more than {MAX_DEPTH} levels");
    ParseError {
        error: ParseErrorType::OtherError(what),
        location,
    }
}

/// How deep a tree is, and where.
#[derive(Default)]
struct Depth {
    current: usize,
    deepest: usize,
    place: Option<TextRange>,
}

impl Depth {
    fn refused(&self) -> Option<ParseError> {
        let place = self.place.filter(|_| self.deepest > MAX_DEPTH)?;
        Some(too_deep(place))
    }

    fn level(&mut self, place: TextRange, inside: impl FnOnce(&mut Self)) {
        crate::steps::take(1);
        self.current += 1;
        if self.current > self.deepest {
            self.deepest = self.current;
            // The first place that is too deep is the one to name.
            if self.deepest <= MAX_DEPTH + 1 {
                self.place = Some(TextRange::empty(place.start()));
            }
        }
        inside(self);
        self.current -= 1;
    }
}

impl<'a> Visitor<'a> for Depth {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.level(stmt.range(), |this| visitor::walk_stmt(this, stmt));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.level(expr.range(), |this| visitor::walk_expr(this, expr));
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.level(pattern.range(), |this| visitor::walk_pattern(this, pattern));
    }

    fn visit_interpolated_string_element(&mut self, element: &'a InterpolatedStringElement) {
        self.level(element.range(), |this| {
            visitor::walk_interpolated_string_element(this, element);
        });
    }
}

/// Whether the parser has room for a text, by its tokens; else the place from which on it has
/// none.
fn fits(text: &str) -> Result<(), TextRange> {
    if text.len() <= ROOM {
        return Ok(());
    }
    let lines = indented(text);
    match lines < ROOM / 2 && nested(text) < ROOM / 2 {
        true => Ok(()),
        false => Err(TextRange::empty(TextSize::new(0))),
    }
}

/// How deep lines are indented in one another, at most.
fn indented(text: &str) -> usize {
    let mut open: Vec<usize> = Vec::new();
    let mut deepest = 0;
    for line in text.split(['\n', '\r']) {
        let code = line.trim_start_matches([' ', '\t', '\x0c']);
        if code.is_empty() {
            continue;
        }
        let indent = line.len() - code.len();
        while open.last().is_some_and(|last| *last >= indent) {
            open.pop();
        }
        open.push(indent);
        deepest = deepest.max(open.len());
    }
    deepest
}

/// Brackets that are open, or an f-string.
struct Open {
    closes: Option<TokenKind>,
    /// What may nest in it since its last comma: operators, keywords, calls.
    links: usize,
    /// Lambdas whose colon has not come: commas between them and it end nothing.
    lambdas: usize,
}

/// How deep expressions can lie in one another by the tokens, at most: brackets that are open,
/// and what links expressions in each of them.
fn nested(text: &str) -> usize {
    let outer = || {
        vec![Open {
            closes: None,
            links: 0,
            lambdas: 0,
        }]
    };
    let mut lexer = lexer::lex(text, Mode::Module);
    let mut open = outer();
    let (mut total, mut deepest) = (0_usize, 0_usize);
    loop {
        let kind = lexer.next_token();
        let closes = match kind {
            TokenKind::Lpar => Some(TokenKind::Rpar),
            TokenKind::Lsqb => Some(TokenKind::Rsqb),
            TokenKind::Lbrace => Some(TokenKind::Rbrace),
            TokenKind::FStringStart => Some(TokenKind::FStringEnd),
            TokenKind::TStringStart => Some(TokenKind::TStringEnd),
            _ => None,
        };
        if closes.is_some() {
            open.push(Open {
                closes,
                links: 0,
                lambdas: 0,
            });
            total += 1;
            deepest = deepest.max(total);
            continue;
        }
        match kind {
            TokenKind::EndOfFile => return deepest,
            // Nothing goes on behind the end of a statement.
            TokenKind::Newline | TokenKind::Semi => {
                open = outer();
                total = 0;
                continue;
            }
            TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringMiddle
            | TokenKind::TStringMiddle
            | TokenKind::Comment
            | TokenKind::NonLogicalNewline => continue,
            _ => {}
        }
        if open.len() > 1 && open.last().is_some_and(|last| last.closes == Some(kind)) {
            total -= open.pop().map_or(0, |last| last.links + 1);
        }
        let Some(here) = open.last_mut() else {
            return deepest;
        };
        match kind {
            TokenKind::Comma if here.lambdas == 0 => {
                total -= here.links;
                here.links = 0;
            }
            TokenKind::Colon => here.lambdas = here.lambdas.saturating_sub(1),
            TokenKind::Lambda => here.lambdas += 1,
            _ => {}
        }
        here.links += 1;
        total += 1;
        deepest = deepest.max(total);
    }
}

/// The words and dots of a text, in place of its tokens.
fn words(text: &str) -> Tokens {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let mut tokens = Vec::new();
    let mut push = |kind, start: usize, end: usize| {
        if let (Ok(start), Ok(end)) = (TextSize::try_from(start), TextSize::try_from(end)) {
            let range = TextRange::new(start, end);
            tokens.push(Token::new(kind, range, TokenFlags::empty()));
        }
    };
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match start {
            None if is_word(c) => start = Some(at),
            None if c == '.' => push(TokenKind::Dot, at, at + 1),
            Some(from) if !is_word(c) => {
                let word = &text[from..at];
                if !may_be_keyword(word) && !word.starts_with(|c: char| c.is_numeric()) {
                    push(TokenKind::Name, from, at);
                }
                start = None;
                if c == '.' {
                    push(TokenKind::Dot, at, at + 1);
                }
            }
            _ => {}
        }
    }
    Tokens::new(tokens)
}
