//! The module that a definition leaves.

use pillion_catalogue::Result;
use pillion_changes::ChangeSet;
use pillion_index::modules;
use pillion_index::scopes::{ImportedName, MODULE, Role};

use super::definition::Move;
use super::imports::{self, Line};
use super::needs::Needs;
use super::pieces::{entry, whole_line, with_blank_lines};
use super::users::star_of;
use super::{Edits, cuts};
use crate::strings;

impl Move<'_> {
    /// Take it out of the old module.
    pub(super) fn leave(&self, needs: &Needs, stays: bool, set: &mut ChangeSet) -> Result<()> {
        let text = self.origin.source.text();
        let mut edits = Edits::default();
        for piece in &self.pieces {
            edits.replace(with_blank_lines(text, *piece), "");
        }
        self.drop_imports(needs, &mut edits);
        if stays {
            let base = self.modules.base(&self.destination.key);
            let module = self.modules.spell(
                &self.moving.file,
                &self.destination.key,
                self.speaks_relative(),
                &base,
            );
            let mut line = Line::of_name(&module, &self.moving.name);
            let offered =
                !strings::offers(&self.origin.source, &self.origin.file, &line.name).is_empty();
            if self.moving.reexport && !offered {
                // Linters and type checkers take this for what it is.
                line.alias = Some(line.name.clone());
            }
            imports::add(&self.origin, &[line], None, &mut edits);
        } else {
            for range in strings::offers(&self.origin.source, &self.origin.file, &self.moving.name)
            {
                edits.replace(entry(text, range), "");
            }
        }
        set.edit(&self.moving.file, edits.finish(&self.origin.source))
    }

    /// Imports of the old module that only the definition needed.
    fn drop_imports(&self, needs: &Needs, edits: &mut Edits) {
        let origin = &self.origin;
        if modules::is_init(&origin.file) {
            return;
        }
        let search = self.search();
        let facts = self.view.index.get(&origin.file);
        let offered = |name: &str| {
            let all = facts.and_then(|facts| facts.all.as_ref());
            all.is_some_and(|all| all.iter().any(|offered| **offered == *name))
        };
        let goes = |imported: &ImportedName, is_from: bool| {
            let name = imported.bound(is_from);
            let needed = needs.imports.iter().any(|line| line.bound() == name);
            let mut uses = origin.scopes.uses_of(MODULE, name);
            let is_used = uses.any(|use_| use_.role != Role::Import && !search.moves(use_.range));
            // An import of several parts may be there for what it loads.
            let loads = !is_from && imported.name.contains('.');
            let known = origin.import_of(name).is_some();
            needed && known && !is_used && !loads && !offered(name) && !self.is_taken(name)
        };
        let statements = origin.scopes.imports.iter();
        for statement in statements.filter(|s| s.scope == MODULE && s.at_top) {
            let is_from = statement.from.is_some();
            let gone: Vec<bool> = statement.names.iter().map(|n| goes(n, is_from)).collect();
            for range in cuts(statement, |at| gone[at]) {
                match range == statement.range {
                    true => edits.replace(whole_line(origin.source.text(), range), ""),
                    false => edits.replace(range, ""),
                }
            }
        }
    }

    /// Whether another file may take a name from the old module.
    fn is_taken(&self, name: &str) -> bool {
        let files = self.view.index.files_with(name);
        let mut others = files.iter().filter(|file| ***file != *self.origin.file);
        others.any(|file| {
            let facts = self.view.index.get(file);
            facts.is_some_and(|facts| {
                facts.imports.iter().any(|import| {
                    let target = self.modules.find(file, &import.module);
                    let whole = target.is_some_and(|target| target.key == self.origin.key);
                    let inner = import.name.as_ref().and_then(|inner| {
                        let module = format!("{}.{inner}", import.module.trim_end_matches('.'));
                        let dots = import.module.len() - import.module.trim_end_matches('.').len();
                        let module = match import.module.trim_matches('.').is_empty() {
                            true => format!("{}{inner}", ".".repeat(dots)),
                            false => module,
                        };
                        self.modules.find(file, &module)
                    });
                    whole || inner.is_some_and(|target| target.key == self.origin.key)
                })
            })
        }) || star_of(self.view, &self.modules, &self.origin.key)
    }
}
