//! Whether a text can be a new name.

use pillion_catalogue::{Code, Error, Result};
use pillion_index::parsed::parsed;
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

/// Words that are names, but mean something else in some places.
const SOFT: &[&str] = &["_", "case", "match", "type", "__debug__"];

/// Refuse what is no name, is a keyword, or would be mistaken for one.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let wrong = |why: &str| {
        Error::new(Code::InvalidParams, format!("`{name}` {why}"))
            .hint("a name has letters, digits and `_`, and does not begin with a digit")
    };
    if name.is_empty() {
        return Err(Error::new(Code::InvalidParams, "the new name is empty")
            .hint("a name has letters, digits and `_`"));
    }
    if SOFT.contains(&name) {
        return Err(wrong("has a meaning of its own in Python"));
    }
    // The parser knows best: keywords, and letters of all alphabets.
    let code = format!("{name} = 0\n");
    let is_name = parsed(&code, "name.py", |parsed| match parsed.body() {
        _ if !parsed.errors().is_empty() => false,
        [Stmt::Assign(assign)] => match assign.targets.as_slice() {
            [Expr::Name(found)] => {
                found.id == *name && found.range().len().to_usize() == name.len()
            }
            _ => false,
        },
        _ => false,
    });
    match is_name {
        true => Ok(()),
        false if name.chars().all(|c| c.is_ascii_alphabetic()) => {
            Err(wrong("is a keyword of Python"))
        }
        false => Err(wrong("is not a name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_names() {
        for name in [
            "a", "_x1", "naïve", "名前", "Class", "self", "async_", "matches",
        ] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let wrong = [
            "",
            " ",
            "1bad",
            "1bad name",
            "a b",
            "a.b",
            "a-b",
            "a\n",
            " a",
            "a ",
            "class",
            "None",
            "True",
            "await",
            "async",
            "lambda",
            "match",
            "case",
            "type",
            "_",
            "(a)",
            "a, b",
            "a = b",
            "a[0]",
            "*a",
            "a;b",
            "a#",
            "__debug__",
            "é\u{0}",
            "😀",
            "a:int",
        ];
        for name in wrong {
            let error = check_name(name).expect_err(name);
            assert_eq!(
                (error.code, error.hint.is_some()),
                (Code::InvalidParams, true),
                "{name}"
            );
        }
    }
}
