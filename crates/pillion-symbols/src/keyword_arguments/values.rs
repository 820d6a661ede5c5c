//! Functions that go round as values: others call them by names of their own.

use pillion_catalogue::Result;
use pillion_index::Kind;
use pillion_index::facts::name_hash;
use pillion_index::source::Span;

use super::sites::Named;
use super::{Finder, Looked};
use crate::ask::span;
use crate::closure;
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
