//! What code of others may say to a terminal: text, and colours for it.
//!
//! A terminal does what is written to it: it takes titles, moves its cursor, answers questions
//! as if somebody had typed. So of what a cell prints only this passes: text, line ends, tabs,
//! carriage returns, backspaces, and colours (SGR sequences). Other sequences that only move or
//! erase are left out; every other command is shown as what it is, in the way of the rest of the
//! command line.

use super::super::output;

/// Characters of a sequence, at most; a longer one is none.
const LONGEST: usize = 64;
const ESCAPE: char = '\u{1b}';

/// Cleans one stream. A sequence may be cut in two by the pieces that a stream comes in.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    /// The begin of a sequence whose end has not come yet.
    begun: String,
    /// Colours were changed, and not set back since.
    is_coloured: bool,
}

/// What a sequence that begins here is.
enum Sequence {
    /// So many bytes that set colours; whether they only set them back.
    Colour(usize, bool),
    /// So many bytes that do something else to the screen.
    Other(usize),
    /// It is not yet to be seen what it becomes.
    Open,
    /// None.
    No,
}

impl Cleaner {
    /// The part of a stream that may be written.
    pub(crate) fn clean(&mut self, text: &str, colours: bool) -> String {
        let whole = std::mem::take(&mut self.begun) + text;
        let mut clean = String::with_capacity(whole.len());
        let mut rest = whole.as_str();
        while let Some(at) = rest.find(|c| is_command(c) || c == ESCAPE) {
            clean.push_str(&rest[..at]);
            rest = &rest[at..];
            let length = match sequence(rest) {
                Sequence::Colour(length, resets) => {
                    if colours {
                        clean.push_str(&rest[..length]);
                        self.is_coloured = !resets;
                    }
                    length
                }
                Sequence::Other(length) => length,
                Sequence::Open => {
                    self.begun = rest.to_owned();
                    return clean;
                }
                Sequence::No => {
                    let length = rest.chars().next().map_or(1, char::len_utf8);
                    clean.push_str(&output::spelled_out(&rest[..length]));
                    length
                }
            };
            rest = &rest[length..];
        }
        clean.push_str(rest);
        clean
    }

    /// What is to be written behind the last piece.
    pub(crate) fn end(&mut self) -> String {
        let mut end = output::spelled_out(&std::mem::take(&mut self.begun));
        if std::mem::take(&mut self.is_coloured) {
            end.push_str("\u{1b}[0m");
        }
        end
    }
}

/// A whole text that may be written.
pub(crate) fn clean(text: &str, colours: bool) -> String {
    let mut cleaner = Cleaner::default();
    let mut clean = cleaner.clean(text, colours);
    clean.push_str(&cleaner.end());
    clean
}

fn is_command(letter: char) -> bool {
    !matches!(letter, '\r' | '\u{8}') && output::is_command(letter)
}

fn sequence(text: &str) -> Sequence {
    let Some(body) = text.strip_prefix(ESCAPE) else {
        return Sequence::No;
    };
    let Some(body) = body.strip_prefix('[') else {
        return match body.is_empty() {
            true => Sequence::Open,
            false => Sequence::No,
        };
    };
    let end = body.find(|c| !matches!(c, '\u{20}'..='\u{3f}'));
    match end {
        None if body.len() < LONGEST => Sequence::Open,
        Some(end) if end < LONGEST && body[end..].starts_with(|c| matches!(c, '@'..='~')) => {
            let numbers = &body[..end];
            let is_plain = numbers.chars().all(|c| matches!(c, '0'..='9' | ';' | ':'));
            let length = end + 3;
            match body[end..].starts_with('m') && is_plain {
                true => Sequence::Colour(length, matches!(numbers, "" | "0")),
                false => Sequence::Other(length),
            }
        }
        _ => Sequence::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_text_pass_and_nothing_else_does() {
        for (text, expected) in [
            (
                "plain\ttext\nüñ 日本\r50%\u{8}",
                "plain\ttext\nüñ 日本\r50%\u{8}",
            ),
            ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
            ("\x1b[38;2;1;2;3mx\x1b[m", "\x1b[38;2;1;2;3mx\x1b[m"),
            ("\x1b[1mopen", "\x1b[1mopen\x1b[0m"),
            ("\x1b[2J\x1b[Hgone\x1b[3A", "gone"),
            ("\x1b]0;title\x07x", "\\u001b]0;title\\u0007x"),
            ("\x1b_Gi=1;AAAA\x1b\\", "\\u001b_Gi=1;AAAA\\u001b\\"),
            ("\x1bPq~\x1b\\", "\\u001bPq~\\u001b\\"),
            ("\x1b[6n\x1b[c\x1b[>c\x1b[?1049h", ""),
            ("\u{9b}31m\u{7f}\u{202e}", "\\u009b31m\\u007f\\u202e"),
            ("\x1b[>4;2mx", "x"),
            ("\x1bc\x1b(0", "\\u001bc\\u001b(0"),
            ("\x1b", "\\u001b"),
        ] {
            assert_eq!(clean(text, true), expected, "{text:?}");
        }
        assert_eq!(clean("\x1b[31mred\x1b[0m\x1b]", false), "red\\u001b]");
        let endless = format!("\x1b[{}", "1;".repeat(100));
        assert!(clean(&endless, true).starts_with("\\u001b[1;1;"));
    }

    #[test]
    fn a_sequence_may_come_in_pieces() {
        let text = "a\x1b[31mred\x1b[0m \x1b]0;t\x07 \x1b[2K!";
        let expected = clean(text, true);
        for cut in 0..=text.len() {
            let mut cleaner = Cleaner::default();
            let mut all = cleaner.clean(&text[..cut], true);
            all.push_str(&cleaner.clean(&text[cut..], true));
            all.push_str(&cleaner.end());
            assert_eq!(all, expected, "cut at {cut}");
        }
    }
}
