//! Edits of a text, and the line ends that new text gets.

use std::ops::Range;

use pillion_catalogue::{Error, Result};
use similar::DiffOp;

use super::diff::compare;

/// A piece of a text, by its offsets, and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// Add edits to others of the same text. They stay in order; of several insertions at one
/// place the one that was added first stands first.
pub(super) fn add(all: &mut Vec<Splice>, more: &[Splice]) -> Result<()> {
    let mut joined = [&all[..], more].concat();
    joined.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let clash = joined
        .windows(2)
        .find(|pair| pair[0].range.end > pair[1].range.start);
    if let Some([one, two]) = clash {
        return Err(Error::internal(format!(
            "two edits overlap: {:?} and {:?}",
            one.range, two.range
        )));
    }
    *all = joined;
    Ok(())
}

/// The text with its edits, which are in order and apart.
pub(super) fn apply(text: &str, edits: &[Splice]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(&text[at..edit.range.start]);
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The line end that most lines of a text have.
pub(super) fn dominant_end(text: &str) -> &'static str {
    let pairs = text.matches("\r\n").count();
    let feeds = text.matches('\n').count() - pairs;
    let returns = text.matches('\r').count() - pairs;
    if pairs > feeds && pairs >= returns {
        "\r\n"
    } else if returns > feeds {
        "\r"
    } else {
        "\n"
    }
}

/// New text with the line ends of where it goes.
pub(super) fn with_ends(text: &str, end: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    if end == "\n" {
        plain
    } else {
        plain.replace('\n', end)
    }
}

/// A whole new text, written with `\n`, with the line ends of the old one: each line that
/// stays keeps its own, also a last line that has none. A text that has its own is taken as
/// it is.
pub(super) fn adopt_ends(old: &str, new: &str) -> String {
    if new.contains('\r') || old.is_empty() {
        return new.to_owned();
    }
    let (old_lines, old_ends) = lines(old);
    let (new_lines, new_ends) = lines(new);
    let dominant = dominant_end(old);
    let mut ends: Vec<&str> = new_ends
        .iter()
        .map(|end| if end.is_empty() { "" } else { dominant })
        .collect();
    let last = new_lines.len().saturating_sub(1);
    for op in compare(&old_lines, &new_lines) {
        let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = op
        else {
            continue;
        };
        for (was, is) in (old_index..).zip(new_index..).take(len) {
            let keeps = !old_ends[was].is_empty() || is == last;
            if keeps && !new_ends[is].is_empty() {
                ends[is] = old_ends[was];
            }
        }
    }
    let pieces = new_lines.iter().zip(ends);
    pieces.flat_map(|(line, end)| [*line, end]).collect()
}

/// The lines of a text, and their ends.
fn lines(text: &str) -> (Vec<&str>, Vec<&str>) {
    let mut rest = text;
    let (mut lines, mut ends) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let at = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let width = match &rest.as_bytes()[at..] {
            [b'\r', b'\n', ..] => 2,
            [] => 0,
            _ => 1,
        };
        lines.push(&rest[..at]);
        ends.push(&rest[at..at + width]);
        rest = &rest[at + width..];
    }
    (lines, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_text_gets_the_line_ends_of_the_file() {
        assert_eq!(dominant_end("a\r\nb\r\nc\n"), "\r\n");
        assert_eq!(dominant_end("a\r\nb\n"), "\n");
        assert_eq!(dominant_end("a\rb\r"), "\r");
        assert_eq!(dominant_end(""), "\n");
        assert_eq!(with_ends("a\nb\r\n", "\r\n"), "a\r\nb\r\n");
    }

    #[test]
    fn lines_that_stay_keep_their_ends() {
        let old = "a\r\nb\nc\r\nd";
        assert_eq!(
            adopt_ends(old, "a\nnew\nb\nc\nd\n"),
            "a\r\nnew\r\nb\nc\r\nd"
        );
        assert_eq!(adopt_ends(old, "a\nd\nmore\n"), "a\r\nd\r\nmore\r\n");
        assert_eq!(adopt_ends(old, "x\r\ny\n"), "x\r\ny\n", "it says its own");
        assert_eq!(adopt_ends("", "a\n"), "a\n");
        assert_eq!(adopt_ends("a\r\n", ""), "");
    }
}
