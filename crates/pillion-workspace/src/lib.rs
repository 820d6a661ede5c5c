//! Workspaces: a root folder and its configuration.
//!
//! [`root`] finds the folder that a path belongs to; [`config`] reads its `pillion.toml`.
//! The clock, the file index and the watcher will live here too.

pub mod config;
pub mod proof;
pub mod root;

pub use config::Config;
pub use proof::Proof;
