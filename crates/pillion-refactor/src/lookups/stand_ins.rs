//! What stands in the place of an object and has its attributes by name: mocks, namespaces,
//! classes that `type` makes.

use pillion_symbols::literals::exact;
use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{TextRange, TextSize};

/// What is made with attributes as keywords.
const MADE: &[&str] = &[
    "AsyncMock",
    "MagicMock",
    "Mock",
    "Namespace",
    "NonCallableMagicMock",
    "NonCallableMock",
    "SimpleNamespace",
    "configure_mock",
    "create_autospec",
];
/// Keywords with the names that it has.
const SPECS: &[&str] = &["spec", "spec_set"];

/// Where a call that makes such a thing names an attribute.
pub(super) fn of(call: &ExprCall, function: &str, text: &str, name: &str) -> Vec<TextRange> {
    let mut found = Vec::new();
    if function == "type"
        && let [_, _, Expr::Dict(body)] = &*call.arguments.args
    {
        let keys = body.iter_keys().flatten();
        found.extend(keys.filter_map(|key| exact(key, text, name)));
    }
    if !MADE.contains(&function) {
        return found;
    }
    for keyword in &call.arguments.keywords {
        match &keyword.arg {
            Some(arg) if *arg == *name => found.push(arg.range),
            Some(arg) if SPECS.contains(&arg.as_str()) => {
                let items = match &keyword.value {
                    Expr::List(list) => &*list.elts,
                    Expr::Tuple(tuple) => &*tuple.elts,
                    _ => continue,
                };
                found.extend(items.iter().filter_map(|item| exact(item, text, name)));
            }
            // `**{"name.return_value": 1}`
            None => {
                let keys = keyword.value.as_dict_expr();
                let keys = keys.into_iter().flat_map(|dict| dict.iter_keys().flatten());
                found.extend(keys.filter_map(|key| first(key, text, name)));
            }
            _ => {}
        }
    }
    found
}

/// The first part of a dotted string, if it is a name.
fn first(key: &Expr, text: &str, name: &str) -> Option<TextRange> {
    let part = key.as_string_literal_expr()?.as_single_part_string()?;
    let range = part.content_range();
    let is_it = text[range].split('.').next() == Some(name);
    is_it.then(|| TextRange::at(range.start(), TextSize::of(name)))
}

#[cfg(test)]
mod tests {
    use pillion_index::parsed::parsed;
    use ruff_python_ast::Stmt;
    use ruff_text_size::Ranged;

    use super::*;

    #[test]
    fn attributes_of_mocks_are_named_in_many_ways() {
        let all = [
            ("Mock(go=1, x=2)", 1),
            (
                "Mock(spec=['go', 'x'], **{'go.return_value': 1, 'x.go': 2})",
                2,
            ),
            ("type('A', (), {'go': 1})", 1),
            ("type(go)", 0),
            ("f(go=1)", 0),
        ];
        for (text, count) in all {
            let found = parsed(text, "m.py", |parsed| match parsed.body() {
                [Stmt::Expr(alone)] => {
                    let call = alone.value.as_call_expr().unwrap();
                    let function = call.func.range();
                    of(call, &text[function], text, "go").len()
                }
                _ => 99,
            });
            assert_eq!(found, count, "{text}");
        }
    }
}
