//! Markdown as a terminal shows it, while it is being written.
//!
//! Text comes in pieces that end anywhere. A line that has ended is shown for good; the one that
//! is being written is shown as it is so far, and shown again when more of it comes. So how a
//! reply was cut into pieces never shows. What is written is not ours: nothing of it is a command
//! to the terminal.
//!
//! Without colours the text stays as it was written, marks and all, and is only wrapped.

use nu_ansi_term::Style;
use pillion_notebook::file::tokens;

use super::super::output;
use super::super::repl::editor;
use super::inline::{Piece, pieces};
use super::lines::{
    Fence, cells_of, check_box, heading, is_divider, is_mark, is_rule, is_table, item,
};
use super::rows::{columns, paint, wrap};

/// Bytes of one line; a longer one ends there.
const LONGEST_LINE: usize = 8 << 10;
/// Lines of a table that are laid out together, and columns of it.
const LONGEST_TABLE: usize = 100;
const WIDEST_TABLE: usize = 20;
/// Columns of text: longer rows are hard to read.
const WIDEST: usize = 100;
/// Columns of a rule, and of the frame around code.
const RULE: usize = 40;
/// Spaces for a tab.
const TAB: &str = "    ";
/// Spaces before a line that are kept.
const DEEPEST_MARGIN: usize = 16;

/// A reply that is being written.
#[derive(Debug)]
pub(crate) struct Markdown {
    width: usize,
    colours: bool,
    block: Block,
    /// The line that is being written.
    line: String,
    /// The row before is empty, or there is none.
    is_blank: bool,
}

/// What the next line belongs to.
#[derive(Debug, Clone, PartialEq)]
enum Block {
    Text,
    Code(Fence),
    Table(Vec<String>),
}

impl Markdown {
    /// Nothing yet, for a terminal of so many columns.
    pub(crate) fn new(width: usize, colours: bool) -> Self {
        Self {
            // A row that fills the terminal makes some of them begin another.
            width: width.saturating_sub(1).min(WIDEST),
            colours,
            block: Block::Text,
            line: String::new(),
            is_blank: true,
        }
    }

    /// More of it came: the rows that are shown for good.
    pub(crate) fn push(&mut self, text: &str) -> Vec<String> {
        let mut rows = Vec::new();
        for letter in text.chars() {
            match letter {
                '\n' => {
                    self.end_line(&mut rows);
                    continue;
                }
                '\r' => continue,
                '\t' => self.line.push_str(TAB),
                letter if output::is_command(letter) => {
                    let spelled = output::spelled_out(letter.encode_utf8(&mut [0; 4]));
                    self.line.push_str(&spelled);
                }
                letter => self.line.push(letter),
            }
            if self.line.len() >= LONGEST_LINE {
                self.end_line(&mut rows);
            }
        }
        rows
    }

    /// The rows of what is being written, as they are so far.
    pub(crate) fn live(&self) -> Vec<String> {
        match &self.block {
            Block::Table(lines) => {
                let mut lines = lines.clone();
                if is_table(&self.line) {
                    lines.push(self.line.clone());
                    return self.table(&lines);
                }
                let mut rows = self.table(&lines);
                if !self.line.is_empty() {
                    rows.extend(self.text(&self.line, true));
                }
                rows
            }
            _ if self.line.is_empty() => Vec::new(),
            Block::Text => match Fence::open(&self.line) {
                Some(fence) => vec![self.frame(&fence.language)],
                None if is_table(&self.line) && self.colours => {
                    self.table(std::slice::from_ref(&self.line))
                }
                None if is_mark(&self.line) => Vec::new(),
                None => self.text(&self.line, true),
            },
            Block::Code(fence) if fence.is_closed_by(&self.line) => vec![self.frame("")],
            Block::Code(fence) => vec![self.code(fence, &self.line)],
        }
    }

