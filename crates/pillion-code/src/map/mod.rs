//! The map of a workspace: one graph of who calls what, kept in step with the files.
//!
//! Each file is read once per change into a [`sketch`]: its scopes, what they bind, and what
//! is used in them ([`read`]). [`link`] resolves the uses of one file by looking into the
//! sketches of others ([`eval`], [`classes`], [`modules`]) and notes every name it looked up.
//! When a file changes, [`follow`] compares what its names meant before and after ([`keys`]),
//! and only files that looked at one of those are linked anew. The [`graph`] is then put
//! together from numbers. The [`keeper`] holds all of it for a workspace.

#![expect(dead_code, reason = "x")]
mod classes;
mod eval;
mod follow;
mod graph;
mod impact;
mod keeper;
mod keys;
mod language;
mod link;
mod modules;
mod read;
mod sketch;
mod targets;
mod tests_of;
mod vocabulary;
mod world;

pub(crate) use graph::Graph;
pub(crate) use impact::{Tree, Via};
pub(crate) use keeper::{Keeper, Mapped};
pub use language::Language;
pub(crate) use link::Way;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod incremental;
