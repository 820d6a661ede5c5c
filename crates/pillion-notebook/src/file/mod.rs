//! Notebook files (`.ipynb`): everything that needs no kernel.
//!
//! A [`Notebook`] is read from bytes and keeps them. What nobody changes is written as it was,
//! byte for byte, and what is changed is spelled as the rest of the file is, so that a
//! notebook under version control shows what was done and nothing else (`json.rs`, `style.rs`
//! and `tree.rs` are how; nothing outside of them knows of spellings). On it stand
//!
//! - [`Notebook::check`] and [`Notebook::repair`]: what is wrong, and putting it right;
//! - the editing of cells and the parameters of a run (`edit.rs`, `parameters.rs`);
//! - [`Output`], one output of a cell, and [`OutputList`], which makes outputs of a kernel's
//!   messages;
//! - [`show`]: outputs as text and images, for models and terminals;
//! - [`diff`]: two notebooks, cell by cell;
//! - [`html`]: a page to look at or send.
//!
//! Cells are counted from 0 everywhere. All of it is pure; only [`open`] and [`save`] touch
//! files.

mod align;
mod ansi;
mod cell;
mod check;
mod diff;
mod disk;
mod edit;
mod html;
mod json;
mod notebook;
mod output;
mod outputs;
mod parameters;
mod problem;
mod rules;
mod shown;
mod style;
mod tree;

pub use ansi::plain;
pub use cell::{Cell, CellKind};
pub use check::Repair;
pub use diff::{CellDiff, Diff, Fate, diff};
pub use disk::{Links, Overwrite, open, open_at, save, save_at, save_text};
pub(crate) use edit::WIDGETS;
pub use edit::{Clearing, NewCell};
pub use html::{TokenKind, html, tokens};
pub use json::MAX_DEPTH;
pub use notebook::{KernelMetadata, MAX_BYTES, Notebook};
pub use output::{Bundle, Output};
pub use outputs::{OutputChange, OutputList};
pub(crate) use parameters::is_python;
pub use problem::Problem;
pub(crate) use shown::IMAGES;
pub use shown::{Budget, Image, ShownOutputs, show};
