//! Functions that go round as values: others call them by names of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use pillion_catalogue::Result;
use pillion_index::Kind;
use pillion_index::facts::name_hash;
use pillion_index::parsed::parsed;
use pillion_index::source::{Position, Span};

use super::sites::Named;
use super::target::{place_of, taking};
use super::{Finder, Looked, holders};
use crate::ask::span;
use crate::closure::{self, Grower};
use crate::open_files::FileSpan;

/// Decorators that give nobody else what they decorate.
const HARMLESS: &[&str] = &[
    "abstractmethod",
    "asynccontextmanager",
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "deprecated",
    "final",
    "lru_cache",
    "overload",
    "override",
    "parametrize",
    "property",
    "register",
    "setter",
    "singledispatch",
    "singledispatchmethod",
    "staticmethod",
];

/// Where functions go as values.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// What variables, attributes and parameters that are given one are called.
    names: BTreeSet<String>,
    /// What stands beside one in a list or a table.
    beside: BTreeSet<FileSpan>,
}

impl Finder<'_> {
    /// Whether one of the functions is used as a value.
    pub(super) async fn is_handed_over(&mut self) -> Result<bool> {
        if let Some(known) = self.is_value {
            return Ok(known);
        }
        let mut is_value = false;
        for (path, at) in &self.target.functions {
            let file = self.opened.name(path).0;
            for found in self.engine.references(&file, at.start).await?.iter() {
                let Some(source) = self.opened.source(&found.path) else {
                    continue;
                };
                let end = source.offset(span(found.range).end);
                let after = end
                    .and_then(|end| source.text().get(end..))
                    .unwrap_or_default();
                let line = source.line(found.range.start.line).unwrap_or_default();
                let is_import = ["from ", "import "]
                    .iter()
                    .any(|w| line.trim_start().starts_with(w));
                is_value |= !after.trim_start().starts_with('(') && !is_import;
            }
        }
        self.is_value = Some(is_value);
        Ok(is_value)
    }

    /// Whether what is called may be one of the functions under another name: a variable whose
    /// value nobody knows, or an object.
    pub(super) async fn may_hold_it(
        &mut self,
        looked: &Looked,
        callee: &Named,
        means: &[FileSpan],
    ) -> Result<bool> {
        if self.target.is_field || !self.goes_round().await? {
            return Ok(false);
        }
        let held = self.held().await?;
        if held.names.contains(&callee.name) && (means.is_empty() || self.are_values(means)) {
            return Ok(true);
        }
        if !means.is_empty() {
            return Ok(self.are_values(means));
        }
        let index = &self.engine.view.index;
        let hash = name_hash(&callee.name);
        let mut files = index.iter().filter(|(_, facts)| facts.may_mention(hash));
        let is_defined = files.any(|(_, facts)| {
            let mut symbols = facts.symbols.iter();
            symbols.any(|s| *s.name == *callee.name && s.kind.is_callable())
        });
        Ok(self.near(looked) && !is_defined)
    }

    /// Where the functions go as values.
    async fn held(&mut self) -> Result<Arc<Held>> {
        if let Some(known) = &self.held {
            return Ok(Arc::clone(known));
        }
        let mut uses: BTreeMap<PathBuf, BTreeSet<Position>> = BTreeMap::new();
        for (path, at) in &self.target.functions {
            let file = self.opened.name(path).0;
            for found in self.engine.references(&file, at.start).await?.iter() {
                let of_file = uses.entry(found.path.clone()).or_default();
                of_file.insert(span(found.range).end);
            }
        }
        let mut held = Held::default();
        for (path, ends) in uses {
            let Some(looked) = self.look(&path) else {
                continue;
            };
            let ends: BTreeSet<usize> = ends
                .into_iter()
                .filter_map(|end| looked.source.offset(end))
                .collect();
            let found = parsed(looked.source.text(), &looked.file, |parsed| {
                holders::holders(parsed.body(), &ends)
            });
            held.names.extend(found.names);
            for at in found.beside {
                held.beside.extend(self.means(&looked, at).await?);
            }
        }
        let held = Arc::new(held);
        self.held = Some(Arc::clone(&held));
        Ok(held)
    }

    /// The parameters of the functions that stand beside one of ours in a list or a table:
    /// engines take functions of the same kind for one.
    pub(super) async fn beside(&mut self) -> Result<Vec<FileSpan>> {
        let held = self.held().await?;
        let mut found = Vec::new();
        for place in &held.beside {
            if closure::is_inside(self.engine, &place.0) {
                let taking = taking(&mut self.opened, place, self.name, false);
                let own = taking.and_then(|t| place_of(&mut self.opened, place, t.parameter));
                found.extend(own);
            }
        }
        Ok(found)
    }

    /// What `super().name` of a class may reach beside what is above it: the methods of classes
    /// that stand behind it in the line of one below.
    pub(super) async fn cooperating(
        &mut self,
        looked: &Looked,
        callee: &Named,
    ) -> Result<Vec<FileSpan>> {
        let before = looked.source.text().get(..callee.at).unwrap_or_default();
        if !callee.is_attribute || !before.trim_end().ends_with("super().") {
            return Ok(Vec::new());
        }
        let path = self.engine.absolute(&looked.file);
        let at = looked.source.position(callee.at);
        let Some(class) = closure::class_around(&mut self.opened, &path, at) else {
            return Ok(Vec::new());
        };
        let mut grower = Grower::new(self.engine);
        // What is above it is known: the first of those that has the method gets the call.
        let own_line = grower.line(&class).await?;
        let mut found = Vec::new();
        for below in closure::implementations(self.engine, &class).await? {
            for above in grower.line(&below).await? {
                if !own_line.contains(&above) && closure::is_inside(self.engine, &above.0) {
                    let own = closure::members_named(&mut self.opened, &above, &callee.name);
                    found.extend(own);
                }
            }
        }
        Ok(found)
    }

    /// Whether these are variables, and nothing that is called by its own name.
    pub(super) fn are_values(&mut self, places: &[FileSpan]) -> bool {
        places.iter().all(|(path, at)| {
            let is_inside = closure::is_inside(self.engine, path) && *at != Span::default();
            let defined = self.opened.defined_at(path, at.start);
            is_inside && defined.is_none_or(|d| matches!(d.kind, Kind::Variable | Kind::Attribute))
        })
    }

    /// Whether one of the functions is known to others by more than its name: a decorator was
    /// given it, it is used as a value, or its object is called.
    pub(super) async fn goes_round(&mut self) -> Result<bool> {
        let mut decorators = self.target.decorators.iter();
        // A lambda without a name is known as a value alone.
        let is_nameless = self.target.functions.is_empty();
        Ok(is_nameless
            || self.target.names.contains("__call__")
            || decorators.any(|name| !HARMLESS.contains(&name.as_str()))
            || self.is_handed_over().await?)
    }
}
