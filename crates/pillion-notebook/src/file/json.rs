//! JSON that stays the text it was.
//!
//! A notebook that is written again has to keep every byte that nobody changed: the order of
//! keys, escapes, the spelling of numbers (`1e5`, `1.10`, twenty digits), even `NaN`, which
//! Python writes and JSON does not know. `serde_json` keeps the order of keys in this workspace
//! (`preserve_order` is on), but neither escapes nor numbers; its `arbitrary_precision` would
//! keep numbers, and change `Value` for every crate that shares it. So a value that was read is
//! a [`Raw`]: checked once, and then a slice of the file's own text, which is looked into when
//! somebody asks. It also means that a large file costs little more memory than its bytes.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

/// How deep lists and objects may stand in each other.
pub const MAX_DEPTH: usize = 200;
/// How many values one part of a file may have to be looked into, as one piece.
const MAX_VALUES: usize = 4_000_000;

/// What is wrong with a text, and at which byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

/// One JSON value as it is spelled in a file.
#[derive(Clone)]
pub(super) struct Raw {
    whole: Arc<str>,
    from: usize,
    to: usize,
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Raw {
    /// The one value of a text, without what stands before and behind it.
    pub(super) fn read(whole: &Arc<str>) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(whole);
        // A byte order mark is no part of JSON; Windows programs write one all the same.
        if whole.starts_with('\u{feff}') {
            cursor.at = '\u{feff}'.len_utf8();
        }
        cursor.space();
        let from = cursor.at;
        cursor.value()?;
        let to = cursor.at;
        cursor.space();
        if cursor.peek().is_some() {
            return Err(cursor.fault("there is more behind the end of the JSON value"));
        }
        Ok(Self {
            whole: Arc::clone(whole),
            from,
            to,
        })
    }

    pub(super) fn as_str(&self) -> &str {
        self.whole.get(self.from..self.to).unwrap_or_default()
    }

    /// What the file has before this value.
    pub(super) fn before(&self) -> &str {
        self.whole.get(..self.from).unwrap_or_default()
    }

    /// What the file has behind this value.
    pub(super) fn behind(&self) -> &str {
        self.whole.get(self.to..).unwrap_or_default()
    }

    pub(super) fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }

    pub(super) fn is_array(&self) -> bool {
        self.as_str().starts_with('[')
    }

    pub(super) fn is_string(&self) -> bool {
        self.as_str().starts_with('"')
    }

    fn part(&self, from: usize, to: usize) -> Self {
        Self {
            whole: Arc::clone(&self.whole),
            from: self.from + from,
            to: self.from + to,
        }
    }

    /// The elements of a list; none if it is something else.
    pub(super) fn elements(&self) -> Vec<Self> {
        let mut found = Vec::new();
        let mut cursor = Cursor::new(self.as_str());
        if !cursor.eat(b'[') {
            return found;
        }
        cursor.space();
        // The text was checked when it was read, so no step of this fails.
        while !cursor.eat(b']') {
            let from = cursor.at;
            if cursor.value().is_err() {
                break;
            }
            found.push(self.part(from, cursor.at));
            cursor.space();
            cursor.eat(b',');
            cursor.space();
        }
        found
    }

    /// The keys of an object, with their quotes, and its values; none if it is something else.
    pub(super) fn members(&self) -> Vec<(Self, Self)> {
        let mut found = Vec::new();
        let mut cursor = Cursor::new(self.as_str());
        if !cursor.eat(b'{') {
            return found;
        }
        cursor.space();
        while !cursor.eat(b'}') {
            let key = cursor.at;
            if cursor.string().is_err() {
                break;
            }
            let key = self.part(key, cursor.at);
            cursor.space();
            cursor.eat(b':');
            cursor.space();
            let from = cursor.at;
            if cursor.value().is_err() {
                break;
            }
            found.push((key, self.part(from, cursor.at)));
            cursor.space();
            cursor.eat(b',');
            cursor.space();
        }
        found
    }

    /// The text of a string. Halves of surrogate pairs become the replacement character.
    pub(super) fn text(&self) -> Option<String> {
        let inner = self.as_str().strip_prefix('"')?.strip_suffix('"')?;
        Some(unescaped(inner))
    }

    /// The value, or nothing if it has too many parts to be kept one by one. Numbers that are
    /// none to JSON are `null`.
    pub(super) fn value(&self) -> Option<Value> {
        let mut left = MAX_VALUES;
        Cursor::new(self.as_str()).parse(&mut left)
    }
}

