//! Whatever a notebook looks like: what nobody changes keeps its bytes.

use pillion_notebook::file::{
    CellKind, Clearing, KernelMetadata, NewCell, Notebook, Output, diff, html,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// JSON of any shape.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| json!(float)),
        "\\PC{0,8}|[\\x00-\\x7f\u{85}é😀\u{2028}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-zé \"]{0,6}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A cell, with members that nobody knows.
fn any_cell() -> impl Strategy<Value = Value> {
    let source = prop_oneof![
        "[a-z \n\"é]{0,20}".prop_map(Value::from),
        vec("[a-z é]{0,9}\n", 0..4).prop_map(Value::from),
    ];
    let kind = prop_oneof![Just("code"), Just("markdown"), Just("raw"), Just("odd")];
    let more = vec(("[a-z]{1,8}", any_json()), 0..3);
    (kind, source, any_json(), more).prop_map(|(kind, source, metadata, more)| {
        let mut cell: Map<String, Value> = more.into_iter().collect();
        cell.insert("source".into(), source);
        cell.insert("cell_type".into(), kind.into());
        cell.insert("metadata".into(), json!({"x": metadata}));
        if kind == "code" {
            let text = json!([{"output_type": "stream", "name": "stdout", "text": "1"}]);
            cell.insert("outputs".into(), text);
            cell.insert("execution_count".into(), json!(1));
        }
        Value::Object(cell)
    })
}

/// Writes JSON with blanks and escapes wherever JSON allows them, as chance has it.
struct Spelling<'a> {
    chance: std::iter::Cycle<std::slice::Iter<'a, u8>>,
}

impl Spelling<'_> {
    fn roll(&mut self) -> u8 {
        self.chance.next().copied().unwrap_or(0)
    }

    fn blank(&mut self, out: &mut String) {
        let blanks = ["", "", " ", "\n", "\r\n  ", "\t"];
        out.push_str(blanks[usize::from(self.roll()) % blanks.len()]);
    }

    fn string(&mut self, text: &str, out: &mut String) {
        out.push('"');
        for letter in text.chars() {
            let plain = !letter.is_control() && letter != '"' && letter != '\\';
            if plain && !self.roll().is_multiple_of(4) {
                out.push(letter);
                continue;
            }
            for unit in letter.encode_utf16(&mut [0; 2]) {
                out.push_str(&match self.roll() % 2 {
                    0 => format!("\\u{unit:04x}"),
                    _ => format!("\\u{unit:04X}"),
                });
            }
        }
        out.push('"');
    }

    fn value(&mut self, value: &Value, out: &mut String) {
        match value {
            Value::String(text) => self.string(text, out),
            Value::Array(list) => {
                let texts: Vec<_> = list.iter().map(|value| self.text(value)).collect();
                self.list(&texts, out);
            }
            Value::Object(map) => {
                out.push('{');
                for (at, (key, value)) in map.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    self.blank(out);
                    self.string(key, out);
                    self.blank(out);
                    out.push(':');
                    self.blank(out);
                    self.value(value, out);
                    self.blank(out);
                }
                out.push('}');
            }
            Value::Number(number) if self.roll().is_multiple_of(8) && number.is_i64() => {
                out.push_str(&format!("{number}.0E+0"));
            }
            leaf => out.push_str(&leaf.to_string()),
        }
    }

    fn text(&mut self, value: &Value) -> String {
        let mut out = String::new();
        self.value(value, &mut out);
        out
    }

    /// A list of texts that are JSON already.
    fn list(&mut self, texts: &[String], out: &mut String) {
        out.push('[');
        for (at, text) in texts.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            self.blank(out);
            out.push_str(text);
            self.blank(out);
        }
        out.push(']');
    }
}

