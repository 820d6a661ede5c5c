//! JSON out of what models write.
//!
//! Valid JSON is taken as it is. Else a tolerant reader looks at every place where an object
//! may begin, so that prose and fences around it do not matter, and reads over what models get
//! wrong: trailing and missing commas, single and curly quotes, unquoted keys, comments,
//! brackets that are not closed, control characters and bare quotes in strings, Python's
//! literals. Size, depth and the number of places are bounded.

use serde_json::{Map, Number, Value};

/// The longest text that is read.
pub const MAX_SIZE: usize = 1 << 20;
/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;
/// So many places are tried where an object may begin.
const MAX_STARTS: usize = 64;
/// So many bytes are read at all of these places together.
const MAX_READ: usize = 4 * MAX_SIZE;

/// Why there is no JSON in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// It is too long.
    #[error("the text has more than {MAX_SIZE} bytes")]
    TooLarge,
    /// It is nested too deep.
    #[error("the JSON is nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// There is none.
    #[error("there is no JSON object in the text")]
    Missing,
}

/// JSON that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairedJson {
    /// What it says.
    pub value: Value,
    /// It was not valid as it stood, or something stood around it.
    pub repaired: bool,
    /// The text ended in the middle of one of its texts, so more was meant.
    pub cut: bool,
}

/// The object in a text that has most of these keys. Among equals the longest wins.
pub fn object(text: &str, keys: &[&str]) -> Result<RepairedJson, RepairError> {
    if text.len() > MAX_SIZE {
        return Err(RepairError::TooLarge);
    }
    match serde_json::from_str::<Value>(text.trim()) {
        Ok(value @ Value::Object(_)) => {
            return Ok(RepairedJson {
                value,
                repaired: false,
                cut: false,
            });
        }
        // Some models give their JSON as a text in JSON.
        Ok(Value::String(inner)) if inner.contains('{') && inner.len() < text.len() => {
            return Ok(RepairedJson {
                repaired: true,
                ..object(&inner, keys)?
            });
        }
        _ => {}
    }
    let mut best: Option<(usize, usize, Map<String, Value>, bool)> = None;
    let mut error = RepairError::Missing;
    let (mut from, mut read) = (0, 0);
    for _ in 0..MAX_STARTS {
        if read > MAX_READ {
            break;
        }
        let Some(at) = text[from..].find('{').map(|at| from + at) else {
            break;
        };
        let mut reader = Reader {
            text,
            at,
            arrays: 0,
            cut: false,
        };
        let members = reader.object(0);
        read += reader.at - at;
        match members {
            Ok(found) => {
                let known = keys.iter().filter(|key| found.contains_key(**key)).count();
                let length = reader.at - at;
                let better = best
                    .as_ref()
                    .is_none_or(|(most, longest, ..)| (known, length) > (*most, *longest));
                if better {
                    best = Some((known, length, found, reader.cut));
                }
                // An object that takes in prose hides what begins behind: look into it too
                // unless it is clearly what was looked for.
                from = if known > 0 {
                    reader.at.max(at + 1)
                } else {
                    at + 1
                };
            }
            Err(deep) => {
                error = deep;
                from = at + 1;
            }
        }
    }
    match best {
        Some((known, _, found, cut)) if known > 0 || keys.is_empty() => Ok(RepairedJson {
            value: Value::Object(found),
            repaired: true,
            cut,
        }),
        _ => Err(error),
    }
}

