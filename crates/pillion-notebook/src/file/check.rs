//! What is wrong with a notebook, and putting right what can be.
//!
//! One walk finds everything, by the rules of version 4.5's schema. [`Notebook::check`] tells it
//! and [`Notebook::repair`] applies those findings that have a fix, so the two cannot disagree.
//! A fix never throws away what a person wrote; what has none is left as it is and told.

use std::collections::HashSet;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::cell::CellKind;
use super::notebook::{MINOR, Notebook};
use super::tree::{Node, Object};

/// Something that the format does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The cell, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<usize>,
    /// Where it is, such as `$.cells[3].outputs[0].name`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// Whether a repair puts it right.
    pub repairable: bool,
}

/// Something that was put right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The cell, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<usize>,
    /// Where it is.
    pub path: String,
    /// What was wrong.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// A problem with what puts it right.
struct Finding {
    problem: Problem,
    fix: Option<Fix>,
}

/// A member to set, or to remove if there is no value, of the notebook, of a cell, or of an
/// output of a cell.
struct Fix {
    cell: Option<usize>,
    output: Option<usize>,
    name: &'static str,
    value: Option<Value>,
}

impl Notebook {
    /// Everything in it that the format does not allow. Changes nothing.
    pub fn check(&self) -> Vec<Problem> {
        let findings = Walk::over(self, self.minor());
        findings.into_iter().map(|found| found.problem).collect()
    }

    /// Bring it to version 4.5 and put right what can be: ids, and fields that have to be
    /// there. The list says what was done; a notebook without faults stays as it is.
    pub fn repair(&mut self) -> Vec<Repair> {
        let minor = self.minor().map_or(MINOR, |minor| minor.max(MINOR));
        let findings = Walk::over(self, Some(minor));
        let mut done = Vec::new();
        for found in findings {
            let Some(fix) = found.fix else {
                continue;
            };
            self.apply(fix);
            done.push(Repair {
                cell: found.problem.cell,
                path: found.problem.path,
                message: found.problem.message,
            });
        }
        self.changed |= !done.is_empty();
        done
    }

    fn apply(&mut self, fix: Fix) {
        let object = match fix.cell {
            Some(at) => match self.cells.get_mut(at) {
                Some(cell) => &mut cell.object,
                None => return,
            },
            None => &mut self.top,
        };
        let Some(at) = fix.output else {
            put(object, fix.name, fix.value);
            return;
        };
        let mut outputs = object
            .get("outputs")
            .map(Node::elements)
            .unwrap_or_default();
        if let Some(output) = outputs.get_mut(at) {
            let mut changed = output.object();
            put(&mut changed, fix.name, fix.value);
            *output = Node::Object(changed);
        }
        object.set("outputs", Node::List(outputs));
    }
}

fn put(object: &mut Object, name: &str, value: Option<Value>) {
    match value {
        Some(value) => object.set(name, Node::New(value)),
        None => drop(object.remove(name)),
    }
}

/// The walk: where it is, and what it has found.
struct Walk<'a> {
    notebook: &'a Notebook,
    /// Whether cells must have ids.
    ids: bool,
    cell: Option<usize>,
    output: Option<usize>,
    found: Vec<Finding>,
}

impl<'a> Walk<'a> {
    /// `minor` is the version whose rules count.
    fn over(notebook: &'a Notebook, minor: Option<u64>) -> Vec<Finding> {
        let mut walk = Self {
            notebook,
            ids: minor.is_some_and(|minor| minor >= MINOR),
            cell: None,
            output: None,
            found: Vec::new(),
        };
        walk.top(minor);
        walk.ids();
        for at in 0..notebook.cells.len() {
            walk.cell = Some(at);
            walk.cell(at);
        }
        walk.found
    }

