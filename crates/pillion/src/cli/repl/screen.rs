//! What a cell prints and shows, as a terminal or a pipe gets it.

use std::io::{IsTerminal, Write};

use pillion_lanes::RunOutcome;
use pillion_notebook::CellEvent;
use pillion_notebook::file::{Bundle, Output, plain};
use pillion_notebook::operations::CellReply;
use serde_json::Value;
use unicode_width::UnicodeWidthChar;

use super::super::{exec, output};
use super::picture::{self, Show, ShownPicture};
use super::sanitize::{Cleaner, clean};

/// Pictures by media type, the best first.
const PICTURES: &[&str] = &[
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/svg+xml",
];
/// Texts by media type, the best first.
const TEXTS: &[&str] = &["text/plain", "text/markdown", "text/latex"];
const GREEN: &str = "32";
const RED: &str = "31";

/// Where a cell's output goes.
#[derive(Debug)]
pub(crate) struct Screen {
    /// Somebody sits in front of it.
    is_terminal: bool,
    colours: bool,
    pictures: Show,
    /// One for each stream.
    cleaners: [Cleaner; 2],
    cursor: Cursor,
    /// The output that was shown last, and the row it begins on.
    last: Option<(usize, usize)>,
    /// What was said about the kernel when the cell began.
    noticed: Option<String>,
}

/// Where the cursor is since the begin of a cell, as far as that is known.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    row: usize,
    column: usize,
    /// Something was drawn whose height is not known.
    is_lost: bool,
}

impl Cursor {
    /// Where it is behind a text that was cleaned.
    fn behind(mut self, text: &str, width: usize) -> Self {
        let mut in_sequence = false;
        for letter in text.chars() {
            if in_sequence {
                in_sequence = letter != 'm';
                continue;
            }
            match letter {
                '\u{1b}' => in_sequence = true,
                '\n' => (self.row, self.column) = (self.row + 1, 0),
                '\r' => self.column = 0,
                '\u{8}' => self.column = self.column.saturating_sub(1),
                '\t' => self.column = ((self.column / 8 + 1) * 8).min(width.saturating_sub(1)),
                letter => {
                    let wide = letter.width().unwrap_or(0);
                    if self.column + wide > width {
                        (self.row, self.column) = (self.row + 1, 0);
                    }
                    self.column += wide;
                }
            }
        }
        self
    }
}

impl Screen {
    /// For whoever reads standard output.
    pub(crate) fn new(is_terminal: bool, pictures: Show) -> Self {
        Self {
            is_terminal,
            colours: std::io::stdout().is_terminal() && !output::no_colour(),
            pictures,
            cleaners: Default::default(),
            cursor: Cursor::default(),
            last: None,
            noticed: None,
        }
    }

    /// A cell begins, on a line of its own.
    pub(crate) fn begin(&mut self) {
        self.cursor = Cursor::default();
        self.last = None;
        self.noticed = None;
    }

    /// Something happened that is to be shown.
    pub(crate) fn hear(&mut self, event: &CellEvent) {
        match event {
            CellEvent::Stream { name, text } => self.stream(name, text),
            CellEvent::Output { index, output } => self.output(*index, output),
            CellEvent::Update { index, output } => self.update(*index, output),
            CellEvent::Clear => self.take_back(0),
            CellEvent::Notice { text } => {
                self.note(text);
                self.noticed = Some(text.clone());
            }
            CellEvent::Started { .. }
            | CellEvent::InputRequest { .. }
            | CellEvent::Comm { .. }
            | CellEvent::Complete(_) => {}
        }
    }

    /// Show that a cell ended, and how.
    pub(crate) fn end(&mut self, reply: &CellReply) {
        self.settle();
        for page in &reply.pages {
            self.write(&clean(page, self.colours));
            self.fresh_line();
        }
        self.fresh_line();
        if !matches!(reply.outcome, RunOutcome::Ok | RunOutcome::Error) {
            output::warn(&exec::said(reply.outcome));
        }
        if reply.truncated {
            output::warn("some of its output is missing, because it was too much");
        }
        if let Some(notice) = &reply.notice {
            let said = self.noticed.take().unwrap_or_default();
            let new = notice.strip_prefix(&said).unwrap_or(notice);
            let new = new.strip_prefix("; ").unwrap_or(new);
            if !new.is_empty() {
                output::warn(new);
            }
        }
    }

    /// What a cell asks, in front of the answer.
    pub(crate) fn question(&mut self, prompt: &str) {
        self.settle();
        self.write(&clean(prompt, self.colours));
    }

    /// A line was typed, so the cursor is on the next one.
    pub(crate) fn typed(&mut self) {
        self.cursor.row += 1;
        self.cursor.column = 0;
    }

    /// Something of ours for people.
    pub(crate) fn note(&mut self, text: &str) {
        self.settle();
        self.fresh_line();
        output::note(text);
        self.cursor.is_lost = true;
    }

    fn stream(&mut self, name: &str, text: &str) {
        let is_error = name == "stderr";
        let seen = match is_error {
            true => std::io::stderr().is_terminal(),
            false => std::io::stdout().is_terminal(),
        };
        self.last = None;
        if !seen {
            // What a program reads is its own, as with any other program's output.
            if !is_error {
                self.cursor.column = usize::from(!text.ends_with('\n'));
            }
            return match is_error {
                true => drop(std::io::stderr().lock().write_all(text.as_bytes())),
                false => output::print_as_it_is(text),
            };
        }
        let colours = self.colours;
        let cleaner = &mut self.cleaners[usize::from(is_error)];
        let text = cleaner.clean(text, colours);
        match is_error && !self.is_terminal {
            true => drop(std::io::stderr().lock().write_all(text.as_bytes())),
            false => self.write(&text),
        }
    }

