//! Where a name stands that is no NAME token, or one that engines pass over.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::Result;
use pillion_index::facts::name_hash;
use pillion_index::parsed::parsed;
use pillion_index::source::{Source, Span};
use pillion_index::{Index, Kind, mentions_in as names_in};
use pillion_symbols::ask::EngineView;
use pillion_symbols::literals::words;
use pillion_symbols::open_files::OpenFiles;
use rayon::prelude::*;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, InterpolatedStringElement, Keyword, Pattern, PatternMatchClass, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::subject::{Subject, absolute, relative};

/// Mentions in strings and comments that are listed.
pub(super) const MAX_MENTIONS: usize = 200;
/// What tells the parameters of functions.
const OF_PARAMETERS: &[&str] = &[
    ".parameters",
    "__annotations__",
    "__kwdefaults__",
    "get_type_hints",
    "getcallargs",
    "getfullargspec",
];
/// Those of one file that nests too deeply: it mostly says the same again and again.
const MAX_IN_ONE: usize = 10;
/// The strings in `__all__` of every file that defines or imports a name under itself.
pub(super) fn offered(engine: &EngineView, subject: &Subject) -> Vec<(String, Span)> {
    let is_global = subject.alias
        || subject.found.places.iter().all(|(path, span)| {
            let mut opened = OpenFiles::new(&engine.view);
            let at_top = opened.with_facts(path, |facts| {
                let index = facts.named_at(span.start)?;
                facts.symbols[index].container.is_none().then_some(())
            });
            at_top.is_some()
        });
    if !is_global {
        return Vec::new();
    }
    let mut found = Vec::new();
    for file in subject.places.keys() {
        let all = engine
            .view
            .index
            .get(file)
            .and_then(|facts| facts.all.as_ref());
        if !all.is_some_and(|all| all.iter().any(|name| **name == *subject.name)) {
            continue;
        }
        let Some(source) = engine.view.source(Path::new(file)) else {
            continue;
        };
        let ranges = offers(&source, file, &subject.name).into_iter();
        found.extend(ranges.map(|range| (file.clone(), span_of(&source, range))));
    }
    found
}

struct AllFinder<'a> {
    name: &'a str,
    source: &'a Source,
    found: Vec<TextRange>,
}

impl AllFinder<'_> {
    fn statement(&mut self, stmt: &Stmt) {
        let is_all = |expr: &Expr| expr.as_name_expr().is_some_and(|name| name.id == "__all__");
        match stmt {
            Stmt::Assign(assign) if assign.targets.iter().any(is_all) => {
                self.visit_expr(&assign.value);
            }
            Stmt::AugAssign(assign) if is_all(&assign.target) => self.visit_expr(&assign.value),
            Stmt::AnnAssign(assign) if is_all(&assign.target) => {
                assign.value.iter().for_each(|value| self.visit_expr(value));
            }
            Stmt::Expr(expr) => {
                if let Expr::Call(call) = &*expr.value
                    && let Expr::Attribute(method) = &*call.func
                    && is_all(&method.value)
                {
                    self.visit_expr(&expr.value);
                }
            }
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for AllFinder<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::StringLiteral(literal) = expr {
            for part in &literal.value {
                let text = &self.source.text()[part.range];
                // Only a plain literal: the name as it is between its quotes.
                if &*part.value == self.name
                    && let Some(at) = text.find(self.name)
                {
                    let start = part.range.start() + TextSize::try_from(at).unwrap_or_default();
                    let end = start + TextSize::of(self.name);
                    self.found.push(TextRange::new(start, end));
                }
            }
        }
        visitor::walk_expr(self, expr);
    }
}

/// Where `__all__` of a file names something, between the quotes.
pub(super) fn offers(source: &Source, path: &str, name: &str) -> Vec<TextRange> {
    let mut finder = AllFinder {
        name,
        source,
        found: Vec::new(),
    };
    parsed(source.text(), path, |parsed| {
        parsed.body().iter().for_each(|stmt| finder.statement(stmt));
    });
    finder.found
}

