//! Runtimes: which Python runs, with which packages, and our own code inside it.
//!
//! # Theory of operation
//!
//! Three questions are answered here, each by one module:
//!
//! - *Which Python belongs to this project?* [`discovery::find`] walks an ordered list of
//!   candidates, probes each ([`Interpreter::probe`]) until one fits, and says why it took
//!   that one and what was wrong with those before it. Probes are remembered on disk with
//!   their proof ([`ProbeCache`]).
//! - *Where do pillion's own tools live?* In a [`managed`] environment, built once from a
//!   hash-locked list and never mixed with a project's packages.
//! - *Where is the worker package?* Embedded in this binary, and laid out on disk by
//!   [`worker_files::worker_dir`], which repairs what does not match.
//!
//! A runtime that came as a bundle is one more candidate: [`bundle`] knows where bundles are
//! installed and whether one is still whole.
//!
//! [`dirs`] is the one place that decides about folders; [`doctor`] collects all of the
//! above into a report.
//!
//! Invariant: nothing here prints, and nothing here runs a project's code. A probe runs
//! isolated (`-I -S`), so that neither `sitecustomize` nor a `.pth` file is executed; and a
//! Python that came with a folder is asked behind walls (`confined_probe`), unless its user has said
//! that he trusts the folder ([`trust`]).

pub mod bundle;
pub mod bytecode;
mod confined_probe;
pub mod dirs;
pub mod discovery;
pub mod doctor;
mod file;
mod interpreter;
pub mod managed;
mod probe;
mod probe_cache;
pub mod python_paths;
mod shim;
pub mod trust;
mod version;
pub mod worker_files;

pub use confined_probe::most_walls;
pub use dirs::Dirs;
pub use file::write_atomically;
pub use interpreter::Interpreter;
pub use managed::Managed;
pub use probe::ProbeError;
pub use probe_cache::ProbeCache;
pub use version::PythonVersion;
pub use worker_files::worker_dir;
