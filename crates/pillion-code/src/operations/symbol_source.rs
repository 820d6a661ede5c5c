//! New source for a definition: whether it is a whole definition or only its body, how it is
//! indented where it goes, and whether the file still defines what it should.

use std::collections::BTreeMap;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::extract_facts;
use pillion_index::parsed::parsed;
use pillion_index::source::Source;
use pillion_index::syntax::Syntax;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

/// The head of a definition and its body, as offsets of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suite {
    /// Behind the colon.
    pub(super) colon: usize,
    /// The column that its statements begin in, if they have lines of their own.
    pub(super) indent: Option<usize>,
    /// Whether it is that of a class.
    pub(super) of_class: bool,
}

/// What is given for a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    Definition,
    Body,
}

/// What is called for the value of the variable whose name stands at an offset.
pub(super) fn called_for_value(text: &str, path: &str, name_at: usize) -> Option<String> {
    #[derive(Default)]
    struct Calls(Option<TextRange>);
    impl<'a> Visitor<'a> for Calls {
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Lambda(_) => {}
                Expr::Call(call) => self.0 = self.0.or(Some(call.range())),
                _ if self.0.is_none() => visitor::walk_expr(self, expr),
                _ => {}
            }
        }
    }
    /// Statements only: what others call is not the variable's.
    struct Finder {
        name_at: usize,
        called: Option<TextRange>,
    }
    impl<'a> Visitor<'a> for Finder {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            let is_here = |target: &Expr| target.start().to_usize() == self.name_at;
            let value = match stmt {
                Stmt::Assign(assign) if assign.targets.iter().any(is_here) => Some(&assign.value),
                Stmt::AnnAssign(assign) if is_here(&assign.target) => assign.value.as_ref(),
                _ => return visitor::walk_stmt(self, stmt),
            };
            if let Some(value) = value {
                let mut calls = Calls::default();
                calls.visit_expr(value);
                self.called = self.called.or(calls.0);
            }
        }
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    parsed(text, path, |parsed| {
        let mut finder = Finder {
            name_at,
            called: None,
        };
        finder.visit_body(parsed.body());
        Some(text[finder.called?].to_owned())
    })
}

/// The body of the function or class whose name stands at an offset.
pub(super) fn suite(text: &str, path: &str, name_at: usize) -> Option<Suite> {
    struct Finder {
        name_at: usize,
        body: Option<(TextRange, bool)>,
    }
    impl<'a> Visitor<'a> for Finder {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            let (name, body) = match stmt {
                Stmt::FunctionDef(def) => (&def.name, &def.body),
                Stmt::ClassDef(class) => (&class.name, &class.body),
                other => return visitor::walk_stmt(self, other),
            };
            if name.start().to_usize() == self.name_at {
                let first = body.first().map(Ranged::range);
                self.body = first.map(|first| (first, stmt.is_class_def_stmt()));
            }
            visitor::walk_stmt(self, stmt);
        }
    }
    parsed(text, path, |parsed| {
        let mut finder = Finder {
            name_at,
            body: None,
        };
        finder.visit_body(parsed.body());
        let (first, of_class) = finder.body?;
        let before = |token: &&ruff_python_ast::token::Token| token.end() <= first.start();
        let colons = parsed.tokens().iter().take_while(before);
        let colon = colons
            .filter(|token| token.kind() == TokenKind::Colon)
            .last()?;
        let start = first.start().to_usize();
        let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
        Some(Suite {
            colon: colon.end().to_usize(),
            of_class,
            indent: text[line..start].trim().is_empty().then_some(start - line),
        })
    })
}

/// Source at the margin: what all of its lines are indented by is taken away.
pub(super) fn dedented(source: &str) -> String {
    let lines = source.trim_end().lines();
    let full = lines.clone().filter(|line| !line.trim().is_empty());
    let width = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let common = full.map(width).min().unwrap_or(0);
    let cut = |line: &str| line.get(common..).unwrap_or_default().to_owned();
    let mut out: Vec<String> = lines.map(cut).collect();
    while out.first().is_some_and(|line| line.trim().is_empty()) {
        out.remove(0);
    }
    out.join("\n")
}

