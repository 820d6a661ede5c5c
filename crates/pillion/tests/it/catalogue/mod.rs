//! What holds for every operation of the catalogue, also for one that is defined tomorrow.
//!
//! Requests are made from the definitions: a new operation is tried as soon as it is there,
//! or its test says which parameter wants an example.

mod bounds;
mod deadlines;
mod examples;
mod reads;
mod tree;
