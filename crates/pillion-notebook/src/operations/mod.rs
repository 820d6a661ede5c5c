//! What callers can ask for: `notebook.*`.

mod ask;
mod cell;
mod cells;
mod control;
mod edits;
mod files;
mod input;
mod run;
mod status;

use pillion_catalogue::Operations;

pub use ask::{Complete, Completions, Inspect, Inspected, Variable, Variables, VariablesReport};
pub use cell::{CellError, CellReply, RunCell, Stream};
pub use cells::{CellImage, CellRead, CellRef, Read, ReadReport};
pub use control::{Interrupt, Reset, Restart, Shutdown, Touched};
pub use edits::{AddCell, DeleteCell, Edited, MoveCell, ReplaceCell};
pub use files::{Check, CheckReport, Clear, Cleared, DiffFiles, DiffReport, Html, New, Written};
pub use input::{Given, Input};
pub use run::{CellOutputs, FailedCell, Parameters, Run, RunReport, Step, StepState};
pub use status::{KernelInfo, Status, StatusReport};

use crate::NotebookService;

/// All operations of this service.
pub fn operations() -> Operations<NotebookService> {
    Operations::default()
        .with::<RunCell>()
        .with::<Stream>()
        .with::<Input>()
        .with::<Interrupt>()
        .with::<Restart>()
        .with::<Reset>()
        .with::<Shutdown>()
        .with::<Status>()
        .with::<Complete>()
        .with::<Inspect>()
        .with::<Variables>()
        .with::<Run>()
        .with::<New>()
        .with::<Check>()
        .with::<Clear>()
        .with::<DiffFiles>()
        .with::<Html>()
        .with::<Read>()
        .with::<AddCell>()
        .with::<ReplaceCell>()
        .with::<DeleteCell>()
        .with::<MoveCell>()
}
