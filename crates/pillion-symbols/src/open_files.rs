//! Files that lie open while one question is answered: each is read and parsed once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_index::answers::Location;
use pillion_index::outline;
use pillion_index::source::{Position, Source, Span};
use pillion_index::syntax::Syntax;
use pillion_index::{Facts, Index, Kind, Symbol, is_python, preview};

use crate::project::View;
use crate::texts::Texts;

/// The files that answering one question needs.
#[derive(Debug)]
pub struct OpenFiles {
    root: PathBuf,
    index: Index,
    texts: Arc<Texts>,
    sources: HashMap<PathBuf, Option<Arc<Source>>>,
}

/// A definition: its file and where its name stands.
pub type FileSpan = (PathBuf, Span);

/// A definition in a file.
#[derive(Debug, Clone)]
pub struct Defined {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its name path in the file, such as `Class/method`.
    pub name_path: String,
    /// All of it.
    pub span: Span,
    /// Its head on one line.
    pub signature: Option<String>,
    /// Whether it belongs to a class.
    pub is_member: bool,
}

impl OpenFiles {
    /// No file lies open yet.
    pub fn new(view: &View) -> Self {
        Self {
            root: view.root().to_owned(),
            index: view.index.clone(),
            texts: Arc::clone(&view.texts),
            sources: HashMap::new(),
        }
    }

    /// The path as callers see it, and whether it is outside of the workspace.
    pub fn name(&self, path: &Path) -> (String, bool) {
        match inside(&self.root, &self.index, path) {
            Some(inside) => (inside, false),
            None => (path.to_string_lossy().into_owned(), true),
        }
    }

    /// The text of a file, if it can be read.
    pub fn source(&mut self, path: &Path) -> Option<Arc<Source>> {
        if let Some(known) = self.sources.get(path) {
            return known.clone();
        }
        let source = self.texts.get(path);
        self.sources.insert(path.to_owned(), source.clone());
        source
    }

    /// The folder that paths of answers are relative to.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What is known about a file: from the index, or by parsing it now.
    pub fn with_facts<T>(
        &mut self,
        path: &Path,
        look: impl FnOnce(&Facts) -> Option<T>,
    ) -> Option<T> {
        let (name, external) = self.name(path);
        if !external && let Some(facts) = self.index.get(&name) {
            return look(facts);
        }
        if !is_python(&name) {
            return None;
        }
        let facts = self.texts.facts(path, &name)?;
        look(&facts)
    }

    /// The symbol whose name stands at a place.
    pub fn defined_at(&mut self, path: &Path, at: Position) -> Option<Defined> {
        self.with_facts(path, |facts| {
            let index = facts.named_at(at)?;
            let symbol = &facts.symbols[index];
            let container = facts.container(symbol).map(|c| facts.symbols[c].kind);
            Some(Defined {
                name: symbol.name.to_string(),
                kind: symbol.kind,
                name_path: facts.name_path(index),
                span: symbol.span,
                signature: symbol.signature.as_ref().map(ToString::to_string),
                is_member: container == Some(Kind::Class),
            })
        })
    }

    /// Where the name of the symbol with this name path stands.
    pub fn named(&mut self, path: &Path, name_path: &str) -> Option<Span> {
        self.with_facts(path, |facts| {
            let index = (0..facts.symbols.len()).find(|i| facts.name_path(*i) == name_path)?;
            Some(facts.symbols[index].name_span)
        })
    }

    /// The heads of the overloads of a function, in their order.
    pub fn overloads(&mut self, path: &Path, name_path: &str) -> Vec<String> {
        let Some(source) = self.source(path) else {
            return Vec::new();
        };
        let found = self.with_facts(path, |facts| {
            let named = (0..facts.symbols.len()).filter(|i| facts.name_path(*i) == name_path);
            let named: Vec<_> = named.map(|index| &facts.symbols[index]).collect();
            let is_overload = |symbol: &Symbol| {
                let mut lines = symbol.span.start.line..symbol.name_span.start.line;
                let line = |line| source.line(line).unwrap_or_default().trim().to_owned();
                lines.any(|at| line(at).ends_with("overload"))
            };
            let heads = named.into_iter().filter(|symbol| is_overload(symbol));
            let heads = heads.filter_map(|symbol| Some(symbol.signature.as_ref()?.to_string()));
            Some(heads.collect::<Vec<_>>())
        });
        found.unwrap_or_default()
    }

