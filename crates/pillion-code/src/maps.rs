//! The maps of a workspace, and a view of the workspace with them.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use pillion_catalogue::{Caller, Result};
use pillion_index::language::Language;
use pillion_map::patterns::{Memo, Trees};
use pillion_map::{Graph, LanguageMap, LanguageMaps, MapFiles, MapSnapshot, WorkspaceMap};
use pillion_runtime::Dirs;
use pillion_symbols::project::View;

use crate::inquiry::{Inquiries, TypesFound, Wanted};

/// The maps of a workspace, and what was found in them. All of it is made when it is first asked
/// for, and follows the views it is asked about.
#[derive(Debug)]
pub(crate) struct Maps {
    python: WorkspaceMap,
    others: LanguageMaps,
    inquiries: Inquiries,
    pub(crate) patterns: Memo,
    pub(crate) trees: Trees,
}

impl Maps {
    pub(crate) fn new(root: &Path, dirs: &Dirs) -> Self {
        Self {
            python: WorkspaceMap::new(&dirs.usable_cache(), root),
            others: LanguageMaps::default(),
            inquiries: Inquiries::default(),
            patterns: Memo::default(),
            trees: Trees::default(),
        }
    }
}

/// A workspace at one moment, with its maps.
#[derive(Debug, Clone)]
pub(crate) struct MappedView {
    pub(crate) view: View,
    pub(crate) maps: Arc<Maps>,
}

impl Deref for MappedView {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl MappedView {
    /// The map of a language, of what this view sees.
    pub(crate) async fn map(&self, language: Language) -> Result<MapSnapshot> {
        if language == Language::Python {
            return self.maps.python.follow(&self.index).await;
        }
        let map = self.language_map(language).await?;
        Ok(MapSnapshot {
            graph: Arc::clone(&map.graph),
            files: MapFiles::Other(map),
        })
    }

    /// The map of a language other than Python.
    pub(crate) async fn language_map(&self, language: Language) -> Result<LanguageMap> {
        self.maps.others.follow(language, &self.snapshot).await
    }

    /// What types tell about what a question wants to know.
    pub(crate) async fn types(
        &self,
        graph: &Arc<Graph>,
        wanted: Wanted,
        caller: &Caller,
    ) -> Arc<TypesFound> {
        let inquiries = &self.maps.inquiries;
        inquiries.types(&self.view, graph, wanted, caller).await
    }
}
