//! pillion from outside: its doors, the daemon, calls, lanes and jobs, with real processes.
//!
//! What is about code and maps is in `tests/code`, what is about sessions, notebooks and bundles in
//! `tests/content`; what all of them share is the crate `pillion-testing`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test's helper fails its test by a panic"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!(...)` is written where it is used, and read better without a `&`"
)]

mod access;
mod bench;
mod caller;
mod calls;
mod catalogue;
mod cli;
mod descriptors;
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
mod mcp;
mod parity;
mod prefixes;
mod projects;
mod python_client;
mod readers;
mod reload;
mod sidecars;
mod socket;
mod start;
mod stdio;
mod trust;
mod unreadable;
mod worker_package;
