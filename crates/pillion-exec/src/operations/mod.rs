//! What callers can ask for: `exec.*`.

mod lanes;
mod run;

use pillion_catalogue::Operations;

pub use lanes::{LaneState, Lanes, LanesReport};
pub use run::{FileGiven, Printed, Run};

use crate::ExecService;

/// All operations of this service.
pub fn operations() -> Operations<ExecService> {
    Operations::default().with::<Run>().with::<Lanes>()
}
