//! What stands inside of a line of markdown: emphasis, code, links.
//!
//! A line may still be on its way. What was opened in it and not closed yet is then taken as
//! going to be closed, so that a word is bold from its first letter on.

use nu_ansi_term::{Color, Style};

/// Emphasis inside of emphasis; what is deeper is shown as it is written.
const DEEPEST: usize = 6;
/// Bytes of a link's label and of its address, at most.
const LONGEST_LINK: usize = 1024;

/// A piece of text that looks alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) style: Style,
}

/// The pieces of a line; `is_open` says that more of it may come.
pub(super) fn pieces(text: &str, base: Style, is_open: bool) -> Vec<Piece> {
    let mut reader = Reader {
        pieces: Vec::new(),
        is_open,
    };
    reader.read(text, base, 0, None);
    reader.pieces
}

struct Reader {
    pieces: Vec<Piece>,
    is_open: bool,
}

/// Marks that are known to be closed nowhere behind this place: by letter and number.
#[derive(Default)]
struct Unclosed(Vec<(char, usize)>);

impl Reader {
    fn push(&mut self, text: &str, style: Style) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.pieces.push(Piece {
                text: text.to_owned(),
                style,
            }),
        }
    }

    /// Read a part of the line; `before` is the letter in front of it.
    fn read(&mut self, text: &str, style: Style, depth: usize, before: Option<char>) {
        let mut unclosed = Unclosed::default();
        let mut before = before;
        let mut rest = text;
        while let Some(at) = rest.find(['`', '*', '_', '~', '[', '!', '\\']) {
            self.push(&rest[..at], style);
            before = rest[..at].chars().next_back().or(before);
            rest = &rest[at..];
            let letter = rest.chars().next().unwrap_or_default();
            let run = rest.chars().take_while(|c| *c == letter).count();
            let read = match letter {
                '\\' => self.escaped(rest, style),
                '`' => self.code(rest, run, style, &mut unclosed),
                '[' => self.link(rest, style),
                '!' => match rest[1..].starts_with('[') {
                    true => self.link(&rest[1..], style).map(|read| read + 1),
                    false => None,
                },
                _ if depth < DEEPEST => {
                    self.emphasis(rest, (letter, run), style, depth, before, &mut unclosed)
                }
                _ => None,
            };
            let length = read.unwrap_or_else(|| {
                let length = match letter {
                    '`' | '*' | '_' | '~' => run,
                    _ => 1,
                };
                self.push(&rest[..length], style);
                length
            });
            before = rest[..length].chars().next_back().or(before);
            rest = &rest[length..];
        }
        self.push(rest, style);
    }

    /// A letter that means nothing but itself.
    fn escaped(&mut self, text: &str, style: Style) -> Option<usize> {
        let next = text[1..].chars().next()?;
        next.is_ascii_punctuation().then(|| {
            self.push(&text[1..2], style);
            2
        })
    }

    fn code(
        &mut self,
        text: &str,
        run: usize,
        style: Style,
        unclosed: &mut Unclosed,
    ) -> Option<usize> {
        let inside = &text[run..];
        let end = match unclosed.0.contains(&('`', run)) {
            true => None,
            false => closing_ticks(inside, run),
        };
        let (code, length) = match end {
            Some(end) => (&inside[..end], run + end + run),
            None if self.is_open && run < 3 => (inside, text.len()),
            None => {
                unclosed.0.push(('`', run));
                return None;
            }
        };
        let stripped = code.strip_prefix(' ').and_then(|c| c.strip_suffix(' '));
        let code = stripped.filter(|c| !c.trim().is_empty()).unwrap_or(code);
        self.push(code, style.fg(Color::Cyan));
        Some(length)
    }

    fn emphasis(
        &mut self,
        text: &str,
        (letter, run): (char, usize),
        style: Style,
        depth: usize,
        before: Option<char>,
        unclosed: &mut Unclosed,
    ) -> Option<usize> {
        let inner = match (letter, run) {
            ('~', 2) => style.strikethrough(),
            ('*' | '_', 1) => style.italic(),
            ('*' | '_', 2) => style.bold(),
            ('*' | '_', 3) => style.bold().italic(),
            _ => return None,
        };
        let inside = &text[run..];
        // `a * b` is no emphasis, and neither is `snake_case`.
        let Some(next) = inside.chars().next() else {
            // Nobody knows yet what follows: the mark is not shown before.
            return self.is_open.then_some(text.len());
        };
        let is_inside_word = letter == '_' && before.is_some_and(char::is_alphanumeric);
        if next.is_whitespace() || is_inside_word {
            return None;
        }
        let end = match unclosed.0.contains(&(letter, run)) {
            true => None,
            false => closing_mark(inside, letter, run),
        };
        match end {
            Some(end) => {
                self.read(&inside[..end], inner, depth + 1, Some(letter));
                Some(run + end + run)
            }
            None if self.is_open => {
                // The begin of the mark that will close it.
                let inside = inside.trim_end_matches(letter);
                self.read(inside, inner, depth + 1, Some(letter));
                Some(text.len())
            }
            None => {
                unclosed.0.push((letter, run));
                None
            }
        }
    }

    /// `[label](address)`, whose address is shown: a terminal's reader is to know where it leads.
    fn link(&mut self, text: &str, style: Style) -> Option<usize> {
        let label = text.strip_prefix('[')?;
        let end = label.find([']', '[']).filter(|end| *end <= LONGEST_LINK)?;
        let address = label[end..].strip_prefix("](")?;
        let close = address.find([')', ' ']);
        let close =
            close.filter(|close| *close <= LONGEST_LINK && address[*close..].starts_with(')'))?;
        let (label, address) = (&label[..end], &address[..close]);
        self.push(label, style.underline());
        if address != label && !address.is_empty() {
            self.push(&format!(" ({address})"), style.dimmed());
        }
        Some(1 + end + 2 + close + 1)
    }
}

