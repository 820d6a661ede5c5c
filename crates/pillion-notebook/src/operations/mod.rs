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
pub use cell::{RunCell, StreamCell};
pub use cells::{CellImage, CellRead, Read, ReadReport};
pub use control::{
    ControlReply, InterruptNotebook, ResetNotebook, RestartNotebook, ShutdownNotebook,
};
pub use edits::{AddCell, DeleteCell, EditedNotebook, MoveCell, ReplaceCell};
pub use files::{
    Check, CheckReport, Clear, Cleared, DiffFiles, DiffReport, Html, NewNotebook, WriteReply,
};
pub use input::{Input, InputReply};
pub use run::{CellOutputs, FailedCell, Parameters, RunNotebook, RunReport};
pub use status::{KernelInfo, KernelsReport, NotebookStatus};

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
        .with::<StreamCell>()
        .with::<Input>()
        .with::<InterruptNotebook>()
        .with::<RestartNotebook>()
        .with::<ResetNotebook>()
        .with::<ShutdownNotebook>()
        .with::<NotebookStatus>()
        .with::<Complete>()
        .with::<Inspect>()
        .with::<Variables>()
        .with::<RunNotebook>()
        .with::<NewNotebook>()
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
        .with::<kernel::ListKernelSpecs>()
        .with::<kernel::ShowKernelSpec>()
        .with::<kernel::ListKernels>()
        .with::<kernel::StartKernel>()
        .with::<kernel::ShowKernel>()
        .with::<kernel::ShutdownKernel>()
        .with::<kernel::InterruptKernel>()
        .with::<kernel::RestartKernel>()
        .with::<kernel::Channels>()
        .with::<kernel::ConnectFile>()
        .with::<kernel::LaunchKernel>()
        .with::<kernel::InstallKernelSpec>()
        .with::<kernel::ListKernelSessions>()
        .with::<kernel::OpenSession>()
        .with::<kernel::ShowSession>()
        .with::<kernel::UpdateSession>()
        .with::<kernel::CloseSession>()
}
