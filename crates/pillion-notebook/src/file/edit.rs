//! Changing a notebook: its cells, and what a run leaves in them.
//!
//! What would change nothing does nothing: a source or outputs that are equal to what is there
//! leave every byte of the cell alone.

use pillion_protocol::error::{Code, Error, Result};
use serde_json::{Value, json};

use super::cell::{Cell, CellKind, spelled};
use super::notebook::Notebook;
use super::output::Output;
use super::rules::new_id;
use super::tree::Node;

/// Metadata of cells that runs leave: when it ran, and how papermill and others saw it.
const TRACES: &[&str] = &["execution", "ExecuteTime", "papermill"];

/// A cell to insert.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCell {
    /// What it is.
    pub kind: CellKind,
    /// Its text.
    pub source: String,
    /// Its metadata, an object.
    pub metadata: Value,
}

impl NewCell {
    /// A cell without metadata.
    pub fn new(kind: CellKind, source: impl Into<String>) -> Self {
        Self {
            kind,
            source: source.into(),
            metadata: json!({}),
        }
    }
}

/// Where the metadata of a notebook have the states of widgets.
pub(crate) const WIDGETS: &str = "widgets";

/// Which outputs to clear, and what else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clearing {
    /// Only this cell, counted from 0.
    pub cell: Option<usize>,
    /// Also what runs left in the metadata, such as the time they took.
    pub traces: bool,
}

impl Notebook {
    /// Insert a cell so that it has the number `at`. Its id, if cells have ids in this
    /// notebook.
    ///
    /// # Errors
    ///
    /// `not_found` if there are fewer cells, `invalid_params` for a kind that is unknown or
    /// metadata that are no object.
    pub fn insert(&mut self, at: usize, cell: &NewCell) -> Result<Option<String>> {
        if at > self.cells.len() {
            return Err(self.no_cell(at));
        }
        is_known(cell.kind)?;
        if !cell.metadata.is_object() {
            return Err(Error::new(
                Code::InvalidParams,
                "the metadata of a cell have to be an object",
            ));
        }
        let id = self.has_ids().then(|| self.free_id(&cell.source, at));
        let source = spelled(&cell.source, self.writes_lists());
        let cell = Cell::new(cell.kind, id.as_deref(), source, cell.metadata.clone());
        self.cells.insert(at, cell);
        self.changed = true;
        Ok(id)
    }

    /// Give a cell another text, and another kind if one is named. It keeps its id, its
    /// metadata and, if it stays a code cell, its outputs. Whether something changed.
    ///
    /// # Errors
    ///
    /// `not_found` if there is no such cell, `invalid_params` for a kind that is unknown.
    pub fn replace(&mut self, at: usize, source: &str, kind: Option<CellKind>) -> Result<bool> {
        kind.map_or(Ok(()), is_known)?;
        let as_list = self.writes_lists();
        let cell = self.cell_mut(at)?;
        let mut changed = cell.set_source(source, as_list);
        if let Some(kind) = kind.filter(|kind| *kind != cell.kind()) {
            let object = &mut cell.object;
            object.set("cell_type", Node::New(kind.as_str().into()));
            if kind == CellKind::Code {
                object.remove("attachments");
                object.set("execution_count", Node::New(Value::Null));
                object.set("outputs", Node::New(json!([])));
            } else {
                object.remove("execution_count");
                object.remove("outputs");
            }
            changed = true;
        }
        self.changed |= changed;
        Ok(changed)
    }

    /// Delete a cell.
    ///
    /// # Errors
    ///
    /// `not_found` if there is no such cell.
    pub fn delete(&mut self, at: usize) -> Result<Cell> {
        if at >= self.cells.len() {
            return Err(self.no_cell(at));
        }
        self.changed = true;
        Ok(self.cells.remove(at))
    }

    /// Move a cell so that it has the number `to` afterwards.
    ///
    /// # Errors
    ///
    /// `not_found` if there is no cell with one of the numbers.
    pub fn move_cell(&mut self, from: usize, to: usize) -> Result<()> {
        if let Some(missing) = [from, to].into_iter().find(|at| *at >= self.cells.len()) {
            return Err(self.no_cell(missing));
        }
        if from != to {
            let cell = self.cells.remove(from);
            self.cells.insert(to, cell);
            self.changed = true;
        }
        Ok(())
    }