    fn tell(&mut self, name: &str, message: impl Into<String>, fix: Option<Fix>) {
        let mut path = String::from("$");
        if let Some(at) = self.cell {
            path += &format!(".cells[{at}]");
        }
        if let Some(at) = self.output {
            path += &format!(".outputs[{at}]");
        }
        if !name.is_empty() && !name.starts_with('[') {
            path.push('.');
        }
        path.push_str(name);
        self.found.push(Finding {
            problem: Problem {
                cell: self.cell,
                path,
                message: message.into(),
                repairable: fix.is_some(),
            },
            fix,
        });
    }

    fn fix(&self, name: &'static str, value: Option<Value>) -> Option<Fix> {
        Some(Fix {
            cell: self.cell,
            output: self.output,
            name,
            value,
        })
    }

    /// A member that has to be there, with what it is if it is missing.
    fn required(
        &mut self,
        object: &Object,
        name: &'static str,
        missing: Option<Value>,
        fits: fn(&Node) -> bool,
        what: &str,
    ) {
        match object.get(name) {
            None => {
                let fix = missing.and_then(|value| self.fix(name, Some(value)));
                self.tell(name, "is missing", fix);
            }
            Some(node) if !fits(node) => self.tell(name, format!("is no {what}"), None),
            Some(_) => {}
        }
    }

    /// Members that should not be there, or stand there twice.
    fn only(&mut self, object: &Object, known: &[&str]) {
        let mut seen = HashSet::new();
        for name in object.names() {
            if !seen.insert(name) {
                self.tell(&key(name), "stands there twice; the last one counts", None);
            } else if !known.contains(&name) {
                self.tell(&key(name), "is unknown to the format here", None);
            }
        }
    }

    fn top(&mut self, minor: Option<u64>) {
        let top = &self.notebook.top;
        if self.notebook.minor() != minor {
            let (old, new) = (top.value("nbformat_minor"), minor.unwrap_or(MINOR));
            let message = match old {
                Value::Null => format!("is missing; it becomes {new}"),
                old => format!("is {old}; it becomes {new}"),
            };
            let fix = self.fix("nbformat_minor", Some(new.into()));
            self.tell("nbformat_minor", message, fix);
        } else if minor.is_none() {
            let fix = self.fix("nbformat_minor", Some(MINOR.into()));
            self.tell("nbformat_minor", "is missing or no number", fix);
        }
        self.required(top, "metadata", Some(json!({})), Node::is_object, "object");
        self.only(top, &["cells", "metadata", "nbformat", "nbformat_minor"]);
        let metadata = top.value("metadata");
        for (path, what) in [
            ("kernelspec", &["name", "display_name"][..]),
            ("language_info", &["name"]),
        ] {
            let Some(part) = metadata.get(path) else {
                continue;
            };
            for name in what {
                if !part.get(name).is_some_and(Value::is_string) {
                    let path = format!("metadata.{path}.{name}");
                    self.tell(&path, "is missing or no text", None);
                }
            }
        }
    }

    /// Ids that are missing, wrong or taken.
    fn ids(&mut self) {
        let notebook = self.notebook;
        let mut taken: HashSet<String> = HashSet::new();
        if self.ids {
            let valid = notebook.cells.iter().filter_map(super::cell::Cell::id);
            taken.extend(valid.filter(|id| is_id(id)));
        }
        let mut seen = HashSet::new();
        for (at, cell) in notebook.cells.iter().enumerate() {
            self.cell = Some(at);
            let node = cell.object.get("id");
            if !self.ids {
                if node.is_some() {
                    self.tell("id", "cells have ids from version 4.5 on only", None);
                }
                continue;
            }
            let id = cell.id();
            let message = match &id {
                Some(id) if !is_id(id) => {
                    "has to be 1 to 64 letters, digits, `-` or `_`".to_owned()
                }
                Some(id) if !seen.insert(id.clone()) => {
                    format!("`{id}` is the id of another cell, too")
                }
                Some(_) => continue,
                None if node.is_some() => "is no text".to_owned(),
                None => "is missing".to_owned(),
            };
            let new = new_id(&cell.source(), at, |id| taken.contains(id));
            taken.insert(new.clone());
            let fix = self.fix("id", Some(new.into()));
            self.tell("id", message, fix);
        }
        self.cell = None;
    }

