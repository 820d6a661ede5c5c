//! What is renamed: the definitions, and every place that spells them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pillion_index::source::Span;
use pillion_symbols::ask::EngineView;
use pillion_symbols::closure::Family;
use pillion_symbols::definitions::FoundDefinitions;
use pillion_symbols::keyword_arguments::{Doubt, KeywordTarget};
use pillion_symbols::occurrences::Sort;
use pillion_symbols::open_files::FileSpan;

/// What is renamed.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) new_name: String,
    /// Whether it is only what something is called in one file.
    pub(super) alias: bool,
    /// Where it is defined.
    pub(super) found: FoundDefinitions,
    /// Every place that spells it, by file.
    pub(super) places: BTreeMap<String, Vec<Span>>,
    /// Those among them where it is another module's name that is taken under its own.
    pub(super) imported: BTreeSet<(String, Span)>,
    /// The definitions that belong together.
    pub(super) closure: Vec<FileSpan>,
    /// The same with their classes, of a member.
    pub(super) family: Family,
    pub(super) sort: Sort,
    /// Places that may mean it too, and why nobody is sure.
    pub(super) possible: Vec<Doubt>,
    pub(super) warnings: Vec<String>,
    /// Who takes the keyword, of a parameter.
    pub(super) target: KeywordTarget,
}

/// A place by its path relative to the root.
pub(super) fn relative(engine: &EngineView, path: &Path) -> String {
    let inside = path.strip_prefix(engine.view.root()).unwrap_or(path);
    inside.to_string_lossy().into_owned()
}

/// A place by its absolute path.
pub(super) fn absolute(engine: &EngineView, file: &str) -> PathBuf {
    engine.view.root().join(file)
}
