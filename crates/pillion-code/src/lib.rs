//! Code intelligence: the service behind `code.*` and `map.*`.
//!
//! # Theory of operation
//!
//! The [service](CodeService) keeps one project per workspace and, beside it, the maps of that
//! workspace. An [operation](operations) finds out which workspace and which place a request means
//! ([`params`]), takes a view of it, and asks the crates below: `pillion-symbols` what a name means
//! and who uses it, `pillion-map` who calls whom, `pillion-refactor` what a change consists of,
//! which `pillion-changes` then shows or carries out. Only here do the map and an engine meet
//! (`inquiry`): the map itself knows of no engine.

mod inquiry;
mod maps;
pub mod operations;
pub mod params;
#[doc(hidden)]
pub mod reading;
mod roots;
mod service;
mod unsaved;

pub use service::{CodeService, CodeStatus};
pub use unsaved::Unsaved;
