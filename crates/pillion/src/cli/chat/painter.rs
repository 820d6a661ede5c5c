//! Rows on a terminal, of which the last ones may still change.
//!
//! Rows that are done stay where they are. Behind them are the live ones: what is being written,
//! and a line that says what is waited for. When these change, the cursor goes back to the first
//! row that is different, and from there rows are written over what was there. Nothing is erased
//! before, so nothing flickers.

use super::rows::{fills, height};

/// The rows that may change.
#[derive(Debug)]
pub(super) struct Painter {
    width: usize,
    /// Rows of the terminal: what left it at the top cannot be changed.
    rows: usize,
    /// What stands there. The cursor is behind the last of them.
    live: Vec<String>,
}

impl Painter {
    /// For a terminal of this size, whose cursor is at the begin of a line.
    pub(super) fn new(width: usize, rows: usize) -> Self {
        Self {
            width: width.max(2),
            rows: rows.max(2),
            live: Vec::new(),
        }
    }

    /// What is to be written so that these rows are there for good, and behind them those that
    /// may change.
    pub(super) fn paint(&mut self, done: &[String], live: Vec<String>) -> String {
        let old = std::mem::take(&mut self.live);
        let new: Vec<&String> = done.iter().chain(&live).collect();
        let same = old.iter().zip(&new).take_while(|(old, new)| old == *new);
        let same = same.count();
        let mut text = String::new();
        if old.is_empty() {
            self.write(&new, &mut text);
        } else if same < old.len() {
            self.write_over(&old, &new, same, &mut text);
        } else if same < new.len() {
            text.push('\n');
            self.write(&new[same..], &mut text);
        }
        if live.is_empty() && !new.is_empty() {
            text.push('\n');
        }
        self.live = live;
        text
    }

    /// Write new rows over old ones, of which the first are the same.
    fn write_over(&self, old: &[String], new: &[&String], same: usize, text: &mut String) {
        let heights = |rows: &[String]| -> usize {
            let heights = rows.iter().map(|row| height(row, self.width));
            heights.sum()
        };
        // The cursor ends up in the last row, so at least that one is written.
        let mut from = same.min(new.len().saturating_sub(1));
        while heights(&old[from..]) > self.rows && from + 1 < old.len() {
            from += 1;
        }
        let before = heights(&old[from..]).min(self.rows);
        text.push('\r');
        if before > 1 {
            text.push_str(&format!("\u{1b}[{}A", before - 1));
        }
        let rest = new.get(from..).unwrap_or_default();
        self.write(rest, text);
        let now: usize = rest.iter().map(|row| height(row, self.width)).sum();
        if rest.is_empty() {
            text.push_str("\u{1b}[J");
        } else if now < before {
            // What is left of the old rows is below.
            text.push_str("\n\u{1b}[J\u{1b}[1A");
        }
    }