    /// Whether a place is a name in an import.
    pub(crate) fn is_import(&mut self, path: &Path, at: Position) -> bool {
        let found = self.with_facts(path, |facts| {
            let names = facts.imports.iter();
            names
                .map(|import| import.span)
                .find(|span| span.touches(at))
        });
        found.is_some()
    }

    /// The name path of the function or class around a place.
    pub fn enclosing(&mut self, path: &Path, at: Position) -> Option<String> {
        self.with_facts(path, |facts| {
            facts.enclosing(at).map(|index| facts.name_path(index))
        })
    }

    /// A place as callers see it, with name, kind and line.
    pub fn location(&mut self, path: &Path, span: Span) -> Location {
        let (file, external) = self.name(path);
        let source = self.source(path);
        let line = source.as_ref().map(|source| preview(source, span));
        let mut location = outline::location(file, span, line.unwrap_or_default());
        location.external = external;
        location.name = source
            .as_ref()
            .and_then(|source| source.slice(span))
            .filter(|name| !name.is_empty() && !name.contains('\n'))
            .map(ToOwned::to_owned);
        location
    }

    /// The place of a definition: with what is defined there.
    pub fn definition(&mut self, path: &Path, span: Span) -> Location {
        let mut location = self.location(path, span);
        if span == Span::default() {
            location.kind = Some(Kind::Module.name().into());
            location.name = Some(module_name(path));
            return location;
        }
        let kind = self
            .defined_at(path, span.start)
            .map(|defined| defined.kind);
        let kind = kind.or_else(|| {
            let source = self.source(path)?;
            Syntax::of(&source, &location.file).kind(span.start)
        });
        location.kind = kind.map(|kind| kind.name().into());
        location
    }
}

/// The path of a file relative to the root of the workspace it belongs to. What is installed
/// in a virtual environment belongs to others, wherever that environment lies.
pub fn inside(root: &Path, index: &Index, path: &Path) -> Option<String> {
    let relative = path.strip_prefix(root).ok()?.to_string_lossy().into_owned();
    let is_installed = || {
        let folders = path.ancestors().skip(1);
        let mut below = folders.take_while(|folder| *folder != root);
        below.any(|folder| folder.join("pyvenv.cfg").is_file())
    };
    let is_ours = index.get(&relative).is_some() || !is_installed();
    is_ours.then_some(relative)
}

/// The same definition in the stub beside a source, or in the source beside a stub.
pub fn twins(
    opened: &mut OpenFiles,
    index: &Index,
    (path, span): &(PathBuf, Span),
) -> Vec<(PathBuf, Span)> {
    let Some(other) = twin(&opened.root, index, path) else {
        return Vec::new();
    };
    let Some(defined) = opened.defined_at(path, span.start) else {
        return Vec::new();
    };
    let all = opened.with_facts(&other, |facts| {
        let all = (0..facts.symbols.len()).filter(|i| facts.name_path(*i) == defined.name_path);
        Some(all.map(|i| facts.symbols[i].name_span).collect::<Vec<_>>())
    });
    let all = all.unwrap_or_default().into_iter();
    all.map(|span| (other.clone(), span)).collect()
}

/// The stub beside a source, or the source beside a stub.
pub(crate) fn twin(root: &Path, index: &Index, path: &Path) -> Option<PathBuf> {
    let other = match path.extension()?.to_str()? {
        "py" => path.with_extension("pyi"),
        "pyi" => path.with_extension("py"),
        _ => return None,
    };
    let name = other.strip_prefix(root).ok()?.to_str()?;
    index.get(name).is_some().then_some(other)
}

/// The last part of a module's name.
pub fn module_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    match (&*stem, path.parent().and_then(Path::file_name)) {
        ("__init__", Some(folder)) => folder.to_string_lossy().into_owned(),
        _ => stem.into_owned(),
    }
}