    fn cell(&mut self, at: usize) {
        let notebook = self.notebook;
        let cell = &notebook.cells[at];
        let object = &cell.object;
        let known: &[&str] = match cell.kind() {
            CellKind::Code => &[
                "cell_type",
                "execution_count",
                "id",
                "metadata",
                "outputs",
                "source",
            ],
            CellKind::Markdown | CellKind::Raw => {
                &["attachments", "cell_type", "id", "metadata", "source"]
            }
            CellKind::Unknown => {
                let found = object.value("cell_type");
                let message = format!("is {found}, not `code`, `markdown` or `raw`");
                self.tell("cell_type", message, None);
                return;
            }
        };
        self.required(
            object,
            "metadata",
            Some(json!({})),
            Node::is_object,
            "object",
        );
        self.required(
            object,
            "source",
            Some(json!([])),
            is_text,
            "text or list of lines",
        );
        self.tags(&cell.metadata());
        if cell.kind() == CellKind::Code {
            self.only(object, known);
            self.required(
                object,
                "execution_count",
                Some(Value::Null),
                is_count,
                "number",
            );
            self.required(object, "outputs", Some(json!([])), Node::is_list, "list");
            let outputs = object
                .get("outputs")
                .map(Node::elements)
                .unwrap_or_default();
            for (at, output) in outputs.iter().enumerate() {
                self.output = Some(at);
                self.output(output);
            }
            self.output = None;
            return;
        }
        // Editors that turn a code cell into text forget these. They mean nothing there; what
        // has a content is left for a person to decide.
        for name in ["execution_count", "outputs"] {
            let value = object.get(name).map(Node::value);
            match value {
                None => {}
                Some(Value::Null | Value::Number(_)) => {
                    let fix = self.fix(name, None);
                    self.tell(name, "is for code cells only", fix);
                }
                Some(Value::Array(list)) if list.is_empty() => {
                    let fix = self.fix(name, None);
                    self.tell(name, "is for code cells only", fix);
                }
                Some(_) => self.tell(name, "is for code cells only", None),
            }
        }
        let known: Vec<_> = known
            .iter()
            .copied()
            .chain(["execution_count", "outputs"])
            .collect();
        self.only(object, &known);
        if object
            .get("attachments")
            .is_some_and(|node| !node.is_object())
        {
            self.tell("attachments", "is no object", None);
        }
    }

    fn tags(&mut self, metadata: &Value) {
        let Some(tags) = metadata.get("tags") else {
            return;
        };
        let Some(tags) = tags.as_array() else {
            self.tell("metadata.tags", "is no list", None);
            return;
        };
        let mut seen = HashSet::new();
        for tag in tags {
            let message = match tag.as_str() {
                None | Some("") => "has something that is no text".to_owned(),
                Some(word) if word.contains(',') => format!("{word:?} has a comma"),
                Some(word) if !seen.insert(word) => format!("{word:?} stands there twice"),
                Some(_) => continue,
            };
            self.tell("metadata.tags", message, None);
        }
    }

    fn output(&mut self, node: &Node) {
        if !node.is_object() {
            self.tell("", "is no object", None);
            return;
        }
        let output = node.object();
        let kind = output.get("output_type").and_then(Node::text);
        match kind.as_deref() {
            Some("stream") => {
                self.required(
                    &output,
                    "name",
                    Some("stdout".into()),
                    Node::is_string,
                    "text",
                );
                self.required(
                    &output,
                    "text",
                    Some(json!([])),
                    is_text,
                    "text or list of lines",
                );
                self.only(&output, &["name", "output_type", "text"]);
            }
            Some("error") => {
                for name in ["ename", "evalue"] {
                    self.required(&output, name, Some("".into()), Node::is_string, "text");
                }
                self.required(
                    &output,
                    "traceback",
                    Some(json!([])),
                    is_texts,
                    "list of texts",
                );
                self.only(&output, &["ename", "evalue", "output_type", "traceback"]);
            }
            Some("display_data") => self.bundle(&output, &["data", "metadata", "output_type"]),
            Some("execute_result") => {
                self.required(
                    &output,
                    "execution_count",
                    Some(Value::Null),
                    is_count,
                    "number",
                );
                let known = ["data", "execution_count", "metadata", "output_type"];
                self.bundle(&output, &known);
            }
            _ => {
                let found = output.value("output_type");
                self.tell("output_type", format!("{found} is no kind of output"), None);
            }
        }
    }

