//! How calls are written after a change.

use super::super::wanted::AddedParameter;
use super::*;

/// Parameters as they are written: `a`, `a/`, `*a`, `a!` (keyword-only), `**a`; `a+v` is new
/// and existing calls pass `v`, `a+` is new with the default 0.
fn parameters(text: &str) -> Vec<Parameter> {
    text.split_whitespace()
        .map(|word| {
            let (kind, rest) = if let Some(name) = word.strip_prefix("**") {
                (Kind::Keywords, name)
            } else if let Some(name) = word.strip_prefix('*') {
                (Kind::Rest, name)
            } else if let Some(name) = word.strip_prefix('!') {
                (Kind::KeywordOnly, name)
            } else if let Some(name) = word.strip_prefix('/') {
                (Kind::PositionalOnly, name)
            } else {
                (Kind::Normal, word)
            };
            let (name, value) = match rest.split_once('+') {
                Some((name, value)) => (name, Some(value)),
                None => (rest, None),
            };
            let added = value.map(|value| AddedParameter {
                name: name.to_owned(),
                value: (!value.is_empty()).then(|| value.to_owned()),
                default: value.is_empty().then(|| "0".to_owned()),
                ..AddedParameter::default()
            });
            Parameter {
                name: name.to_owned(),
                kind,
                has_default: value == Some(""),
                added,
            }
        })
        .collect()
}

fn made(call: &str, old: &str, new: &str) -> String {
    let items: Vec<&str> = call.split_whitespace().collect();
    let arguments: Vec<Argument> = items
        .iter()
        .map(|item| match item.split_once('=') {
            Some((name, _)) => Argument::Keyword(name.to_owned()),
            None if item.starts_with("**") => Argument::Mapping,
            None if item.starts_with('*') => Argument::Starred,
            None => Argument::Positional,
        })
        .collect();
    match rewrite(&arguments, &parameters(old), &parameters(new)) {
        Ok(parts) => {
            let parts = parts.into_iter().map(|part| match part {
                Part::Kept(item) => items[item].to_owned(),
                Part::Named(item, name) => format!("{name}={}", items[item]),
                Part::Placed(item) => items[item].split_once('=').unwrap().1.to_owned(),
                Part::Fresh(text) => text,
            });
            parts.collect::<Vec<_>>().join(" ")
        }
        Err(Hindrance::Misfit) => "misfit".to_owned(),
        Err(Hindrance::Unclear(_)) => "unclear".to_owned(),
    }
}

#[test]
fn arguments_go_where_their_parameters_go() {
    let cases = [
        // Order.
        ("1 2", "a b", "b a", "2 1"),
        ("1 b=2", "a b", "b a", "a=1 b=2"),
        ("b=2 a=1", "a b", "b a", "b=2 a=1"),
        ("1", "a b", "b a", "a=1"),
        ("1 2 3", "a b c", "c a b", "3 1 2"),
        ("1 2", "a b c", "c a b", "a=1 b=2"),
        // Adding.
        ("1 2", "a b", "a b c+9", "1 2 9"),
        ("1 2", "a b", "c+9 a b", "9 1 2"),
        ("1 b=2", "a b", "a b c+9", "1 b=2 c=9"),
        ("1", "a b", "a b c+9", "1 c=9"),
        ("1 2", "a b", "a b c+", "1 2"),
        ("1 2", "a b", "a c+ b", "1 b=2"),
        ("1", "a", "a !c+9", "1 c=9"),
        ("1 **k", "a b", "a b c+9", "1 c=9 **k"),
        ("", "", "c+9", "9"),
        // Removing.
        ("1 2 3", "a b c", "a c", "1 3"),
        ("1 b=2 c=3", "a b c", "a c", "1 c=3"),
        ("1 2 c=3", "a b c", "b c", "2 c=3"),
        ("1", "a", "", ""),
        // Other kinds.
        ("1 2", "a b", "a !b", "1 b=2"),
        ("1 b=2", "a !b", "a b", "1 b=2"),
        ("a=1 b=2", "a b", "/a b", "1 b=2"),
        ("b=2 a=1", "a b", "/a /b", "1 2"),
        ("b=2", "a b", "/a /b", "unclear"),
        // What is left over.
        ("1 2 3", "a *r", "a *r !c+9", "1 2 3 c=9"),
        ("1 2 3", "a *r", "a c+9 *r", "1 9 2 3"),
        ("1 2 3", "a *r", "a c+ *r", "1 0 2 3"),
        ("1", "a *r", "a c+ *r", "1"),
        ("1 2 3", "a *r", "a", "1"),
        ("1 x=2", "a **k", "a **k", "1 x=2"),
        ("1 x=2", "a **k", "a x+9 **k", "unclear"),
        ("1 x=2", "a **k", "a", "1"),
    ];
    for (call, old, new, wanted) in cases {
        assert_eq!(made(call, old, new), wanted, "({call}) ({old}) -> ({new})");
    }
}

#[test]
fn stars_are_clear_only_where_nothing_moves_under_them() {
    let cases = [
        ("*v", "a b", "a b c+9", "*v c=9"),
        ("*v", "a b", "a b c+", "*v"),
        ("*v", "a b", "b a", "unclear"),
        ("*v", "a b", "a", "unclear"),
        ("*v", "a b", "c+9 a b", "unclear"),
        ("1 2 *v", "a b c", "b a c", "2 1 *v"),
        ("1 *v", "a b c", "b a c", "unclear"),
        ("*v", "a *r", "a c+9 *r", "unclear"),
        ("1 *v", "a *r", "a c+9 *r", "1 9 *v"),
        ("*v", "a *r", "a *r !c+9", "*v c=9"),
        ("*v b=1", "a b", "a b c+9", "*v b=1 c=9"),
        ("**k", "a b", "b a", "**k"),
        ("1 **k", "a b", "b a", "a=1 **k"),
        ("1 **k", "a b", "a", "unclear"),
        ("1 b=2 **k", "a b c", "a c", "1 **k"),
        ("**k", "a b", "/a b", "unclear"),
        ("a=1 *v", "a b", "b a", "unclear"),
    ];
    for (call, old, new, wanted) in cases {
        assert_eq!(made(call, old, new), wanted, "({call}) ({old}) -> ({new})");
    }
}

#[test]
fn what_does_not_fit_is_said_not_to() {
    for (call, old) in [("1 2", "a"), ("1 a=2", "a"), ("x=1", "a"), ("1 a=2", "/a")] {
        assert_eq!(made(call, old, "a b+9"), "misfit", "({call}) ({old})");
    }
}
