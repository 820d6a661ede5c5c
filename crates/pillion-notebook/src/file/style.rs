//! How a notebook is spelled: spaces, line ends, escapes; and writing in that spelling.
//!
//! What is changed in a file is written the way the rest of the file is. A new file is written
//! the way Python's `nbformat` does it.

use serde_json::Value;

use super::json::Raw;

/// The spelling of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    /// One step of indentation. Without it everything is on one line.
    indent: Option<String>,
    newline: &'static str,
    /// What separates elements on one line.
    comma: String,
    /// What separates a key from its value.
    colon: String,
    /// Whether what is not ASCII is written as escapes.
    ascii: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            indent: Some(" ".into()),
            newline: "\n",
            comma: ",".into(),
            colon: ": ".into(),
            ascii: false,
        }
    }
}

impl Style {
    /// The spelling of an object and what is in it, by its first lines.
    pub(super) fn of(object: &Raw) -> Self {
        let text = object.as_str();
        let mut style = Self {
            ascii: text.is_ascii() && has_escaped_letters(text),
            ..Self::default()
        };
        let members = object.members();
        let Some((key, value)) = members.first() else {
            return style;
        };
        let gap = between(text, 1, key.before().len() - object.before().len());
        let key_end = key.before().len() + key.as_str().len();
        let colon = between(
            text,
            key_end - object.before().len(),
            value.before().len() - object.before().len(),
        );
        // A colon at the end of a line would be copied to where its indentation is wrong.
        if !colon.contains('\n') {
            style.colon = colon.to_owned();
        }
        match gap.rsplit_once('\n') {
            Some((before, indent)) => {
                style.indent = Some(indent.to_owned());
                if before.ends_with('\r') {
                    style.newline = "\r\n";
                }
            }
            None => {
                style.indent = None;
                if let Some((second, _)) = members.get(1) {
                    let value_end = value.before().len() + value.as_str().len();
                    let from = value_end - object.before().len();
                    let to = second.before().len() - object.before().len();
                    style.comma = between(text, from, to).to_owned();
                }
            }
        }
        style
    }

    /// Begin a line, if there are lines.
    fn line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push_str(self.newline);
            (0..depth).for_each(|_| out.push_str(indent));
        }
    }

    /// Write what is between brackets: `count` parts, each by `part`.
    pub(super) fn list(
        &self,
        brackets: [char; 2],
        depth: usize,
        count: usize,
        out: &mut String,
        mut part: impl FnMut(usize, &mut String),
    ) {
        out.push(brackets[0]);
        for index in 0..count {
            match (index, &self.indent) {
                (0, _) => {}
                (_, Some(_)) => out.push(','),
                (_, None) => out.push_str(&self.comma),
            }
            self.line(depth + 1, out);
            part(index, out);
        }
        if count > 0 {
            self.line(depth, out);
        }
        out.push(brackets[1]);
    }

    pub(super) fn colon(&self, out: &mut String) {
        out.push_str(&self.colon);
    }

    /// Write a new value. Keys are sorted, as by `nbformat`.
    pub(super) fn value(&self, value: &Value, depth: usize, out: &mut String) {
        match value {
            Value::String(text) => self.string(text, out),
            Value::Array(list) => self.list(['[', ']'], depth, list.len(), out, |index, out| {
                self.value(&list[index], depth + 1, out);
            }),
            Value::Object(map) => {
                let mut members: Vec<_> = map.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                self.list(['{', '}'], depth, members.len(), out, |index, out| {
                    let (key, value) = members[index];
                    self.string(key, out);
                    self.colon(out);
                    self.value(value, depth + 1, out);
                });
            }
            leaf => out.push_str(&leaf.to_string()),
        }
    }

    /// Write a string with the escapes that Python's `json` uses.
    pub(super) fn string(&self, text: &str, out: &mut String) {
        out.push('"');
        for letter in text.chars() {
            match letter {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\0'..' ' => escape(letter, out),
                '\u{7f}'.. if self.ascii => escape(letter, out),
                _ => out.push(letter),
            }
        }
        out.push('"');
    }
}

fn escape(letter: char, out: &mut String) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

fn between(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

/// Whether there is an escape of something that is not ASCII.
fn has_escaped_letters(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let escape = rest.get(at + 1..at + 6).unwrap_or_default();
        let code = escape
            .strip_prefix('u')
            .map(|hex| u32::from_str_radix(hex, 16));
        if matches!(code, Some(Ok(0x80..))) {
            return true;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

/// The lines of a text with their ends, where Python's `splitlines` ends them: so `nbformat`
/// writes texts as lists.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut from = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let ends = matches!(
            letter,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        );
        if !ends || (letter == '\r' && matches!(letters.peek(), Some((_, '\n')))) {
            continue;
        }
        let end = at + letter.len_utf8();
        lines.push(&text[from..end]);
        from = end;
    }
    if from < text.len() {
        lines.push(&text[from..]);
    }
    lines
}

/// A text as a list of its lines.
pub(super) fn as_lines(text: &str) -> Value {
    lines(text).into_iter().map(Value::from).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn again(text: &str) -> String {
        let raw = Raw::read(&Arc::from(text)).unwrap();
        let mut out = String::new();
        Style::of(&raw).value(&raw.value().unwrap(), 0, &mut out);
        out
    }

    #[test]
    fn a_file_is_written_again_as_it_was_spelled() {
        for text in [
            "{\n \"a\": [\n  1,\n  {}\n ],\n \"b\": []\n}",
            "{\n    \"a\": [\n        1,\n        2\n    ]\n}",
            "{\r\n\t\"a\": [\r\n\t\t1\r\n\t]\r\n}",
            "{\"a\":[1,2],\"b\":{\"c\":3}}",
            "{\"a\": [1, 2], \"b\": {\"c\": 3}}",
            "{\n\"a\" : [\n1\n]\n}",
            "{\"a\": \"\\u00e9\\ud83d\\ude00\\u007f\"}",
            "{\"a\": \"é😀\u{7f}\\u001b\\n\\b\"}",
            "{}",
        ] {
            assert_eq!(again(text), text);
        }
    }

    #[test]
    fn lines_end_where_they_do_in_python() {
        assert_eq!(lines("a\nb\r\nc\rd"), ["a\n", "b\r\n", "c\r", "d"]);
        assert_eq!(lines("a\u{2028}b\u{b}\n"), ["a\u{2028}", "b\u{b}", "\n"]);
        assert_eq!(as_lines(""), json!([]));
    }
}