/// Keywords of class patterns, `case Point(x=1)`, that name a renamed attribute.
pub(super) async fn class_patterns(
    engine: &EngineView,
    subject: &Subject,
) -> Result<Vec<(String, Span)>> {
    let mut opened = OpenFiles::new(&engine.view);
    let mut classes = Vec::new();
    for (path, span) in subject.found.places.iter().filter(|_| !subject.alias) {
        let class = opened.with_facts(path, |facts| {
            let symbol = &facts.symbols[facts.named_at(span.start)?];
            let class = &facts.symbols[facts.container(symbol)?];
            (class.kind == Kind::Class).then_some(class.name_span)
        });
        classes.extend(class.map(|class| (path.clone(), class)));
    }
    if classes.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for file in engine.view.index.files_with(&subject.name) {
        let Some(source) = engine.view.source(Path::new(&*file)) else {
            continue;
        };
        for (class_at, keyword) in keywords_of_patterns(&source, &file, &subject.name) {
            let targets = engine.definition(&file, class_at.start).await?;
            let is_ours = targets
                .iter()
                .any(|t| classes.contains(&(t.path.clone(), pillion_symbols::ask::span(t.range))));
            if is_ours {
                found.push((relative(engine, &absolute(engine, &file)), keyword));
            }
        }
    }
    Ok(found)
}

/// For each keyword of this name in a class pattern: the class's name and the keyword.
fn keywords_of_patterns(source: &Source, path: &Arc<str>, name: &str) -> Vec<(Span, Span)> {
    struct Finder<'a> {
        source: &'a Source,
        name: &'a str,
        found: Vec<(Span, Span)>,
    }
    impl<'a> Visitor<'a> for Finder<'_> {
        fn visit_pattern(&mut self, pattern: &'a Pattern) {
            if let Pattern::MatchClass(PatternMatchClass { cls, arguments, .. }) = pattern {
                let class = match &**cls {
                    Expr::Attribute(attribute) => attribute.attr.range,
                    other => other.range(),
                };
                for keyword in &arguments.keywords {
                    if keyword.attr == *self.name {
                        let spans = [class, keyword.attr.range].map(|r| span_of(self.source, r));
                        self.found.push((spans[0], spans[1]));
                    }
                }
            }
            visitor::walk_pattern(self, pattern);
        }
    }
    let mut finder = Finder {
        source,
        name,
        found: Vec::new(),
    };
    parsed(source.text(), path, |parsed| {
        finder.visit_body(parsed.body());
    });
    finder.found
}

/// Where a file names an argument of a call by this name: that is the business of what is
/// called.
pub(super) fn keywords(source: &Source, path: &str, name: &str) -> Vec<Span> {
    struct Finder<'a> {
        source: &'a Source,
        name: &'a str,
        found: Vec<Span>,
    }
    impl<'a> Visitor<'a> for Finder<'_> {
        fn visit_keyword(&mut self, keyword: &'a Keyword) {
            let named = keyword.arg.as_ref().filter(|arg| *arg == self.name);
            self.found
                .extend(named.map(|arg| span_of(self.source, arg.range)));
            visitor::walk_keyword(self, keyword);
        }
    }
    let mut finder = Finder {
        source,
        name,
        found: Vec::new(),
    };
    parsed(source.text(), path, |parsed| {
        finder.visit_body(parsed.body());
    });
    finder.found
}