    /// Write down what a run of a cell gave. Whether something changed.
    ///
    /// Call [`Notebook::repair`] once before, so that what is written is valid.
    ///
    /// # Errors
    ///
    /// `not_found` if there is no such cell, `invalid_params` if it is no code cell.
    pub fn set_outputs(
        &mut self,
        at: usize,
        outputs: &[Output],
        execution_count: Option<u64>,
    ) -> Result<bool> {
        let cell = self.cell_mut(at)?;
        if cell.kind() != CellKind::Code {
            let what = format!("cell {at} is no code cell, so it has no outputs");
            return Err(Error::new(Code::InvalidParams, what)
                .hint("give it the kind `code`, or name another cell"));
        }
        let mut changed = cell.set_outputs(outputs);
        changed |= cell
            .object
            .set_value("execution_count", json!(execution_count));
        self.changed |= changed;
        Ok(changed)
    }

    /// Set one value of a cell's metadata, or remove it. Whether something changed.
    ///
    /// # Errors
    ///
    /// `not_found` if there is no such cell.
    pub fn set_cell_metadata(
        &mut self,
        at: usize,
        name: &str,
        value: Option<Value>,
    ) -> Result<bool> {
        let changed = self.cell_mut(at)?.change_metadata(|metadata| match value {
            Some(value) => metadata.set_value(name, value),
            None => metadata.remove(name),
        });
        self.changed |= changed;
        Ok(changed)
    }

    /// Set one value of the notebook's metadata, or remove it. Whether something changed.
    pub fn set_metadata(&mut self, name: &str, value: Option<Value>) -> bool {
        let mut metadata = self
            .top
            .get("metadata")
            .map(Node::object)
            .unwrap_or_default();
        let changed = match value {
            Some(value) => metadata.set_value(name, value),
            None => metadata.remove(name),
        };
        if changed {
            self.top.set("metadata", Node::Object(metadata));
            self.changed = true;
        }
        changed
    }

    /// Remove the outputs of code cells and the numbers of their runs, and with all of them the
    /// states of widgets. How many cells changed.
    ///
    /// # Errors
    ///
    /// `not_found` if the one cell to clear does not exist.
    pub fn clear(&mut self, clearing: Clearing) -> Result<usize> {
        if let Some(at) = clearing.cell {
            self.cell(at)?;
        }
        let mut count = 0;
        for (at, cell) in self.cells.iter_mut().enumerate() {
            if clearing.cell.is_some_and(|only| only != at) {
                continue;
            }
            let mut changed = false;
            if cell.kind() == CellKind::Code {
                changed |= cell.set_outputs(&[]);
                changed |= cell.object.set_value("execution_count", Value::Null);
            }
            if clearing.traces {
                changed |= cell.change_metadata(|metadata| {
                    let removed = TRACES.iter().filter(|name| metadata.remove(name));
                    removed.count() > 0
                });
            }
            count += usize::from(changed);
        }
        self.changed |= count > 0;
        if clearing.cell.is_none() {
            // No output shows them any more.
            self.set_metadata(WIDGETS, None);
        }
        Ok(count)
    }

    pub(super) fn cell_mut(&mut self, at: usize) -> Result<&mut Cell> {
        let missing = self.no_cell(at);
        self.cells.get_mut(at).ok_or(missing)
    }

    fn free_id(&self, source: &str, at: usize) -> String {
        new_id(source, at, |id| self.find(id).is_some())
    }

    /// Whether sources are lists of lines in this file; so they are where nothing says
    /// otherwise.
    fn writes_lists(&self) -> bool {
        let mut known = self.cells.iter().filter_map(Cell::source_is_list);
        known.next().unwrap_or(true)
    }
}

