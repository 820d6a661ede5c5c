//! What others replace in the module that a definition leaves.
//!
//! `mock.patch("app.service.fetch")`, `monkeypatch.setattr(service, "RATE", 1)` and
//! `service.RATE = 1` give a name of a module another value. What moves out of that module
//! takes the name by an import of its own, and keeps the first value.

use std::path::Path;

use pillion_changes::{ChangeSet, LeftAlone};
use pillion_index::facts::name_hash;
use pillion_index::modules::Modules;
use pillion_index::source::Span;
use pillion_symbols::open_files::OpenFiles;
use pillion_symbols::project::View;

use super::definition::Move;
use super::needs::Needs;
use super::text::Text;
use super::users::{Users, knows};
use crate::strings;

/// What replaces a name that it is told as a string.
const REPLACES: &[&str] = &["patch", "setattr", "delattr", "multiple"];
/// Names that are looked for: a definition that needs more is not followed in all of them.
const MAX_NAMES: usize = 50;

/// Where names of a module get another value by way of it, which whoever imports them by name
/// does not see.
pub fn replaced(view: &View, file: &str, names: &[&str]) -> Vec<LeftAlone> {
    let Some(source) = view.source(Path::new(file)) else {
        return Vec::new();
    };
    let modules = Modules::of(&view.index);
    let origin = Text::new(file, source);
    let mut opened = OpenFiles::new(view);
    let names = names.iter().take(MAX_NAMES);
    let all = names.flat_map(|name| {
        let found = places(view, &modules, &origin, name).into_iter();
        found.map(move |place| (place, *name))
    });
    let all: Vec<_> = all.collect();
    let all = all.into_iter().map(|((file, span), name)| LeftAlone {
        location: opened.location(&view.root().join(file), span),
        why: format!("`{name}` of the module gets another value here, which is not seen then"),
    });
    all.collect()
}

fn places(view: &View, modules: &Modules, origin: &Text, name: &str) -> Vec<(String, Span)> {
    let dotted = format!("{}.{name}", modules.dotted(&origin.key));
    let mut found = strings::exactly(&view.index, view.root(), name);
    found.retain(|(file, span)| {
        let facts = view.index.get(file);
        let replaces = |word: &&str| facts.is_some_and(|f| f.may_mention(name_hash(word)));
        let source = view.source(Path::new(file));
        let line = source.and_then(|s| s.line(span.start.line).map(ToOwned::to_owned));
        let is_dotted = line.is_some_and(|line| line.contains(&dotted));
        REPLACES.iter().any(replaces) && (is_dotted || knows(view, modules, &origin.key, file))
    });
    let users = Users {
        view,
        modules,
        origin,
        to: &origin.file,
        name,
    };
    found.extend(users.stores());
    found
}

impl Move<'_> {
    /// List where what the definition needs of its old module is replaced there.
    pub(super) fn list_replaced(&self, needs: &Needs, set: &mut ChangeSet) {
        let own = needs.of_origin.keys().map(String::as_str);
        let imported = needs.imports.iter().filter(|line| !line.for_types);
        let imported = imported.map(super::imports::Line::bound);
        let mut names: Vec<&str> = own.chain(imported).collect();
        names.sort_unstable();
        names.dedup();
        for place in replaced(self.view, &self.origin.file, &names) {
            set.leave(place);
        }
    }
}