/// A notebook's text, and the texts of its cells.
fn any_notebook() -> impl Strategy<Value = (String, Vec<String>)> {
    let parts = (
        vec(any_cell(), 0..5),
        any_json(),
        vec(any::<u8>(), 1..64),
        0_u64..6,
    );
    parts.prop_map(|(cells, metadata, chance, minor)| {
        let mut spelling = Spelling {
            chance: chance.iter().cycle(),
        };
        let cells: Vec<_> = cells.iter().map(|cell| spelling.text(cell)).collect();
        let mut out = String::new();
        out.push_str(if spelling.roll().is_multiple_of(4) {
            "\u{feff}"
        } else {
            ""
        });
        spelling.blank(&mut out);
        let mut members = vec![
            ("nbformat", "4".to_owned()),
            ("nbformat_minor", minor.to_string()),
            ("metadata", spelling.text(&json!({"m": metadata}))),
        ];
        let mut list = String::new();
        spelling.list(&cells, &mut list);
        let at = usize::from(spelling.roll()) % 4;
        members.insert(at, ("cells", list));
        for (at, (key, text)) in members.iter().enumerate() {
            out.push(if at > 0 { ',' } else { '{' });
            spelling.blank(&mut out);
            out.push_str(&format!("\"{key}\""));
            spelling.blank(&mut out);
            out.push(':');
            spelling.blank(&mut out);
            out.push_str(text);
            spelling.blank(&mut out);
        }
        out.push('}');
        spelling.blank(&mut out);
        (out, cells)
    })
}

