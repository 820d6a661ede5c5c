//! What callers can ask for: `notebook.*` and `kernel.*`.

mod ask;
mod cell;
mod control;
mod input;
pub mod kernel;
mod status;

use pillion_catalogue::Operations;

pub use ask::{Complete, Completions, Inspect, Inspected, Variable, Variables, VariablesReport};
pub use cell::{CellError, CellReply, RunCell, Stream};
pub use control::{Interrupt, Reset, Restart, Shutdown, Touched};
pub use input::{Given, Input};
pub(crate) use kernel::PYTHON;
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
