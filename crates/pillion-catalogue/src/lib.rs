//! Every operation of pillion, defined once and served by every door.
//!
//! An [`Operation`] is a type: its fields are the parameters, its associated items say
//! what it is called, how safe it is and what it gives back. From that one definition
//! come the JSON-RPC method, the HTTP route, the command line, the schemas and the
//! reference page. A service lists its operations in an [`Operations`]; a [`Catalogue`]
//! binds such lists to running services, and doors see nothing else.

mod activity;
mod caller;
mod catalogue;
mod context;
mod definition;
mod duplex;
mod functions;
mod invalid_params;
mod offer;
mod operation;
mod peer;
mod profile;
mod send_budget;
mod stats;
pub mod text;
mod work;

pub use activity::{Activity, Lease};
pub use catalogue::{Catalogue, MAX_ANSWER, Operations, params_hint};
pub use context::{Context, Door, Part, Request};
pub use definition::{Arguments, Definition, Printer, ReadableAnswer};
pub use duplex::{Duplex, DuplexEnds, Frame};
pub use functions::{ExposedFunction, Failed, FunctionReply, FunctionRequest, Functions, Listing};
pub use invalid_params::{Fault, invalid, invalid_field};
pub use offer::{
    AnswerForm, Body, DoorMode, Errors, Field, First, MemberLimit, Members, Method, Offer,
    OldCommand, Prints, Route, Shown, Stability, Tool, TypedCommand,
};
pub use operation::{AnswerPicture, Operation, Safety, Scope, Streams};
pub use peer::Peer;
pub use pillion_protocol::{Caller, Code, Error, Format, Result};
pub use profile::{Profile, SHARED, UNSHOWN};
pub use send_budget::{HeldBytes, SendBudget};
pub use stats::{OperationStats, Stats};
pub use tokio_util::sync::CancellationToken;
pub use work::{commit, wanted, work, work_unless};
