//! What a name in the code means and where it is used, asked of a workspace at one moment.
//!
//! # Theory of operation
//!
//! A [`project`] is a workspace with its index, its engines and its journal of changes. Every
//! question begins with a view of it: what changed is parsed and told to the engines, and only
//! then is the question asked. [`ask`] asks an engine about a view; [`open_files`] holds the files that
//! one answer needs; [`named`] finds definitions by what a caller wrote.
//!
//! Upon these stand the questions: where a name is defined ([`definitions`]), who uses it
//! ([`references`]), and every place that has to change with it ([`occurrences`]). The last needs
//! the family of a definition (`closure`: overrides, protocols, stubs) and the keywords that
//! arrive at it through calls ([`keyword_arguments`]).

pub mod ask;
pub mod closure;
pub mod definitions;
mod dotted;
pub mod fixtures;
pub mod keyword_arguments;
pub mod literals;
mod module_uses;
pub mod named;
pub mod occurrences;
pub mod open_files;
pub mod project;
pub mod protocols;
pub mod references;
mod registered;
pub mod spotted;
mod text_uses;
mod texts;
