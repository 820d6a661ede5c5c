//! Names that strings read when they are filled in: `'{0.title}'.format(shop)`,
//! `'%(title)s' % vars(shop)`, `Template('$title')`.

use pillion_symbols::literals::words;
use ruff_python_ast::{Expr, ExprStringLiteral};
use ruff_text_size::{TextRange, TextSize};

/// What a field of a string is filled in from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument {
    /// The argument at a place.
    Place(usize),
    /// The argument of a name.
    Name(String),
}

/// How a field reads a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// It is the argument's own name: `{title}`.
    Own,
    /// As an attribute of the argument: `{0.title}`.
    Attribute,
    /// As a key of the argument: `{0[title]}`.
    Key,
    /// Of something that is read from the argument: `{0.shop.title}`.
    Further,
}

/// A place in a string that reads a name.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) at: TextRange,
    pub(super) of: Argument,
    pub(super) reads: Reading,
}

/// Where the fields of a string read a name, as `str.format` takes them.
pub(super) fn fields(literal: &ExprStringLiteral, text: &str, name: &str) -> Vec<Field> {
    let mut found = Vec::new();
    let mut next = 0;
    for part in &literal.value {
        let range = part.content_range();
        let raw = &text[range];
        let mut at = 0;
        while let Some(open) = raw[at..].find('{') {
            at += open + 1;
            if raw[at..].starts_with('{') {
                at += 1;
                continue;
            }
            let end = raw[at..].find(['}', '!', ':', '{']);
            let inner = &raw[at..end.map_or(raw.len(), |end| at + end)];
            let start = range.start() + TextSize::try_from(at).unwrap_or_default();
            field(inner, start, name, &mut next, &mut found);
            at += inner.len();
        }
    }
    found
}

/// What one field reads: its argument, then what is taken from that.
fn field(inner: &str, start: TextSize, name: &str, next: &mut usize, found: &mut Vec<Field>) {
    let head = &inner[..inner.find(['.', '[']).unwrap_or(inner.len())];
    let of = match (head.is_empty(), head.parse()) {
        (true, _) => {
            *next += 1;
            Argument::Place(*next - 1)
        }
        (false, Ok(place)) => Argument::Place(place),
        (false, Err(_)) => Argument::Name(head.to_owned()),
    };
    let mut note = |from: usize, reads: Reading| {
        let from = start + TextSize::try_from(from).unwrap_or_default();
        found.push(Field {
            at: TextRange::at(from, TextSize::of(name)),
            of: of.clone(),
            reads,
        });
    };
    if head == name {
        note(0, Reading::Own);
    }
    let mut at = head.len();
    let mut is_first = true;
    while let Some(sign) = inner[at..].chars().next() {
        at += 1;
        let rest = &inner[at..];
        let part = match sign {
            '[' => &rest[..rest.find(']').unwrap_or(rest.len())],
            _ => &rest[..rest.find(['.', '[']).unwrap_or(rest.len())],
        };
        let reads = match (is_first, sign) {
            (true, '.') => Reading::Attribute,
            (true, '[') => Reading::Key,
            _ => Reading::Further,
        };
        if part == name {
            note(at, reads);
        }
        is_first = false;
        at += part.len() + usize::from(sign == '[' && rest.len() > part.len());
        if !inner.is_char_boundary(at) {
            break;
        }
    }
}

/// Where a string names a key of what it is filled in from: `%(title)s`, `$title`, `${title}`.
pub(super) fn keys(literal: &ExprStringLiteral, text: &str, name: &str) -> Vec<TextRange> {
    let mut found = Vec::new();
    for part in &literal.value {
        let range = part.content_range();
        let raw = &text[range];
        let is_key = |at: &usize| {
            let (before, after) = (&raw[..*at], &raw[at + name.len()..]);
            before.ends_with("%(") && after.starts_with(')')
                || before.ends_with('$') && !before.ends_with("$$")
                || before.ends_with("${") && after.starts_with('}')
        };
        for at in words(raw, name).filter(is_key) {
            let start = range.start() + TextSize::try_from(at).unwrap_or_default();
            found.push(TextRange::at(start, TextSize::of(name)));
        }
    }
    found
}

/// Where a string is a dotted name, the parts of it that are a name.
pub(super) fn parts(expr: &Expr, text: &str, name: &str) -> Vec<TextRange> {
    let part = expr
        .as_string_literal_expr()
        .and_then(ExprStringLiteral::as_single_part_string);
    let Some(part) = part else {
        return Vec::new();
    };
    let range = part.content_range();
    let mut start = range.start();
    let mut found = Vec::new();
    for word in text[range].split('.') {
        if word == name {
            found.push(TextRange::at(start, TextSize::of(name)));
        }
        start += TextSize::of(word) + TextSize::of('.');
    }
    found
}

#[cfg(test)]
mod tests {
    use pillion_index::parsed::parsed;
    use ruff_python_ast::Stmt;

    use super::*;

    fn literal<T>(text: &str, look: impl Fn(&ExprStringLiteral) -> T) -> T {
        parsed(text, "m.py", |parsed| match parsed.body() {
            [Stmt::Expr(alone)] => look(alone.value.as_string_literal_expr().unwrap()),
            _ => panic!("{text}"),
        })
    }

    #[test]
    fn fields_are_read_as_format_does() {
        let text = "'{{no.t}} {.t} {0.t!r:>{t.t}} {o[t]} {o.a.t} {t} {}' '{:{}.t} {.t'";
        let found = literal(text, |literal| fields(literal, text, "t"));
        let place = Argument::Place;
        let named = |name: &str| Argument::Name(name.into());
        let all: Vec<(Argument, Reading)> = found.into_iter().map(|f| (f.of, f.reads)).collect();
        let expected = [
            (place(0), Reading::Attribute),
            (place(0), Reading::Attribute),
            (named("t"), Reading::Own),
            (named("t"), Reading::Attribute),
            (named("o"), Reading::Key),
            (named("o"), Reading::Further),
            (named("t"), Reading::Own),
            (place(4), Reading::Attribute),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn keys_are_behind_their_signs() {
        let text = "'%(t)s %t $t ${t} $$t (t) $tt'";
        let found = literal(text, |literal| keys(literal, text, "t"));
        let starts: Vec<u32> = found.iter().map(|range| range.start().into()).collect();
        assert_eq!(starts, [3, 11, 15]);
    }
}
