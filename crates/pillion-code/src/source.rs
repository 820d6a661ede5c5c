//! A source file as text: how its bytes are decoded, and where its lines and columns are.
//!
//! Outside, lines and columns count from 1 and columns count characters. In here both count
//! from 0; [`Position`] is the one place where they are turned into each other.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place in a file: line and column from 0, columns in characters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Position {
    /// The line, from 0.
    pub line: u32,
    /// The column, from 0, in characters.
    pub column: u32,
}

impl Position {
    /// A place as callers write it: from 1.
    pub fn from_one(line: u32, column: u32) -> Option<Self> {
        Some(Self {
            line: line.checked_sub(1)?,
            column: column.checked_sub(1)?,
        })
    }
}

/// From one place to another, which is not part of it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Span {
    /// Where it begins.
    pub start: Position,
    /// One past its last character.
    pub end: Position,
}

impl Span {
    /// Whether a place lies in it; its end counts, as a cursor stands there.
    pub fn touches(&self, at: Position) -> bool {
        self.start <= at && at <= self.end
    }

    /// Whether another one lies in it.
    pub fn holds(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// How many lines a file may have to say its encoding in.
const CODING_LINES: usize = 2;

/// A decoded source file.
#[derive(Debug, Clone)]
pub struct Source {
    text: String,
    /// The offset of each line.
    lines: Vec<usize>,
    /// Whether the bytes are the text, as engines expect of files.
    is_plain: bool,
}

impl Source {
    /// Decode a file as Python does: by its mark, by its coding line, else as UTF-8. Bytes
    /// that fit no rule are replaced, so that there always is a text.
    pub fn decode(bytes: &[u8]) -> Self {
        let (encoding, body) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(body) => (UTF_8, body),
            None => (declared(bytes).unwrap_or(UTF_8), bytes),
        };
        let (text, broken) = encoding.decode_without_bom_handling(body);
        // Engines count a byte order mark as a character.
        let marked = body.len() < bytes.len();
        let is_plain = encoding == UTF_8 && !broken && !marked || bytes.is_ascii();
        Self::new(text, is_plain)
    }

    fn new(text: Cow<'_, str>, is_plain: bool) -> Self {
        let text = text.into_owned();
        let lines = line_starts(&text);
        Self {
            text,
            lines,
            is_plain,
        }
    }

    /// Its text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether an engine that reads the file as UTF-8 sees the same text.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// How many lines it has; what follows the last line break counts if it is not empty.
    pub fn line_count(&self) -> usize {
        match self.lines.last() {
            Some(&last) if last == self.text.len() => self.lines.len() - 1,
            _ => self.lines.len(),
        }
    }

    /// A line without its line break.
    pub fn line(&self, line: u32) -> Option<&str> {
        let line = usize::try_from(line).ok()?;
        let start = *self.lines.get(line)?;
        let end = self.lines.get(line + 1).copied().unwrap_or(self.text.len());
        Some(self.text[start..end].trim_end_matches(['\n', '\r']))
    }

    /// The place of an offset into the text.
    pub fn position(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let before = self.text.get(self.lines[line]..offset).unwrap_or("");
        let column = if before.is_ascii() {
            before.len()
        } else {
            before.chars().count()
        };
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    /// The offset of a place, if the file reaches that far. The end of a line counts.
    pub fn offset(&self, at: Position) -> Option<usize> {
        let text = self.line(at.line)?;
        let start = self.lines[usize::try_from(at.line).ok()?];
        let column = usize::try_from(at.column).ok()?;
        if text.is_ascii() {
            return (column <= text.len()).then_some(start + column);
        }
        let ends = [text.len()];
        let mut offsets = text.char_indices().map(|(i, _)| i).chain(ends);
        offsets.nth(column).map(|offset| start + offset)
    }

    /// The name that a cursor stands on or right behind, and where it is.
    pub fn word_at(&self, at: Position) -> Option<(&str, Span)> {
        let offset = self.offset(at)?;
        let is_word = |c: char| c == '_' || c.is_alphanumeric();
        let line = self.line(at.line)?;
        let line_start = self.lines[usize::try_from(at.line).ok()?];
        let cut = offset - line_start;
        let before = line[..cut].trim_end_matches(is_word).len();
        let after = &line[cut..];
        let end = cut + (after.len() - after.trim_start_matches(is_word).len());
        let word = &line[before..end];
        if word.is_empty() || word.starts_with(|c: char| c.is_numeric()) {
            return None;
        }
        let span = Span {
            start: self.position(line_start + before),
            end: self.position(line_start + end),
        };
        Some((word, span))
    }

    /// The text between two places.
    pub fn slice(&self, span: Span) -> Option<&str> {
        self.text
            .get(self.offset(span.start)?..self.offset(span.end)?)
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        let is_pair = bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n');
        if !is_pair {
            starts.push(at + 1);
        }
    }
    starts
}

/// The encoding that a comment in the first lines names.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let lines = bytes.split(|b| matches!(b, b'\n' | b'\r'));
    for line in lines.take(CODING_LINES + 1) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_start_matches([' ', '\t', '\x0c']);
        let Some(comment) = line.strip_prefix('#') else {
            // Only comments and empty lines may stand before it.
            if line.is_empty() {
                continue;
            }
            return None;
        };
        if let Some(name) = coding_name(comment) {
            return known(name);
        }
    }
    None
}