/// The places among some of a file that lie in `{name=}`, which prints the name too.
pub(super) fn printed(source: &Source, path: &str, spans: &[Span]) -> Vec<Span> {
    struct Finder<'a>(&'a Source, Vec<Span>);
    impl<'a> Visitor<'a> for Finder<'_> {
        fn visit_interpolated_string_element(&mut self, element: &'a InterpolatedStringElement) {
            if let InterpolatedStringElement::Interpolation(hole) = element
                && hole.debug_text.is_some()
            {
                self.1.push(span_of(self.0, hole.range));
            }
            visitor::walk_interpolated_string_element(self, element);
        }
    }
    if !["=}", "=!", "=:", "= "]
        .iter()
        .any(|end| source.text().contains(end))
    {
        return Vec::new();
    }
    let mut finder = Finder(source, Vec::new());
    parsed(source.text(), path, |parsed| {
        finder.visit_body(parsed.body());
    });
    let shown = finder.1;
    let is_shown = |span: &&Span| shown.iter().any(|hole| hole.holds(span));
    spans.iter().filter(is_shown).copied().collect()
}

/// What spells a name without being one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    String,
    /// A string that stands alone, as documentation does.
    Docstring,
    Comment,
    Document,
}

impl Text {
    /// Why it is left alone.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::String => "in a string",
            Self::Docstring => "in a docstring",
            Self::Comment => "in a comment",
            Self::Document => "in a document",
        }
    }
}

/// A name in a text.
#[derive(Debug, Clone)]
pub(super) struct Spelling {
    pub(super) file: String,
    pub(super) span: Span,
    pub(super) text: Text,
    /// The dotted name that it is the end of, without itself: `package.module`.
    pub(super) before: String,
    /// Whether a string is the name, and nothing else.
    pub(super) is_whole: bool,
    /// Whether it is such a string in a line that asks what parameters a function has.
    pub(super) is_parameter: bool,
}

/// Where strings and comments of Python files spell a name, and why that is left alone.
pub(super) fn mentions(
    index: &Index,
    root: &Path,
    name: &str,
) -> Vec<(String, Span, &'static str)> {
    let found = spellings(index, root, name).into_iter().take(MAX_MENTIONS);
    found.map(Spelling::left_alone).collect()
}

impl Spelling {
    pub(super) fn left_alone(self) -> (String, Span, &'static str) {
        (self.file, self.span, self.text.why())
    }
}

/// Where strings and comments of Python files spell a name as a word of its own.
pub(super) fn spellings(index: &Index, root: &Path, name: &str) -> Vec<Spelling> {
    let paths: Vec<&Arc<str>> = index.iter().map(|(path, _)| path).collect();
    let found: Vec<Vec<_>> = paths
        .par_iter()
        .map(|path| match std::fs::read(root.join(&***path)) {
            Ok(bytes) if memchr::memmem::find(&bytes, name.as_bytes()).is_some() => {
                mentions_in(&Source::decode(&bytes), path, name)
            }
            _ => Vec::new(),
        })
        .collect();
    found.into_iter().flatten().collect()
}

/// What stands before a name in a text, as far as it may belong to the same dotted name.
pub(super) fn before(text: &str, at: usize) -> String {
    let is_part = |c: char| matches!(c, '_' | '.' | ':') || c.is_alphanumeric();
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind(|c: char| !is_part(c));
    let start = start.map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    let whole = &before[start..];
    match whole.ends_with(['.', ':']) {
        true => whole.trim_end_matches(['.', ':']).to_owned(),
        false => String::new(),
    }
}

/// Where strings of Python files are a name, or end in it behind a dot or a colon.
pub fn exactly(index: &Index, root: &Path, name: &str) -> Vec<(String, Span)> {
    let paths: Vec<&Arc<str>> = index.iter().map(|(path, _)| path).collect();
    let found: Vec<Vec<_>> = paths
        .par_iter()
        .map(|path| match std::fs::read(root.join(&***path)) {
            Ok(bytes) if memchr::memmem::find(&bytes, name.as_bytes()).is_some() => {
                exactly_in(&Source::decode(&bytes), path, name)
            }
            _ => Vec::new(),
        })
        .collect();
    found.into_iter().flatten().take(MAX_MENTIONS).collect()
}

