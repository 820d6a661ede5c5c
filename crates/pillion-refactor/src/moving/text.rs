//! The text of a module, with what its names mean.

use std::sync::Arc;

use pillion_index::modules;
use pillion_index::scopes::{ImportStmt, ImportedName, MODULE, Role, Scopes};
use pillion_index::source::Source;

/// A module whose text is looked at.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) file: String,
    pub(super) key: String,
    pub(super) source: Arc<Source>,
    pub(super) scopes: Scopes,
}

impl Text {
    pub(super) fn new(file: &str, source: impl Into<Arc<Source>>) -> Self {
        let source = source.into();
        Self {
            key: modules::key(file).to_owned(),
            scopes: Scopes::of(source.text(), file),
            file: file.to_owned(),
            source,
        }
    }

    /// The import that binds a name of the module, if all that binds it are imports.
    pub(super) fn import_of(&self, name: &str) -> Option<(&ImportStmt, &ImportedName)> {
        let bound = self.scopes.module_bindings();
        let all = bound.get(name)?;
        if !all.iter().all(|use_| use_.role == Role::Import) {
            return None;
        }
        let statements = self.scopes.imports.iter();
        let mut found = statements
            .filter(|statement| statement.scope == MODULE)
            .flat_map(|statement| statement.names.iter().map(move |name| (statement, name)))
            .filter(|(statement, imported)| imported.bound(statement.from.is_some()) == name);
        let first = found.next()?;
        // Of several, in branches, only the module itself knows which one counts.
        let plain = first.0.at_top || first.0.for_types;
        (plain && (first.0.from.is_none() || found.next().is_none())).then_some(first)
    }
}
