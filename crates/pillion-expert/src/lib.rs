//! Consultations: an expert is asked, works with its skills, and writes a report.
//!
//! # Theory of operation
//!
//! An [`Expert`](pillion_course::Expert) is a folder of a course: principles, knowledge, and skills. A skill is a page
//! that the expert's model reads, and may come with Python. [`Consultations::consult`] takes an
//! [`Order`] and gives back a [`Consultation`]:
//!
//! 1. A folder `consult_NNNN` is claimed (`folder`), with the request and the letter to the
//!    expert (`prompt`). Its `result.json` says `lost` until the end is known.
//! 2. Skills that are marked `auto` run first; what they found goes with the letter.
//! 3. The model ([`Consultant`], which every [`Model`](pillion_model::Model) is) answers with a report, or calls skills, in a bounded number of
//!    rounds (`conversation`). Whatever goes wrong in a skill is told to the model, which goes on.
//! 4. The report and the result are written, and the consultation is complete.
//!
//! Python of a skill runs in the expert lane and nowhere else (`run`): without network, in a
//! folder that is thrown away, and with the tools of the host that the skill's page names
//! (`skills`). Files of the session are opened here, by name and without following links
//! (`inputs`), so a run sees those and no other.
//!
//! Invariant: **a consultation that was cancelled leaves nothing**, and one whose future is
//! dropped is cancelled. A failed one leaves its log, and is an error value: the turn goes on.

mod consult;
mod consultation;
mod conversation;
mod error;
mod folder;
mod inputs;
mod model;
mod prompt;
mod run;
mod skills;
#[cfg(test)]
mod testing;
mod text;

pub use consult::Consultations;
pub use consultation::{Consultation, ConsultationLimits, ExpertRequest, Order, SessionFolders};
pub use error::Error;
pub use folder::{ConsultationStatus, discard, status, sweep};
pub use model::{Consultant, PendingCompletion};