    fn bundle(&mut self, output: &Object, known: &[&str]) {
        self.required(output, "data", Some(json!({})), Node::is_object, "object");
        self.required(
            output,
            "metadata",
            Some(json!({})),
            Node::is_object,
            "object",
        );
        // It is a part of messages, and means nothing in a file.
        let mut known = known.to_vec();
        if output.get("transient").is_some() {
            known.push("transient");
            let fix = self.fix("transient", None);
            self.tell("transient", "is for messages only", fix);
        }
        self.only(output, &known);
        let data = output.get("data").map(Node::object).unwrap_or_default();
        for mime in data.names() {
            let fits = super::output::is_json(mime) || data.get(mime).is_some_and(is_text);
            if !fits {
                let path = format!("data[{mime:?}]");
                self.tell(&path, "is no text, and the media type is not JSON", None);
            }
        }
    }
}

/// A key as a step of a path. One that is no plain word is quoted, and so are the letters in it
/// that a terminal would obey.
fn key(name: &str) -> String {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    match plain && !name.is_empty() {
        true => name.to_owned(),
        false => format!("[{name:?}]"),
    }
}

fn is_text(node: &Node) -> bool {
    node.is_string() || is_texts(node)
}

fn is_texts(node: &Node) -> bool {
    node.is_list() && node.elements().iter().all(Node::is_string)
}

fn is_count(node: &Node) -> bool {
    let value = node.value();
    value.is_null() || value.is_u64()
}

/// Whether a text can be the id of a cell.
pub(super) fn is_id(id: &str) -> bool {
    let letters = id
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    letters && (1..=64).contains(&id.len())
}

