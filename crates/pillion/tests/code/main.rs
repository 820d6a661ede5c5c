//! Questions about code, and to the map of it, through real doors; the real ty answers.
//!
//! What is expected stands beside the code it is about: fixture projects carry markers
//! (see [`markers`]), and a test asks about every one of them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test's helper fails its test by a panic"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!(...)` is written where it is used, and read better without a `&`"
)]

mod checks;
mod markers;

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
mod map;
mod moving;
mod names;
mod outline;
mod real;
mod refactor;
mod relations;
mod servers;
mod signature;
mod uses;
