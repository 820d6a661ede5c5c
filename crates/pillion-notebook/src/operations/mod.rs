//! What callers can ask for: `notebook.*`.

mod ask;
mod cell;
mod control;
mod input;
mod status;

use pillion_catalogue::Operations;

pub use ask::{Complete, Completions, Inspect, Inspected, Variable, Variables, VariablesReport};
pub use cell::{CellError, CellReply, RunCell, Stream};
pub use control::{Interrupt, Reset, Restart, Shutdown, Touched};
pub use input::{Given, Input};
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
}
