//! `notebook.read`: the cells of a notebook file, as models and people read them.

use std::fmt::Write as _;
use std::path::PathBuf;

use pillion_catalogue::{AnswerPicture, Context, Operation, Result, Safety, Scope, work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::files::place;
use crate::NotebookService;
use crate::cell_ref::CellRef;
use crate::file::{Budget, Cell, CellKind, Image, Notebook, open, show};

/// Bytes of text of one answer, of the outputs of one cell, and of all images.
const MOST_TEXT: usize = 32 << 10;
const CELL_OUTPUTS: usize = 4 << 10;
const MOST_IMAGES: usize = 1 << 20;

/// Read the cells of a notebook file: sources, outputs as text, pictures.
///
/// Long notebooks come in parts: `next` says where to go on with `from`. The `revision` is what
/// every change of the file wants to be told.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The notebook.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Only these cells, by id or number from 0.
    #[arg(long = "cell", value_name = "CELL")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellRef>,
    /// Only this cell and those below it, by id or number from 0.
    #[arg(long, value_name = "CELL")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CellRef>,
    /// Leave outputs out.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_outputs: bool,
}

/// The cells of a notebook.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReadReport {
    /// The notebook.
    pub path: String,
    /// This state of the file: another one has another revision.
    pub revision: String,
    /// How many cells it has.
    pub count: usize,
    /// The language of its code, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The cells that were asked for.
    pub cells: Vec<CellRead>,
    /// Pictures of their outputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<CellImage>,
    /// The number of the first cell that had no room here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
}

/// A cell.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CellRead {
    /// Its number, from 0.
    pub cell: usize,
    /// Its id; older notebooks have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it is.
    pub kind: CellKind,
    /// Its text.
    pub source: String,
    /// Only the begin of its text is here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source_cut: bool,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The number of its last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_count: Option<u64>,
    /// Its outputs as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<String>,
    /// Not all of its outputs are here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outputs_cut: bool,
}

/// A picture among the outputs of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellImage {
    /// The cell's number, from 0.
    pub cell: usize,
    /// The picture.
    #[serde(flatten)]
    pub image: Image,
}

/// A result whose member `images` has been taken out of it, and those.
pub(super) fn without_images(result: &str) -> Option<(String, Vec<AnswerPicture>)> {
    let mut value: Value = serde_json::from_str(result).ok()?;
    let images = value.as_object_mut()?.remove("images");
    let Some(images) = images else {
        return Some((result.to_owned(), Vec::new()));
    };
    let images: Vec<CellImage> = serde_json::from_value(images).ok()?;
    let pictures = images.into_iter().map(|one| AnswerPicture {
        mime: one.image.mime,
        base64: one.image.base64,
    });
    Some((value.to_string(), pictures.collect()))
}

/// What is left of an answer's room.
struct Room {
    text: usize,
    images: usize,
}

impl Room {
    /// A cell as it is shown; `None` if it has no room.
    fn show(
        &mut self,
        at: usize,
        cell: &Cell,
        outputs: bool,
        images: &mut Vec<CellImage>,
    ) -> Option<CellRead> {
        let mut source = cell.source();
        let mut cut = false;
        if source.len() > self.text {
            // One that never fits is shown in part, alone.
            if self.text < MOST_TEXT {
                return None;
            }
            source.truncate(source.floor_char_boundary(self.text));
            cut = true;
        }
        self.text -= source.len();
        let mut read = CellRead {
            cell: at,
            id: cell.id(),
            kind: cell.kind(),
            source,
            source_cut: cut,
            tags: cell.tags(),
            execution_count: cell.execution_count(),
            outputs: None,
            outputs_cut: false,
        };
        if outputs && cell.has_outputs() {
            let budget = Budget {
                text: self.text.min(CELL_OUTPUTS),
                images: self.images,
            };
            let shown = show(&cell.outputs(), budget);
            self.text = self.text.saturating_sub(shown.text.len());
            for image in shown.images {
                self.images = self.images.saturating_sub(image.base64.len());
                images.push(CellImage { cell: at, image });
            }
            read.outputs = Some(shown.text);
            read.outputs_cut = shown.cut;
        }
        Some(read)
    }
}

