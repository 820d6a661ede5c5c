//! A source file as text: how its bytes are decoded, and where its lines and columns are.
//!
//! Outside, lines and columns count from 1 and columns count characters. In here both count
//! from 0; [`Position`] is the one place where they are turned into each other.

use std::borrow::Cow;

use pillion_protocol::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encoding::Coding;
use crate::steps;

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

/// What may stand before the text, and says that it is UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A decoded source file.
#[derive(Debug, Clone)]
pub struct Source {
    text: String,
    /// The offset of each line.
    lines: Vec<usize>,
    /// How many characters stand before each [`MARKED`] bytes, so that a long line is not
    /// counted again for each place on it; nothing where bytes are characters.
    characters: Vec<usize>,
    /// Whether the bytes are the text, as engines expect of files.
    is_plain: bool,
    coding: Coding,
    /// Whether a byte order mark stands before the text.
    is_marked: bool,
}

impl Source {
    /// Decode a file as Python does: by its mark, by its coding line, else as UTF-8. Bytes
    /// that fit no rule are replaced, so that there always is a text.
    pub fn decode(bytes: &[u8]) -> Self {
        let (coding, body) = match bytes.strip_prefix(MARK) {
            Some(body) => (Coding::UTF_8, body),
            None => (Coding::declared(bytes).unwrap_or(Coding::UTF_8), bytes),
        };
        let (text, broken) = coding.decode(body);
        // Engines count a byte order mark as a character.
        let is_marked = body.len() < bytes.len();
        let is_plain = coding == Coding::UTF_8 && !broken && !is_marked || bytes.is_ascii();
        Self::new(text, is_plain, coding, is_marked)
    }

    /// A text that has no file yet: it will be one in the encoding that its own coding line
    /// names, else in UTF-8.
    pub fn from_text(text: &str) -> Self {
        let coding = Coding::declared(text.as_bytes()).unwrap_or(Coding::UTF_8);
        let is_plain = coding == Coding::UTF_8 || text.is_ascii();
        Self::new(Cow::Borrowed(text), is_plain, coding, false)
    }

    fn new(text: Cow<'_, str>, is_plain: bool, coding: Coding, is_marked: bool) -> Self {
        let text = text.into_owned();
        let lines = line_starts(&text);
        let characters = marks(&text);
        Self {
            text,
            lines,
            characters,
            is_plain,
            coding,
            is_marked,
        }
    }

    /// Another text, to be written as this one was.
    pub fn with_text(&self, text: &str) -> Self {
        let is_plain = self.coding == Coding::UTF_8 && !self.is_marked || text.is_ascii();
        let text = Cow::Borrowed(text);
        Self::new(text, is_plain, self.coding, self.is_marked)
    }

    /// The text as bytes, with the encoding and the byte order mark of the file it is from.
    ///
    /// What would not be read back as the same text is refused: a character that the
    /// encoding does not have, or a coding line that names another one.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let name = self.coding.name();
        let body = self.coding.encode(&self.text).map_err(|c| {
            let number = u32::from(c);
            Error::new(
                Code::InvalidParams,
                format!("`{c}` (U+{number:04X}) cannot be written in {name}, the file's encoding"),
            )
            .hint("write it as an escape, or save the file as UTF-8 first")
        })?;
        let mark = if self.is_marked { MARK } else { b"" };
        let bytes = [mark, &body].concat();
        if Self::decode(&bytes).text != self.text {
            return Err(Error::new(
                Code::InvalidParams,
                format!("the text would not be read back from {name}, the file's encoding"),
            )
            .hint("the change must not touch or move the line that names the encoding"));
        }
        Ok(bytes)
    }

    /// Whether the file is UTF-8, with or without a byte order mark.
    pub fn is_utf8(&self) -> bool {
        self.coding == Coding::UTF_8
    }

    /// Whether a byte order mark stands before the text.
    pub fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// The name of its encoding.
    pub fn encoding(&self) -> &'static str {
        self.coding.name()
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
        let start = self.lines[line];
        let column = match self.text.get(start..offset) {
            Some(_) => self.characters_before(offset) - self.characters_before(start),
            None => 0,
        };
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    /// How many characters stand before an offset.
    fn characters_before(&self, offset: usize) -> usize {
        if self.characters.is_empty() {
            return offset;
        }
        let mark = offset / MARKED;
        let rest = &self.text.as_bytes()[mark * MARKED..offset];
        steps::scan(rest.len());
        self.characters[mark] + characters(rest)
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

/// Bytes from one mark to the next.
const MARKED: usize = 1 << 10;

/// How many characters stand before each mark; nothing if bytes are characters.
fn marks(text: &str) -> Vec<usize> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut before = 0;
    let count = |piece: &[u8]| {
        let here = before;
        before += characters(piece);
        here
    };
    // One more, for the end of a text that ends at a mark.
    let pieces = text.as_bytes().chunks(MARKED).chain([&[][..]]);
    pieces.map(count).collect()
}

/// The characters that begin in some bytes of a text.
fn characters(bytes: &[u8]) -> usize {
    let begins = |byte: &&u8| **byte & 0xc0 != 0x80;
    bytes.iter().filter(begins).count()
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

    #[test]
    fn what_was_decoded_is_encoded_the_same() {
        for bytes in [
            &b"\xef\xbb\xbfx = 1\r\n"[..],
            b"# coding: latin-1\n'\xe9\x80'",
            b"# coding: cp1252\n'\x80'\n",
            b"# coding: shift_jis\n'\x93\xfa'\n",
            b"",
        ] {
            assert_eq!(Source::decode(bytes).encode().unwrap(), bytes);
        }
        let refused = |bytes: &[u8], text: &str| {
            let error = Source::decode(bytes).with_text(text).encode().unwrap_err();
            assert_eq!(error.code, Code::InvalidParams);
            error.message
        };
        let latin = b"# coding: latin-1\n";
        let message = refused(latin, "# coding: latin-1\n'\u{4e2d}'");
        assert!(message.contains("U+4E2D"), "{message}");
        refused(latin, "import os\n# coding: latin-1\n'\u{e9}'");
        refused(b"x", "# coding: latin-1\n'\u{e9}'");
        let new = Source::from_text("# coding: latin-1\n'\u{e9}'");
        assert_eq!(new.encode().unwrap(), b"# coding: latin-1\n'\xe9'");
    }

    proptest! {
        #[test]
        fn offsets_and_positions_are_inverse(text in "[a-zé😀\r\n]{0,40}", times in 1_usize..60) {
            let text = text.repeat(times);
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
