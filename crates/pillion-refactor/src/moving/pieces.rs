//! Pieces of a text: statements with their comments, lines, entries of a list.

use pillion_index::scopes::Scopes;
use ruff_text_size::{TextRange, TextSize};

/// Words of a comment that is about a file, not about what follows.
const ABOUT_FILES: &[&str] = &["copyright", "license", "licence", "spdx", "coding", "-*-"];

/// The end of the statement before one.
pub(super) fn floor_of(scopes: &Scopes, range: TextRange) -> TextSize {
    let before = scopes.statements.iter().map(|statement| statement.range);
    let before = before.filter(|before| before.end() <= range.start());
    before.map(TextRange::end).max().unwrap_or_default()
}

/// A statement with the comments right above it, none of them before `floor`: what looks like
/// one may be the end of a string.
pub(super) fn with_comments(text: &str, range: TextRange, floor: TextSize) -> TextRange {
    let mut start = text[..range.start().to_usize()]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let own = start;
    while let Some(end) = start.checked_sub(1) {
        let above = text[..end].rfind('\n').map_or(0, |at| at + 1);
        let line = text[above..end].trim_end();
        if !line.starts_with('#') || above < floor.to_usize() {
            break;
        }
        start = above;
    }
    // What a file begins with may be about the file.
    let head = text[start..own].to_lowercase();
    let is_about_file =
        head.starts_with("#!") || ABOUT_FILES.iter().any(|word| head.contains(word));
    if start == 0 && is_about_file {
        start = own;
    }
    let start = TextSize::try_from(start)
        .unwrap_or_default()
        .min(range.start());
    let rest = &text[range.end().to_usize()..];
    let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
    let comment = line
        .trim_start()
        .starts_with('#')
        .then_some(line.trim_end().len());
    let end = range.end() + TextSize::try_from(comment.unwrap_or(0)).unwrap_or_default();
    TextRange::new(start, end)
}

/// A piece with the blank lines that follow it.
pub(super) fn with_blank_lines(text: &str, piece: TextRange) -> TextRange {
    let mut end = piece.end().to_usize();
    for line in text[end..].split_inclusive('\n') {
        if !line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    TextRange::new(piece.start(), TextSize::try_from(end).unwrap_or_default())
}

/// A statement with the end of its line.
pub(super) fn whole_line(text: &str, range: TextRange) -> TextRange {
    let end = range.end().to_usize();
    let rest = &text[end..];
    let line = rest.find('\n').map_or(rest.len(), |at| at + 1);
    match rest[..line].trim().is_empty() {
        true => TextRange::new(
            range.start(),
            TextSize::try_from(end + line).unwrap_or_default(),
        ),
        false => range,
    }
}

/// A string of a list, with its quotes and one comma.
pub(super) fn entry(text: &str, inner: TextRange) -> TextRange {
    let (mut start, mut end) = (inner.start().to_usize() - 1, inner.end().to_usize() + 1);
    let after = &text[end..];
    let gap = after.len() - after.trim_start().len();
    if after.trim_start().starts_with(',') {
        end += gap + 1;
        let after = &text[end..];
        end += after.len() - after.trim_start_matches([' ', '\t']).len();
        // An entry on a line of its own goes with its line.
        let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
        if text[line..start].trim().is_empty() && text[end..].starts_with('\n') {
            (start, end) = (line, end + 1);
        }
    } else if let Some(comma) = text[..start].trim_end().strip_suffix(',') {
        start = comma.len();
    }
    let at = |offset: usize| TextSize::try_from(offset).unwrap_or_default();
    TextRange::new(at(start), at(end))
}

/// A piece of a text with some of its parts changed.
pub(super) fn edited(text: &str, piece: TextRange, edits: &[(TextRange, String)]) -> String {
    let mut edits: Vec<_> = edits
        .iter()
        .filter(|(range, _)| piece.contains_range(*range))
        .collect();
    edits.sort_by_key(|(range, _)| range.start());
    let mut out = String::new();
    let mut at = piece.start();
    for (range, new) in edits {
        out.push_str(&text[TextRange::new(at, range.start())]);
        out.push_str(new);
        at = range.end();
    }
    out.push_str(&text[TextRange::new(at, piece.end())]);
    out.replace("\r\n", "\n").trim_end().to_owned()
}
