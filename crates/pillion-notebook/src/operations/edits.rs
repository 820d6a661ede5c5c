//! `notebook.add_cell`, `replace_cell`, `delete_cell` and `move_cell`: a notebook file is changed
//! while somebody else may have it open.
//!
//! Whoever changes a file says which revision of it was read. A file that is another one by now
//! is not touched, so nothing that a person saved meanwhile is lost, and no number of a cell
//! means another cell than it did.

use std::path::PathBuf;

use pillion_catalogue::{Context, Operation, Result, Safety, Scope, commit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::place;
use crate::NotebookService;
use crate::cell_ref::CellRef;
use crate::file::{CellKind, Clearing, NewCell, Notebook, Overwrite, open, save};
use crate::run_notebook::expect;

/// A notebook that was changed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Edited")]
pub struct EditedNotebook {
    /// The notebook.
    pub path: String,
    /// Its revision now, for the next change.
    pub revision: String,
    /// The number of the cell, from 0; of a deleted one, where it was.
    pub cell: usize,
    /// The id of the cell, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// How many cells there are now.
    pub count: usize,
    /// Whether the file changed.
    pub written: bool,
}

impl EditedNotebook {
    fn text(result: &str, what: &str) -> Option<String> {
        let edited: Self = serde_json::from_str(result).ok()?;
        let id = edited.id.map(|id| format!(" ({id})")).unwrap_or_default();
        let revision = edited.revision;
        Some(match edited.written {
            true => format!("{what} cell {}{id}, revision {revision}", edited.cell),
            false => format!("nothing changed, revision {revision}"),
        })
    }
}

/// Change the file if it is still what was read. `change` says which cell it was about.
async fn change(
    cx: &Context<NotebookService>,
    path: &std::path::Path,
    revision: String,
    change: impl FnOnce(&mut Notebook) -> Result<(usize, Option<String>)> + Send + 'static,
) -> Result<EditedNotebook> {
    let path = place(cx, path)?;
    commit(move || {
        let mut notebook = open(&path)?;
        expect(&notebook, Some(&revision), &path)?;
        let (cell, id) = change(&mut notebook)?;
        let written = save(&mut notebook, &path, Overwrite::Never)?;
        Ok(EditedNotebook {
            path: path.display().to_string(),
            revision: notebook.revision().unwrap_or_default(),
            cell,
            id,
            count: notebook.cells().len(),
            written,
        })
    })
    .await?
}

/// An operation that changes a notebook file: its name, and the word for what it did.
macro_rules! edit {
    ($name:ident, $operation:literal, $done:literal) => {
        impl Operation for $name {
            const NAME: &'static str = $operation;
            const SAFETY: Safety = Safety::Write;
            const SCOPE: Scope = Scope::Folder;
            type Service = NotebookService;
            type Output = EditedNotebook;

            fn text(result: &str) -> Option<String> {
                EditedNotebook::text(result, $done)
            }

            async fn run(self, cx: Context<NotebookService>) -> Result<EditedNotebook> {
                let (path, revision) = (self.path.clone(), self.revision.clone());
                change(&cx, &path, revision, move |notebook| self.apply(notebook)).await
            }
        }
    };
}

/// Add a cell to a notebook file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct AddCell {
    /// The notebook.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Its text.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// The revision of the file that was read: another one is not changed.
    #[arg(long, value_name = "REVISION")]
    pub revision: String,
    /// What it is.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub kind: CellKind,
    /// The cell above it, by id or number from 0.
    #[arg(long, value_name = "CELL", conflicts_with = "at")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<CellRef>,
    /// The number that it gets, from 0; without both it is the last one.
    #[arg(long, value_name = "NUMBER")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

impl AddCell {
    fn apply(self, notebook: &mut Notebook) -> Result<(usize, Option<String>)> {
        let at = match (&self.after, self.at) {
            (Some(after), _) => after.find(notebook)? + 1,
            (None, Some(at)) => at,
            (None, None) => notebook.cells().len(),
        };
        let id = notebook.insert(at, &NewCell::new(self.kind, self.source))?;
        Ok((at, id))
    }
}

edit!(AddCell, "notebook.add_cell", "added");

/// Give a cell of a notebook file another text, and another kind if one is named.
///
/// It keeps its id and its metadata. Outputs of code that changed are removed, unless they are
/// to be kept: they are what other code gave.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct ReplaceCell {
    /// The notebook.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// The cell, by id or number from 0.
    #[arg(value_name = "CELL")]
    pub cell: CellRef,
    /// Its new text, all of it.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// The revision of the file that was read: another one is not changed.
    #[arg(long, value_name = "REVISION")]
    pub revision: String,
    /// What it is from now on.
    #[arg(long, value_enum)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<CellKind>,
    /// Keep its outputs.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_outputs: bool,
}

impl ReplaceCell {
    fn apply(self, notebook: &mut Notebook) -> Result<(usize, Option<String>)> {
        let at = self.cell.find(notebook)?;
        let changed = notebook.replace(at, &self.source, self.kind)?;
        if changed && !self.keep_outputs {
            notebook.clear(Clearing {
                cell: Some(at),
                traces: false,
            })?;
        }
        Ok((at, notebook.cell(at)?.id()))
    }
}

edit!(ReplaceCell, "notebook.replace_cell", "replaced");

/// Delete a cell of a notebook file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct DeleteCell {
    /// The notebook.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// The cell, by id or number from 0.
    #[arg(value_name = "CELL")]
    pub cell: CellRef,
    /// The revision of the file that was read: another one is not changed.
    #[arg(long, value_name = "REVISION")]
    pub revision: String,
}

impl DeleteCell {
    fn apply(self, notebook: &mut Notebook) -> Result<(usize, Option<String>)> {
        let at = self.cell.find(notebook)?;
        let cell = notebook.delete(at)?;
        Ok((at, cell.id()))
    }
}

edit!(DeleteCell, "notebook.delete_cell", "deleted");

/// Move a cell of a notebook file to another place.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct MoveCell {
    /// The notebook.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// The cell, by id or number from 0.
    #[arg(value_name = "CELL")]
    pub cell: CellRef,
    /// The number that it has afterwards, from 0.
    #[arg(value_name = "NUMBER")]
    pub to: usize,
    /// The revision of the file that was read: another one is not changed.
    #[arg(long, value_name = "REVISION")]
    pub revision: String,
}

impl MoveCell {
    fn apply(self, notebook: &mut Notebook) -> Result<(usize, Option<String>)> {
        let from = self.cell.find(notebook)?;
        notebook.move_cell(from, self.to)?;
        Ok((self.to, notebook.cell(self.to)?.id()))
    }
}

edit!(MoveCell, "notebook.move_cell", "moved");
