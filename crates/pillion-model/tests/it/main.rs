//! Models behind a real HTTP server on loopback, which streams, fails and falls silent.

mod failures;
mod records;
mod server;
mod streams;