/// Whether all texts stand in `whole`, one behind the other.
fn stand_in(whole: &str, texts: &[String]) -> bool {
    let mut rest = whole;
    texts.iter().all(|text| match rest.find(text.as_str()) {
        Some(at) => {
            rest = &rest[at + text.len()..];
            true
        }
        None => false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_notebook_that_is_read_and_written_is_the_same((text, _) in any_notebook()) {
        let mut notebook = Notebook::read(text.as_bytes()).unwrap();
        prop_assert_eq!(&notebook.text(), &text);
        // To look at it changes nothing.
        let _ = (notebook.check(), html(&notebook, "t"), diff(&notebook, &notebook).to_string());
        notebook.set_metadata("no such name", None);
        prop_assert_eq!(&notebook.text(), &text);
    }

    #[test]
    fn a_change_of_one_cell_keeps_the_bytes_of_the_others(
        (text, mut cells) in any_notebook(),
        place in any::<usize>(),
        what in 0..6,
        source in "[a-z\né]{0,9}",
    ) {
        let mut notebook = Notebook::read(text.as_bytes()).unwrap();
        prop_assume!(!cells.is_empty());
        let at = place % cells.len();
        match what {
            0 => {
                let _ = notebook.replace(at, &source, None).unwrap();
                prop_assert_eq!(notebook.cells()[at].source(), source);
                cells.remove(at);
            }
            1 => {
                notebook.insert(at, &NewCell::new(CellKind::Code, &*source)).unwrap();
                prop_assert_eq!(notebook.cells()[at].source(), source);
            }
            2 => {
                notebook.delete(at).unwrap();
                cells.remove(at);
            }
            3 => {
                let to = place / 7 % cells.len();
                notebook.move_cell(at, to).unwrap();
                let cell = cells.remove(at);
                cells.insert(to, cell);
            }
            4 => {
                let outputs = [Output::Stream { name: "stdout".into(), text: source }];
                if notebook.set_outputs(at, &outputs, Some(7)).is_ok() {
                    prop_assert_eq!(notebook.cells()[at].outputs(), outputs);
                    cells.remove(at);
                }
            }
            _ => {
                notebook.clear(Clearing { cell: Some(at), traces: true }).unwrap();
                prop_assert!(!notebook.cells()[at].has_outputs() || notebook.cells()[at].kind() != CellKind::Code);
                cells.remove(at);
            }
        }
        let written = notebook.text();
        prop_assert!(stand_in(&written, &cells), "{} has not all of {:?}", written, cells);
        let again = Notebook::read(written.as_bytes()).unwrap();
        let sources = |notebook: &Notebook| -> Vec<_> {
            notebook.cells().iter().map(|cell| (cell.kind(), cell.source(), cell.metadata())).collect()
        };
        prop_assert_eq!(sources(&again), sources(&notebook));
        prop_assert_eq!(again.metadata(), notebook.metadata());
        prop_assert_eq!(written.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
    }

    #[test]
    fn a_change_that_is_undone_leaves_no_trace_in_files_of_one_spelling(
        cells in vec(any_cell(), 1..5),
        indent in prop_oneof![Just(""), Just(" "), Just("    "), Just("\t")],
        windows in any::<bool>(),
        place in any::<usize>(),
    ) {
        let value = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        let mut text = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
        serde::Serialize::serialize(&value, &mut serializer).unwrap();
        let mut text = String::from_utf8(text).unwrap();
        if windows {
            text = text.replace('\n', "\r\n");
        }
        let mut notebook = Notebook::read(text.as_bytes()).unwrap();
        let at = place % cells.len();
        notebook.insert(at, &NewCell::new(CellKind::Raw, "x")).unwrap();
        notebook.delete(at).unwrap();
        notebook.set_metadata("x", Some(json!([1])));
        notebook.set_metadata("x", None);
        prop_assert_eq!(notebook.text(), text);
    }

    #[test]
    fn a_repair_leaves_nothing_to_repair((text, _) in any_notebook()) {
        let mut notebook = Notebook::read(text.as_bytes()).unwrap();
        let repairable = notebook.check().iter().filter(|problem| problem.repairable).count();
        prop_assert!(notebook.repair().len() >= repairable);
        let mut again = Notebook::read(notebook.text().as_bytes()).unwrap();
        prop_assert!(again.check().iter().all(|problem| !problem.repairable));
        prop_assert!(again.repair().is_empty());
        prop_assert_eq!(again.minor(), Some(5));
    }

    #[test]
    fn no_bytes_do_harm(
        bytes in vec(any::<u8>(), 0..200),
        (text, _) in any_notebook(),
        at in any::<usize>(),
    ) {
        let _ = Notebook::read(&bytes);
        let end = text.rfind('}').unwrap();
        let mut broken = text.into_bytes();
        let at = at % broken.len();
        broken[at] = bytes.first().copied().unwrap_or(b'"');
        if let Ok(mut notebook) = Notebook::read(&broken) {
            prop_assert_eq!(notebook.text().into_bytes(), broken.clone());
            let _ = (notebook.check(), html(&notebook, "t"));
            let _ = notebook.repair();
            prop_assert!(Notebook::read(notebook.text().as_bytes()).is_ok());
        }
        broken.truncate(at.min(end));
        prop_assert!(Notebook::read(&broken).is_err());
    }

    #[test]
    fn a_diff_tells_every_change_and_applies(
        old in vec("[a-c]{0,2}\n", 0..12),
        new in vec("[a-c]{0,2}\n", 0..12),
    ) {
        let (before, after) = (old.concat(), new.concat());
        let mut notebook = Notebook::new(&KernelMetadata::default());
        notebook.insert(0, &NewCell::new(CellKind::Code, &*before)).unwrap();
        let mut changed = notebook.clone();
        changed.replace(0, &after, None).unwrap();
        let found = diff(&notebook, &changed);
        prop_assert_eq!(found.cells.is_empty(), before == after);
        let hunks = found.cells.first().map_or("", |cell| &*cell.source);
        prop_assert_eq!(applied(&before, hunks), after);
    }
}

/// Apply the hunks of a unified diff.
fn applied(text: &str, hunks: &str) -> String {
    let lines: Vec<_> = match text {
        "" => Vec::new(),
        text => text.split('\n').collect(),
    };
    let (mut out, mut at) = (Vec::new(), 0);
    for line in hunks.lines() {
        if let Some(head) = line.strip_prefix("@@ -") {
            let range = head.split(' ').next().unwrap();
            let (from, count) = range.split_once(',').unwrap_or((range, "1"));
            let from: usize = from.parse().unwrap();
            let from = if count == "0" { from } else { from - 1 };
            out.extend(&lines[at..from]);
            at = from;
            continue;
        }
        let (sign, rest) = line.split_at(1);
        if sign != "+" {
            assert_eq!(lines[at], rest);
            at += 1;
        }
        if sign != "-" {
            out.push(rest);
        }
    }
    out.extend(&lines[at..]);
    out.join("\n")
}