/// An id for a cell: eight digits of a hash of its text and place, so that the same notebook
/// gets the same ids wherever it is repaired.
pub(super) fn new_id(source: &str, at: usize, taken: impl Fn(&str) -> bool) -> String {
    let mut attempt = 0_u64;
    loop {
        let place = u64::try_from(at).unwrap_or(u64::MAX);
        let bytes = source
            .bytes()
            .chain(place.to_le_bytes())
            .chain(attempt.to_le_bytes());
        // FNV-1a: well spread, and defined in two numbers.
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let id = format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff));
        if !taken(&id) {
            return id;
        }
        attempt += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &Value) -> Notebook {
        Notebook::read(value.to_string().as_bytes()).unwrap()
    }

    fn said(problems: &[Problem]) -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_older_notebook_without_faults_is_fine_and_is_brought_to_4_5() {
        let mut notebook = read(&json!({
            "cells": [
                {"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], "execution_count": null},
                {"cell_type": "markdown", "source": ["1"], "metadata": {}},
            ],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 2,
        }));
        assert_eq!(said(&notebook.check()), [""; 0]);
        let done: Vec<_> = notebook.repair().iter().map(ToString::to_string).collect();
        assert_eq!(
            done,
            [
                "$.nbformat_minor: is 2; it becomes 5",
                "$.cells[0].id: is missing",
                "$.cells[1].id: is missing"
            ]
        );
        assert_eq!(notebook.minor(), Some(5));
        assert_ne!(notebook.cells()[0].id(), notebook.cells()[1].id());
        assert!(notebook.check().is_empty() && notebook.repair().is_empty());
    }

    #[test]
    fn a_notebook_without_faults_stays_as_it_is() {
        let text = "{\"nbformat\":4,  \"nbformat_minor\":5, \"metadata\": {}, \"cells\": [] }";
        let mut notebook = Notebook::read(text.as_bytes()).unwrap();
        assert!(notebook.repair().is_empty());
        assert_eq!(notebook.text(), text);
    }

    #[test]
    fn ids_are_repaired_and_good_ones_stay() {
        let cell = |id: Value| json!({"cell_type": "raw", "id": id, "source": "", "metadata": {}});
        let mut notebook = read(&json!({
            "cells": [cell("a".into()), cell("a".into()), cell("no good".into()), cell(1.into()),
                cell("x".repeat(65).into()), cell("x".repeat(64).into())],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
        }));
        let problems = notebook.check();
        let cells: Vec<_> = problems
            .iter()
            .map(|problem| problem.cell.unwrap())
            .collect();
        assert_eq!(cells, [1, 2, 3, 4]);
        assert_eq!(notebook.repair().len(), 4);
        let ids: HashSet<_> = notebook
            .cells()
            .iter()
            .map(|cell| cell.id().unwrap())
            .collect();
        assert_eq!(ids.len(), 6);
        assert!(ids.iter().all(|id| is_id(id)));
        assert_eq!(notebook.cells()[0].id().unwrap(), "a");
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let mut notebook = read(&json!({
            "cells": [
                {"cell_type": "code", "id": "a", "outputs": [
                    {"output_type": "stream", "text": "x"},
                    {"output_type": "display_data", "data": {"text/plain": 1, "application/json": 1},
                        "transient": {}},
                    {"output_type": "execute_result", "data": {}, "metadata": {}},
                    {"output_type": "error"},
                    {"output_type": "pyout"},
                    7,
                ]},
                {"cell_type": "markdown", "id": "b", "metadata": {"tags": ["x", "x", "a,b"]},
                    "source": [1], "outputs": [], "execution_count": 1, "more": 1},
                {"cell_type": "heading", "id": "c"},
            ],
            "metadata": {"kernelspec": {}}, "nbformat": 4, "nbformat_minor": 5, "extra": 0, "\u{1b}[2J": 0,
        }));
        let fixed = [
            "$.cells[0].metadata: is missing",
            "$.cells[0].source: is missing",
            "$.cells[0].execution_count: is missing",
            "$.cells[0].outputs[0].name: is missing",
            "$.cells[0].outputs[1].metadata: is missing",
            "$.cells[0].outputs[1].transient: is for messages only",
            "$.cells[0].outputs[2].execution_count: is missing",
            "$.cells[0].outputs[3].ename: is missing",
            "$.cells[0].outputs[3].evalue: is missing",
            "$.cells[0].outputs[3].traceback: is missing",
            "$.cells[1].execution_count: is for code cells only",
            "$.cells[1].outputs: is for code cells only",
        ];
        let left = [
            "$.extra: is unknown to the format here",
            "$[\"\\u{1b}[2J\"]: is unknown to the format here",
            "$.metadata.kernelspec.name: is missing or no text",
            "$.metadata.kernelspec.display_name: is missing or no text",
            "$.cells[0].outputs[1].data[\"text/plain\"]: is no text, and the media type is not JSON",
            "$.cells[0].outputs[4].output_type: \"pyout\" is no kind of output",
            "$.cells[0].outputs[5]: is no object",
            "$.cells[1].source: is no text or list of lines",
            "$.cells[1].metadata.tags: \"x\" stands there twice",
            "$.cells[1].metadata.tags: \"a,b\" has a comma",
            "$.cells[1].more: is unknown to the format here",
            "$.cells[2].cell_type: is \"heading\", not `code`, `markdown` or `raw`",
        ];
        let before = notebook.text();
        let found: HashSet<_> = said(&notebook.check()).into_iter().collect();
        let expected: HashSet<_> = fixed.iter().chain(&left).map(ToString::to_string).collect();
        assert_eq!(found, expected);
        assert_eq!(notebook.text(), before);
        let done: Vec<_> = notebook.repair().iter().map(ToString::to_string).collect();
        assert_eq!(done, fixed);
        assert_eq!(said(&notebook.check()), left);
    }
}