fn coding_name(comment: &str) -> Option<&str> {
    let (_, rest) = comment.split_once("coding")?;
    let rest = rest
        .strip_prefix([':', '='])?
        .trim_start_matches([' ', '\t']);
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)))
        .unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// Python's names of encodings, which use `_` and `-` alike, as the web's.
fn known(name: &str) -> Option<&'static Encoding> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let label = match name.as_str() {
        "latin-1" | "iso-latin-1" | "l1" => "iso-8859-1",
        "utf8" | "utf-8-sig" => "utf-8",
        "cp1252" => "windows-1252",
        other => other,
    };
    Encoding::for_label(label.as_bytes())
}

/// A place as callers see it: from 1, in characters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl From<Position> for LineColumn {
    fn from(at: Position) -> Self {
        Self {
            line: at.line + 1,
            column: at.column + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(line: u32, column: u32) -> Position {
        Position { line, column }
    }

    #[test]
    fn marks_and_coding_lines_are_believed() {
        let marked = Source::decode(b"\xef\xbb\xbfx = 1");
        assert_eq!((marked.text(), marked.is_plain()), ("x = 1", false));
        let latin = Source::decode(b"# -*- coding: latin-1 -*-\nname = '\xe9'\n");
        assert!(latin.text().contains("'é'"));
        assert!(!latin.is_plain());
        let second = Source::decode(b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'");
        assert!(second.text().ends_with("'€'"));
        let late = Source::decode("x = 1\n# coding: latin-1\ny = 'é'".as_bytes());
        assert!(late.text().contains('é') && late.is_plain());
        assert!(!Source::decode(b"x = '\xff'").is_plain());
        assert!(Source::decode(b"# coding: latin-1\nx = 1").is_plain());
    }

    #[test]
    fn every_line_break_counts_once() {
        let source = Source::decode(b"a\r\nbc\rd\n\ne");
        let lines: Vec<_> = (0..5).map(|n| source.line(n).unwrap()).collect();
        assert_eq!(lines, ["a", "bc", "d", "", "e"]);
        assert_eq!(source.line(5), None);
        assert_eq!(source.line_count(), 5);
        assert_eq!(Source::decode(b"a\n").line_count(), 1);
        assert_eq!(Source::decode(b"").line_count(), 0);
    }

    #[test]
    fn words_are_found_under_and_behind_the_cursor() {
        let source = Source::decode("x = '😀'; naïve_name2(1)".as_bytes());
        for column in [9, 12, 20] {
            let (word, span) = source.word_at(at(0, column)).unwrap();
            assert_eq!(word, "naïve_name2");
            assert_eq!((span.start, span.end), (at(0, 9), at(0, 20)));
        }
        assert_eq!(source.word_at(at(0, 2)), None);
        assert_eq!(source.word_at(at(0, 21)), None, "a number is no name");
        assert_eq!(source.word_at(at(0, 99)), None);
        assert_eq!(source.word_at(at(9, 0)), None);
    }

    proptest! {
        #[test]
        fn offsets_and_positions_are_inverse(text in "[a-zé😀\r\n]{0,40}") {
            let source = Source::decode(text.as_bytes());
            for (offset, c) in text.char_indices().filter(|(_, c)| !"\r\n".contains(*c)) {
                let position = source.position(offset);
                prop_assert_eq!(source.offset(position), Some(offset), "{:?}", c);
            }
        }

        #[test]
        fn any_bytes_have_a_text(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let source = Source::decode(&bytes);
            for line in 0..=u32::try_from(source.line_count()).unwrap() {
                let _ = source.line(line);
            }
        }
    }
}
