//! A notebook: read from bytes, looked at, written again.

use std::sync::Arc;

use pillion_protocol::error::{Code, Error, Result};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::cell::Cell;
use super::json::Raw;
use super::style::Style;
use super::tree::{Node, Object};

/// The largest file that is read.
pub const MAX_BYTES: usize = 256 * 1024 * 1024;
/// The version of the format that is read.
pub(super) const MAJOR: u64 = 4;
/// The minor version that is written: the first one in which cells have ids.
pub(super) const MINOR: u64 = 5;

/// Hexadecimal digits of a hash that tell one revision of a file from all others.
const REVISION: usize = 16;

/// A notebook of version 4. What nobody changes is written as it was read, byte for byte.
#[derive(Debug, Clone)]
pub struct Notebook {
    /// The text it was read from; none for a new one.
    pub(super) original: Option<Arc<str>>,
    /// What the file has before and behind its one object: a byte order mark, line ends.
    frame: (String, String),
    pub(super) style: Style,
    /// Everything but the cells.
    pub(super) top: Object,
    pub(super) cells: Vec<Cell>,
    /// Whether it differs from the text it was read from.
    pub(super) changed: bool,
}

/// What a notebook says about the kernel it wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelMetadata {
    /// The name of the kernelspec, such as `python3`.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The programming language, such as `python`.
    pub language: String,
    /// The version of the language, if it is known.
    pub language_version: Option<String>,
}

impl Default for KernelMetadata {
    fn default() -> Self {
        Self {
            name: "python3".into(),
            display_name: "Python 3 (ipykernel)".into(),
            language: "python".into(),
            language_version: None,
        }
    }
}

impl KernelMetadata {
    fn metadata(&self) -> Value {
        let mut language = Map::new();
        language.insert("name".into(), self.language.as_str().into());
        if let Some(version) = &self.language_version {
            language.insert("version".into(), version.as_str().into());
        }
        if self.language == "python" {
            language.extend([
                (
                    "codemirror_mode".into(),
                    json!({"name": "ipython", "version": 3}),
                ),
                ("file_extension".into(), ".py".into()),
                ("mimetype".into(), "text/x-python".into()),
                ("nbconvert_exporter".into(), "python".into()),
                ("pygments_lexer".into(), "ipython3".into()),
            ]);
        }
        json!({
            "kernelspec": {
                "display_name": self.display_name,
                "language": self.language,
                "name": self.name,
            },
            "language_info": language,
        })
    }
}

impl Notebook {
    /// An empty notebook for a kernel.
    pub fn new(kernel: &KernelMetadata) -> Self {
        let mut top = Object::default();
        top.set("cells", Node::List(Vec::new()));
        top.set("metadata", Node::New(kernel.metadata()));
        top.set("nbformat", Node::New(MAJOR.into()));
        top.set("nbformat_minor", Node::New(MINOR.into()));
        Self {
            original: None,
            frame: (String::new(), "\n".into()),
            style: Style::default(),
            top,
            cells: Vec::new(),
            changed: true,
        }
    }