/// Where so many backticks stand, no more and no less.
fn closing_ticks(text: &str, run: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find('`') {
        let at = from + at;
        let found = text[at..].chars().take_while(|c| *c == '`').count();
        if found == run {
            return Some(at);
        }
        from = at + found;
    }
    None
}

/// Where emphasis ends: behind a letter, and not within code.
fn closing_mark(text: &str, letter: char, run: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find([letter, '`', '\\']) {
        let at = from + at;
        let found = text[at..].chars().next()?;
        let length = text[at..].chars().take_while(|c| *c == found).count();
        from = at + length;
        match found {
            '\\' => from = at + 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '`' => {
                if let Some(end) = closing_ticks(&text[from..], length) {
                    from += end + length;
                }
            }
            _ => {
                let before = text[..at].chars().next_back();
                let behind = text[from..].chars().next();
                let closes = before.is_some_and(|c| !c.is_whitespace())
                    && !(letter == '_' && behind.is_some_and(char::is_alphanumeric));
                // Of three marks the first may close what was opened inside.
                if closes && (length == run || length == 3) {
                    return Some(at + length - run);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces with their looks in brackets.
    fn read(text: &str, is_open: bool) -> String {
        let name = |style: Style| {
            let mut name = String::new();
            for (is, letter) in [
                (style.is_bold, 'b'),
                (style.is_italic, 'i'),
                (style.is_strikethrough, 's'),
                (style.is_underline, 'u'),
                (style.is_dimmed, 'd'),
                (style.foreground.is_some(), 'c'),
            ] {
                if is {
                    name.push(letter);
                }
            }
            name
        };
        let pieces = pieces(text, Style::new(), is_open);
        let shown = pieces.iter().map(|piece| match name(piece.style) {
            name if name.is_empty() => piece.text.clone(),
            name => format!("<{name}:{}>", piece.text),
        });
        shown.collect()
    }

    #[test]
    fn what_is_marked_looks_so() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a **bold** and *it* b", "a <b:bold> and <i:it> b"),
            ("__bold__ _it_ ~~gone~~", "<b:bold> <i:it> <s:gone>"),
            ("***both***", "<bi:both>"),
            ("**a *b* c**", "<b:a ><bi:b><b: c>"),
            ("**a *b***", "<b:a ><bi:b>"),
            ("*a **b***", "<i:a ><bi:b>"),
            ("`x = a * b * c`", "<c:x = a * b * c>"),
            ("``a ` b`` and `` ` ``", "<c:a ` b> and <c:`>"),
            ("**`len(x)` counts**", "<bc:len(x)><b: counts>"),
            ("*a `*` b*", "<i:a ><ic:*><i: b>"),
            (
                "snake_case_name and __init__.py",
                "snake_case_name and <b:init>.py",
            ),
            ("2 * 3 * 4", "2 * 3 * 4"),
            ("a*b", "a*b"),
            ("**open", "**open"),
            ("`open", "`open"),
            ("\\*no\\* C:\\dir", "*no* C:\\dir"),
            (
                "[here](https://x.org/a_b_c)!",
                "<u:here><d: (https://x.org/a_b_c)>!",
            ),
            (
                "![a plot](p.png) [1] [x] (y)",
                "<u:a plot><d: (p.png)> [1] [x] (y)",
            ),
            ("[a](b c)", "[a](b c)"),
            ("**** ____ `", "**** ____ `"),
            ("x[0] != y", "x[0] != y"),
            ("重点是**列表**。", "重点是<b:列表>。"),
        ] {
            assert_eq!(read(text, false), expected, "{text}");
        }
    }

    #[test]
    fn what_is_still_written_is_taken_as_going_to_be_closed() {
        for (text, expected) in [
            ("a **bo", "a <b:bo>"),
            ("a **bold*", "a <b:bold>"),
            ("a *", "a "),
            ("a `le", "a <c:le>"),
            ("a **b `c", "a <b:b ><bc:c>"),
            ("2 * 3", "2 * 3"),
            ("[he](ht", "[he](ht"),
        ] {
            assert_eq!(read(text, true), expected, "{text}");
        }
    }

    #[test]
    fn marks_that_nobody_closes_do_not_take_for_ever() {
        let many = "*a _b ~~d [e ".repeat(20_000);
        assert_eq!(read(&many, false), many);
        let deep = "*a **b ".repeat(5_000);
        assert!(read(&deep, true).len() > 10_000);
    }
}