impl Read {
    fn of(&self, notebook: &Notebook, path: String) -> Result<ReadReport> {
        let from = self.from.as_ref().map(|from| from.find(notebook));
        let from = from.transpose()?.unwrap_or(0);
        let named = self.cells.iter().map(|cell| cell.find(notebook));
        let named: Vec<usize> = named.collect::<Result<_>>()?;
        let mut room = Room {
            text: MOST_TEXT,
            images: MOST_IMAGES,
        };
        let (mut cells, mut images, mut next) = (Vec::new(), Vec::new(), None);
        for (at, cell) in notebook.cells().iter().enumerate().skip(from) {
            if !named.is_empty() && !named.contains(&at) {
                continue;
            }
            match room.show(at, cell, !self.no_outputs, &mut images) {
                Some(read) => cells.push(read),
                None => {
                    next = Some(at);
                    break;
                }
            }
        }
        Ok(ReadReport {
            path,
            revision: notebook.revision().unwrap_or_default(),
            count: notebook.cells().len(),
            language: notebook.language(),
            cells,
            images,
            next,
        })
    }
}

impl Operation for Read {
    const NAME: &'static str = "notebook.read";
    const SAFETY: Safety = Safety::Read;
    const SCOPE: Scope = Scope::Folder;
    type Service = NotebookService;
    type Output = ReadReport;

    fn pictures(result: &str) -> Option<(String, Vec<AnswerPicture>)> {
        without_images(result)
    }

    fn text(result: &str) -> Option<String> {
        let report: ReadReport = serde_json::from_str(result).ok()?;
        let mut text = format!("{}  revision {}\n", report.path, report.revision);
        for cell in &report.cells {
            let id = cell.id.as_deref().unwrap_or("-");
            let _ = writeln!(text, "\n[{}] {id} {}", cell.cell, cell.kind.as_str());
            let _ = writeln!(text, "{}", cell.source.trim_end());
            for line in cell.outputs.iter().flat_map(|outputs| outputs.lines()) {
                let _ = writeln!(text, "  | {line}");
            }
        }
        if let Some(next) = report.next {
            let _ = writeln!(text, "\nmore: --from {next}");
        }
        Some(text.trim_end().to_owned())
    }

    async fn run(self, cx: Context<NotebookService>) -> Result<ReadReport> {
        let path = place(&cx, &self.path)?;
        work(move |_| {
            let notebook = open(&path)?;
            self.of(&notebook, path.display().to_string())
        })
        .await?
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use pillion_catalogue::Code;

    use super::*;
    use crate::file::{KernelMetadata, NewCell};

    fn notebook(sources: &[String]) -> Notebook {
        let mut notebook = Notebook::new(&KernelMetadata::default());
        for (at, source) in sources.iter().enumerate() {
            let cell = NewCell::new(CellKind::Code, source);
            notebook.insert(at, &cell).unwrap();
        }
        notebook
    }

    #[test]
    fn a_cell_is_found_by_id_or_number() {
        let notebook = notebook(&["a".into(), "b".into()]);
        let id = notebook.cells()[1].id().unwrap();
        for name in [json!(1), json!("1"), json!(id)] {
            let name: CellRef = serde_json::from_value(name).unwrap();
            assert_eq!(name.find(&notebook).unwrap(), 1);
        }
        for name in [json!(2), json!("nosuch"), json!("")] {
            let name: CellRef = serde_json::from_value(name).unwrap();
            assert_eq!(name.find(&notebook).unwrap_err().code, Code::NotFound);
        }
    }

    #[test]
    fn a_long_notebook_comes_in_parts_and_no_source_is_cut_that_fits() {
        let sources: Vec<String> = (0..10)
            .map(|number| format!("{number}{}", "x".repeat(10_000)))
            .collect();
        let notebook = notebook(&sources);
        let (mut seen, mut from) = (Vec::new(), 0);
        loop {
            let read = Read {
                from: Some(CellRef::Number(from)),
                ..Read::default()
            };
            let report = read.of(&notebook, String::new()).unwrap();
            assert!(serde_json::to_string(&report).unwrap().len() < 2 * MOST_TEXT);
            seen.extend(report.cells.into_iter().map(|cell| cell.source));
            match report.next {
                Some(next) => from = next,
                None => break,
            }
        }
        assert_eq!(seen, sources);
        let huge = self::notebook(&["y".repeat(MOST_TEXT * 2), "z".into()]);
        let report = Read::default().of(&huge, String::new()).unwrap();
        assert!(report.cells[0].source_cut);
        assert_eq!((report.cells.len(), report.next), (1, Some(1)));
    }

    #[test]
    fn pictures_are_taken_out_of_an_answer() {
        let result =
            json!({"a": 1, "images": [{"cell": 0, "mime": "image/png", "base64": "aGk="}]});
        let (rest, pictures) = without_images(&result.to_string()).unwrap();
        assert_eq!(rest, r#"{"a":1}"#);
        assert_eq!(pictures[0].base64, "aGk=");
        let (rest, none) = without_images(r#"{"a":1}"#).unwrap();
        assert_eq!((rest.as_str(), none.len()), (r#"{"a":1}"#, 0));
    }
}
