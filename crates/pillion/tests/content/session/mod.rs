//! Sessions as a desktop sees them: a client that follows the contract, against a real server for
//! models.

mod client;
mod events;
mod model_server;
mod world;

mod cancel;
mod code;
mod contract;
mod crash;
mod crowds;
mod defects;
mod files;
mod hostile;
mod providers;
mod restore;
mod schema;
mod skips;
mod sync;
mod turns;
