//! Running other people's code, in lanes.
//!
//! # Theory of operation
//!
//! A [`Lane`] is the rules that code runs under; with a project's configuration and Python
//! (`runtime`) it becomes a policy, which `pillion-sandbox` keeps. A run comes from a
//! **slot**, an interpreter that a **zygote** forked and confined ahead (`zygote`, `keeper`),
//! or from an interpreter of its own where that cannot be (`body`). Both are told an `order`
//! and heard at their end in the same words, so the rest (`run`, `outcome`) does not know the
//! difference: it passes output on, keeps time, and makes the [`Reply`].
//!
//! Code in the expert lane may ask its host for what the request names (`tools`). Jobs are
//! runs that nobody waits for (`jobs`); what they are and were is in the store (`shelf`), and
//! what ran is written down behind everybody's back (`record`).
//!
//! [`operations`] are what callers see.

mod answer;
mod body;
mod environment;
mod jobs;
mod keeper;
mod lane;
pub mod operations;
mod order;
mod outcome;
mod output;
mod perform;
mod place;
mod record;
mod reply;
mod run;
mod runtime;
mod service;
mod session;
mod shelf;
mod tools;
mod zygote;

pub use lane::Lane;
pub use order::Exception;
pub use outcome::Outcome;
pub use reply::{FileOut, Limit, Reply, Used};
pub use service::ExecService;
pub use session::Artifact;
pub use tools::{FunctionCall, Host, Readable, Returned, TableGiven, ToolsGiven};
