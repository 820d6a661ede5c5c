//! What is renamed: the definitions, and every place that spells them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pillion_index::source::Span;
use pillion_symbols::arrivals::{Doubt, Target};
use pillion_symbols::ask::Engine;
use pillion_symbols::closure::Family;
use pillion_symbols::definitions::Found;
use pillion_symbols::desk::Place;
use pillion_symbols::occurrences::Sort;

/// What is renamed.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) new_name: String,
    /// Whether it is only what something is called in one file.
    pub(super) alias: bool,
    /// Where it is defined.
    pub(super) found: Found,
    /// Every place that spells it, by file.
    pub(super) places: BTreeMap<String, Vec<Span>>,
    /// Those among them where it is another module's name that is taken under its own.
    pub(super) imported: BTreeSet<(String, Span)>,
    /// The definitions that belong together.
    pub(super) closure: Vec<Place>,
    /// The same with their classes, of a member.
    pub(super) family: Family,
    pub(super) sort: Sort,
    /// Places that may mean it too, and why nobody is sure.
    pub(super) possible: Vec<Doubt>,
    pub(super) warnings: Vec<String>,
    /// Who takes the keyword, of a parameter.
    pub(super) target: Target,
}

/// A place by its path relative to the root.
pub(super) fn relative(engine: &Engine, path: &Path) -> String {
    let inside = path.strip_prefix(engine.view.root()).unwrap_or(path);
    inside.to_string_lossy().into_owned()
}

/// A place by its absolute path.
pub(super) fn absolute(engine: &Engine, file: &str) -> PathBuf {
    engine.view.root().join(file)
}
