//! Answers as compact text: one line each, `file:line:col`, nothing said twice.

use std::fmt::Write;

use pillion_catalogue::{Format, Operation};
use serde::de::DeserializeOwned;

use crate::answers::{
    Answer, Confidence, FileError, Hover, Location, Locations, Nothing, Outcome, OutlinedSymbols,
    References, Unread, UnreadFile,
};
use crate::index::ParseError;

/// The result of an operation, given as JSON, as text.
pub fn shown<O>(result: &str) -> Option<String>
where
    O: Operation,
    O::Output: Text + DeserializeOwned,
{
    let output: O::Output = serde_json::from_str(result).ok()?;
    Some(output.text())
}

/// An answer that can be read as text.
pub trait Text {
    /// The answer as compact text.
    fn text(&self) -> String;
}

impl<T: Text> Answer<T> {
    /// In the form that was asked for.
    pub fn in_format(self, format: Format) -> Self {
        match format {
            Format::Json => self,
            Format::Text => Self::Text { text: self.text() },
        }
    }
}

impl<T: Text> Text for Answer<T> {
    fn text(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            Self::Old(value) => value.to_string(),
            Self::One(whole) => {
                let unread = whole.unread.as_ref().map(Text::text);
                let parts = [Some(whole.answer.text()), unread];
                parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
            }
            Self::Many { results, unread } => {
                let texts = results.iter().map(Text::text);
                let texts: Vec<String> = texts.chain(unread.iter().map(Text::text)).collect();
                texts.join("\n\n")
            }
        }
    }
}

impl Text for Unread {
    fn text(&self) -> String {
        let one = |file: &UnreadFile| format!("not read: {} ({})", file.file, file.why);
        let mut lines: Vec<String> = self.files.iter().map(one).collect();
        lines.extend(rest(self.total, self.files.len()));
        lines.join("\n")
    }
}

impl<T: Text> Text for Outcome<T> {
    fn text(&self) -> String {
        match self {
            Self::Failed { error } => format!("error: {}", error.message),
            Self::Answered(answer) => answer.text(),
        }
    }
}

impl Nothing {
    /// What an answer without anything says, and why that is so.
    pub fn text(&self, what: &str) -> String {
        let mut lines = vec![match &self.why {
            Some(why) => format!("{what}: {why}"),
            None => what.to_owned(),
        }];
        if !self.candidates.is_empty() {
            lines.push("of this name there are:".into());
            lines.extend(self.candidates.iter().map(location));
        }
        lines.join("\n")
    }
}

impl Text for Locations {
    fn text(&self) -> String {
        let mut lines: Vec<String> = self.locations.iter().map(location).collect();
        if lines.is_empty() {
            lines.push(self.nothing.text("nothing found"));
        }
        lines.extend(rest(self.total, self.locations.len()));
        lines.extend(self.parse_errors.iter().map(parse_error));
        lines.join("\n")
    }
}

impl Text for References {
    fn text(&self) -> String {
        if self.nothing.why.is_some() {
            return self.nothing.text("nothing found");
        }
        let mut out = format!("{} confirmed, {} possible", self.confirmed, self.possible);
        let mut file = "";
        for reference in &self.locations {
            let place = &reference.location;
            if place.file != file {
                file = &place.file;
                let _ = write!(out, "\n{file}");
            }
            let mark = match reference.confidence {
                Confidence::Confirmed => "",
                Confidence::Possible => "? ",
            };
            let inside = match &reference.container {
                Some(container) => format!("  [{container}]"),
                None => String::new(),
            };
            let _ = write!(
                out,
                "\n  {}:{}  {mark}{}{inside}",
                place.line, place.column, place.preview
            );
        }
        if let Some(line) = rest(self.total, self.locations.len()) {
            let _ = write!(out, "\n{line}");
        }
        out
    }
}

impl Text for Hover {
    fn text(&self) -> String {
        let Some(name) = &self.name else {
            return self.nothing.text("nothing there");
        };
        let mut lines = vec![match &self.kind {
            Some(kind) => format!("{kind} {name}"),
            None => name.clone(),
        }];
        match self.overloads.is_empty() {
            true => lines.extend(self.signature.clone()),
            false => lines.extend(self.overloads.iter().cloned()),
        }
        if let Some(definition) = &self.definition {
            lines.push(format!(
                "defined at {}:{}:{}",
                definition.file, definition.line, definition.column
            ));
        }
        if let Some(docstring) = &self.docstring {
            lines.push(String::new());
            lines.push(docstring.clone());
        }
        lines.join("\n")
    }
}

impl Text for OutlinedSymbols {
    fn text(&self) -> String {
        let mut out = Vec::new();
        let mut file = "";
        for symbol in &self.symbols {
            if symbol.file != file {
                file = &symbol.file;
                out.push(file.to_owned());
            }
            let depth = symbol.name_path.matches('/').count() + 1;
            let head = match &symbol.signature {
                Some(signature) => signature.clone(),
                None => format!("{} {}", symbol.kind.name(), symbol.name),
            };
            out.push(format!(
                "{}{}-{}  {head}",
                "  ".repeat(depth),
                symbol.line,
                symbol.end_line
            ));
        }
        if out.is_empty() {
            out.push("nothing found".into());
        }
        out.extend(rest(self.total, self.symbols.len()));
        out.extend(self.parse_errors.iter().map(file_error));
        out.join("\n")
    }
}

/// A place on one line, with what stands there.
pub fn location(place: &Location) -> String {
    let kind = match &place.kind {
        Some(kind) => format!("  ({kind})"),
        None => String::new(),
    };
    format!(
        "{}:{}:{}  {}{kind}",
        place.file, place.line, place.column, place.preview
    )
}

/// What was left off.
pub fn rest(total: usize, shown: usize) -> Option<String> {
    rest_of(total, shown, "limit")
}

/// The same, where a parameter of another name says how many are shown.
pub fn rest_of(total: usize, shown: usize, limit: &str) -> Option<String> {
    (total > shown).then(|| format!("... and {} more (raise `{limit}`)", total - shown))
}

fn parse_error(error: &ParseError) -> String {
    format!(
        "syntax error in line {}, column {}: {}",
        error.line, error.column, error.message
    )
}

fn file_error(error: &FileError) -> String {
    format!("{}: {}", error.file, parse_error(&error.error))
}

/// Rows in columns that are as wide as they must be.
pub fn columns<const N: usize>(rows: &[[&str; N]]) -> String {
    let wide: [usize; N] = std::array::from_fn(|at| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.max().unwrap_or(0)
    });
    let line = |row: &[&str; N]| {
        let cells = row.iter().zip(wide);
        let cells: Vec<String> = cells.map(|(cell, wide)| format!("{cell:wide$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    lines.join("\n")
}
