//! The service behind `exec.*`: runs of other people's code, and jobs.
//!
//! # Theory of operation
//!
//! What runs code behind walls is `pillion-lanes`; here is what callers see of it. A run is
//! checked (`operations`), carried out, and written down behind everybody's back (`record`).
//! Jobs are runs that nobody waits for (`jobs`, `queue`); what they are and were is in the store.
//!
//! [`operations`] are what callers see.

mod jobs;
pub mod operations;
mod queue;
mod record;
mod service;

pub use service::ExecService;
