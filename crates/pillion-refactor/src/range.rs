//! Ranges that callers name, as offsets: whole lines, or the expression that was meant.

use std::ops::Range;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::parsed::{Parsed, parsed};
use pillion_index::source::{Position, Source};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Decorator, Expr, ExprContext, Pattern, Stmt, TypeParams};
use ruff_text_size::Ranged;

/// A range as callers write it: lines and columns from 1, the end one past the last
/// character; whole lines where columns are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedRange {
    /// The first line.
    pub start_line: u32,
    /// The first column.
    pub start_col: Option<u32>,
    /// The last line.
    pub end_line: u32,
    /// One past the last column.
    pub end_col: Option<u32>,
}

impl AskedRange {
    /// The offsets of the range, without the white space at its begin and end.
    pub fn offsets(&self, source: &Source) -> Result<Range<usize>> {
        let one = "lines and columns count from 1";
        let refused = |code: Code, what: &str| {
            Error::new(code, what).hint("name lines and columns of the file as it is now")
        };
        let wrong = |what: &str| refused(Code::InvalidParams, what);
        // A place that the file does not have is no mistake in the request's form.
        let nothing = |what: &str| refused(Code::NotFound, what);
        let count = u32::try_from(source.line_count()).unwrap_or(u32::MAX);
        if self.start_line > self.end_line {
            return Err(wrong("the range ends before it begins"));
        }
        if self.end_line > count {
            return Err(nothing(&format!("the file has only {count} lines")));
        }
        let last = |line: u32| {
            let line = source.line(line.saturating_sub(1)).unwrap_or_default();
            u32::try_from(line.chars().count())
                .unwrap_or(u32::MAX)
                .saturating_add(1)
        };
        let place = |line: u32, column: Option<u32>| {
            let last = || last(line);
            let at =
                Position::from_one(line, column.unwrap_or_else(last)).ok_or_else(|| wrong(one))?;
            let missing = || nothing(&format!("line {line} has no such column"));
            source.offset(at).ok_or_else(missing)
        };
        let start = place(self.start_line, Some(self.start_col.unwrap_or(1)))?;
        // Whoever names an end behind the line means its end.
        let end_col = self.end_col.map(|column| column.min(last(self.end_line)));
        let end = place(self.end_line, end_col)?;
        if start > end {
            return Err(wrong("the range ends before it begins"));
        }
        let text = &source.text()[start..end];
        let body = text.trim();
        if body.is_empty() && !text.is_empty() {
            return Err(nothing("the range is empty"));
        }
        let start = start + (text.len() - text.trim_start().len());
        Ok(start..start + body.len())
    }
}

/// The smallest expression that the offsets lie in; or, if they hold a whole statement, its
/// value.
pub fn expression(source: &Source, path: &str, wanted: Range<usize>) -> Result<Range<usize>> {
    let text = source.text();
    parsed(text, path, |parsed| smallest(text, parsed, wanted))
}

fn smallest(text: &str, parsed: &Parsed, wanted: Range<usize>) -> Result<Range<usize>> {
    let find = |wanted: &Range<usize>| {
        let mut finder = Finder {
            wanted: wanted.clone(),
            smallest: None,
            largest: Vec::new(),
            in_string: false,
            is_call: false,
        };
        finder.visit_body(parsed.body());
        finder
    };
    let finder = find(&wanted);
    if finder.in_string {
        return Err(
            Error::new(Code::InvalidParams, "the range lies inside of an f-string")
                .hint("choose the whole string, or take the expression out of it by hand"),
        );
    }
    // Brackets around an expression are no part of it.
    let mut inner = wanted.clone();
    while !finder.is_call
        && text[inner.clone()].starts_with('(')
        && text[inner.clone()].ends_with(')')
        && inner.len() > 1
    {
        let within = &text[inner.start + 1..inner.end - 1];
        let start = inner.start + 1 + (within.len() - within.trim_start().len());
        inner = start..start + within.trim().len();
        if find(&inner).smallest.as_ref() == Some(&inner)
            && finder.smallest.as_ref() != Some(&wanted)
        {
            return Ok(inner);
        }
    }
    match (finder.smallest, finder.largest.as_slice()) {
        (Some(found), _) => Ok(found),
        (None, [found]) => Ok(found.clone()),
        _ => Err(
            Error::new(Code::NotFound, "there is no expression in the range")
                .hint("choose an expression, such as the value of an assignment"),
        ),
    }
}

struct Finder {
    wanted: Range<usize>,
    smallest: Option<Range<usize>>,
    /// Expressions inside of the range that lie in no other one.
    largest: Vec<Range<usize>>,
    in_string: bool,
    /// The range is the brackets of a call with what is in them.
    is_call: bool,
}

fn range_of(node: &impl Ranged) -> Range<usize> {
    node.range().start().to_usize()..node.range().end().to_usize()
}

fn is_value(expr: &Expr) -> bool {
    let context = match expr {
        Expr::Name(name) => name.ctx,
        Expr::Attribute(attribute) => attribute.ctx,
        Expr::Subscript(subscript) => subscript.ctx,
        Expr::List(list) => list.ctx,
        Expr::Tuple(tuple) => tuple.ctx,
        // Parts of a subscript or of a call, and not values.
        Expr::Slice(_) | Expr::Starred(_) | Expr::IpyEscapeCommand(_) => return false,
        Expr::Generator(generator) => return generator.parenthesized,
        _ => ExprContext::Load,
    };
    context == ExprContext::Load
}

impl<'a> Visitor<'a> for Finder {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let range = range_of(stmt);
        if range.start <= self.wanted.end && self.wanted.start <= range.end {
            visitor::walk_stmt(self, stmt);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let range = range_of(expr);
        if is_value(expr) {
            if range.start <= self.wanted.start && self.wanted.end <= range.end {
                self.smallest = Some(range.clone());
            } else if self.wanted.start <= range.start && range.end <= self.wanted.end {
                self.largest.push(range);
                return;
            }
        }
        if let Expr::Call(call) = expr {
            self.is_call |= range_of(&call.arguments) == self.wanted;
        }
        if matches!(expr, Expr::FString(_) | Expr::TString(_)) {
            let range = range_of(expr);
            self.in_string |= range != self.wanted
                && range.start < self.wanted.start
                && self.wanted.end < range.end;
            return;
        }
        visitor::walk_expr(self, expr);
    }

    // None of these are values that a variable could be given before the statement.
    fn visit_annotation(&mut self, _: &'a Expr) {}
    fn visit_decorator(&mut self, _: &'a Decorator) {}
    fn visit_pattern(&mut self, _: &'a Pattern) {}
    fn visit_type_params(&mut self, _: &'a TypeParams) {}
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