fn exactly_in(source: &Source, path: &Arc<str>, name: &str) -> Vec<(String, Span)> {
    parsed(source.text(), path, |parsed| {
        let strings = parsed.tokens().iter();
        let strings = strings.filter(|token| token.kind() == TokenKind::String);
        let places = strings.filter_map(|token| {
            let text = &source.text()[token.range()];
            let inner = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let inner = inner.trim_matches(['"', '\'']);
            let before = inner.strip_suffix(name)?;
            let is_it = before.is_empty() || before.ends_with(['.', ':']);
            let at = text.rfind(name).filter(|_| is_it)?;
            let start = token.start() + TextSize::try_from(at).ok()?;
            let range = TextRange::at(start, TextSize::of(name));
            Some((path.to_string(), span_of(source, range)))
        });
        places.collect()
    })
}

/// Where files that nest too deeply for engines spell a name.
pub(super) fn too_deep(
    index: &Index,
    root: &Path,
    name: &str,
) -> Vec<(String, Span, &'static str)> {
    let hash = name_hash(name);
    let files = index.iter();
    let files = files.filter(|(_, facts)| facts.is_too_deep && facts.may_mention(hash));
    let found = files.flat_map(|(path, _)| {
        let bytes = std::fs::read(root.join(&**path)).unwrap_or_default();
        let found = names_in(&Source::decode(&bytes), path, name);
        found.into_iter().take(MAX_IN_ONE)
    });
    let why = "the file nests too deeply for what its names mean to be known";
    found
        .take(MAX_MENTIONS)
        .map(|mention| (mention.path.to_string(), mention.span, why))
        .collect()
}

fn mentions_in(source: &Source, path: &Arc<str>, name: &str) -> Vec<Spelling> {
    parsed(source.text(), path, |parsed| {
        let documentation = docstrings(parsed.body());
        let mut found = Vec::new();
        for token in parsed.tokens().iter() {
            let kind = match token.kind() {
                TokenKind::String if documentation.contains(&token.start()) => Text::Docstring,
                TokenKind::String | TokenKind::FStringMiddle | TokenKind::TStringMiddle => {
                    Text::String
                }
                TokenKind::Comment => Text::Comment,
                _ => continue,
            };
            let text = &source.text()[token.range()];
            for at in words(text, name) {
                let start = token.start() + TextSize::try_from(at).unwrap_or_default();
                let range = TextRange::new(start, start + TextSize::of(name));
                let span = span_of(source, range);
                let is_whole = kind == Text::String && is_quoted(text, at, name);
                let line = source.line(span.start.line).unwrap_or_default();
                let mut asks = OF_PARAMETERS.iter();
                found.push(Spelling {
                    file: path.to_string(),
                    span,
                    text: kind,
                    before: before(text, at),
                    is_whole,
                    is_parameter: is_whole && asks.any(|word| line.contains(word)),
                });
            }
        }
        found
    })
}

/// Whether a name stands between the quotes of a string.
fn is_quoted(text: &str, at: usize, name: &str) -> bool {
    let is_quote = |c: char| matches!(c, '"' | '\'');
    text[..at].ends_with(is_quote) && text[at + name.len()..].starts_with(is_quote)
}

/// Where strings begin that stand alone.
pub(super) fn docstrings(body: &[Stmt]) -> BTreeSet<TextSize> {
    struct Find(BTreeSet<TextSize>);
    impl<'a> Visitor<'a> for Find {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::Expr(alone) = stmt
                && let Expr::StringLiteral(literal) = &*alone.value
            {
                self.0.extend(literal.value.iter().map(Ranged::start));
            }
            visitor::walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut find = Find(BTreeSet::new());
    find.visit_body(body);
    find.0
}

pub(super) fn span_of(source: &Source, range: TextRange) -> Span {
    Span {
        start: source.position(range.start().to_usize()),
        end: source.position(range.end().to_usize()),
    }
}
