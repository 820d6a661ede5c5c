//! The edits of one file: heads of functions, and calls inside of calls.

use std::ops::Range;

use pillion_index::parsed::Parsed;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{ArgOrKeyword, Expr, ExprCall, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::binding::{self, Argument, Hindrance, Part};
use super::function::{self, Function, has_effects, offsets};
use super::list::{List, New, Splice, is_moved};
use super::parameters::{Kind, Parameter};

/// A call to write anew, and the parameters that it may be meant for, before and after.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) arguments: TextRange,
    pub(super) fits: Vec<(Vec<Parameter>, Vec<Parameter>)>,
}

/// A function to write anew: where its name stands, and its new parameters.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) at: usize,
    pub(super) function: &'a Function,
    pub(super) new: &'a [Parameter],
}

/// What becomes of a file.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) edits: Vec<Splice>,
    /// Calls that do not fit the function as it is.
    pub(super) misfits: Vec<Range<usize>>,
    /// Calls that nobody can be sure about, and why.
    pub(super) unclear: Vec<(Range<usize>, String)>,
    /// Things to look at, and where.
    pub(super) doubts: Vec<(Range<usize>, &'static str)>,
    /// Arguments that are gone.
    pub(super) dropped: Vec<Range<usize>>,
}

/// The edits of a file.
pub(super) fn write(text: &str, parsed: &Parsed, heads: &[Head<'_>], calls: &[Call]) -> Written {
    let mut written = Written::default();
    let wanted = calls.iter().map(|call| call.arguments).collect();
    let mut finder = CallFinder {
        wanted,
        found: Vec::new(),
    };
    finder.visit_body(parsed.body());
    // The inner ones first: what an outer one moves is what the inner one became.
    finder.found.sort_by_key(|call| call.arguments.range.len());
    for found in finder.found {
        let call = calls
            .iter()
            .find(|call| call.arguments == found.arguments.range);
        if let Some(call) = call {
            one_call(text, parsed, found, call, &mut written);
        }
    }
    for head in heads {
        if let Some((function, _)) = function::find(parsed.body(), head.at) {
            one_head(text, parsed, function, head, &mut written);
        }
    }
    written
        .edits
        .sort_by_key(|edit| (edit.range.start, edit.range.end));
    written
}

struct CallFinder<'a> {
    wanted: Vec<TextRange>,
    found: Vec<&'a ExprCall>,
}

impl<'a> Visitor<'a> for CallFinder<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && self.wanted.contains(&call.arguments.range)
        {
            self.found.push(call);
        }
        visitor::walk_expr(self, expr);
    }
}

fn one_call(text: &str, parsed: &Parsed, found: &ExprCall, call: &Call, written: &mut Written) {
    let place = offsets(found.arguments.range);
    let source: Vec<ArgOrKeyword<'_>> = found.arguments.iter_source_order().collect();
    let nodes: Vec<Range<usize>> = source.iter().map(|arg| offsets(arg.range())).collect();
    let tokens = parsed.tokens().in_range(found.arguments.range);
    let list = List::read(tokens, &nodes).filter(|list| list.items.len() == nodes.len());
    let Some(list) = list else {
        let why = "its arguments cannot be told apart".to_owned();
        written.unclear.push((place, why));
        return;
    };
    let arguments: Vec<Argument> = source.iter().map(argument).collect();
    let mut hindrance = Hindrance::Misfit;
    let mut parts = None;
    for (old, new) in &call.fits {
        match binding::rewrite(&arguments, old, new) {
            Ok(fits) => {
                parts = Some(fits);
                break;
            }
            Err(why) => hindrance = why,
        }
    }
    let Some(parts) = parts else {
        match hindrance {
            Hindrance::Misfit => written.misfits.push(place),
            Hindrance::Unclear(why) => written.unclear.push((place, why)),
        }
        return;
    };
    doubts(&source, &list, &parts, written);
    let alone = parts.len() == 1;
    let render = |range: Range<usize>| rendered(text, range, &written.edits);
    let new: Vec<New> = parts
        .iter()
        .map(|part| match part {
            Part::Kept(item) => match source[*item] {
                ArgOrKeyword::Arg(Expr::Generator(g)) if !g.parenthesized && !alone => {
                    let item_text = render(list.items[*item].clone());
                    New::Rewritten(*item, format!("({item_text})"))
                }
                _ => New::Old(*item),
            },
            Part::Named(item, name) => {
                let value = render(list.items[*item].clone());
                let value = match source[*item] {
                    ArgOrKeyword::Arg(Expr::Generator(g)) if !g.parenthesized => {
                        format!("({value})")
                    }
                    ArgOrKeyword::Arg(Expr::Named(_)) if !value.starts_with('(') => {
                        format!("({value})")
                    }
                    _ => value,
                };
                New::Rewritten(*item, format!("{name}={value}"))
            }
            Part::Placed(item) => {
                let range = list.items[*item].clone();
                let value = match source[*item] {
                    ArgOrKeyword::Keyword(keyword) => {
                        let name = keyword
                            .arg
                            .as_ref()
                            .map_or(range.start, |arg| arg.range.end().to_usize());
                        let equals = text[name..range.end]
                            .find('=')
                            .map_or(name, |n| name + n + 1);
                        equals..range.end
                    }
                    ArgOrKeyword::Arg(_) => range,
                };
                New::Rewritten(*item, render(value).trim().to_owned())
            }
            Part::Fresh(text) => New::Fresh(text.clone()),
        })
        .collect();
    let edits = list.edits(text, &new, render);
    note_comments(text, &list, &new, &place, written);
    take_over(written, edits);
}

