//! The service behind `session.*` and `course.*`: learners in conversation with agents.
//!
//! # Theory of operation
//!
//! A session is a folder (`folder`): state, turns, reports, the learner's files. There is no
//! other record of it, since desktops write such folders themselves. What belongs together is
//! written as one, by a journal in the folder.
//!
//! A turn is a state machine without IO (`pillion_agents::Turn`); `turn` does what it asks
//! for: it asks models, lets experts be consulted, and commits. What happens goes into a log
//! (`log`) that whoever is interested reads, from the beginning or from where they were, so a
//! turn does not depend on its reader.
//!
//! `service` knows which turns run, and lets nobody change a session meanwhile.

mod content;
mod context;
mod create;
mod export;
mod files;
mod folder;
mod load;
mod log;
mod models;
pub mod operations;
mod progress;
mod service;
mod turn;

pub use context::{BundlePaths, ChapterScope, DesktopContext};
pub use files::{FileInfo, FileSource};
pub use folder::PastTurn;
pub use service::SessionService;

/// The names of the events that a turn can have.
pub const EVENTS: &[&str] = pillion_agents::StreamEvent::NAMES;