/// A place in a text, and the grammar.
struct Cursor<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
        }
    }

    fn fault(&self, what: &'static str) -> Fault {
        Fault { at: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Step over a value, whatever it is. No recursion: depth is a number here, not a stack.
    fn value(&mut self) -> Result<(), Fault> {
        let mut open = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if !self.eat(b'}') {
                        self.deeper(&mut open, b'}')?;
                        self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if !self.eat(b']') {
                        self.deeper(&mut open, b']')?;
                        continue;
                    }
                }
                _ => self.leaf()?,
            }
            loop {
                let Some(&close) = open.last() else {
                    return Ok(());
                };
                self.space();
                if self.eat(close) {
                    open.pop();
                } else if self.eat(b',') {
                    if close == b'}' {
                        self.space();
                        self.key()?;
                    }
                    break;
                } else {
                    return Err(self.fault("a comma or the end of the list or object is missing"));
                }
            }
        }
    }

    fn deeper(&self, open: &mut Vec<u8>, close: u8) -> Result<(), Fault> {
        if open.len() >= MAX_DEPTH {
            return Err(self.fault("lists and objects stand too deep in each other"));
        }
        open.push(close);
        Ok(())
    }

    fn key(&mut self) -> Result<(), Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("a key in quotes is missing"));
        }
        self.string()?;
        self.space();
        match self.eat(b':') {
            true => Ok(()),
            false => Err(self.fault("a colon is missing")),
        }
    }

    fn leaf(&mut self) -> Result<(), Fault> {
        /// What Python's `json` writes for floats that JSON has no word for is among them.
        const WORDS: &[&str] = &["true", "false", "null", "NaN", "Infinity", "-Infinity"];
        match self.peek() {
            None => return Err(self.fault("the text ends where a value is missing")),
            Some(b'"') => return self.string(),
            _ => {}
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if let Some(word) = WORDS.iter().find(|word| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            return Ok(());
        }
        self.number()
    }

    fn number(&mut self) -> Result<(), Fault> {
        self.eat(b'-');
        let (first, from) = (self.peek(), self.at);
        if !self.digits() {
            return Err(self.fault("this is no JSON value"));
        }
        if first == Some(b'0') && self.at > from + 1 {
            return Err(self.fault("a number begins with a zero"));
        }
        if self.eat(b'.') && !self.digits() {
            return Err(self.fault("a number has no digit behind its point"));
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            if !self.digits() {
                return Err(self.fault("a number has no digit in its exponent"));
            }
        }
        Ok(())
    }

    fn digits(&mut self) -> bool {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at > from
    }

    fn string(&mut self) -> Result<(), Fault> {
        self.at += 1;
        loop {
            // Most of a file is strings, and most of them are long.
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
            self.at += rest.iter().position(special).unwrap_or(rest.len());
            match self.peek() {
                None => return Err(self.fault("the text ends within a string")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 1;
                        }
                        Some(b'u') if hex(self.bytes, self.at + 1).is_some() => self.at += 5,
                        _ => return Err(self.fault("a string has an escape that JSON lacks")),
                    }
                }
                Some(_) => {
                    return Err(self.fault("a string has a control character that is no escape"));
                }
            }
        }
    }

    /// The value here. `None` if there are more values than are left, or the text was not
    /// checked before. As deep as checked text can be.
    fn parse(&mut self, left: &mut usize) -> Option<Value> {
        *left = left.checked_sub(1)?;
        self.space();
        match self.peek()? {
            b'{' => {
                self.at += 1;
                let mut map = Map::new();
                self.space();
                while !self.eat(b'}') {
                    let key = self.slice(Self::string)?;
                    self.space();
                    self.eat(b':');
                    let value = self.parse(left)?;
                    map.insert(unescaped(key.get(1..key.len() - 1)?), value);
                    self.space();
                    self.eat(b',');
                    self.space();
                }
                Some(Value::Object(map))
            }
            b'[' => {
                self.at += 1;
                let mut list = Vec::new();
                self.space();
                while !self.eat(b']') {
                    list.push(self.parse(left)?);
                    self.space();
                    self.eat(b',');
                    self.space();
                }
                Some(Value::Array(list))
            }
            b'"' => {
                let text = self.slice(Self::string)?;
                Some(Value::String(unescaped(text.get(1..text.len() - 1)?)))
            }
            _ => Some(match self.slice(Self::leaf)? {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                digits => number(digits),
            }),
        }
    }

    fn slice(&mut self, step: fn(&mut Self) -> Result<(), Fault>) -> Option<&'a str> {
        let from = self.at;
        step(self).ok()?;
        self.text.get(from..self.at)
    }
}

fn number(digits: &str) -> Value {
    match digits.parse::<i64>() {
        // Below zero there is one only among fractions.
        Ok(0) if digits.starts_with('-') => return (-0.0).into(),
        Ok(whole) => return whole.into(),
        Err(_) => {}
    }
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.into();
    }
    let float = digits.parse::<f64>().ok().and_then(Number::from_f64);
    float.map_or(Value::Null, Value::Number)
}

