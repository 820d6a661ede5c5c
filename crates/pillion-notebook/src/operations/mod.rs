//! What callers can ask for: `notebook.*` and `kernel.*`.

mod ask;
mod cell;
mod cells;
mod control;
mod edits;
mod files;
mod input;
pub mod kernel;
mod run;
mod status;

use pillion_catalogue::{First, Method, Operations, Route};

pub use ask::{Complete, Completions, Inspect, Inspected, Variable, Variables, VariablesReport};
pub use cell::{RunCell, Stream};
pub use cells::{CellImage, CellRead, Read, ReadReport};
pub use control::{ControlReply, Interrupt, Reset, Restart, Shutdown};
pub use edits::{AddCell, DeleteCell, Edited, MoveCell, ReplaceCell};
pub use files::{Check, CheckReport, Clear, Cleared, DiffFiles, DiffReport, Html, New, WriteReply};
pub use input::{Input, InputReply};
pub use run::{CellOutputs, FailedCell, Parameters, Run, RunReport};
pub use status::{KernelInfo, KernelsReport, Status};

use crate::NotebookService;
pub use crate::cell_ref::CellRef;
pub use crate::reply::{CellError, CellReply};
pub use crate::step::{Step, StepState};

/// A path about the kernel of a desktop app's session.
const fn in_session(method: Method, path: &'static str) -> Route {
    Route::contract(method, path)
        .named(&[("session_id", "session")])
        .after(&[First::SESSION])
}

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
        .with::<kernel::Api>()
        .with::<kernel::Specs>()
        .with::<kernel::Spec>()
        .with::<kernel::List>()
        .with::<kernel::Start>()
        .with::<kernel::Show>()
        .with::<kernel::Shutdown>()
        .with::<kernel::Interrupt>()
        .with::<kernel::Restart>()
        .with::<kernel::Channels>()
        .with::<kernel::ConnectFile>()
        .with::<kernel::Launch>()
        .with::<kernel::Install>()
        .with::<kernel::Sessions>()
        .with::<kernel::OpenSession>()
        .with::<kernel::ShowSession>()
        .with::<kernel::UpdateSession>()
        .with::<kernel::CloseSession>()
}