    /// Read the bytes of a file.
    ///
    /// # Errors
    ///
    /// `parse_error` if they are no JSON or no notebook, or one of another version than 4;
    /// `invalid_params` if they are too many.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_BYTES {
            return Err(too_large(bytes.len() as u64));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            broken(format!("the notebook is not UTF-8 at byte {at}"))
        })?;
        let whole: Arc<str> = Arc::from(text);
        let raw = Raw::read(&whole).map_err(|fault| {
            let (line, column) = position(text, fault.at);
            let what = fault.what;
            broken(format!(
                "the notebook is no valid JSON at line {line}, column {column}: {what}"
            ))
        })?;
        if !raw.is_object() {
            return Err(broken("the notebook is JSON, but no object".into()));
        }
        let style = Style::of(&raw);
        let top = Object::read(&raw);
        version_is_read(&top)?;
        let cells = match top.get("cells") {
            Some(Node::Raw(list)) if list.is_array() => list.elements(),
            Some(_) => return Err(broken("`cells` of the notebook is no list".into())),
            None => return Err(broken("the notebook has no list `cells`".into())),
        };
        if let Some(at) = cells.iter().position(|cell| !cell.is_object()) {
            return Err(broken(format!(
                "`cells[{at}]` of the notebook is no object"
            )));
        }
        Ok(Self {
            cells: cells.iter().map(Cell::read).collect(),
            frame: (raw.before().to_owned(), raw.behind().to_owned()),
            original: Some(whole),
            style,
            top,
            changed: false,
        })
    }

    /// The file's text. That which was read, if nothing was changed.
    pub fn text(&self) -> String {
        match &self.original {
            Some(original) if !self.changed => original.to_string(),
            _ => self.written(),
        }
    }

    /// The text it was read from.
    pub fn original(&self) -> Option<&str> {
        self.original.as_deref()
    }

    /// A word for the text it was read from. Another text has another one.
    pub fn revision(&self) -> Option<String> {
        let mut word = hex::encode(Sha256::digest(self.original.as_ref()?.as_bytes()));
        word.truncate(REVISION);
        Some(word)
    }

    /// Whether it differs from what was read.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Take a text that was written for what it was read from.
    pub(super) fn is_saved(&mut self, text: String) {
        self.original = Some(text.into());
        self.changed = false;
    }

    fn written(&self) -> String {
        let mut out = self.frame.0.clone();
        let mut top = self.top.clone();
        let cells = self
            .cells
            .iter()
            .map(|cell| Node::Object(cell.object.clone()));
        top.set("cells", Node::List(cells.collect()));
        top.write(&self.style, 0, &mut out);
        out.push_str(&self.frame.1);
        out
    }

    /// The minor version of the format.
    pub fn minor(&self) -> Option<u64> {
        self.top.value("nbformat_minor").as_u64()
    }

    /// The metadata of the notebook.
    pub fn metadata(&self) -> Value {
        self.top.value("metadata")
    }

    /// The name of the kernelspec that the notebook asks for.
    pub fn kernel_name(&self) -> Option<String> {
        let metadata = self.metadata();
        let name = metadata.pointer("/kernelspec/name")?.as_str()?;
        Some(name.to_owned())
    }

    /// The programming language of its code cells, if it says so.
    pub fn language(&self) -> Option<String> {
        let metadata = self.metadata();
        ["/language_info/name", "/kernelspec/language"]
            .iter()
            .find_map(|path| metadata.pointer(path)?.as_str())
            .map(ToOwned::to_owned)
    }

    /// The name of the kernel that it was made for, if it says so.
    pub fn kernel(&self) -> Option<String> {
        let metadata = self.metadata();
        let name = metadata.pointer("/kernelspec/name")?.as_str()?;
        (!name.is_empty()).then(|| name.to_lowercase())
    }

    /// The cells, from the top.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// One cell, counted from 0.
    ///
    /// # Errors
    ///
    /// `not_found` if there are fewer.
    pub fn cell(&self, at: usize) -> Result<&Cell> {
        self.cells.get(at).ok_or_else(|| self.no_cell(at))
    }

    /// Where the cell with an id is, counted from 0.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.cells
            .iter()
            .position(|cell| cell.id().as_deref() == Some(id))
    }

    pub(super) fn no_cell(&self, at: usize) -> Error {
        let hint = match self.cells.len() {
            0 => "the notebook has no cells".to_owned(),
            count => format!("cells are counted from 0: the last one is {}", count - 1),
        };
        Error::new(Code::NotFound, format!("the notebook has no cell {at}")).hint(hint)
    }

    /// Whether cells have ids in this version of the format.
    pub(super) fn has_ids(&self) -> bool {
        self.minor().is_some_and(|minor| minor >= MINOR)
    }
}

fn broken(what: String) -> Error {
    Error::new(Code::ParseError, what)
        .hint("look whether the file was cut short or has the marks of a merge conflict")
}

/// The error for a file that is not read because of its size.
pub(super) fn too_large(bytes: u64) -> Error {
    let what = format!("the notebook has {bytes} bytes; at most {MAX_BYTES} are read");
    Error::new(Code::InvalidParams, what).hint("clear its outputs in the program that wrote it")
}

