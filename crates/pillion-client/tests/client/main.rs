//! The client against a server that the test plays by hand, and against fake daemons.

mod bridge;
mod broken;
mod calls;
mod fake_daemon;
mod reach;
mod server;
mod skew;
mod start;
mod streams;
