//! The ways into pillion.
//!
//! A door decodes, calls the catalogue and encodes; it holds no logic and never sees a
//! service. [`rpc`] is JSON-RPC over any pair of streams: the Unix [`socket`] and
//! `pillion rpc --stdio` are the same code. [`stdio`] is the line-JSON contract, [`http`]
//! is REST with SSE, [`mcp`] is what agents speak. [`Exposed`] is what they lead to beside the
//! operations: functions of Python modules. [`daemon`] is the life of the shared process: its
//! lock, its socket, its idleness and its end.

pub mod daemon;
mod dispatch;
mod exposed;
pub mod http;
mod intake;
pub mod mcp;
mod outbox;
pub mod rpc;
pub mod socket;
pub mod stdio;

use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::{Caller, Catalogue, DoorMode, Peer};
use tokio_util::sync::CancellationToken;

pub use exposed::Exposed;

/// What every door has: the operations it leads to, and for whom.
#[derive(Debug, Clone)]
pub struct DoorState {
    /// The operations.
    pub catalogue: Arc<Catalogue>,
    /// Cancelled when pillion is to end.
    pub shutdown: CancellationToken,
    /// The folder that stands for `root` where a request names none.
    pub root: Option<PathBuf>,
    /// The Python and the environments that are meant where a request names none. A door that
    /// anybody can come in by has none of its own.
    pub surroundings: Caller,
    /// The process that comes in by this door.
    pub peer: Peer,
    /// Functions of Python modules, which are there under names of their own.
    pub exposed: Option<Arc<Exposed>>,
    /// How the HTTP door is run: which paths it has, and who may ask.
    pub mode: DoorMode,
    /// The types of events that sessions stream, for `GET /api/contract`.
    pub event_types: &'static [&'static str],
}