    fn write(&self, rows: &[&String], text: &mut String) {
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            text.push_str(row);
            // At the very edge some terminals would erase the last letter.
            if !fills(row, self.width) {
                text.push_str("\u{1b}[K");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthChar;

    use super::super::markdown::Markdown;
    use super::super::rows::plain;
    use super::*;

    /// As much of a terminal as is needed: it is as high as one likes.
    struct Screen {
        width: usize,
        rows: Vec<Vec<char>>,
        at: (usize, usize),
    }

    impl Screen {
        fn write(&mut self, text: &str) {
            let mut letters = text.chars();
            while let Some(letter) = letters.next() {
                let (row, column) = self.at;
                match letter {
                    '\n' => self.at = (row + 1, 0),
                    '\r' => self.at.1 = 0,
                    '\u{1b}' => {
                        assert_eq!(letters.next(), Some('['));
                        let mut number = String::new();
                        let end = letters.find(|c| {
                            number.push(*c);
                            c.is_ascii_alphabetic()
                        });
                        let number = number[..number.len() - 1].parse().unwrap_or(0);
                        match end {
                            Some('A') => self.at.0 = row.checked_sub(number).unwrap(),
                            Some('K') => self.rows[row].truncate(column),
                            Some('J') => {
                                self.rows.truncate(row + 1);
                                if let Some(last) = self.rows.get_mut(row) {
                                    last.truncate(column);
                                }
                            }
                            Some('m') => {}
                            other => panic!("{other:?}"),
                        }
                    }
                    letter => {
                        let wide = letter.width().unwrap_or(0);
                        if column + wide > self.width {
                            self.at = (row + 1, 0);
                        }
                        let (row, column) = self.at;
                        self.grow();
                        let cells = &mut self.rows[row];
                        cells.resize(cells.len().max(column + wide), ' ');
                        // The second half of a wide one is shown as nothing.
                        for (at, cell) in cells[column..column + wide].iter_mut().enumerate() {
                            *cell = if at == 0 { letter } else { '\0' };
                        }
                        self.at.1 += wide;
                    }
                }
                self.grow();
            }
        }

        fn grow(&mut self) {
            while self.rows.len() <= self.at.0 {
                self.rows.push(Vec::new());
            }
        }

        fn text(&self) -> String {
            let rows = self.rows.iter().map(|row| {
                let row: String = row.iter().filter(|c| **c != '\0').collect();
                row.trim_end().to_owned()
            });
            rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
        }
    }

    /// What is on the screen behind a reply that came in pieces.
    fn drawn(parts: &[&str], width: usize) -> String {
        let mut screen = Screen {
            width,
            rows: vec![Vec::new()],
            at: (0, 0),
        };
        let mut painter = Painter::new(width, 1000);
        let mut markdown = Markdown::new(width, true);
        for (at, part) in parts.iter().enumerate() {
            let done = markdown.push(part);
            let mut live = markdown.live();
            if at % 3 == 0 {
                live.push("waiting".to_owned());
            }
            screen.write(&painter.paint(&done, live));
        }
        let rest = markdown.finish();
        screen.write(&painter.paint(&rest, Vec::new()));
        screen.text()
    }

    #[test]
    fn only_what_changed_is_written_again() {
        let rows = |rows: &[&str]| rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>();
        let mut painter = Painter::new(80, 24);
        assert_eq!(
            painter.paint(&rows(&["a"]), rows(&["b"])),
            "a\u{1b}[K\nb\u{1b}[K"
        );
        assert_eq!(painter.paint(&[], rows(&["b"])), "");
        assert_eq!(painter.paint(&[], rows(&["bc"])), "\rbc\u{1b}[K");
        assert_eq!(painter.paint(&[], rows(&["bc", "w"])), "\nw\u{1b}[K");
        assert_eq!(painter.paint(&[], rows(&["bc", "x"])), "\rx\u{1b}[K");
        assert_eq!(
            painter.paint(&[], rows(&["bc"])),
            "\r\u{1b}[1Abc\u{1b}[K\n\u{1b}[J\u{1b}[1A"
        );
        assert_eq!(painter.paint(&rows(&["bc"]), Vec::new()), "\n");
        assert_eq!(painter.paint(&[], Vec::new()), "");
        painter.paint(&[], rows(&["w"]));
        assert_eq!(painter.paint(&[], Vec::new()), "\r\u{1b}[J");
    }

    #[test]
    fn what_left_the_screen_is_left_alone() {
        let mut painter = Painter::new(80, 5);
        let many: Vec<String> = (0..50).map(|row| row.to_string()).collect();
        painter.paint(&[], many.clone());
        let mut changed = many;
        changed[0] = "new".to_owned();
        let text = painter.paint(&[], changed);
        assert!(text.starts_with("\r\u{1b}[4A45\u{1b}[K\n46"), "{text:?}");
    }

    proptest! {
        #[test]
        fn the_screen_shows_the_same_however_it_came(
            words in proptest::collection::vec(
                prop_oneof![
                    Just("**"), Just("`"), Just("\n"), Just("- "), Just("```\n"), Just("word "),
                    Just("日本"), Just("a b c d e f g h i j k l m n o p q r"), Just("|a|b|\n"),
                    Just("\n\n"), Just("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
                ],
                0..40,
            ),
        ) {
            let parts: Vec<&str> = words.clone();
            let mut markdown = Markdown::new(30, true);
            let mut rows = markdown.push(&words.concat());
            rows.extend(markdown.finish());
            let mut expected = Screen { width: 30, rows: vec![Vec::new()], at: (0, 0) };
            for row in rows {
                expected.write(&plain(&row));
                expected.write("\n");
            }
            prop_assert_eq!(drawn(&parts, 30), expected.text());
        }
    }
}
