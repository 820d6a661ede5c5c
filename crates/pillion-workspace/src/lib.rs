//! Workspaces: a root folder, its configuration, its files and their clock.
//!
//! [`root`] finds the folder that a path belongs to; [`config`] reads its `pillion.toml`.
//!
//! A [`Workspace`] is the file side: each read begins with [`Workspace::synced`], which
//! gives a [`Snapshot`] of the files in which every write is seen that returned before
//! the call. The kernel tells of changes (`watch`), only what it tells of is looked at
//! (`state`, `scan`), the `rules` say what is ignored, and what is [`known_files`](Files) lies
//! in chunks that snapshots share. Where nothing can be watched everything is looked at,
//! and [`ClockStatus`] says so. The [`Clock`] ticks with each set of [`Changes`], so that
//! who keeps something in step with the files asks for those since it last looked.

mod changes;
mod clock;
pub mod config;
mod files;
mod known_files;
mod options;
pub mod root;
mod rules;
mod scan;
mod state;
mod status;
mod watch;
mod workspace;

pub use pillion_process::stamp::Stamp;

pub use changes::{ChangeKind, Changes, FileChange};
pub use clock::{Clock, NoClock};
pub use config::{Config, LaneConfig, Lanes};
pub use files::{FileEntry, Files, LeftOutPath};
pub use options::WorkspaceOptions;
pub use status::{ClockStatus, WatchMode};
pub use workspace::{Snapshot, Workspace};
