//! Options of a request that not every server takes.
//!
//! A server that refuses a request with one of them is asked again without it, and it is left
//! out from then on.

use std::ops::{BitAnd, BitOr, Not};

/// A set of options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RequestOptions(u8);

impl RequestOptions {
    /// That the usage is told at the end of a stream.
    pub(crate) const USAGE: Self = Self(1);
    /// The form of the answer.
    pub(crate) const FORMAT: Self = Self(2);
    /// The temperature.
    pub(crate) const TEMPERATURE: Self = Self(4);
    /// The name of the limit on the answer's length: left out, the other name is used.
    pub(crate) const LIMIT_NAME: Self = Self(8);

    /// What can be left out without being named by the server.
    const GUESSED: Self = Self(1 | 2 | 4);

    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Which of the options that were sent a refusal is about: those that it names, else any
    /// that can be left out. None if it is about the length of the conversation.
    pub(crate) fn refused(sent: Self, refusal: &str) -> Self {
        let text = refusal.to_ascii_lowercase();
        let about = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if about_length(&text) {
            return Self::default();
        }
        let mut named = Self::default();
        for (option, words) in [
            (Self::USAGE, &["stream_options", "include_usage"][..]),
            (
                Self::FORMAT,
                &[
                    "response_format",
                    "json_schema",
                    "output_config",
                    "schema",
                    "grammar",
                ],
            ),
            (Self::TEMPERATURE, &["temperature"]),
            (Self::LIMIT_NAME, &["max_tokens", "max_completion_tokens"]),
        ] {
            if about(words) {
                named = named | option;
            }
        }
        let named = named & sent;
        if named.is_empty() {
            sent & Self::GUESSED
        } else {
            named
        }
    }
}

/// Whether a refusal says that the conversation is too long for the model.
pub(crate) fn about_length(lower: &str) -> bool {
    [
        "context_length",
        "context length",
        "prompt is too long",
        "context size",
    ]
    .iter()
    .any(|words| lower.contains(words))
}

impl BitOr for RequestOptions {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for RequestOptions {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for RequestOptions {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_options_go_first_and_length_is_no_option() {
        let all = RequestOptions::USAGE
            | RequestOptions::FORMAT
            | RequestOptions::TEMPERATURE
            | RequestOptions::LIMIT_NAME;
        assert_eq!(
            RequestOptions::refused(all, "Unknown: STREAM_OPTIONS"),
            RequestOptions::USAGE
        );
        assert_eq!(RequestOptions::refused(all, "no"), RequestOptions::GUESSED);
        assert_eq!(
            RequestOptions::refused(RequestOptions::FORMAT, "temperature"),
            RequestOptions::FORMAT
        );
        assert!(RequestOptions::refused(RequestOptions::default(), "temperature").is_empty());
        assert!(RequestOptions::refused(all, "context_length_exceeded: max_tokens").is_empty());
    }
}
