//! Every place that means a name of a module or function, by the text alone.
//!
//! Engines pass over code that they think cannot run: the branch for another system, the
//! other definition under `else`. A rename must not. What is found here by scopes and imports
//! is the same thing wherever it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_index::modules::{self, Modules, bindings, part_of, submodule};
use pillion_index::scopes::{MODULE, Role, Scopes};
use pillion_index::source::{Source, Span};

use crate::project::View;

/// Places that spell a name, by file; and those among them where another module's name is
/// taken under it, which has to keep its own.
#[derive(Debug, Default)]
pub(crate) struct Spelled {
    pub places: BTreeSet<(PathBuf, Span)>,
    pub imported: BTreeSet<(PathBuf, Span)>,
}

/// A file that is looked at.
struct Looked {
    source: Arc<Source>,
    scopes: Scopes,
}

/// Where the name that is defined at a place is spelled; nothing if it is an attribute.
pub(crate) fn find(view: &View, file: &str, at: Span) -> Spelled {
    let mut search = Search {
        view,
        modules: Modules::default(),
        looked: BTreeMap::new(),
        found: Spelled::default(),
    };
    search.begin(file, at);
    search.found
}

struct Search<'a> {
    view: &'a View,
    modules: Modules,
    looked: BTreeMap<String, Option<Looked>>,
    found: Spelled,
}

impl Search<'_> {
    fn begin(&mut self, file: &str, at: Span) {
        let Some(looked) = look(self.view, file) else {
            return;
        };
        let span = |range| span_of(&looked.source, range);
        let defines = |use_: &&pillion_index::scopes::Use| {
            use_.role != Role::Read && span(use_.range).start == at.start
        };
        let Some(own) = looked.scopes.uses.iter().find(defines) else {
            return;
        };
        let Some(scope) = looked.scopes.scope_of(own) else {
            return;
        };
        let name = own.name.clone();
        // What a class has is known by others as an attribute: that is the engine's business.
        if looked.scopes.is_class(scope) {
            return;
        }
        for use_ in looked.scopes.uses_of(scope, &name) {
            self.note(file, span(use_.range), false);
        }
        if scope == MODULE {
            self.modules = Modules::of(&self.view.index);
            self.imports_of_others(file, &name, &looked);
            self.takers(file, &name);
        }
    }

    fn note(&mut self, file: &str, span: Span, imported: bool) {
        let place = (self.view.root().join(file), span);
        if imported {
            self.found.imported.insert(place.clone());
        }
        self.found.places.insert(place);
    }

    /// Imports that give the module its own name: `try: from fast import f`, with another
    /// definition under `except`.
    fn imports_of_others(&mut self, file: &str, name: &str, looked: &Looked) {
        let statements = looked.scopes.imports.iter();
        for statement in statements.filter(|s| s.scope == MODULE) {
            let names = statement.names.iter();
            for taken in names.filter(|taken| taken.alias.is_none() && taken.name == name) {
                self.note(file, span_of(&looked.source, taken.name_range), true);
            }
        }
    }

    /// Files that take the name from the module, and from those again.
    fn takers(&mut self, file: &str, name: &str) {
        let files = self.view.index.files_with(name);
        let mut open = vec![modules::key(file).to_owned()];
        let mut known: BTreeSet<String> = open.iter().cloned().collect();
        while let Some(key) = open.pop() {
            for taker in files.iter().filter(|taker| ***taker != *file) {
                if self.take(taker, name, &key) && known.insert(modules::key(taker).to_owned()) {
                    open.push(modules::key(taker).to_owned());
                }
            }
        }
    }

    /// The places where a file takes the name from a module; whether it has it then.
    fn take(&mut self, file: &str, name: &str, from: &str) -> bool {
        let looked = match self.looked.remove(file) {
            Some(looked) => looked,
            None => look(self.view, file),
        };
        let mut has_it = false;
        if let Some(looked) = &looked {
            has_it = self.take_from(file, name, from, looked);
        }
        self.looked.insert(file.to_owned(), looked);
        has_it
    }

    fn take_from(&mut self, file: &str, name: &str, from: &str, looked: &Looked) -> bool {
        let (scopes, index) = (&looked.scopes, &self.view.index);
        let span = |range| span_of(&looked.source, range);
        let mut has_it = false;
        let mut found = Vec::new();
        for statement in &scopes.imports {
            let Some((module, _)) = &statement.from else {
                continue;
            };
            let target = self.modules.find(file, module);
            if target.is_none_or(|target| target.key != from) {
                continue;
            }
            for taken in &statement.names {
                let is_it =
                    taken.name == name && submodule(index, &self.modules, from, taken).is_none();
                if is_it {
                    found.push(span(taken.name_range));
                }
                // `import f as f` offers it to others.
                let keeps = taken.alias.as_deref().is_none_or(|alias| alias == name);
                if is_it && keeps {
                    has_it |= statement.scope == MODULE;
                    let uses = scopes.uses_of(statement.scope, name);
                    found.extend(uses.map(|use_| span(use_.range)));
                }
                if taken.name == "*" {
                    has_it = true;
                    let free = scopes.uses.iter().filter(|use_| use_.name == name);
                    let free = free.filter(|use_| scopes.scope_of(use_).is_none());
                    found.extend(free.map(|use_| span(use_.range)));
                }
            }
        }
        let bound = bindings(index, &self.modules, file, scopes);
        for use_ in scopes.uses.iter().filter(|use_| !use_.parts.is_empty()) {
            let known = scopes.scope_of(use_);
            let known = known.and_then(|scope| bound.get(&(scope, use_.name.clone())));
            let Some(mut key) = known.map(|bound| bound.key.clone()) else {
                continue;
            };
            for (part, range) in &use_.parts {
                if key == from && part == name {
                    found.push(span(*range));
                }
                match part_of(index, &self.modules, &key, part) {
                    Some(next) => key = next,
                    None => break,
                }
            }
        }
        for span in found {
            self.note(file, span, false);
        }
        has_it
    }
}

fn look(view: &View, file: &str) -> Option<Looked> {
    let source = view.source(Path::new(file))?;
    let scopes = Scopes::of(source.text(), file);
    Some(Looked { source, scopes })
}

fn span_of(source: &Source, range: ruff_text_size::TextRange) -> Span {
    Span {
        start: source.position(range.start().to_usize()),
        end: source.position(range.end().to_usize()),
    }
}
