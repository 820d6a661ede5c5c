//! Talking to the pillion daemon from Rust.
//!
//! # Theory of operation
//!
//! A [`Client`] is a cheap handle. Behind it is one connection with two tasks: one writes
//! queued frames, the other reads answers and hands each to the caller that waits for its
//! id. Every request has exactly one outcome: its answer, a timeout, a cancellation, or
//! [`unreachable`](pillion_protocol::Code::Unreachable) when the connection broke. A
//! caller that stops waiting, by a timeout or by dropping the future, takes its id off
//! the table and tells the daemon, so a late answer finds nobody and is dropped.
//!
//! A connection is made when it is first needed, and made again by the next request after
//! it broke; it is used when the daemon has answered a ping on it. If nobody listens and the [`Options`] allow it, the daemon is started
//! ([`Client::connect_or_start`]), under a lock so that racing clients start one.
//!
//! A stream gets a connection of its own: a consumer that reads slowly then slows down
//! its own stream, all the way to Python, and nobody else's calls.
//!
//! [`Bridge`] is for programs with a frame to draw: a thread with a `Client`, a bounded
//! queue to it and a bounded queue back.
//!
//! ```no_run
//! # async fn demo() -> pillion_protocol::Result<()> {
//! use pillion_client::{Client, Options};
//!
//! let client = Client::connect_or_start(&Options::new()).await?;
//! let answer: serde_json::Value = client
//!     .call_as("py.call", serde_json::json!({"function": "math:hypot", "params": [3, 4]}))
//!     .await?;
//! assert_eq!(answer["result"], 5.0);
//! # Ok(())
//! # }
//! ```

mod bridge;
mod client;
mod connect;
mod connection;
mod launch;
mod no_connection;
mod options;
mod pending;
mod polling;
mod request;
mod shared;
mod stream;
mod sys;
mod version;
mod wire;

pub use bridge::{Bridge, RequestId, Response, ResponsePart};
pub use client::Client;
pub use launch::Started;
pub use options::Options;
pub use pillion_protocol::endpoint::Endpoint;
pub use pillion_protocol::{Caller, Code, Error, ErrorKind, Result};
pub use request::RequestBuilder;
pub use stream::CallStream;
pub use version::DaemonVersion;
pub use wire::WireEvent;