/// Whether source, at the margin, defines a name itself, or is what stands in a definition.
pub(super) fn given(source: &str, path: &str, name: &str, suite: Option<Suite>) -> Result<Given> {
    let of_class = suite.is_some_and(|suite| suite.of_class);
    let whole = parsed(source, path, |parsed| {
        let defines = parsed.body().iter().any(|stmt| binds(stmt, name));
        let other = match parsed.body() {
            // A class may have one method.
            [Stmt::FunctionDef(def)] if !of_class => Some(def.name.to_string()),
            [Stmt::ClassDef(class)] => Some(class.name.to_string()),
            _ => None,
        };
        (parsed.errors().is_empty(), defines, other)
    });
    match whole {
        (true, true, _) => return Ok(Given::Definition),
        (true, false, Some(other)) => {
            let what = format!("the new source defines `{other}`, not `{name}`");
            return Err(Error::new(Code::InvalidParams, what)
                .hint("`code.rename` gives it another name, everywhere"));
        }
        _ => {}
    }
    let body = format!("async def _():\n{}\n", indented(source, path, "    "));
    let is_body = suite.is_some() && Syntax::errors(&body, path).is_empty();
    if is_body {
        return Ok(Given::Body);
    }
    let errors = Syntax::errors(source, path);
    match errors.first() {
        Some(why) => Err(Error::new(
            Code::ParseError,
            format!("the new source cannot be parsed: {why}"),
        )
        .hint("give a whole definition, or the statements of its body, at the margin")),
        None => Err(Error::new(
            Code::InvalidParams,
            format!("the new source does not define `{name}`"),
        )
        .hint("give a whole definition")),
    }
}

fn binds(stmt: &Stmt, name: &str) -> bool {
    let is_it = |expr: &Expr| expr.as_name_expr().is_some_and(|expr| expr.id == name);
    match stmt {
        Stmt::FunctionDef(def) => def.name == *name,
        Stmt::ClassDef(class) => class.name == *name,
        Stmt::Assign(assign) => assign.targets.iter().any(|target| match target {
            Expr::Tuple(tuple) => tuple.elts.iter().any(is_it),
            other => is_it(other),
        }),
        Stmt::AnnAssign(assign) => is_it(&assign.target),
        Stmt::TypeAlias(alias) => is_it(&alias.name),
        Stmt::If(test) => {
            let others = test
                .elif_else_clauses
                .iter()
                .flat_map(|clause| &clause.body);
            test.body.iter().chain(others).any(|stmt| binds(stmt, name))
        }
        Stmt::Try(try_) => try_.body.iter().any(|stmt| binds(stmt, name)),
        _ => false,
    }
}

/// Source with an indentation before each line, but for lines inside of a string: they are its
/// value. Those of documentation are indented.
pub(super) fn indented(source: &str, path: &str, indent: &str) -> String {
    let inside = inside_strings(source, path);
    let mut at = 0;
    let mut out = String::new();
    for line in source.split_inclusive('\n') {
        let is_value = inside.iter().any(|r| r.start < at && at < r.end);
        if !line.trim().is_empty() && !is_value {
            out.push_str(indent);
        }
        if !line.trim().is_empty() || is_value {
            out.push_str(line);
        } else {
            out.push('\n');
        }
        at += line.len();
    }
    out.trim_end_matches('\n').to_owned()
}

