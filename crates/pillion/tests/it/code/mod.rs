//! Questions about code through real doors, answered by the real ty.
//!
//! What is expected stands beside the code it is about: fixture projects carry markers
//! (see [`markers`]), and a test asks about every one of them.

mod checks;
mod markers;
pub(crate) mod project;

mod answers;
mod cli;
mod contract;
mod crowds;
mod defects;
mod definitions;
mod diagnostics;
mod freshness;
mod grep;
mod hostile;
mod idioms;
mod idioms_move;
mod moving;
mod names;
mod outline;
pub(crate) mod real;
mod refactor;
mod relations;
mod servers;
mod signature;
mod uses;