    /// No more comes: the rest of its rows.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let mut rows = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut rows);
        }
        match std::mem::replace(&mut self.block, Block::Text) {
            Block::Text => {}
            Block::Code(_) => rows.push(self.frame("")),
            Block::Table(lines) => rows.extend(self.table(&lines)),
        }
        rows
    }

    fn end_line(&mut self, rows: &mut Vec<String>) {
        let line = std::mem::take(&mut self.line);
        if let Block::Table(lines) = &mut self.block {
            if is_table(&line) && lines.len() < LONGEST_TABLE {
                lines.push(line);
                return;
            }
            let lines = std::mem::take(lines);
            self.block = Block::Text;
            rows.extend(self.table(&lines));
        }
        if let Block::Code(fence) = &self.block {
            if fence.is_closed_by(&line) {
                rows.push(self.frame(""));
                self.block = Block::Text;
            } else {
                rows.push(self.code(fence, &line));
            }
            self.is_blank = false;
            return;
        }
        if let Some(fence) = Fence::open(&line) {
            rows.push(match self.colours {
                true => self.frame(&fence.language),
                false => line,
            });
            self.block = Block::Code(fence);
            self.is_blank = false;
            return;
        }
        if self.colours && is_table(&line) {
            self.block = Block::Table(vec![line]);
            self.is_blank = false;
            return;
        }
        let is_blank = line.trim().is_empty();
        // One empty row is as good as two.
        if !(is_blank && self.is_blank) {
            rows.extend(self.text(&line, false));
        }
        self.is_blank = is_blank;
    }

    /// The rows of a line that is no code.
    fn text(&self, line: &str, is_open: bool) -> Vec<String> {
        let line = match is_open {
            true => line,
            false => line.trim_end(),
        };
        let body = line.trim_start_matches(' ');
        let margin = " ".repeat((line.len() - body.len()).min(DEEPEST_MARGIN));
        if !self.colours {
            let mark = item(body).map_or(0, |(mark, _)| mark.len());
            let hang = format!("{margin}{}", " ".repeat(mark));
            let words = plain_piece(body);
            return wrap(
                &[words],
                self.width,
                &plain_piece(&margin),
                &plain_piece(&hang),
            );
        }
        if is_rule(body) {
            return vec![self.rule("")];
        }
        let plain = Style::new();
        if let Some((level, title)) = heading(body) {
            let style = match level {
                1 => plain.bold().underline(),
                _ => plain.bold(),
            };
            let words = pieces(title, style, is_open);
            let nothing = plain_piece("");
            return wrap(&words, self.width, &nothing, &nothing);
        }
        if let Some(said) = body.strip_prefix('>') {
            let bar = Piece {
                text: format!("{margin}│ "),
                style: plain.dimmed(),
            };
            let words = pieces(said.trim_start(), plain.italic(), is_open);
            return wrap(&words, self.width, &bar, &bar);
        }
        if let Some((mark, rest)) = item(body) {
            let shown = match mark.chars().next() {
                Some('-' | '*' | '+') => "• ".to_owned(),
                _ => mark.to_owned(),
            };
            let (box_, rest) = check_box(rest);
            let first = Piece {
                text: format!("{margin}{shown}{box_}"),
                style: plain,
            };
            let hang = plain_piece(&" ".repeat(columns(&first.text)));
            return wrap(&pieces(rest, plain, is_open), self.width, &first, &hang);
        }
        let margin = plain_piece(&margin);
        wrap(&pieces(body, plain, is_open), self.width, &margin, &margin)
    }

    /// A line of code. The terminal breaks it, so that it is copied as one line.
    fn code(&self, fence: &Fence, line: &str) -> String {
        let code = fence.code(line);
        match self.colours && fence.is_python() {
            true => {
                let tokens = tokens(code).into_iter();
                tokens
                    .map(|(kind, text)| paint(text, editor::style(kind)))
                    .collect()
            }
            false => code.to_owned(),
        }
    }

    /// What stands above and below code.
    fn frame(&self, language: &str) -> String {
        match self.colours {
            true => self.rule(language),
            false => format!("```{language}"),
        }
    }

    fn rule(&self, title: &str) -> String {
        let width = self.width.min(RULE);
        let title = match title {
            "" => String::new(),
            title => format!("── {title} "),
        };
        let rest = "─".repeat(width.saturating_sub(columns(&title)));
        paint(&format!("{title}{rest}"), Style::new().dimmed())
    }

    /// The rows of a table, its columns below each other. One that is wider than the terminal
    /// stays as it was written.
    fn table(&self, lines: &[String]) -> Vec<String> {
        let cells: Vec<Vec<Vec<Piece>>> = lines
            .iter()
            .enumerate()
            .map(|(row, line)| {
                let style = match row {
                    0 => Style::new().bold(),
                    _ => Style::new(),
                };
                let cells = cells_of(line).into_iter();
                cells.map(|cell| pieces(cell, style, false)).collect()
            })
            .collect();
        let mut widths = [0; WIDEST_TABLE];
        for (line, row) in lines.iter().zip(&cells) {
            if !is_divider(line) {
                for (width, cell) in widths.iter_mut().zip(row) {
                    *width = (*width).max(cell_width(cell));
                }
            }
        }
        let count = cells.iter().map(Vec::len).max().unwrap_or(0);
        let whole: usize = widths.iter().take(count).map(|width| width + 3).sum();
        if whole > self.width + 3 || count > WIDEST_TABLE {
            let nothing = plain_piece("");
            let rows = lines.iter();
            return rows
                .flat_map(|line| wrap(&[plain_piece(line)], self.width, &nothing, &nothing))
                .collect();
        }
        let dim = Style::new().dimmed();
        let mut rows = Vec::new();
        for (line, row) in lines.iter().zip(&cells) {
            if is_divider(line) {
                let parts = widths.iter().take(count);
                let parts: Vec<String> = parts.map(|width| "─".repeat(*width)).collect();
                rows.push(paint(&parts.join("─┼─"), dim));
                continue;
            }
            let mut text = String::new();
            for (at, cell) in row.iter().enumerate() {
                if at > 0 {
                    text.push_str(&paint(" │ ", dim));
                }
                text.extend(cell.iter().map(|piece| paint(&piece.text, piece.style)));
                if at + 1 < row.len() {
                    text.push_str(&" ".repeat(widths[at].saturating_sub(cell_width(cell))));
                }
            }
            rows.push(text);
        }
        rows
    }
}

