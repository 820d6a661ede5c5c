//! Tests of this crate from outside, with real Pythons and with fake ones.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helper fails its test by a panic"
)]

mod discovery;
mod doctor;
mod managed;
mod probe;
mod support;
