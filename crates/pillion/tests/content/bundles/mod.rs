//! Bundles from outside: built, signed, checked, installed, switched, damaged, repaired, served.

mod build;
mod crash;
mod hostile;
mod hosts;
mod https;
mod life;
mod others;
mod registry;
mod runtime;
mod tamper;
mod waiting;
mod world;
