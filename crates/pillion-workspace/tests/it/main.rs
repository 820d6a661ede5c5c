//! Workspaces on real file systems.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod common;
mod freshness;
mod limits;
mod root_life;
mod rules;
