//! The map of a workspace: one graph of who calls what, kept in step with the files.
//!
//! # Theory of operation
//!
//! Each file of Python is read once per change into a sketch: its scopes, what they bind, and what
//! is used in them (`read`). `link` resolves the uses of one file by looking into the sketches of
//! others (`eval`, `classes`, `modules`) and notes every name it looked up. When a file changes,
//! `update` compares what its names meant before and after (`keys`), and only files that looked at
//! one of those are linked anew. The [`Graph`] is then put together from numbers. The [`WorkspaceMap`]
//! holds all of it for a workspace. The maps of other languages than Python are made of the same
//! graph ([`LanguageMaps`]).
//!
//! The graph is made of the code's own words and knows of no engine. Where those leave open what
//! is meant, it names the places ([`Open`]), and whoever has an engine lays its answers over the
//! graph ([`Types`]).
//!
//! Beside the graph stand questions that need none: [`patterns`], [`projects`] and what they use
//! of each other, and the changes that [`git`] tells of ([`changed_symbols`]).

mod affected_tests;
pub mod agents;
mod callbacks;
pub mod changed_symbols;
mod changes;
mod classes;
mod dead_code;
mod edge_lists;
mod eval;
mod exports;
mod fixtures;
mod folders;
pub mod git;
mod graph;
mod graph_update;
mod impact;
mod keys;
mod languages;
mod layers;
mod link;
mod lookup;
mod modules;
mod overrides;
pub mod patterns;
pub mod picture;
mod possible;
pub mod projects;
mod read;
mod relations;
mod returns;
mod sketch;
mod targets;
mod test_reach;
mod tests_of;
mod typed;
mod update;
mod vocabulary;
mod workspace_map;
mod world;

pub use changes::ChangedFile;
pub use dead_code::Unreached;
pub use folders::{FolderCalls, Layer, Layers};
pub use graph::{Graph, GraphFile};
pub use impact::ImpactTree;
pub use languages::{Def, DefKind, LanguageMap, LanguageMaps, MAX_TEXT, Outline, Path};
pub use languages::{changed as changed_in, command, outline, quoted};
pub use read::{template_words, try_text};
pub use typed::{Meaning, Open, OpenSite, Types};
pub use workspace_map::{MapFiles, MapSnapshot, WorkspaceMap};
pub use world::{MODULE_NODE, NodeId, NodeKind};

#[cfg(test)]
mod callback_idioms;
#[cfg(test)]
mod dead_code_idioms;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod idioms;
#[cfg(test)]
mod incremental;