fn plain_piece(text: &str) -> Piece {
    Piece {
        text: text.to_owned(),
        style: Style::new(),
    }
}

fn cell_width(cell: &[Piece]) -> usize {
    cell.iter().map(|piece| columns(&piece.text)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::rows::plain;
    use super::*;

    /// Everything that is shown for good, of a text that comes in these pieces.
    fn shown(parts: &[&str], width: usize, colours: bool) -> Vec<String> {
        let mut markdown = Markdown::new(width, colours);
        let mut rows = Vec::new();
        for part in parts {
            rows.extend(markdown.push(part));
            markdown.live();
        }
        rows.extend(markdown.finish());
        rows
    }

    /// The same with colours that can be read.
    fn readable(text: &str, width: usize) -> String {
        let rows = shown(&[text], width, true);
        rows.join("\n").replace('\u{1b}', "^")
    }

    #[test]
    fn blocks_look_as_people_expect() {
        let text = "# Lists\n\n\nA *list* holds `values`:\n\n- first **one**\n  - nested\n- [x] done\n\
                    1. step\n\n> quoted text\n\n***\nend";
        assert_eq!(
            readable(text, 60),
            "^[1;4mLists^[0m\n\
             \n\
             A ^[3mlist^[0m holds ^[36mvalues^[0m:\n\
             \n\
             • first ^[1mone^[0m\n  • nested\n\
             • ☑ done\n\
             1. step\n\
             \n\
             ^[2m│ ^[0m^[3mquoted text^[0m\n\
             \n\
             ^[2m────────────────────────────────────────^[0m\n\
             end"
        );
    }

    #[test]
    fn code_has_a_frame_and_stays_as_it_is() {
        let text = "Try:\n```python\nfor x in [1]:\n    print('**x**')  # not bold\n```\ndone";
        assert_eq!(
            readable(text, 40),
            "Try:\n\
             ^[2m── python ─────────────────────────────^[0m\n\
             ^[1;32mfor^[0m x ^[1;32min^[0m [^[36m1^[0m]:\n    \
             ^[32mprint^[0m(^[33m'**x**'^[0m)  ^[90m# not bold^[0m\n\
             ^[2m───────────────────────────────────────^[0m\n\
             done"
        );
        // Longer than the terminal, in a list, with a fence inside, and never closed.
        let long = format!("1. x\n   ~~~~ text\n   {}\n   ```\n", "y".repeat(90));
        let rows = shown(&[&long], 40, true);
        let rows: Vec<String> = rows.iter().map(|row| plain(row)).collect();
        assert_eq!(rows[2], "y".repeat(90));
        assert_eq!(rows[3], "```");
        assert_eq!(rows[4], "─".repeat(39));
    }

    #[test]
    fn tables_have_columns() {
        let text = "| name | `n` |\n|:--|--:|\n| apples | 3 |\n| **x** | 日本 |\n\nend";
        let rows = shown(&[text], 60, true);
        let rows: Vec<String> = rows.iter().map(|row| plain(row)).collect();
        assert_eq!(
            rows,
            [
                "name   │ n",
                "───────┼─────",
                "apples │ 3",
                "x      │ 日本",
                "",
                "end"
            ]
        );
    }

    #[test]
    fn without_colours_nothing_is_changed_but_the_length_of_rows() {
        let text = "# T\n- one two three four five six\n```py\nx = 1\n```\n| a | b |";
        assert_eq!(
            shown(&[text], 21, false),
            [
                "# T",
                "- one two three four",
                "  five six",
                "```py",
                "x = 1",
                "```",
                "| a | b |"
            ]
        );
    }

    #[test]
    fn nothing_that_is_written_is_a_command() {
        let text = "a\u{1b}]0;title\u{7} **b\u{9b}31m** `c\u{202e}`\n```\n\u{1b}[2J\n```\n\r\n";
        for colours in [true, false] {
            let all = shown(&[text], 80, colours).concat();
            let rest = plain(&all);
            assert!(!rest.contains(output::is_command), "{rest:?}");
            assert!(rest.contains("\\u001b]0;title\\u0007"), "{rest:?}");
            assert!(rest.contains("\\u001b[2J"), "{rest:?}");
            assert!(!all.contains("\u{1b}[2J"), "{all:?}");
        }
    }

    /// Text with much in it that means something.
    fn text() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            Just("**"),
            Just("*"),
            Just("_"),
            Just("`"),
            Just("```"),
            Just("```python\n"),
            Just("\n"),
            Just("\n\n"),
            Just("# "),
            Just("- "),
            Just("1. "),
            Just("> "),
            Just("| a | b |\n"),
            Just("|--|\n"),
            Just("|"),
            Just("[x](y)"),
            Just("~~"),
            Just("word"),
            Just(" "),
            Just("日本語"),
            Just("\t"),
            Just("\r\n"),
            Just("\u{1b}[31m"),
            Just("---\n"),
            Just("\\"),
            Just("é"),
            Just("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ];
        proptest::collection::vec(word, 0..60).prop_map(|words| words.concat())
    }

    proptest! {
        #[test]
        fn how_a_reply_is_cut_does_not_show(
            text in text(),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
            width in 10..60_usize,
            colours: bool,
        ) {
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            places.retain(|at| text.is_char_boundary(*at));
            places.extend([0, text.len()]);
            places.sort_unstable();
            let parts: Vec<&str> = places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(shown(&parts, width, colours), shown(&[&text], width, colours));
        }

        #[test]
        fn rows_of_text_fit(text in text(), width in 21..60_usize) {
            let text = text.replace(['`', '~'], "");
            for row in shown(&[&text], width, true) {
                prop_assert!(columns(&plain(&row)) < width, "{row:?}");
            }
        }
    }
}
