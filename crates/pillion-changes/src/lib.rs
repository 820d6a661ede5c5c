//! What a refactoring changes: one value, shown as patches or carried out as one transaction.
//!
//! # Theory of operation
//!
//! A refactoring collects what it wants in a [`ChangeSet`]: edits, new texts, created,
//! deleted and renamed files, and what it saw but left alone. Nothing is written. The set
//! is then shown ([`ChangeSet::patched`]), or given to the workspace's [`Journal`], which
//! carries it out as a whole or not at all and can take it back.
//!
//! For the journal there are no edits and no renames any more, only paths with the bytes
//! before and after. That makes the three things that must not go wrong the
//! same thing: carrying out, completing after a crash, and taking back all bring paths from
//! one known state to another, and a path in neither state belongs to somebody else and is
//! left alone.

mod apply;
mod content;
mod diff;
mod journal;
mod manifest;
mod patched;
mod place;
mod set;
mod splice;
mod swap;
#[cfg(test)]
mod tests;
mod transact;

pub use journal::{Applied, Journal, Past, Recovered};
pub use patched::{PatchFormat, Patched, Renamed};
pub use set::{ChangeSet, LeftAlone, MAX_CHANGE, TextEdit, too_large};
