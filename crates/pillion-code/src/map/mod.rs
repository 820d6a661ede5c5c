//! The map.
#![expect(dead_code, reason = "x")]
mod classes;
mod eval;
mod follow;
mod graph;
mod keys;
mod link;
mod modules;
mod read;
mod sketch;
mod tests_of;
mod vocabulary;
mod world;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod incremental;
