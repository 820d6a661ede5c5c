//! Names that stand in texts and strings.

use ruff_python_ast::Expr;
use ruff_text_size::TextRange;

/// Where a text spells a name as a word of its own.
pub fn words<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let places = text.match_indices(name).map(|(at, _)| at);
    places.filter(move |at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// The text between the quotes of a string that is exactly a name.
pub fn exact(expr: &Expr, text: &str, name: &str) -> Option<TextRange> {
    let literal = expr.as_string_literal_expr()?;
    let part = literal.as_single_part_string()?;
    let inner = part.content_range();
    (text.get(inner.to_std_range())? == name).then_some(inner)
}

/// Methods of a mapping that take a key first.
pub const KEYED: &[&str] = &["get", "pop", "setdefault", "__getitem__", "__contains__"];
