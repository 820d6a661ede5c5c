//! Room between statements: where a change brings two together, as much as Python's style
//! leaves between them. Everything else stays as it is.

use std::collections::BTreeSet;

use pillion_index::scopes::{Scopes, Statement, What};
use ruff_text_size::TextRange;

use super::pieces::{floor_of, with_comments};

/// A text after a change, with room where statements meet that did not before.
pub(super) fn spaced(before: &str, after: &str, path: &str) -> String {
    let known = neighbours(before, path);
    let scopes = Scopes::of(after, path);
    let mut out = after.to_owned();
    // From the end, so that offsets before stay as they are.
    for pair in scopes.statements.windows(2).rev() {
        let [first, second] = pair else { continue };
        let texts = (
            after[first.range].to_owned(),
            after[second.range].to_owned(),
        );
        let Some(lines) = wanted(first, second).filter(|_| !known.contains(&texts)) else {
            continue;
        };
        let floor = floor_of(&scopes, second.range);
        let begin = with_comments(after, second.range, floor).start();
        let end = first.range.end().to_usize();
        let rest = &after[end..begin.to_usize()];
        let line = rest.find('\n').unwrap_or(rest.len());
        let (trailing, gap) = rest.split_at(line);
        let is_comment = trailing.trim().is_empty() || trailing.trim_start().starts_with('#');
        if is_comment && gap.trim().is_empty() && !gap.is_empty() {
            out.replace_range(end + line..begin.to_usize(), &"\n".repeat(lines + 1));
        }
    }
    let trimmed = out.trim_end();
    match trimmed.is_empty() {
        true => out,
        false => format!("{trimmed}\n"),
    }
}

/// The blank lines between two statements that did not stand beside each other.
fn wanted(first: &Statement, second: &Statement) -> Option<usize> {
    let defines = |statement: &Statement| statement.what == What::Define;
    match (first.what, second.what) {
        _ if defines(first) || defines(second) => Some(2),
        (What::Import, What::Import) => None,
        (What::Import, What::Main) => Some(2),
        (What::Import, What::Constant | What::Other) | (What::Docstring, What::Import) => Some(1),
        _ => None,
    }
}

/// The statements of a text that stand beside each other.
fn neighbours(text: &str, path: &str) -> BTreeSet<(String, String)> {
    let scopes = Scopes::of(text, path);
    let slice = |range: TextRange| text[range].to_owned();
    let pairs = scopes.statements.windows(2).filter_map(|pair| match pair {
        [first, second] => Some((slice(first.range), slice(second.range))),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_neighbours_get_room() {
        let before = "import a\ndef f(): ...\n\ndef g(): ...\nx = 1\n";
        let after = "import a\nfrom b import f\n\ndef g(): ...\nx = 1\n\n\n";
        let expected = "import a\nfrom b import f\n\n\ndef g(): ...\nx = 1\n";
        assert_eq!(spaced(before, after, "m.py"), expected);
        let after = "import a  # why\n# about g\ndef g(): ...\nx = 1\n";
        let expected = "import a  # why\n\n\n# about g\ndef g(): ...\nx = 1\n";
        assert_eq!(spaced(before, after, "m.py"), expected);
    }
}
