//! CSV as people write it: a line of names, commas, quotes where they are needed.

use std::io::Read as _;

use csv::ReaderBuilder;
use pillion_catalogue::{Code, Error, Result};

/// The most columns.
const COLUMNS: usize = 1000;
/// The most cells, with those that short rows lack.
const CELLS: usize = 8_000_000;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Integer,
    Real,
    Text,
}

/// A table that was read.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) columns: Vec<(String, ColumnKind)>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A cell that is to be stored.
#[derive(Debug, PartialEq)]
pub(super) enum StoredValue<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
}

impl Sheet {
    pub(super) fn read(text: &str) -> Result<Self> {
        let mut rows = records(text.strip_prefix('\u{feff}').unwrap_or(text))?.into_iter();
        let names = rows
            .next()
            .ok_or_else(|| wrong("it has no line of names"))?;
        let rows: Vec<Vec<String>> = rows.collect();
        if names.len() > COLUMNS || rows.len().saturating_mul(names.len()) > CELLS {
            return Err(wrong("it is too large"));
        }
        if let Some(at) = rows.iter().position(|row| row.len() > names.len()) {
            let found = rows.get(at).map_or(0, Vec::len);
            return Err(wrong(&format!(
                "row {} has {found} cells, and there are {} names",
                at + 1,
                names.len()
            )));
        }
        let columns = different(names)
            .into_iter()
            .enumerate()
            .map(|(at, name)| (name, kind(&rows, at)))
            .collect();
        Ok(Self { columns, rows })
    }

    /// A row as it is stored: as many cells as there are columns.
    pub(super) fn cells<'a>(&'a self, row: &'a [String]) -> impl Iterator<Item = StoredValue<'a>> {
        self.columns.iter().enumerate().map(|(at, (_, kind))| {
            let Some(text) = row.get(at) else {
                return StoredValue::Null;
            };
            match kind {
                ColumnKind::Text => StoredValue::Text(text),
                ColumnKind::Integer => text.parse().map_or(StoredValue::Null, StoredValue::Integer),
                ColumnKind::Real => text.parse().map_or(StoredValue::Null, StoredValue::Real),
            }
        })
    }
}

/// A column holds numbers if nothing of what is written is lost by reading it so.
fn kind(rows: &[Vec<String>], at: usize) -> ColumnKind {
    let mut kind = None;
    for text in rows.iter().filter_map(|row| row.get(at)) {
        if text.is_empty() {
            continue;
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let padded = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
        let plain = digits.starts_with(|c: char| c.is_ascii_digit()) && !padded;
        kind = match (kind, plain && text.parse::<i64>().is_ok()) {
            (None | Some(ColumnKind::Integer), true) => Some(ColumnKind::Integer),
            (Some(ColumnKind::Real), true) => Some(ColumnKind::Real),
            _ if plain && text.parse::<f64>().is_ok_and(f64::is_finite) => Some(ColumnKind::Real),
            _ => return ColumnKind::Text,
        };
    }
    kind.unwrap_or(ColumnKind::Text)
}

/// Names that SQL can tell apart, which it does without case.
fn different(names: Vec<String>) -> Vec<String> {
    let mut taken = std::collections::HashSet::new();
    let mut all = Vec::with_capacity(names.len());
    for (at, name) in names.into_iter().enumerate() {
        let name = match name.trim().replace('\0', "") {
            name if name.is_empty() => format!("column{}", at + 1),
            name => name,
        };
        let mut unique = name.clone();
        let mut number = 1;
        while !taken.insert(unique.to_lowercase()) {
            number += 1;
            unique = format!("{name}_{number}");
        }
        all.push(unique);
    }
    all
}

/// What stands behind the text while it is read: the last record, unless a quote is open, which
/// takes it in. The reader does not tell of that.
const END: &str = "\n,";

/// All rows; an empty line is none.
fn records(text: &str) -> Result<Vec<Vec<String>>> {
    let reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes().chain(END.as_bytes()));
    let mut rows = Vec::new();
    for record in reader.into_records() {
        let record = record.map_err(|error| wrong(&error.to_string()))?;
        rows.push(record.iter().map(ToOwned::to_owned).collect::<Vec<_>>());
    }
    match rows.pop() {
        Some(last) if last == ["", ""] => Ok(rows),
        _ => Err(wrong("a quote is never closed")),
    }
}

fn wrong(why: &str) -> Error {
    Error::new(Code::InvalidParams, format!("not CSV: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_line_ends_and_short_rows() {
        let sheet = Sheet::read("\u{feff}a,b\r\n\"x, \"\"y\"\"\n\",2\r\n\nonly\n").unwrap();
        assert_eq!(sheet.rows[0], ["x, \"y\"\n", "2"]);
        let short: Vec<_> = sheet.cells(&sheet.rows[1]).collect();
        assert_eq!(short, [StoredValue::Text("only"), StoredValue::Null]);
        assert!(Sheet::read("").is_err());
        for open in ["a\n\"open", "a\n\"", "\"", "a\n1,\"x\"\""] {
            assert!(Sheet::read(open).is_err(), "{open}");
        }
        let quotes = Sheet::read("a,b\n\"\",x\"y\"\n\"\"\n").unwrap();
        assert_eq!(quotes.rows, [vec!["", "x\"y\""], vec![""]]);
        assert!(Sheet::read("a\n1,2").is_err());
    }

    #[test]
    fn numbers_are_numbers_only_if_nothing_is_lost() {
        let sheet =
            Sheet::read("n,r,zip,plus,nan,gap\n1,1.5,007,+1,nan,\n-2,3,12,2,1,5\n").unwrap();
        let kinds: Vec<_> = sheet.columns.iter().map(|(_, kind)| *kind).collect();
        use ColumnKind::{Integer, Real, Text};
        assert_eq!(kinds, [Integer, Real, Text, Text, Text, Integer]);
        let first: Vec<_> = sheet.cells(&sheet.rows[0]).collect();
        assert_eq!(first[1], StoredValue::Real(1.5));
        assert_eq!(first[5], StoredValue::Null);
    }

    #[test]
    fn names_are_made_different() {
        let sheet = Sheet::read("a,A,,a_2\n").unwrap();
        let names: Vec<_> = sheet
            .columns
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["a", "A_2", "column3", "a_2_2"]);
    }
}
