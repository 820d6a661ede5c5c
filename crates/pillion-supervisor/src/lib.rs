//! Keeps sidecars alive.
//!
//! # Theory of operation
//!
//! A **sidecar** is a child process that answers requests. Each one is owned by a task
//! (`actor`); a [`Sidecar`] is a handle that sends it calls. What the task does next is
//! decided by a pure state machine ([`life`]) that knows nothing of processes and clocks,
//! so that every rule about starting, crashing, backing off and going idle is tested
//! without either.
//!
//! A [`Pool`] is one or more sidecars of the same make; the [`Supervisor`] holds the
//! pools of all workspaces, and the [`Events`] that tell what happens to them.
//!
//! The promises, whatever the child does:
//! - every call gets exactly one answer;
//! - an answer is never handed to another call: ids are matched, strays are dropped;
//! - only calls that are safe to repeat are repeated after a crash, and only once;
//! - nothing that the child started outlives it (see `pillion_process`).
//!
//! A language server is a sidecar as well: its hello is the answer to `initialize`, and an
//! [`Opening`] tells each fresh process what it cannot know from the disk. What a handle
//! notifies before it calls is written before the call.
//!
//! A zygote or a kernel is one, too: it starts behind walls ([`StartMode`]), and a call of it is a
//! [`Hold`], during which somebody else speaks with it. Whatever lives longer than a run is started
//! here, so that it has a deadline to get ready, a tail of its stderr, an idle life and a
//! place in the status, and counts in the one cap.

mod actor;
mod call;
mod child;
mod dialect;
mod ended;
mod events;
mod failure;
mod frames;
mod hold;
pub mod life;
mod message;
mod opening;
mod pool;
mod sources;
mod spec;
mod status;
mod status_text;
mod streams;
mod supervisor;
mod tail;

pub use actor::Sidecar;
pub use call::{Ask, CallAnswer, CallRequest};
pub use dialect::Dialect;
pub use ended::{Cause, Ended};
pub use events::{Event, EventListener, Events};
pub use hold::Hold;
pub use life::SidecarState;
pub use opening::{Notice, Opening, Replay};
pub use pool::Pool;
pub use spec::{SidecarKind, SidecarLimits, SidecarSpec, StartMode};
pub use status::{SidecarStatus, WorkspaceStatus};
pub use supervisor::Supervisor;
