//! What is known of the files of a workspace by their text alone: no engine is asked, and nothing
//! is written but the index itself.
//!
//! # Theory of operation
//!
//! A file is decoded once ([`source`]), and where it is Python it is parsed in one place
//! ([`parsed`]), which lends the stack that trees of any depth need. From the tree are read what a
//! file defines, imports and mentions ([`Index`], which follows the workspace's clock and is kept
//! on disk), which name means which in it ([`scopes`]) and what stands at a place ([`syntax`]).
//! [`modules`] is the one place that knows which file an import means.
//!
//! Beside that stand the words in which all crates above speak of code: the [`language`] of a
//! file, places and outlines as callers get them ([`answers`]), and how they read as text
//! ([`text`]).

pub mod answers;
pub mod compiled;
mod encoding;
mod index;
pub mod keywords;
pub mod language;
pub mod modules;
pub mod nesting;
pub mod outline;
pub mod parsed;
pub mod place;
pub mod scopes;
pub mod source;
#[doc(hidden)]
pub mod steps;
pub mod syntax;
pub mod text;

pub use index::{
    Facts, FoundSymbol, Import, Index, IndexEntry, IndexStore, Kind, MAX_ERRORS, MAX_FILE, Mention,
    ParseError, Symbol, content_hash, extract_facts, facts, is_python, mentions_in, offered,
    preview,
};
