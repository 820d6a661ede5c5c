//! Whether what a refactoring made can still be read.

use pillion_catalogue::{Error, Result};

use crate::ask::Engine;
use crate::changes::ChangeSet;
use crate::syntax::Syntax;

/// Refuse a change after which a file has errors that it did not have; `what` is the change,
/// for people.
pub(super) fn still_sound(engine: &Engine, set: &ChangeSet, what: &str) -> Result<()> {
    for path in set.paths() {
        let facts = engine.view.index.get(path);
        let before = facts.map_or(0, |facts| facts.parse_errors.len());
        let Some(text) = set.text_after(path) else {
            continue;
        };
        if Syntax::errors(&text, path) > before {
            return Err(Error::internal(format!(
                "{what} would break `{path}`; nothing was changed"
            )));
        }
    }
    Ok(())
}
