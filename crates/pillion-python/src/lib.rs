//! Calls into Python modules and foreign sidecars.
//!
//! [`PythonService`] is handed the projects by [`pillion_project`] and looks for the Python
//! that their calls run in (`project`). From a project comes the make of its workers
//! (`worker`) and foreign sidecars (`foreign`); the supervisor keeps those alive.
//! [`operations`] are what callers see.

mod exposed;
mod foreign;
pub mod operations;
mod project;
mod service;
mod worker;
#[cfg(test)]
mod world;

pub use exposed::ExposedModules;
pub use service::PythonService;
