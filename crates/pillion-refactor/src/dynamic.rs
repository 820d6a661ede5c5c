//! Names that a program puts together while it runs: `getattr(self, "parse_" + kind)`.
//!
//! Nobody can say what such a call means. But in a file that looks names up, a text with a
//! hole, or one that ends in `_`, may become every name that begins and ends like it; whoever
//! renames one of those is told.

use std::collections::BTreeSet;
use std::path::Path;

use pillion_index::Index;
use pillion_index::facts::name_hash;
use pillion_index::parsed::parsed;
use pillion_index::source::{Source, Span};
use rayon::prelude::*;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, InterpolatedStringElement};
use ruff_text_size::{Ranged, TextRange};

/// Shorter texts begin too many names.
const MIN_KNOWN: usize = 2;
/// Functions that look a name up.
const FUNCTIONS: &[&str] = &["getattr", "hasattr", "setattr", "delattr"];

/// Calls that may look up a name.
pub(super) fn lookups(index: &Index, root: &Path, name: &str) -> Vec<(String, Span)> {
    let mut files: Vec<_> = FUNCTIONS.iter().flat_map(|f| index.files_with(f)).collect();
    files.sort();
    files.dedup();
    let found: Vec<Vec<_>> = files
        .par_iter()
        .map(|path| {
            let Ok(bytes) = std::fs::read(root.join(&**path)) else {
                return Vec::new();
            };
            if !holds_an_end(&bytes, name) {
                return Vec::new();
            }
            let source = Source::decode(&bytes);
            let ranges = lookups_in(source.text(), path, name).into_iter();
            let spans = ranges.map(|range| Span {
                start: source.position(range.start().to_usize()),
                end: source.position(range.end().to_usize()),
            });
            spans.map(|span| (path.to_string(), span)).collect()
        })
        .collect();
    found.into_iter().flatten().collect()
}

/// The same in one text, such as the source of a class of others that is inherited from.
pub(super) fn lookups_of(source: &Source, path: &str, name: &str) -> Vec<Span> {
    let mut functions = FUNCTIONS.iter();
    if !functions.any(|function| source.text().contains(function)) {
        return Vec::new();
    }
    let ranges = lookups_in(source.text(), path, name).into_iter();
    let spans = ranges.map(|range| Span {
        start: source.position(range.start().to_usize()),
        end: source.position(range.end().to_usize()),
    });
    spans.collect()
}

/// Whether a text begins or ends like the name anywhere: parsing all files would take long.
fn holds_an_end(bytes: &[u8], name: &str) -> bool {
    let name = name.as_bytes();
    let last = name.len().saturating_sub(MIN_KNOWN);
    let (Some(first), Some(last)) = (name.get(..MIN_KNOWN), name.get(last..)) else {
        return false;
    };
    [&b"'"[..], b"\""].iter().any(|quote| {
        let begins = [quote, first].concat();
        let ends = [last, quote].concat();
        memchr::memmem::find(bytes, &begins).is_some()
            || memchr::memmem::find(bytes, &ends).is_some()
    })
}

/// What a class's own name may be a part of: functions and classes that are looked up by it,
/// as `visit_Name` is by `f"visit_{type(node).__name__}"`. Case and `_` may differ: what is put
/// together is often changed to the style of functions.
pub(super) fn named_after(index: &Index, root: &Path, class: &str) -> Vec<(String, Span)> {
    let files = index.iter();
    let files = files.filter(|(_, facts)| {
        let mentions = |name: &&str| facts.may_mention(name_hash(name));
        let looks_up = FUNCTIONS.iter().chain(&["globals"]).any(&mentions);
        looks_up && ["__name__", "__qualname__"].iter().any(mentions)
    });
    let files: Vec<_> = files.map(|(path, _)| path).collect();
    let found: Vec<BTreeSet<String>> = files
        .par_iter()
        .map(|path| match std::fs::read(root.join(&***path)) {
            Ok(bytes) => around_names(Source::decode(&bytes).text(), path, class),
            Err(_) => BTreeSet::new(),
        })
        .collect();
    let wanted: BTreeSet<String> = found.into_iter().flatten().collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let symbols = index.iter().flat_map(|(path, facts)| {
        let symbols = facts.symbols.iter();
        let symbols = symbols.filter(|s| s.signature.is_some() && wanted.contains(&plain(&s.name)));
        symbols.map(|s| (path.to_string(), s.name_span))
    });
    symbols.collect()
}

