//! Engines: language servers that know types.
//!
//! # Theory of operation
//!
//! A [`LanguageServer`] asks a supervised language server about positions in files, and
//! gives back plain structs. [`Make`] says which server ([`ServerKind`]), for which root and with
//! which Python; the supervisor starts it with the first question, restarts it after a crash
//! and ends it when it is idle. Every question is safe to repeat, so a crash costs time and
//! no answer.
//!
//! The server reads files from the disk. Whoever knows that files changed says so with
//! [`LanguageServer::changed`] before the next question; what is said first is heard first.
//! A file that the server cannot read by itself (it knows UTF-8 only) is handed to it as
//! text with [`LanguageServer::open_document`], and to each successor again.
//!
//! Lines and columns count from 0, columns in code points, whatever the server counts in.

mod changes;
mod convert;
mod documents;
mod hierarchy;
mod launch;
mod lsp;
mod opening;
mod server;
mod uri;

pub use changes::LspChangeKind;
pub use launch::{Make, ServerKind, basedpyright_program, limits, ty_program};
pub use lsp::{
    CallSite, Capabilities, Diagnostic, Encoding, Highlight, Item, LspHover, LspLocation,
    LspPosition, LspRange,
};
pub use server::LanguageServer;