/// The four hexadecimal digits at a place.
fn hex(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |sum, &digit| {
        Some(sum * 16 + char::from(digit).to_digit(16)?)
    })
}

/// The text that the inside of a string means.
fn unescaped(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let bytes = rest.as_bytes();
        let escape = bytes.get(at + 1).copied().unwrap_or(b'\\');
        let mut end = at + 2;
        match escape {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                end = at + 6;
                let high = hex(bytes, at + 2).unwrap_or(0xfffd);
                let low = match bytes.get(end..end + 2) {
                    Some(b"\\u") if (0xd800..0xdc00).contains(&high) => {
                        hex(bytes, end + 2).filter(|low| (0xdc00..0xe000).contains(low))
                    }
                    _ => None,
                };
                let code = match low {
                    Some(low) => {
                        end += 6;
                        0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                    }
                    None => high,
                };
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            other => out.push(char::from(other)),
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Raw, Fault> {
        Raw::read(&Arc::from(text))
    }

    #[test]
    fn a_value_is_found_between_what_surrounds_it() {
        let raw = read("\u{feff} \r\n[1, {\"a\": \"]\"} ,[]]\n\n").unwrap();
        assert_eq!(raw.as_str(), "[1, {\"a\": \"]\"} ,[]]");
        assert_eq!((raw.before(), raw.behind()), ("\u{feff} \r\n", "\n\n"));
        let parts: Vec<_> = raw.elements();
        let parts: Vec<_> = parts.iter().map(Raw::as_str).collect();
        assert_eq!(parts, ["1", "{\"a\": \"]\"}", "[]"]);
        let members = raw.elements()[1].members();
        assert_eq!(members[0].0.text().unwrap(), "a");
        assert_eq!(members[0].1.text().unwrap(), "]");
    }

    #[test]
    fn values_are_those_that_serde_reads() {
        for text in [
            r#"{"a": [1, -2, 3.5, 1e3, true, false, null], "b": {}, "c": []}"#,
            r#""\"\\\/\b\f\n\r\té😀""#,
            r#"{"a": 1, "a": 2}"#,
            "18446744073709551615",
            "-0.0",
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read(text).unwrap().value().unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_python_writes_and_json_lacks_is_read() {
        let raw = read(r#"[NaN, Infinity, -Infinity, 1e999, "\ud800", "\ud800\u0041"]"#).unwrap();
        let expected = json!([null, null, null, null, "\u{fffd}", "\u{fffd}A"]);
        assert_eq!(raw.value().unwrap(), expected);
    }

    #[test]
    fn what_is_no_json_is_told_with_its_place() {
        for (text, at) in [
            ("", 0),
            ("[1,]", 3),
            ("{\"a\": 1,}", 8),
            ("{a: 1}", 1),
            ("[1 2]", 3),
            ("\"a", 2),
            ("\"\\x\"", 2),
            ("\"\n\"", 1),
            ("01", 2),
            ("-00", 3),
            ("010.5", 3),
            ("1.", 2),
            ("-", 1),
            ("nul", 0),
            ("{} {}", 3),
            ("{\"a\" 1}", 5),
        ] {
            assert_eq!(read(text).unwrap_err().at, at, "{text}");
        }
    }

    proptest::proptest! {
        /// Texts that are JSON or nearly so: pieces of it in any order.
        #[test]
        fn what_is_json_is_what_serde_takes_for_it(
            pieces in proptest::collection::vec(proptest::sample::select(vec![
                "{", "}", "[", "]", "[]", "{}", ",", ":", "\"", "\"a\"", "\"a\":1", "\\", "\\n",
                "\\u00e9", "\\u12", "0", "1", "-", "+", ".", "1.5", "e", "E5", "true", "null", "nul",
                " ", "\n", "\t", "\u{1}", "é", "/",
            ]), 0..8),
        ) {
            let text = pieces.concat();
            let ours = read(&text).ok().map(|raw| raw.value().unwrap());
            let theirs = serde_json::from_str::<Value>(&text).ok();
            // Beyond the range of its numbers serde refuses what we keep as text.
            let in_range = !text.contains(['e', 'E']);
            if in_range || theirs.is_some() {
                proptest::prop_assert_eq!(ours, theirs, "{}", text);
            }
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + "1" + &"]".repeat(depth);
        assert!(read(&nested(MAX_DEPTH)).unwrap().value().is_some());
        assert!(read(&nested(MAX_DEPTH + 1)).is_err());
        assert!(read(&nested(1_000_000)).is_err());
    }
}