fn is_known(kind: CellKind) -> Result<()> {
    match kind {
        CellKind::Unknown => Err(Error::new(
            Code::InvalidParams,
            "a cell is `code`, `markdown` or `raw`",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cells in a spelling that nobody would choose.
    const ODD: &str = "{\n  \"cells\": [\n    {\"cell_type\":\"markdown\", \"id\":\"a\", \"metadata\":{ }, \"source\":\"caf\\u00e9\"},\n    {\"source\": [\"1+1\"],\n      \"outputs\": [ {\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":[\"x\\n\",\"y\"]} ], \"id\":\"b\",\n      \"metadata\": {\"execution\": {\"a\": \"1\"}, \"z\": 1.50},\n      \"execution_count\":3, \"cell_type\": \"code\"}\n  ],\n  \"metadata\": {},\n  \"nbformat\": 4,\n  \"nbformat_minor\": 5\n}";
    const FIRST: &str =
        "{\"cell_type\":\"markdown\", \"id\":\"a\", \"metadata\":{ }, \"source\":\"caf\\u00e9\"}";

    fn odd() -> Notebook {
        Notebook::read(ODD.as_bytes()).unwrap()
    }

    fn stream(text: &str) -> Output {
        Output::Stream {
            name: "stdout".into(),
            text: text.into(),
        }
    }

    #[test]
    fn a_change_of_one_cell_leaves_the_bytes_of_the_others() {
        let mut notebook = odd();
        assert!(notebook.replace(1, "é\n2", None).unwrap());
        let text = notebook.text();
        assert!(text.contains(FIRST), "{text}");
        assert!(
            text.contains("[\n        \"\\u00e9\\n\",\n        \"2\"\n      ]"),
            "{text}"
        );
        // The other parts of the cell itself are as they were, too.
        assert!(text.contains("\"metadata\": {\"execution\": {\"a\": \"1\"}, \"z\": 1.50}"));
        assert!(!text.ends_with('\n'));
    }

    #[test]
    fn what_changes_nothing_leaves_every_byte() {
        let mut notebook = odd();
        assert!(!notebook.replace(1, "1+1", Some(CellKind::Code)).unwrap());
        assert!(!notebook.set_outputs(1, &[stream("x\ny")], Some(3)).unwrap());
        notebook.move_cell(1, 1).unwrap();
        assert!(
            !notebook
                .set_cell_metadata(1, "z", Some(json!(1.5)))
                .unwrap()
        );
        assert_eq!(notebook.text(), ODD);
    }

    #[test]
    fn outputs_are_written_and_cleared_with_their_traces() {
        let mut notebook = odd();
        assert!(notebook.set_outputs(1, &[stream("z")], Some(4)).unwrap());
        let again = Notebook::read(notebook.text().as_bytes()).unwrap();
        assert_eq!(again.cells()[1].outputs(), [stream("z")]);
        assert_eq!(again.cells()[1].execution_count(), Some(4));
        let all = Clearing {
            traces: true,
            ..Clearing::default()
        };
        assert_eq!(notebook.clear(all).unwrap(), 1);
        assert_eq!(notebook.clear(all).unwrap(), 0);
        let cell = &notebook.cells()[1];
        assert_eq!((cell.has_outputs(), cell.execution_count()), (false, None));
        assert_eq!(cell.metadata(), json!({"z": 1.5}));
        assert!(notebook.text().contains(FIRST));
    }

    #[test]
    fn cells_are_inserted_moved_and_deleted() {
        let mut notebook = odd();
        let cell = NewCell::new(CellKind::Code, "x = 1\ny");
        let id = notebook.insert(1, &cell).unwrap().unwrap();
        assert_eq!(notebook.find(&id), Some(1));
        notebook.move_cell(1, 2).unwrap();
        assert_eq!(notebook.find(&id), Some(2));
        assert!(notebook.check().is_empty(), "{:?}", notebook.check());
        assert_eq!(notebook.delete(2).unwrap().source(), "x = 1\ny");
        // All that was odd about how the cells were put together is gone, and nothing else.
        assert_eq!(notebook.text(), ODD);
        for missing in [
            notebook.delete(2).map(drop),
            notebook.insert(3, &cell).map(drop),
        ] {
            assert_eq!(missing.unwrap_err().code, Code::NotFound);
        }
    }

    #[test]
    fn a_cell_becomes_another_kind_with_what_belongs_to_it() {
        let mut notebook = odd();
        assert!(
            notebook
                .replace(1, "text", Some(CellKind::Markdown))
                .unwrap()
        );
        assert!(notebook.replace(0, "code", Some(CellKind::Code)).unwrap());
        assert!(notebook.check().is_empty(), "{:?}", notebook.check());
        let before = notebook.text();
        assert!(notebook.replace(0, "", Some(CellKind::Unknown)).is_err());
        assert_eq!(notebook.text(), before);
        let error = notebook.set_outputs(1, &[], None).unwrap_err();
        assert_eq!(error.code, Code::InvalidParams);
    }

    #[test]
    fn an_older_notebook_gets_no_ids_by_being_edited() {
        let old = ODD.replace("minor\": 5", "minor\": 4");
        let mut notebook = Notebook::read(old.as_bytes()).unwrap();
        let cell = NewCell::new(CellKind::Raw, "");
        assert_eq!(notebook.insert(0, &cell).unwrap(), None);
        assert_eq!(notebook.cells()[0].id(), None);
    }
}
