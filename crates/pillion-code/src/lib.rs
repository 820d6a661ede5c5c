//! Code intelligence: what is this name, where is it defined, who uses it.
//!
//! Answers come from two sources that are kept in step by the workspace's clock: an
//! [engine](engine), a language server that knows types, and an index of our own, which knows
//! every name and outline without asking anybody.

pub mod engine;
