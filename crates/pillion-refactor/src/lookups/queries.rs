//! Queries that mean attributes by keywords and texts: `filter(title__in=...)`,
//! `order_by("-shop__title")`, `filter_by(title=...)`.

use ruff_python_ast::{ExprCall, StringLiteral};
use ruff_text_size::{Ranged, TextRange, TextSize};

/// What takes attributes as keywords.
const BY_KEYWORD: &[&str] = &[
    "Q",
    "aggregate",
    "annotate",
    "create",
    "exclude",
    "filter",
    "filter_by",
    "get",
    "get_or_create",
    "update",
    "update_or_create",
];
/// What takes them as texts.
const BY_TEXT: &[&str] = &[
    "F",
    "defer",
    "earliest",
    "latest",
    "load_only",
    "only",
    "order_by",
    "prefetch_related",
    "select_related",
    "values",
    "values_list",
];

/// Where a query names an attribute.
pub(super) fn of(call: &ExprCall, function: &str, text: &str, name: &str) -> Vec<TextRange> {
    let mut found = Vec::new();
    if BY_KEYWORD.contains(&function) {
        let keywords = call.arguments.keywords.iter();
        for arg in keywords.filter_map(|keyword| keyword.arg.as_ref()) {
            found.extend(part(text, arg.range(), name));
        }
    }
    if BY_TEXT.contains(&function) {
        let texts = call.arguments.args.iter();
        for literal in texts.filter_map(|arg| arg.as_string_literal_expr()) {
            let range = literal
                .as_single_part_string()
                .map(StringLiteral::content_range);
            found.extend(range.and_then(|range| part(text, range, name)));
        }
    }
    found
}

/// The part of `shop__title__in` that is a name.
fn part(text: &str, range: TextRange, name: &str) -> Option<TextRange> {
    let mut start = range.start();
    for word in text[range].split("__") {
        let bare = word.trim_start_matches('-');
        if bare == name {
            let at = start + TextSize::of(word) - TextSize::of(bare);
            return Some(TextRange::at(at, TextSize::of(name)));
        }
        start += TextSize::of(word) + TextSize::of("__");
    }
    None
}

#[cfg(test)]
mod tests {
    use pillion_index::parsed::parsed;
    use ruff_python_ast::Stmt;

    use super::*;

    #[test]
    fn a_query_names_attributes_as_parts() {
        let all = [
            ("filter(title=1, title__in=2, shop__title=3, subtitle=4)", 3),
            (
                "order_by('-title', 'shop__title', 'subtitle', 'the title')",
                2,
            ),
            ("order_by(title=1)", 0),
            ("get('title')", 0),
        ];
        for (text, count) in all {
            let found = parsed(text, "m.py", |parsed| match parsed.body() {
                [Stmt::Expr(alone)] => {
                    let call = alone.value.as_call_expr().unwrap();
                    of(call, &text[call.func.range()], text, "title")
                }
                _ => Vec::new(),
            });
            assert_eq!(found.len(), count, "{text}");
            assert!(found.iter().all(|range| text[*range] == *"title"), "{text}");
        }
    }
}