fn argument(argument: &ArgOrKeyword<'_>) -> Argument {
    match argument {
        ArgOrKeyword::Arg(Expr::Starred(_)) => Argument::Starred,
        ArgOrKeyword::Arg(_) => Argument::Positional,
        ArgOrKeyword::Keyword(keyword) => match &keyword.arg {
            Some(name) => Argument::Keyword(name.to_string()),
            None => Argument::Mapping,
        },
    }
}

/// What arguments do is done in another order, or not at all.
fn doubts(source: &[ArgOrKeyword<'_>], list: &List, parts: &[Part], written: &mut Written) {
    let kept: Vec<usize> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Kept(item) | Part::Named(item, _) | Part::Placed(item) => Some(*item),
            Part::Fresh(_) => None,
        })
        .collect();
    let acts = |item: usize| has_effects(source[item].value());
    let is_constant = |item: usize| source[item].value().is_literal_expr();
    for (place, &item) in kept.iter().enumerate() {
        let passed = kept[place + 1..].iter().filter(|other| **other < item);
        let mut passed = passed.filter(|o| !is_constant(**o) && !is_constant(item));
        if passed.any(|other| acts(item) || acts(*other)) {
            let what = "arguments that do something are computed in another order";
            written.doubts.push((list.items[item].clone(), what));
            break;
        }
    }
    for item in (0..source.len()).filter(|item| !kept.contains(item)) {
        let range = list.items[item].clone();
        if acts(item) {
            let what = "an argument that does something is not computed any more";
            written.doubts.push((range.clone(), what));
        }
        written.dropped.push(range);
    }
}

fn note_comments(text: &str, list: &List, new: &[New], place: &Range<usize>, to: &mut Written) {
    if is_moved(new) && list.has_comments(text) {
        let what = "comments stay on their lines while what they are about moves";
        to.doubts.push((place.clone(), what));
    }
}

fn one_head(
    text: &str,
    parsed: &Parsed,
    function: &StmtFunctionDef,
    head: &Head<'_>,
    written: &mut Written,
) {
    let parameters = &function.parameters;
    let nodes: Vec<Range<usize>> = parameters.iter().map(|p| offsets(p.range())).collect();
    let tokens = parsed.tokens().in_range(parameters.range);
    let Some(list) = List::read(tokens, &nodes) else {
        return;
    };
    let item = |name: &str| {
        let mut all = parameters.iter();
        let node = all.find(|p| p.name() == name)?;
        list.item_of(&offsets(node.range()))
    };
    let marker = |sign: &str| {
        let mut items = list.items.iter();
        let at = items.position(|item| text[item.clone()] == *sign);
        at.map_or_else(|| New::Fresh(sign.to_owned()), New::Old)
    };
    let first = head.function.first.as_deref();
    let first_only = first.is_some_and(|first| {
        let mut only = parameters.posonlyargs.iter();
        only.any(|p| p.name() == first)
    });
    let mut new: Vec<New> = first.and_then(item).map(New::Old).into_iter().collect();
    let has = |kind: Kind| head.new.iter().any(|p| p.kind == kind);
    let mut wants_slash = first_only || has(Kind::PositionalOnly);
    let mut wants_star = has(Kind::KeywordOnly) && !has(Kind::Rest);
    for parameter in head.new {
        if wants_slash && parameter.kind > Kind::PositionalOnly {
            new.push(marker("/"));
            wants_slash = false;
        }
        if wants_star && parameter.kind == Kind::KeywordOnly {
            new.push(marker("*"));
            wants_star = false;
        }
        new.push(match &parameter.added {
            Some(added) => New::Fresh(added.written()),
            None => match item(&parameter.name) {
                Some(item) => New::Old(item),
                None => continue,
            },
        });
    }
    if wants_slash {
        new.push(marker("/"));
    }
    let place = offsets(parameters.range);
    note_comments(text, &list, &new, &place, written);
    let edits = list.edits(text, &new, |range| rendered(text, range, &written.edits));
    take_over(written, edits);
}

/// A piece of the text with the edits inside of it.
fn rendered(text: &str, range: Range<usize>, edits: &[Splice]) -> String {
    let mut out = text[range.clone()].to_owned();
    let mut inside: Vec<&Splice> = edits
        .iter()
        .filter(|edit| range.start <= edit.range.start && edit.range.end <= range.end)
        .collect();
    inside.sort_by_key(|edit| (edit.range.start, edit.range.end));
    for edit in inside.into_iter().rev() {
        let at = edit.range.start - range.start..edit.range.end - range.start;
        out.replace_range(at, &edit.text);
    }
    out
}

/// Add edits; they hold those that lie inside of them already.
fn take_over(written: &mut Written, edits: Vec<Splice>) {
    written.edits.retain(|old| {
        let mut new = edits.iter();
        !new.any(|new| {
            new.range.start <= old.range.start
                && old.range.end <= new.range.end
                && !new.range.is_empty()
        })
    });
    written.edits.extend(edits);
}