/// A tolerant reader of one object. It always moves on, so it ends.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Open arrays around the place.
    arrays: usize,
    /// The text ended within a string.
    cut: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Over blanks and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let rest = self.rest();
            let comment = if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                0
            };
            self.at += comment;
            if blank == 0 && comment == 0 {
                return;
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Map<String, Value>, RepairError> {
        if depth >= MAX_DEPTH {
            return Err(RepairError::TooDeep);
        }
        self.bump();
        let mut members = Map::new();
        loop {
            self.skip();
            match self.peek() {
                None => return Ok(members),
                Some('}') => {
                    self.bump();
                    return Ok(members);
                }
                Some(']') if self.arrays > 0 => return Ok(members),
                Some(',' | ';' | ']' | ':' | '{' | '[') => {
                    self.bump();
                }
                Some(_) => {
                    // A fence ends an object that was never closed.
                    if self.rest().starts_with("```") || self.rest().starts_with("~~~") {
                        return Ok(members);
                    }
                    let key = self.key();
                    self.skip();
                    if matches!(self.peek(), Some(':' | '=')) {
                        self.bump();
                        self.skip();
                        let value = self.value(depth + 1)?;
                        members.insert(key, value);
                    }
                }
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value>, RepairError> {
        if depth >= MAX_DEPTH {
            return Err(RepairError::TooDeep);
        }
        self.bump();
        self.arrays += 1;
        let mut items = Vec::new();
        loop {
            self.skip();
            match self.peek() {
                None | Some('}') => break,
                Some(']') => {
                    self.bump();
                    break;
                }
                Some(',' | ';' | ':') => {
                    self.bump();
                }
                Some(_) if self.rest().starts_with("```") => break,
                Some(_) => items.push(self.value(depth + 1)?),
            }
        }
        self.arrays -= 1;
        Ok(items)
    }

    fn value(&mut self, depth: usize) -> Result<Value, RepairError> {
        match self.peek() {
            None | Some(',' | '}' | ']') => Ok(Value::Null),
            Some('{') => {
                // An array around an object does not close it.
                let arrays = self.arrays;
                let members = self.object(depth)?;
                self.arrays = arrays;
                Ok(Value::Object(members))
            }
            Some('[') => Ok(Value::Array(self.array(depth)?)),
            Some(quote) if closing(quote).is_some() => Ok(Value::String(self.string())),
            Some(_) => Ok(self.bare()),
        }
    }

    fn key(&mut self) -> String {
        if self.peek().is_some_and(|quote| closing(quote).is_some()) {
            return self.string();
        }
        let end = |c: char| c.is_whitespace() || matches!(c, ':' | '=' | ',' | '}' | ']' | '{');
        let length = self.rest().find(end).unwrap_or(self.rest().len());
        let key = self.rest()[..length].to_owned();
        self.at += length;
        if length == 0 {
            self.bump();
        }
        key
    }

    /// A number, a literal, or words without quotes up to the end of their place.
    fn bare(&mut self) -> Value {
        let end = |c: char| matches!(c, ',' | '}' | ']' | '\n' | '{' | '[');
        let length = self.rest().find(end).unwrap_or(self.rest().len());
        let mut token = &self.rest()[..length];
        // A comment behind the value is none of it.
        if let Some(comment) = token.find(" //").or_else(|| token.find(" #")) {
            token = &token[..comment];
        }
        let length = token.len();
        let token = token.trim().to_owned();
        self.at += length;
        if length == 0 {
            self.bump();
        }
        match token.as_str() {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            "null" | "None" | "none" | "NULL" | "nil" | "undefined" | "NaN" | "Infinity"
            | "-Infinity" | "" => Value::Null,
            _ => number(&token).map_or(Value::String(token), Value::Number),
        }
    }

    fn string(&mut self) -> String {
        let Some(close) = self.bump().and_then(closing) else {
            return String::new();
        };
        let mut text = String::new();
        while let Some(next) = self.bump() {
            if next == '\\' {
                self.escape(&mut text);
            } else if close.contains(&next) && self.ends_here() {
                return text;
            } else {
                text.push(next);
            }
        }
        self.cut = true;
        text
    }

    /// Whether the quote before this place closed its string: what follows must be able to.
    fn ends_here(&self) -> bool {
        let rest = self.rest();
        let next = rest.trim_start();
        let blank = &rest[..rest.len() - next.len()];
        match next.chars().next() {
            None | Some(',' | '}' | ']' | ':' | '=' | '#' | ';' | '`') => true,
            Some('/') => next.starts_with("//") || next.starts_with("/*"),
            // A comma may be missing at the end of a line.
            Some(_) => blank.contains('\n'),
        }
    }

    fn escape(&mut self, text: &mut String) {
        match self.bump() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('u') => text.push(self.unicode()),
            Some('\n') => {}
            Some(other @ ('"' | '\'' | '\\' | '/')) => text.push(other),
            // A backslash that was not escaped, as in a Windows path or a formula.
            Some(other) => {
                text.push('\\');
                text.push(other);
            }
            None => {}
        }
    }

    fn unicode(&mut self) -> char {
        let first = self.hex();
        if let Some(high @ 0xD800..=0xDBFF) = first {
            let back = self.at;
            if self.rest().starts_with("\\u") {
                self.at += 2;
                if let Some(low @ 0xDC00..=0xDFFF) = self.hex() {
                    let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                    return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                }
            }
            self.at = back;
        }
        first
            .and_then(char::from_u32)
            .unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let code = u32::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(code)
    }
}

/// What closes a string that this opened, if it does open one.
fn closing(quote: char) -> Option<&'static [char]> {
    match quote {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '“' | '”' => Some(&['”', '“', '"']),
        '‘' | '’' => Some(&['’']),
        _ => None,
    }
}

fn number(token: &str) -> Option<Number> {
    let plain: String = token
        .trim_start_matches('+')
        .chars()
        .filter(|c| *c != '_')
        .collect();
    if !plain.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
        return None;
    }
    if let Ok(whole) = plain.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = plain.parse::<u64>() {
        return Some(whole.into());
    }
    plain.parse::<f64>().ok().and_then(Number::from_f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Value {
        object(text, &["a"]).unwrap().value
    }

    #[test]
    fn what_models_get_wrong_is_read() {
        let cases = [
            (
                "Sure! Here it is:\n```json\n{\"a\": 1}\n```\nBye {x}",
                json!({"a": 1}),
            ),
            ("use {curly} braces: {\"a\": 1}", json!({"a": 1})),
            ("{'a': 'it''s', }", json!({"a": "it''s"})),
            (
                "{'a': 'it's fine', b: True, c: None}",
                json!({"a": "it's fine", "b": true, "c": null}),
            ),
            (
                "{a: [1, 2, 3,], // why\n # and\n /* so */ \"b\": .5}",
                json!({"a": [1, 2, 3], "b": 0.5}),
            ),
            (
                "{\"a\": {\"b\": [1, {\"c\": \"x",
                json!({"a": {"b": [1, {"c": "x"}]}}),
            ),
            ("{\"a\": \"one\ntwo\u{1}\"}", json!({"a": "one\ntwo\u{1}"})),
            (
                "{\"a\": \"he said \"hi\" to me\", \"b\": 2}",
                json!({"a": "he said \"hi\" to me", "b": 2}),
            ),
            ("{\"a\": \"x\"\n \"b\": \"y\"}", json!({"a": "x", "b": "y"})),
            ("{“a”: “x”}", json!({"a": "x"})),
            (
                "{\"a\": \"C:\\data\\u00e9 \\ud83d\\ude00\",}",
                json!({"a": "C:\\data\u{e9} \u{1f600}"}),
            ),
            (
                "{\"a\": [{\"b\": 1], \"c\": 2}",
                json!({"a": [{"b": 1}], "c": 2}),
            ),
            ("```\n{\"a\": 1\n```", json!({"a": 1})),
            ("\"{\\\"a\\\": 1}\"", json!({"a": 1})),
            (
                "{\"a\": some words, \"b\": 3rd}",
                json!({"a": "some words", "b": "3rd"}),
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(read(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_none_is_told() {
        assert_eq!(object("no", &["a"]), Err(RepairError::Missing));
        assert_eq!(object("{x} and [1]", &["a"]), Err(RepairError::Missing));
        assert_eq!(
            object(&"{\"a\":".repeat(90), &["b"]),
            Err(RepairError::TooDeep)
        );
        assert_eq!(
            object(&" ".repeat(MAX_SIZE + 1), &["a"]),
            Err(RepairError::TooLarge)
        );
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::from),
            "[a-z\"'`{}\\[\\]:,\\\\\n é]{0,12}".prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec(("[a-z\" :]{0,6}", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn valid_json_keeps_its_meaning(inner in json_value(), pretty in any::<bool>()) {
            let value = json!({ "a": inner });
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let found = object(&text.unwrap(), &["a"]).unwrap();
            prop_assert_eq!(found.value, value);
            prop_assert!(!found.repaired);
        }

        #[test]
        fn nothing_makes_it_panic(text in "[{}\\[\\]\"'“a1:,/*# \\\\nu`\n-.é]{0,80}") {
            let _ = object(&text, &["a"]);
            let _ = object(&text, &[]);
        }

        #[test]
        fn a_cut_answer_is_read_as_far_as_it_goes(inner in json_value(), cut in 5usize..200) {
            let text = serde_json::to_string(&json!({ "a": inner })).unwrap();
            let end = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            if end >= 5 {
                prop_assert!(object(&text[..end], &["a"]).is_ok());
            }
        }
    }
}
