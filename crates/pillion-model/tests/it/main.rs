//! Models behind a real HTTP server on loopback, which streams, fails and falls silent.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test's helper fails its test by a panic"
)]

mod failures;
mod records;
mod server;
mod streams;
