//! Code intelligence: what is this name, where is it defined, who uses it.
//!
//! Answers come from two sources that are kept in step by the workspace's clock: an
//! [engine], a language server that knows types, and an [index] of our own, which knows
//! every name and outline without asking anybody.

pub mod answers;
mod arrivals;
mod ask;
mod cache;
mod changes;
mod closure;
mod coding;
mod definitions;
mod desk;
mod dotted;
pub mod engine;
mod engines;
mod finding;
mod fixtures;
mod git;
pub mod index;
mod inquiry;
mod jedi;
mod keywords;
mod language;
mod literals;
mod map;
mod maps;
mod module_uses;
mod modules;
mod named;
mod nesting;
mod occurrences;
pub mod operations;
mod outline;
pub mod params;
mod parsed;
mod place;
mod project;
mod protocols;
#[doc(hidden)]
pub mod reading;
pub mod refactor;
mod references;
mod registered;
mod roots;
mod ruff;
mod scopes;
mod service;
pub mod source;
mod spelled;
mod spotted;
mod steps;
mod surroundings;
mod syntax;
pub mod text;
mod tools;
mod unsaved;

pub use cache::CacheStatus;
pub use changes::{LeftAlone, Past, PatchFormat, Patched, Renamed};
pub use finding::{Finding, Severity};
pub use language::{Language, Precision};
pub use service::{CodeService, CodeStatus};
pub use unsaved::Unsaved;
