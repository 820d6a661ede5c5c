//! What a model thinks aloud before its answer, which is no part of the answer.
//!
//! Endpoints give it in fields of its own, which nobody reads. Local servers that do not know
//! their model's template leave it in the text, between tags at its beginning: it would be shown
//! to whoever reads along, and the drafts in it would be taken for the answer. Tags elsewhere are
//! text. Pure, and one character after the other, so how an answer was cut makes no difference.

use std::borrow::Cow;

/// The tags that thoughts stand between.
const TAGS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
];

/// Takes thoughts out of an answer that is still coming.
#[derive(Debug, Default)]
pub(crate) struct Thoughts(Place);

#[derive(Debug)]
enum Place {
    /// Nothing but blanks, and what may become a tag.
    Before(String),
    /// In thoughts that end with this tag; the last characters may be its beginning.
    Within(&'static str, String),
    /// In the answer.
    Behind,
}

impl Default for Place {
    fn default() -> Self {
        Self::Before(String::new())
    }
}

impl Thoughts {
    /// What of the next piece can be told; blanks before an answer come with its first word.
    pub(crate) fn pass<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        if matches!(self.0, Place::Behind) {
            return Cow::Borrowed(piece);
        }
        for (at, next) in piece.char_indices() {
            if let Some(mut told) = self.take(next) {
                let rest = &piece[at + next.len_utf8()..];
                told.push_str(rest);
                return Cow::Owned(told);
            }
        }
        Cow::Borrowed("")
    }

    /// What was kept back, and is the answer because nothing more came.
    pub(crate) fn rest(&mut self) -> String {
        match std::mem::replace(&mut self.0, Place::Behind) {
            Place::Before(held) => held,
            Place::Within(..) | Place::Behind => String::new(),
        }
    }

    /// Take one character; the answer's beginning, if that is known now.
    fn take(&mut self, next: char) -> Option<String> {
        match &mut self.0 {
            Place::Before(held) => {
                held.push(next);
                let seen = held.trim_start();
                if let Some((_, close)) = TAGS.iter().find(|(open, _)| *open == seen) {
                    self.0 = Place::Within(close, String::new());
                } else if !TAGS.iter().any(|(open, _)| open.starts_with(seen)) {
                    return Some(self.rest());
                }
                None
            }
            Place::Within(close, last) => {
                last.push(next);
                if last.ends_with(*close) {
                    self.0 = Place::Behind;
                    return Some(String::new());
                }
                if last.len() > 2 * close.len() {
                    let from = last.len() - close.len();
                    let from = (from..last.len()).find(|at| last.is_char_boundary(*at));
                    last.drain(..from.unwrap_or_default());
                }
                None
            }
            Place::Behind => Some(String::from(next)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut thoughts = Thoughts::default();
        let mut told: String = pieces.into_iter().map(|p| thoughts.pass(p)).collect();
        told.push_str(&thoughts.rest());
        told
    }

    #[test]
    fn thoughts_are_taken_out_at_the_beginning_only() {
        for (text, answer) in [
            ("<think>a {\"b\": 1}\n</think>\n\nHi.", "\n\nHi."),
            ("\n <thinking>é</think> 你</thinking>Hi.", "Hi."),
            ("[THINK]a[/THINK]Hi.", "Hi."),
            ("<think></think>Hi.", "Hi."),
            ("Hi <think>a</think>.", "Hi <think>a</think>."),
            ("<thi", "<thi"),
            ("<thin ice>", "<thin ice>"),
            ("  \n", "  \n"),
            ("", ""),
            // It never came to its answer.
            ("<think>a b c </thin", ""),
        ] {
            assert_eq!(told([text]), answer, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            text in "(\n|<think>|<thinking>|</think>|</thinking>|<th|a|é|你| ){0,12}",
            cuts in prop::collection::vec(0..60_usize, 0..8),
        ) {
            let mut at: Vec<_> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces = at.windows(2).map(|cut| &text[cut[0]..cut[1]]);
            prop_assert_eq!(told(pieces), told([text.as_str()]));
        }
    }
}