fn version_is_read(top: &Object) -> Result<()> {
    let hint = match top.value("nbformat").as_u64() {
        Some(MAJOR) => return Ok(()),
        Some(newer) if newer > MAJOR => "save it as version 4 in the program that wrote it",
        Some(_) => {
            "open it in JupyterLab and save it, or run `jupyter nbconvert --to notebook --inplace FILE`: both write version 4"
        }
        None if top.get("worksheets").is_some() => {
            "it looks like one of version 3 or older: open it in JupyterLab and save it"
        }
        None => "a notebook says its version as a number in `nbformat`",
    };
    let what = match top.get("nbformat").map(Node::value) {
        Some(found) => format!("the notebook is of version {found}; only version 4 is read"),
        None => "the file is no notebook: it has no `nbformat`".into(),
    };
    Err(Error::new(Code::ParseError, what).hint(hint))
}

/// Line and column of a byte, counted from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: &str = "\u{feff}{\r\n\t\"nbformat_minor\": 5, \"nbformat\":4,\"x\": 1.0e+2,\r\n\"cells\": [ {\"cell_type\":\"raw\", \"id\": \"a\", \"source\": \"\\u0041\", \"metadata\": {}} ],\"metadata\": {\"NaN\": NaN}}\r\n\r\n";

    #[test]
    fn a_notebook_that_nobody_changed_is_the_same_bytes() {
        let notebook = Notebook::read(ODD.as_bytes()).unwrap();
        assert_eq!(notebook.text(), ODD);
        assert_eq!(notebook.cells()[0].source(), "A");
    }

    #[test]
    fn a_new_notebook_is_written_as_nbformat_does() {
        let kernel = KernelMetadata {
            language_version: Some("3.13.1".into()),
            ..KernelMetadata::default()
        };
        let expected = r#"{
 "cells": [],
 "metadata": {
  "kernelspec": {
   "display_name": "Python 3 (ipykernel)",
   "language": "python",
   "name": "python3"
  },
  "language_info": {
   "codemirror_mode": {
    "name": "ipython",
    "version": 3
   },
   "file_extension": ".py",
   "mimetype": "text/x-python",
   "name": "python",
   "nbconvert_exporter": "python",
   "pygments_lexer": "ipython3",
   "version": "3.13.1"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"#;
        let notebook = Notebook::new(&kernel);
        assert_eq!(notebook.text(), expected);
        assert_eq!(notebook.language().unwrap(), "python");
        assert_eq!(notebook.kernel_name().unwrap(), "python3");
    }

    #[test]
    fn what_is_no_notebook_of_version_4_is_refused_with_a_reason() {
        for (text, code, says) in [
            ("", Code::ParseError, "line 1, column 1"),
            (
                "{\n \"nbformat\": 4,\n ]",
                Code::ParseError,
                "line 3, column 2",
            ),
            ("[]", Code::ParseError, "no object"),
            ("{}", Code::ParseError, "no `nbformat`"),
            (
                "{\"nbformat\": 3, \"worksheets\": []}",
                Code::ParseError,
                "version 3",
            ),
            ("{\"nbformat\": 5}", Code::ParseError, "version 5"),
            ("{\"nbformat\": 4}", Code::ParseError, "no list `cells`"),
            (
                "{\"nbformat\": 4, \"cells\": {}}",
                Code::ParseError,
                "no list",
            ),
            (
                "{\"nbformat\": 4, \"cells\": [1]}",
                Code::ParseError,
                "cells[0]",
            ),
        ] {
            let error = Notebook::read(text.as_bytes()).unwrap_err();
            assert_eq!(error.code, code, "{text}");
            assert!(error.message.contains(says), "{text}: {}", error.message);
            assert!(error.hint.is_some(), "{text}");
        }
        let error = Notebook::read(b"\xff\xfe{}").unwrap_err();
        assert!(error.message.contains("UTF-8 at byte 0"), "{error}");
    }
}
