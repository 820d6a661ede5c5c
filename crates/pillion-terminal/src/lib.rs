//! What commands have in common on a terminal: the command line's own, and those of the benches.
//!
//! [`output`] is the only place that writes to it. [`Spinner`] shows that something takes its
//! time, and [`tools`] builds the managed environment where somebody waits for it.

pub mod output;
mod spinner;
pub mod tools;

pub use spinner::Spinner;
