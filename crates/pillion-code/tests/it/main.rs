//! Tests of this crate from outside, with the real ty, ruff and Rope.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helper fails its test by a panic"
)]

mod engine;
mod engine_faults;
mod engine_files;
mod organize;
mod rope;
mod rope_cases;
mod support;
