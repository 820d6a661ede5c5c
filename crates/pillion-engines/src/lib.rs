//! The programs that know types and rules, each asked in its own way: language servers, Jedi, ruff.
//!
//! # Theory of operation
//!
//! An [`engine`] is a language server with a small part of its protocol; [`jedi`] is a worker of
//! pillion's own that answers some of the same questions. The [`engines`] of a workspace are kept
//! by what they depend on beside its files ([`surroundings`]: the configuration and the Python).
//! They are told what changed before they are asked again, and what they said is kept until then
//! ([`cache`]). They start with the first question, out of the managed environment ([`tools`]),
//! and are sidecars of the supervisor like all others. [`ruff`] runs once for a question.

pub mod cache;
pub mod engine;
pub mod engines;
pub mod finding;
pub mod jedi;
pub mod ruff;
pub mod surroundings;
pub mod tools;
