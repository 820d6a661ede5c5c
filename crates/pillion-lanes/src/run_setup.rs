//! What a run is made of.

use std::path::Path;

use pillion_sandbox::{Level, Limits};
use pillion_workspace::LaneConfig;

use crate::run_folder::RunFolder;
use crate::runtime::Runtime;
use crate::session;

/// What a run is made of, besides the request.
pub(crate) struct Setting<'a> {
    /// The folder of its project.
    pub(crate) root: &'a Path,
    pub(crate) runtime: &'a Runtime,
    pub(crate) config: &'a LaneConfig,
    pub(crate) limits: Limits,
    pub(crate) level: Level,
    pub(crate) place: &'a RunFolder,
    /// What its folder held before the run.
    pub(crate) before: &'a session::Survey,
}
