//! Notebooks: their files, and what is done with them.
//!
//! [`mod@file`] is all about `.ipynb` files and knows no kernel: reading and writing them without
//! touching what was not changed, checking and repairing, editing, outputs, comparing, and a
//! page to look at.

pub mod file;
