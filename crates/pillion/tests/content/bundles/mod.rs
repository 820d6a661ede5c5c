//! Bundles from outside: built, signed, checked, installed, switched, damaged, repaired, served.

mod build;
mod crash;
mod hosts;
mod https;
mod life;
mod registry;
mod runtime;
mod tamper;
mod world;
