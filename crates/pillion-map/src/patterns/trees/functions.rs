//! Rules for functions that hold in every language: factories and registries.

use std::collections::BTreeSet;

use super::super::functions::{MAKERS, REGISTERS, REGISTRIES};
use super::Signs;
use super::facts::{Facts, Function, bare, is_keyed, listed, mentions, snake, word};

/// How a variable of the file is asked to keep something.
const KEEPS: &[&str] = &[
    "push",
    "add",
    "append",
    "insert",
    "set",
    "put",
    "putIfAbsent",
    "Store",
];

pub(super) fn look(facts: &Facts<'_>, signs: &mut Signs) {
    for function in facts.functions.iter().filter(|function| function.has_body) {
        factory(facts, function, signs);
        registry(facts, function, signs);
    }
}

/// A function that makes things of several types.
fn factory(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs) {
    let name = snake(function.name);
    let is_named = |maker: &str| name.starts_with(maker) || name == maker.trim_end_matches('_');
    if !MAKERS.iter().any(|maker| is_named(maker)) && !name.ends_with("factory") {
        return;
    }
    let returned = facts.returns_in(&function.range);
    let made: BTreeSet<&str> = returned.filter_map(made).collect();
    if made.len() > 1 {
        let what = format!("`{}` makes one of {}", function.name, listed(&made));
        signs.add("factory", function.at, 85, what);
    }
}

/// The type of a thing that an expression makes: `new A()`, `&A{}`, `Box::new(A)`,
/// `NewA()`.
fn made(value: &str) -> Option<&str> {
    let value = ["Ok(", "Some("].iter().fold(value, |value, around| {
        value.strip_prefix(around).unwrap_or(value)
    });
    let boxed = ["Box::new(", "Rc::new(", "Arc::new("];
    let boxed = boxed.iter().find_map(|around| value.strip_prefix(around));
    let new = value.strip_prefix("new ").or(boxed);
    let inner = new.unwrap_or(value).trim_start_matches('&');
    // The last part of a name: `shapes.Circle`.
    let end = inner.find(|c: char| !c.is_alphanumeric() && !"_.".contains(c));
    let (path, behind) = inner.split_at(end.unwrap_or(inner.len()));
    let name = path.rsplit('.').next().unwrap_or(path);
    let is_type = name.starts_with(char::is_uppercase);
    match (new, behind.trim_start().chars().next()) {
        (Some(_), _) | (None, Some('{')) if is_type => Some(name),
        (None, Some('(')) => name.strip_prefix("New").filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// A function that keeps what it is given in a variable of the file.
fn registry(facts: &Facts<'_>, function: &Function<'_>, signs: &mut Signs) {
    let given = |text: &str| function.params.iter().any(|(name, _)| mentions(text, name));
    let by_call = facts.calls_in(&function.range).iter().filter_map(|call| {
        let last = facts.text_of(*call.args.last()?);
        (KEEPS.contains(&call.name) && given(last)).then_some(call.on)
    });
    let by_key = facts
        .assigns_in(&function.range)
        .iter()
        .filter_map(|assign| {
            let behind = assign.to.get(word(assign.to).len()..).unwrap_or_default();
            let is_kept = is_keyed(behind) || assign.value.starts_with("append(");
            (is_kept && given(assign.value)).then_some(assign.to)
        });
    let says = |text: &str, words: &[&str]| {
        let text = text.to_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    let mut kept = by_call.chain(by_key).filter_map(|to| {
        let name = own_name(bare(to), function.owner);
        let is_kept = facts.keeps(name);
        let is_said = says(function.name, REGISTERS) || says(name, REGISTRIES);
        (is_kept && is_said).then_some(name)
    });
    if let Some(kept) = kept.next() {
        let what = format!("`{}` keeps what it is given in `{kept}`", function.name);
        signs.add("plugin_registry", function.at, 90, what);
    }
}

/// The first name of an expression, or the second if the first is the class around.
pub(super) fn own_name<'t>(expr: &'t str, owner: Option<&str>) -> &'t str {
    let first = word(expr);
    let behind = expr.get(first.len()..).unwrap_or_default();
    match behind.strip_prefix('.') {
        Some(behind) if Some(first) == owner || first == "this" => word(behind),
        _ => first,
    }
}