    fn output(&mut self, index: usize, output: &Value) {
        self.settle();
        self.fresh_line();
        self.last = Some((index, self.cursor.row));
        match Output::read(output) {
            Output::Result {
                execution_count,
                data,
                ..
            } => self.result(execution_count, &data),
            Output::Display { data, .. } => self.shown(&data),
            Output::Error { traceback, .. } => self.error(&traceback.join("\n")),
            Output::Stream { text, .. } => self.write(&clean(&text, self.colours)),
            Output::Other(_) => {}
        }
        self.fresh_line();
    }

    /// An output looks otherwise now: in its place if it is the last one, else once more.
    fn update(&mut self, index: usize, output: &Value) {
        match self.last {
            Some((last, row)) if last == index && self.is_terminal => self.take_back(row),
            _ => {}
        }
        self.output(index, output);
    }

    fn result(&mut self, count: Option<u64>, data: &Bundle) {
        let text = text_of(data).map(|text| clean(&text, self.colours));
        let text = text.unwrap_or_default();
        if self.is_terminal {
            let count = count.map_or_else(|| " ".to_owned(), |count| count.to_string());
            let label = self.paint(&format!("Out[{count}]: "), RED);
            self.write(&label);
            // What has lines of its own begins on one of its own.
            if text.contains('\n') {
                self.write("\n");
            }
        }
        self.write(&text);
        self.fresh_line();
        self.picture(data);
    }

    fn shown(&mut self, data: &Bundle) {
        let is_drawn = self.picture(data);
        if let Some(text) = text_of(data).filter(|_| !is_drawn) {
            let text = clean(&text, self.colours);
            self.write(&text);
        }
    }

    /// Show the picture in a bundle, if there is one; says whether it is to be seen.
    fn picture(&mut self, data: &Bundle) -> bool {
        let mut found = PICTURES.iter();
        let found = found.find_map(|mime| Some((*mime, data.get(*mime)?.as_str()?)));
        let Some((mime, picture)) = found else {
            return false;
        };
        match picture::show(self.pictures, mime, picture) {
            ShownPicture::Drawn(commands) => {
                output::print_as_it_is(&commands);
                output::print_as_it_is("\n");
                self.cursor = Cursor {
                    is_lost: true,
                    ..Cursor::default()
                };
                return true;
            }
            ShownPicture::Written(path) => {
                let name = output::shown(&path.display().to_string()).into_owned();
                match self.is_terminal {
                    true => self.write(&format!("picture: {name}\n")),
                    false => output::note(&format!("picture: {name}")),
                }
            }
            ShownPicture::Not(why) => output::warn(&format!("a picture is not shown: {why}")),
        }
        false
    }

    fn error(&mut self, traceback: &str) {
        if self.is_terminal {
            let text = clean(traceback, self.colours);
            return self.write(&text);
        }
        let text = match std::io::stderr().is_terminal() {
            true => clean(traceback, self.colours),
            false => plain(traceback),
        };
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// End what streams have begun: half a sequence, a colour.
    fn settle(&mut self) {
        let ends = self.cleaners.each_mut().map(Cleaner::end).concat();
        if !ends.is_empty() {
            self.write(&ends);
        }
    }

    fn fresh_line(&mut self) {
        if self.cursor.column > 0 {
            self.write("\n");
        }
    }

    /// Take away what was written from this row on.
    fn take_back(&mut self, row: usize) {
        self.settle();
        if !self.is_terminal {
            return;
        }
        let (_, height) = size();
        let up = self.cursor.row.saturating_sub(row);
        if self.cursor.is_lost || up + 1 >= height {
            // It is not known where that is, or it has left the screen.
            return self.fresh_line();
        }
        let up = match up {
            0 => String::new(),
            up => format!("\u{1b}[{up}A"),
        };
        output::print_as_it_is(&format!("\r{up}\u{1b}[J"));
        self.cursor.row = row;
        self.cursor.column = 0;
    }

    /// Write what is clean.
    fn write(&mut self, text: &str) {
        let (width, _) = size();
        self.cursor = self.cursor.behind(text, width);
        output::print_as_it_is(text);
    }

    fn paint(&self, text: &str, colour: &str) -> String {
        match self.colours {
            true => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    /// What stands before a question of ours to whoever types.
    pub(crate) fn greet(&self, lines: &[String]) {
        for line in lines {
            let line = self.paint(&output::shown(line), GREEN);
            output::say_as_it_is(&line);
        }
    }
}

/// The text of a bundle.
fn text_of(data: &Bundle) -> Option<String> {
    let known = TEXTS.iter().find_map(|mime| data.get(*mime)?.as_str());
    if let Some(text) = known {
        return Some(text.to_owned());
    }
    let first = data.keys().find(|mime| !PICTURES.contains(&mime.as_str()));
    first.map(|mime| format!("<{mime}>"))
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let size = size.ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or((80, 24), |size| {
        (usize::from(size.ws_col), usize::from(size.ws_row))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_is_where_a_terminal_has_it() {
        let at = |text: &str| {
            let cursor = Cursor::default().behind(text, 10);
            (cursor.row, cursor.column)
        };
        assert_eq!(at(""), (0, 0));
        assert_eq!(at("abc"), (0, 3));
        assert_eq!(at("abc\nd"), (1, 1));
        assert_eq!(at("50%\r100%"), (0, 4));
        assert_eq!(at("0123456789"), (0, 10));
        assert_eq!(at("0123456789a"), (1, 1));
        assert_eq!(at("\x1b[31mred\x1b[0m"), (0, 3));
        assert_eq!(at("日本語日本語"), (1, 2));
        assert_eq!(at("a\tb"), (0, 9));
        assert_eq!(at("ab\u{8}"), (0, 1));
    }
}