/// Where strings of several lines are that are no documentation.
fn inside_strings(source: &str, path: &str) -> Vec<std::ops::Range<usize>> {
    struct Finder {
        found: Vec<TextRange>,
    }
    impl<'a> Visitor<'a> for Finder {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            let is_doc = matches!(stmt, Stmt::Expr(e) if e.value.is_string_literal_expr());
            if !is_doc {
                visitor::walk_stmt(self, stmt);
            }
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            let text = expr.is_string_literal_expr() || expr.is_bytes_literal_expr();
            if text || expr.is_f_string_expr() || expr.is_t_string_expr() {
                let parts: Vec<TextRange> = match expr {
                    Expr::StringLiteral(all) => all.value.iter().map(Ranged::range).collect(),
                    Expr::BytesLiteral(all) => all.value.iter().map(Ranged::range).collect(),
                    Expr::FString(all) => all.value.iter().map(Ranged::range).collect(),
                    other => vec![other.range()],
                };
                self.found.extend(parts);
            } else {
                visitor::walk_expr(self, expr);
            }
        }
    }
    // A body may have what only a function may: `return` at the margin.
    parsed(source, path, |parsed| {
        let mut finder = Finder { found: Vec::new() };
        finder.visit_body(parsed.body());
        let ranges = finder.found.into_iter();
        ranges
            .map(|range| range.start().to_usize()..range.end().to_usize())
            .filter(|range| source[range.clone()].contains('\n'))
            .collect()
    })
}

/// Refuse a text that does not define everything any more that the one before did, but for
/// what is inside of `gone`; `kept` has to be there.
pub(super) fn still_defined(
    path: &str,
    before: &str,
    after: &str,
    gone: &str,
    kept: bool,
) -> Result<()> {
    let paths = |text: &str| {
        let facts = extract_facts(&Source::from_text(text), path);
        let mut all: BTreeMap<String, usize> = BTreeMap::new();
        for index in 0..facts.symbols.len() {
            *all.entry(facts.name_path(index)).or_default() += 1;
        }
        all
    };
    let (was, is) = (paths(before), paths(after));
    let inner = format!("{gone}/");
    let lost = was.iter().find(|(name, count)| {
        let count = match **name == *gone {
            true => usize::from(kept),
            false if name.starts_with(&inner) => 0,
            false => **count,
        };
        is.get(*name).copied().unwrap_or(0) < count
    });
    match lost {
        None => Ok(()),
        Some((name, _)) => Err(Error::new(
            Code::InvalidParams,
            format!("with this change `{path}` would not define `{name}` any more"),
        )
        .hint("check the indentation, and which definition the source is for")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_told_apart() {
        let suite = Suite {
            colon: 0,
            indent: None,
            of_class: false,
        };
        let of = |source: &str| given(source, "m.py", "f", Some(suite)).map_err(|e| e.message);
        assert_eq!(of("def f():\n    return 1"), Ok(Given::Definition));
        assert_eq!(of("@cache\nasync def f(): ..."), Ok(Given::Definition));
        assert_eq!(of("return 1"), Ok(Given::Body));
        assert_eq!(of("\"\"\"Doc.\"\"\"\nreturn await x"), Ok(Given::Body));
        assert_eq!(of("def g():\n    return 1\nreturn g()"), Ok(Given::Body));
        assert!(of("def g():\n    return 1").is_err());
        assert!(of("def f(:").is_err());
        assert!(of("return (").is_err());
        assert!(given("1 + 1", "m.py", "X", None).is_err());
        assert_eq!(given("X = 2", "m.py", "X", None), Ok(Given::Definition));
    }

    #[test]
    fn strings_keep_their_lines() {
        let source = "\"\"\"Doc\nmore\"\"\"\nx = \"\"\"a\nb\n\"\"\"\ny = f\"\"\"\n{x}\n\"\"\"";
        let expected =
            "  \"\"\"Doc\n  more\"\"\"\n  x = \"\"\"a\nb\n\"\"\"\n  y = f\"\"\"\n{x}\n\"\"\"";
        assert_eq!(indented(source, "m.py", "  "), expected);
        assert_eq!(dedented("\n    a\n\n      b\n"), "a\n\n  b");
    }

    #[test]
    fn a_body_begins_behind_its_colon() {
        let text = "def f(a: int = {1: 2}) -> dict:  # why\n    # first\n    return a\n";
        let found = suite(text, "m.py", 4).unwrap();
        assert!(text[found.colon..].starts_with("  # why"));
        assert_eq!(found.indent, Some(4));
        assert_eq!(
            suite("def f(): return 1\n", "m.py", 4).unwrap().indent,
            None
        );
        assert!(suite("x = 1\n", "m.py", 0).is_none());
    }
}
