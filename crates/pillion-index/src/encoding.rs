//! The encoding of a source file: how Python is told of it, and the way back to bytes.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, mem};

/// How many lines a file may have to say its encoding in.
const CODING_LINES: usize = 2;

/// How the bytes of a file stand for its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// One of the web's encodings.
    Web(&'static Encoding),
    /// Each byte is the character of that number. The web's encoding of this name is
    /// another: it has `€` where Python has a control character.
    Latin1,
    /// As above, but only the first half may be written.
    Ascii,
}

impl Coding {
    pub(crate) const UTF_8: Self = Self::Web(UTF_8);

    /// The encoding that a comment in the first lines names.
    pub(crate) fn declared(bytes: &[u8]) -> Option<Self> {
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
                return Self::known(name);
            }
        }
        None
    }

    /// Python's names of encodings, which use `_` and `-` alike, as the web's.
    fn known(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace('_', "-");
        // What follows says how lines end, as in `latin-1-unix`.
        let families = ["utf-8", "latin-1", "iso-8859-1", "iso-latin-1"];
        let family = families.into_iter().find(|family| {
            let rest = name.strip_prefix(family);
            rest.is_some_and(|rest| rest.starts_with('-'))
        });
        let label = match family.unwrap_or(&name) {
            "latin-1" | "latin1" | "iso-latin-1" | "iso-8859-1" | "iso8859-1" | "l1" => {
                return Some(Self::Latin1);
            }
            "ascii" | "us-ascii" | "646" => return Some(Self::Ascii),
            "utf8" => "utf-8",
            "cp1252" => "windows-1252",
            other => other,
        };
        Encoding::for_label(label.as_bytes()).map(Self::Web)
    }

    /// Its name, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Web(encoding) => encoding.name(),
            Self::Latin1 => "latin-1",
            Self::Ascii => "ascii",
        }
    }

    /// The text of some bytes, and whether some of them fit no rule.
    pub(crate) fn decode(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        match self {
            Self::Web(encoding) => encoding.decode_without_bom_handling(bytes),
            Self::Latin1 => (mem::decode_latin1(bytes), false),
            Self::Ascii => (mem::decode_latin1(bytes), !bytes.is_ascii()),
        }
    }

    /// The bytes of a text, or the first character that this encoding does not have.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        let holds = |c: char| match self {
            Self::Web(encoding) => !encoding.encode(c.encode_utf8(&mut [0; 4])).2,
            Self::Latin1 => u8::try_from(u32::from(c)).is_ok(),
            Self::Ascii => c.is_ascii(),
        };
        let whole = match self {
            Self::Web(encoding) => match encoding.encode(text) {
                (bytes, _, false) => Some(bytes.into_owned()),
                _ => None,
            },
            Self::Latin1 if mem::is_str_latin1(text) => {
                Some(mem::encode_latin1_lossy(text).into_owned())
            }
            Self::Ascii if text.is_ascii() => Some(text.as_bytes().to_vec()),
            Self::Latin1 | Self::Ascii => None,
        };
        match whole {
            Some(bytes) => Ok(bytes),
            None => Err(text
                .chars()
                .find(|c| !holds(*c))
                .unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_encoding_does_not_have_is_named() {
        let latin = Coding::declared(b"# coding: latin-1").unwrap();
        assert_eq!(Coding::declared(b"# coding: Latin_1-unix"), Some(latin));
        assert_eq!(
            Coding::declared(b"# coding: utf-8-sig"),
            Some(Coding::UTF_8)
        );
        assert_eq!(latin.encode("é\u{80}").unwrap(), b"\xe9\x80");
        assert_eq!(latin.encode("aé€").unwrap_err(), '€');
        let windows = Coding::declared(b"# coding: cp1252").unwrap();
        assert_eq!(windows.encode("€").unwrap(), b"\x80");
        assert_eq!(windows.encode("a中").unwrap_err(), '中');
        let ascii = Coding::declared(b"# coding: us_ascii").unwrap();
        assert_eq!(ascii.encode("é").unwrap_err(), 'é');
        assert!(ascii.decode(b"\xe9").1);
    }
}
