//! Line ends: tools that work on text get `\n` and nothing else, and the file keeps its own.

use std::collections::HashMap;

/// A text with its line ends taken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plain {
    /// The text with `\n` as line ends, the last line included.
    pub text: String,
    ends: Vec<&'static str>,
    /// What new lines end with.
    usual: &'static str,
    has_last: bool,
}

impl Plain {
    /// Take the line ends off.
    pub(crate) fn of(text: &str) -> Self {
        let mut plain = String::with_capacity(text.len() + 1);
        let mut ends = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['\n', '\r']) {
            let end = match &rest[at..] {
                tail if tail.starts_with("\r\n") => "\r\n",
                tail if tail.starts_with('\r') => "\r",
                _ => "\n",
            };
            plain.push_str(&rest[..at]);
            plain.push('\n');
            ends.push(end);
            rest = &rest[at + end.len()..];
        }
        plain.push_str(rest);
        let has_last = rest.is_empty();
        let usual = usual(&ends);
        if !has_last {
            plain.push('\n');
            ends.push(usual);
        }
        Self {
            text: plain,
            ends,
            usual,
            has_last,
        }
    }

    /// The offset in the plain text, in characters, of an offset in the original, in bytes.
    pub(crate) fn characters(&self, original: &str, offset: usize) -> usize {
        let before = original.get(..offset).unwrap_or(original);
        let pairs = before.matches("\r\n").count();
        before.chars().count() - pairs
    }

    /// A new plain text with the line ends of the original: lines at its begin and end that
    /// did not change keep theirs, others get what is usual in the file.
    pub(crate) fn restore(&self, new: &str) -> String {
        let old: Vec<&str> = self.text.split_terminator('\n').collect();
        let lines: Vec<&str> = new.split_terminator('\n').collect();
        let pairs = old.iter().zip(&lines);
        let head = pairs.take_while(|(a, b)| a == b).count();
        let most = old.len().min(lines.len()) - head;
        let pairs = old.iter().rev().zip(lines.iter().rev()).take(most);
        let tail = pairs.take_while(|(a, b)| a == b).count();
        let mut out = String::with_capacity(new.len() + lines.len());
        for (at, line) in lines.iter().enumerate() {
            out.push_str(line);
            let from_end = lines.len() - at;
            let end = if at < head {
                self.ends.get(at)
            } else if from_end <= tail {
                self.ends.get(old.len() - from_end)
            } else {
                None
            };
            out.push_str(end.copied().unwrap_or(self.usual));
        }
        if !self.has_last
            && let Some(end) = ["\r\n", "\n", "\r"].iter().find(|e| out.ends_with(**e))
        {
            out.truncate(out.len() - end.len());
        }
        out
    }
}

fn usual(ends: &[&'static str]) -> &'static str {
    let mut counts: HashMap<&'static str, usize> = HashMap::new();
    for end in ends {
        *counts.entry(end).or_default() += 1;
    }
    let best = counts
        .into_iter()
        .max_by_key(|(end, count)| (*count, *end == "\n"));
    best.map_or("\n", |(end, _)| end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn new_lines_get_what_is_usual() {
        let plain = Plain::of("a\r\nb\r\nc\r\n");
        assert_eq!(plain.text, "a\nb\nc\n");
        assert_eq!(plain.restore("a\nnew\nc\n"), "a\r\nnew\r\nc\r\n");
        let mixed = Plain::of("a\nb\r\nc\r\nd");
        assert_eq!(mixed.restore("a\nb\nx\nc\nd\n"), "a\nb\r\nx\r\nc\r\nd");
        assert_eq!(Plain::of("a").restore("a\nb\n"), "a\nb");
        assert_eq!(Plain::of("").restore("x\n"), "x\n");
        assert_eq!(Plain::of("a\rb\r").restore("b\n"), "b\r");
    }

    #[test]
    fn offsets_count_characters_and_pairs_once() {
        let text = "é\r\nx";
        let plain = Plain::of(text);
        assert_eq!(plain.characters(text, text.find('x').unwrap()), 2);
    }

    proptest! {
        #[test]
        fn what_does_not_change_stays_as_it_was(text in "[ab\r\n]{0,30}") {
            let plain = Plain::of(&text);
            prop_assert_eq!(plain.restore(&plain.text), text);
        }
    }
}
