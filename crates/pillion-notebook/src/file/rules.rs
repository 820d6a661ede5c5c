//! The rules of the format: those of version 4.5's schema, and that ids are unique.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::cell::{Cell, CellKind};
use super::notebook::{MINOR, Notebook};
use super::output::is_json;
use super::problem::Problem;
use super::tree::{Node, Object};

/// A problem with what puts it right.
pub(super) struct Finding {
    pub(super) problem: Problem,
    pub(super) fix: Option<Fix>,
}

/// A member to set, or to remove if there is no value, of the notebook, of a cell, or of an
/// output of a cell.
pub(super) struct Fix {
    pub(super) cell: Option<usize>,
    pub(super) output: Option<usize>,
    pub(super) name: &'static str,
    pub(super) value: Option<Value>,
}

/// The walk: where it is, and what it has found.
pub(super) struct Walk<'a> {
    notebook: &'a Notebook,
    /// Whether cells must have ids.
    ids: bool,
    /// Whether the version is one that is not known yet, and may have more.
    newer: bool,
    cell: Option<usize>,
    output: Option<usize>,
    found: Vec<Finding>,
}

impl<'a> Walk<'a> {
    /// `minor` is the version whose rules count.
    pub(super) fn over(notebook: &'a Notebook, minor: Option<u64>) -> Vec<Finding> {
        let mut walk = Self {
            notebook,
            ids: minor.is_some_and(|minor| minor >= MINOR),
            newer: minor.is_some_and(|minor| minor > MINOR),
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
            } else if !known.contains(&name) && !self.newer {
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
            let valid = notebook.cells.iter().filter_map(Cell::id);
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
            CellKind::Unknown if self.newer => return,
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
        if self.newer {
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
            Some(_) if self.newer => {}
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
            let fits = is_json(mime) || data.get(mime).is_some_and(is_text);
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
