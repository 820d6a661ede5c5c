//! Bundles on this machine: built, checked, installed, switched, repaired, offered to others.
//!
//! # Theory of operation
//!
//! A [`BundleStore`] is a folder of installed bundles, `TYPE/SCOPE/VERSION/`, and the list of which
//! versions are active, `active_index.json`. To install is to copy the archive into the store's
//! own staging folder, to check and unpack it there, to move the whole tree to its place by one
//! rename, and to replace the list by another rename. Until that last step the old version is
//! active, whatever happens: what a crash leaves is in the staging folder, and goes with the
//! next change. One lock for each store keeps changes apart; readers need none.
//!
//! The archive is kept ([`BundleStore::repair`]): what is damaged later is made anew from it, after it
//! was checked again against the hash that the list has.
//!
//! - [`store`] does this, on files only; [`fetch`] brings archives from other hosts;
//! - [`trust`] says which keys count; [`build`] makes bundles; [`registry`] lists artifacts;
//! - [`operations`] are what doors offer of it. What reads a secret key or opens a port is none
//!   of them: those are commands of the command line.
//!
//! Invariant: nothing of a bundle is run, here or by installing it.

pub mod build;
mod counting_reader;
mod download_file;
pub mod error;
pub mod fetch;
pub mod operations;
pub mod registry;
mod service;
pub mod store;
pub mod trust;

pub use service::InstallService;
pub use store::BundleStore;
