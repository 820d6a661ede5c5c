//! How the clock of a workspace is doing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;

/// How changes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchMode {
    /// The kernel tells of them.
    Watching,
    /// Everything is looked at before each read.
    Sweeping,
}

/// How the clock of a workspace is doing, as of the last sync that was finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockStatus {
    /// The moment of the last sync.
    pub clock: Clock,
    /// How changes are found; absent before the first sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<WatchMode>,
    /// Why nothing is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Files that are not ignored.
    pub files: usize,
    /// Folders that are not ignored, with the root.
    pub folders: usize,
    /// Watches that the kernel keeps for it.
    pub watches: usize,
    /// How often it was brought up to date.
    pub syncs: u64,
    /// How long the last time took, in microseconds.
    pub last_sync_us: u64,
    /// Changes of files since the start.
    pub changes: u64,
    /// Folders that cannot be read, and names that are no UTF-8.
    pub skipped: u64,
}