/// The names that texts with a hole become with this one in it, if the file reads the names of
/// classes.
fn around_names(text: &str, path: &str, name: &str) -> BTreeSet<String> {
    struct Finder<'a> {
        name: &'a str,
        reads_names: bool,
        found: BTreeSet<String>,
    }
    impl<'a> Visitor<'a> for Finder<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Attribute(attribute) = expr {
                self.reads_names |= matches!(&*attribute.attr, "__name__" | "__qualname__");
            }
            if let Some((before, after)) = ends(expr)
                && before.len().max(after.len()) >= MIN_KNOWN
                && [&before, &after].iter().all(|part| is_part(part))
            {
                let whole = format!("{before}{}{after}", self.name);
                self.found.insert(plain(&whole));
            }
            visitor::walk_expr(self, expr);
        }
    }
    let mut finder = Finder {
        name,
        reads_names: false,
        found: BTreeSet::new(),
    };
    parsed(text, path, |parsed| finder.visit_body(parsed.body()));
    match finder.reads_names {
        true => finder.found,
        false => BTreeSet::new(),
    }
}

/// Whether a text can be a part of a name.
fn is_part(text: &str) -> bool {
    text.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// A name without what styles of writing it differ in.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

fn lookups_in(text: &str, path: &str, name: &str) -> Vec<TextRange> {
    struct Finder<'a> {
        name: &'a str,
        found: Vec<TextRange>,
    }
    impl<'a> Visitor<'a> for Finder<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if may_be(expr, self.name) {
                self.found.push(expr.range());
            }
            visitor::walk_expr(self, expr);
        }
    }
    let mut finder = Finder {
        name,
        found: Vec::new(),
    };
    parsed(text, path, |parsed| finder.visit_body(parsed.body()));
    finder.found
}

/// Whether a text may become a name.
fn may_be(expr: &Expr, name: &str) -> bool {
    let Some((before, after)) = ends(expr) else {
        return false;
    };
    let known = before.len() + after.len();
    before.len().max(after.len()) >= MIN_KNOWN
        && known < name.len()
        && name.starts_with(&*before)
        && name.ends_with(&*after)
}

/// How a text with a hole begins, and how it ends.
fn ends(expr: &Expr) -> Option<(String, String)> {
    match expr {
        Expr::StringLiteral(literal) => {
            let text = literal.value.to_str();
            let around = |hole: &str, end: &str| {
                let (before, rest) = text.split_once(hole)?;
                let after = rest.rsplit_once(end).map_or(rest, |(_, after)| after);
                Some((before.to_owned(), after.to_owned()))
            };
            let holes = around("{", "}").or_else(|| around("%s", "%s"));
            let open = || {
                text.ends_with('_')
                    .then(|| (text.to_owned(), String::new()))
            };
            holes.or_else(open)
        }
        Expr::FString(string) => {
            let parts: Vec<_> = string.value.elements().collect();
            let text = |part: Option<&&InterpolatedStringElement>| {
                let literal = part.and_then(|part| part.as_literal());
                literal.map_or_else(String::new, |literal| literal.value.to_string())
            };
            Some((text(parts.first()), text(parts.last())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_put_together_are_found_by_their_ends() {
        let text = "\
getattr(self, 'parse_' + kind)
getattr(self, f'parse_{kind}')
getattr(self, 'parse_%s' % kind)
name = 'parse_{}'.format(kind)
getattr(self, f'parse_{kind}_link')
getattr(self, kind)
getattr(self, 'render_' + kind)
getattr(self, 'parse_link')
getattr(self, f'{kind}')
";
        let found = lookups_in(text, "m.py", "parse_link");
        let lines: Vec<usize> = found
            .iter()
            .map(|range| text[..range.start().to_usize()].matches('\n').count() + 1)
            .collect();
        assert_eq!(lines, [1, 2, 3, 4]);
        assert_eq!(lookups_in(text, "m.py", "parse_any_link").len(), 5);
        assert!(lookups_in(text, "m.py", "other").is_empty());
    }

    #[test]
    fn what_is_named_after_a_class_is_found_in_any_style() {
        let text = "\
def of(self, node):
    name = 'visit_{cls}'.format(cls=type(node).__name__)
    print(f'{name} of a node: {node}')
    return getattr(self, name.lower())
";
        let found = around_names(text, "m.py", "TheEnd");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["visittheend"]);
        let without = text.replace("__name__", "name");
        assert!(around_names(&without, "m.py", "TheEnd").is_empty());
    }
}
