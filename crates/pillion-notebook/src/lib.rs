//! The service behind `notebook.*` and `kernel.*`: cells on real kernels, notebook files, and
//! kernels for clients of Jupyter.
//!
//! # Theory of operation
//!
//! What starts, watches and speaks with kernels is `pillion-kernel`; here is what callers see of
//! it. A session has one kernel, which starts with its first cell. A cell's messages become
//! outputs as notebook files have them (`running_cell`), which are shown as they come and are in the
//! reply at the end. A kernel that died is replaced by the next cell, which says so. A whole
//! notebook has a kernel of its own, which goes away with its run (`run_notebook`).
//!
//! [`mod@file`] is all about `.ipynb` files and knows no kernel: reading and writing them without
//! touching what was not changed, checking and repairing, editing, outputs, comparing, and a
//! page to look at.
//!
//! `gateway` offers the same kernels as a server of Jupyter does, so that JupyterLab and editors
//! talk with them in their own messages.
//!
//! [`operations`] are what callers see.

mod attached_kernel;
mod cell_ref;
pub mod file;
mod gateway;
mod jupyter_channels;
pub mod operations;
mod questions;
mod replay;
mod reply;
mod run_notebook;
mod running_cell;
mod service;
mod step;
mod typed_cells;
mod widgets;

pub use attached_kernel::{complete_attached, run_attached};
pub use running_cell::CellEvent;
pub use service::NotebookService;
pub use typed_cells::{Reader, ReaderFuture, TypedText};
