//! One cell: its kind, id, source, metadata and outputs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::Raw;
use super::output::Output;
use super::style::as_lines;
use super::tree::{Node, Object};

/// What a cell is.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    /// Code for the kernel.
    #[default]
    Code,
    /// Text in Markdown.
    Markdown,
    /// Text that is left as it is.
    Raw,
    /// A kind that version 4 of the format does not know.
    #[value(skip)]
    Unknown,
}

impl CellKind {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw => "raw",
            Self::Unknown => "unknown",
        }
    }
}

/// One cell of a notebook. It is changed through its notebook.
#[derive(Debug, Clone)]
pub struct Cell {
    pub(super) object: Object,
}

impl Cell {
    pub(super) fn read(raw: &Raw) -> Self {
        Self {
            object: Object::read(raw),
        }
    }

    /// A cell that is in no file yet.
    pub(super) fn new(kind: CellKind, id: Option<&str>, source: Value, metadata: Value) -> Self {
        let mut object = Object::default();
        object.set("cell_type", Node::New(kind.as_str().into()));
        if let Some(id) = id {
            object.set("id", Node::New(id.into()));
        }
        object.set("metadata", Node::New(metadata));
        object.set("source", Node::New(source));
        if kind == CellKind::Code {
            object.set("execution_count", Node::New(Value::Null));
            object.set("outputs", Node::New(Value::Array(Vec::new())));
        }
        Self { object }
    }

    /// What it is.
    pub fn kind(&self) -> CellKind {
        match self.object.get("cell_type").and_then(Node::text).as_deref() {
            Some("code") => CellKind::Code,
            Some("markdown") => CellKind::Markdown,
            Some("raw") => CellKind::Raw,
            _ => CellKind::Unknown,
        }
    }

    /// Its id. Cells have one from version 4.5 on.
    pub fn id(&self) -> Option<String> {
        self.object.get("id")?.text()
    }

    /// Its text.
    pub fn source(&self) -> String {
        let source = self.object.get("source");
        source.and_then(Node::joined).unwrap_or_default()
    }

    /// Whether the file has its text as a list of lines. `None` if it has no text.
    pub(super) fn source_is_list(&self) -> Option<bool> {
        self.object.get("source").map(Node::is_list)
    }

    /// Its metadata.
    pub fn metadata(&self) -> Value {
        self.object.value("metadata")
    }

    /// Its tags, from its metadata.
    pub fn tags(&self) -> Vec<String> {
        let metadata = self.metadata();
        let tags = metadata.get("tags").and_then(Value::as_array);
        let words = tags.into_iter().flatten().filter_map(Value::as_str);
        words.map(ToOwned::to_owned).collect()
    }

    /// Files that its Markdown refers to: name, media type, content.
    pub fn attachments(&self) -> Value {
        self.object.value("attachments")
    }

    /// The number of its last run.
    pub fn execution_count(&self) -> Option<u64> {
        self.object.value("execution_count").as_u64()
    }

    /// What its last run gave.
    pub fn outputs(&self) -> Vec<Output> {
        let outputs = self.object.get("outputs").map(Node::elements);
        let outputs = outputs.unwrap_or_default();
        outputs.iter().map(read_output).collect()
    }

    /// Whether it has outputs.
    pub fn has_outputs(&self) -> bool {
        let outputs = self.object.get("outputs");
        outputs.is_some_and(|outputs| !outputs.elements().is_empty())
    }

    /// Whether something changed. The new text is a list of lines if the old one was.
    pub(super) fn set_source(&mut self, source: &str, as_list: bool) -> bool {
        let known = self.object.get("source").and_then(Node::joined);
        if known.as_deref() == Some(source) {
            return false;
        }
        let value = spelled(source, self.source_is_list().unwrap_or(as_list));
        self.object.set("source", Node::New(value));
        true
    }

    /// Whether something changed. Outputs that are equal to what is there stay as they are
    /// spelled.
    pub(super) fn set_outputs(&mut self, outputs: &[Output]) -> bool {
        if self.object.get("outputs").is_some() && self.outputs() == outputs {
            return false;
        }
        let value = outputs.iter().map(Output::to_nbformat).collect();
        self.object.set("outputs", Node::New(value));
        true
    }

    /// Take the metadata apart, change it, put it back. Whether something changed.
    pub(super) fn change_metadata(&mut self, change: impl FnOnce(&mut Object) -> bool) -> bool {
        let metadata = self.object.get("metadata");
        let mut metadata = metadata.map(Node::object).unwrap_or_default();
        let changed = change(&mut metadata);
        if changed {
            self.object.set("metadata", Node::Object(metadata));
        }
        changed
    }
}

fn read_output(node: &Node) -> Output {
    match node.known_value() {
        Some(value) => Output::read(&value),
        None => Output::Other(Value::Null),
    }
}

/// A source as the file has it.
pub(super) fn spelled(source: &str, as_list: bool) -> Value {
    match as_list {
        true => as_lines(source),
        false => source.into(),
    }
}
