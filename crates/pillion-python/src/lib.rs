//! Calls into Python modules and foreign sidecars.
//!
//! [`PythonService`] knows the projects that were asked for (`project`): their root,
//! configuration and interpreter, each with the proof that it is still true. From a
//! project comes the make of its workers (`worker`) and foreign sidecars (`foreign`);
//! the supervisor keeps those alive. [`operations`] are what callers see.

mod foreign;
pub mod operations;
mod project;
mod service;
mod worker;

pub use service::PythonService;
