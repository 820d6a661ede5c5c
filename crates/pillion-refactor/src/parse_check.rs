//! The last look at a change: no file may have errors that it did not have.

use pillion_catalogue::{Error, Result};
use pillion_changes::ChangeSet;
use pillion_index::syntax::Syntax;
use pillion_index::{Index, MAX_ERRORS, is_python};

/// Refuse a change after which a file has errors that it did not have.
pub(super) fn check(index: &Index, set: &ChangeSet, what: &str) -> Result<()> {
    for (path, before) in set.texts() {
        let errors = before.and_then(|path| index.get(path));
        let errors = errors.map_or(0, |facts| facts.parse_errors.len());
        if errors >= MAX_ERRORS {
            continue;
        }
        let Some(text) = set.text_after(path).filter(|_| is_python(path)) else {
            continue;
        };
        let now = Syntax::errors(&text, path);
        if now.len() > errors {
            let why = now.first().map(String::as_str).unwrap_or_default();
            return Err(Error::internal(format!(
                "{what} would break `{path}` ({why}); nothing was changed"
            )));
        }
    }
    Ok(())
}
