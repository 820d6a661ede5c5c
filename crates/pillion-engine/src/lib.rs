//! The engine: every service, composed into one catalogue.
//!
//! # Theory of operation
//!
//! A service is a crate that knows neither the others nor how it is reached. [`Engine::new`]
//! makes one of each, hands them what they share (the supervisor, the opened projects, the
//! store) and puts their operations into one catalogue. Where a service needs what another one
//! does, it says so by a trait of its own, and the engine is what implements it: code in a lane
//! calls functions of workers ([`pillion_lanes::Host`]), cells that are being typed are read by
//! the service of code ([`pillion_notebook::Reader`]).
//!
//! Beside them it has `system.*`, which tells of all of them ([`system`]), and the list of the
//! HTTP servers of a user ([`servers`]). The crate `pillion` is the facade above it, and the
//! binary; this one is apart from it so that benches can embed an engine without being part of
//! what is shipped.

mod engine;
pub mod servers;
pub mod system;

pub use engine::{Engine, EngineOptions, contract, definitions};

/// The version of this pillion.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
