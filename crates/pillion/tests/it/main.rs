//! pillion from outside: real processes through real doors.
//!
//! Every test has a [`context::TestContext`] of its own: folders, environment and daemon
//! are shared with nobody, and when it goes it asserts that none of its processes is left.
//! Waiting is always for a condition, with a generous deadline; no test measures time.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test's helper fails its test by a panic"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!(...)` is written where it is used, and read better without a `&`"
)]

mod context;

mod access;
mod bench;
mod bundles;
mod caller;
mod calls;
mod catalogue;
mod chat;
mod cli;
mod code;
mod descriptors;
mod desktop;
mod embedded;
mod environment;
mod exec;
mod expose;
mod faults;
mod full_disk;
mod http;
mod installation;
mod lanes;
mod lanes_jobs;
mod lanes_tools;
mod lifecycle;
mod limits;
mod map;
mod mcp;
mod notebook;
mod parity;
mod prefixes;
mod projects;
mod python_client;
mod readers;
mod reload;
mod repl;
mod session;
mod sidecars;
mod socket;
mod start;
mod stdio;
mod trust;
mod unreadable;
