//! The projects that services work in, opened once for all of them.
//!
//! # Theory of operation
//!
//! [`Projects`] is asked where a caller stands ([`Whereabouts`]) and answers with a
//! [`Project`]: the root folder, what its `pillion.toml` says, whether its user trusts it,
//! and, once somebody wants it, its Python. The same caller gets the same project from every
//! service, and all who wait for an opening share it.
//!
//! A project is handed out only after a look that all it was made of is still so: the stamps
//! ([`Stamp`]) of `pillion.toml`, of the record of trust, and of whatever its Python depends
//! on. If one is another, the project is opened anew, and whoever made something of the old
//! one is told ([`Projects::on_leaving`]). The look costs a `stat` for each; what is asked for
//! often is watched instead ([`pillion_process::watch`]), as is the way to its root. What an
//! opening reads and walks through is done on another thread.
//!
//! So many projects are remembered ([`MAX_PROJECTS`]); the one that was not asked for longest
//! makes room for the next.
//!
//! What one service needs and another does not is found when it is asked for, and kept with
//! the project: the Python, asked behind walls or not ([`Project::python`]), and what a
//! service makes of it ([`Project::kept`]).
//!
//! Invariant: **nothing of the folder runs for opening it.** Only [`Project::python`] starts
//! something, and services ask for it after their own [`Project::demand`].

mod caller_folder;
mod project;
mod projects;
mod roots;
mod search;

pub use caller_folder::Whereabouts;
pub use pillion_process::stamp::{Stamp, Stamps};
pub use pillion_runtime::discovery::Proven;
pub use project::Project;
pub use projects::Projects;
pub use search::Walls;

/// Projects that are remembered; a forgotten one is opened again.
pub const MAX_PROJECTS: usize = 256;
