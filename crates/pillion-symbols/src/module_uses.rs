//! Who uses a module: every place that spells it, and every use of a name that stands for it.
//!
//! Engines know what a name in a file means, but not who names a file. Which module an import
//! means is decided by the files alone ([`Modules`]), which name is meant by Python's scopes.

use std::path::PathBuf;

use pillion_index::modules::{self, Modules};
use pillion_index::scopes::{ImportStmt, ImportedName, Scopes};
use pillion_index::source::{Source, Span};
use ruff_text_size::{TextRange, TextSize};

use crate::project::View;

/// Every place that means the module of this file, by file and place.
pub(crate) fn find(view: &View, file: &str) -> Vec<(PathBuf, Span)> {
    let modules = Modules::of(&view.index);
    let key = modules::key(file);
    let mut found = Vec::new();
    for path in view.index.files_with(modules::last(key)) {
        let Some(source) = view.source(path.as_ref().as_ref()) else {
            continue;
        };
        let mut search = Search {
            modules: &modules,
            key,
            path: &path,
            source: &source,
            found: Vec::new(),
        };
        search.look(&Scopes::of(source.text(), &path));
        let absolute = view.root().join(&*path);
        found.extend(
            search
                .found
                .into_iter()
                .map(|span| (absolute.clone(), span)),
        );
    }
    found.sort();
    found.dedup();
    found
}

struct Search<'a> {
    modules: &'a Modules,
    key: &'a str,
    path: &'a str,
    source: &'a Source,
    found: Vec<Span>,
}

impl Search<'_> {
    fn look(&mut self, scopes: &Scopes) {
        for stmt in &scopes.imports {
            match &stmt.from {
                Some((module, range)) => {
                    self.dotted(module, *range);
                    for name in &stmt.names {
                        self.taken(scopes, stmt, module, name);
                    }
                }
                None => {
                    for name in &stmt.names {
                        self.imported(scopes, stmt, name);
                    }
                }
            }
        }
    }

    fn is_it(&self, module: &str) -> bool {
        let found = self.modules.find(self.path, module);
        found.is_some_and(|found| found.key == self.key)
    }

    fn add(&mut self, range: TextRange) {
        let place = |offset: TextSize| self.source.position(offset.to_usize());
        let span = Span {
            start: place(range.start()),
            end: place(range.end()),
        };
        self.found.push(span);
    }

    /// The part of a dotted name with which it becomes the module.
    fn dotted(&mut self, module: &str, range: TextRange) {
        // With spaces or line ends in it, nobody knows where its parts are.
        if self
            .source
            .text()
            .get(range.start().to_usize()..range.end().to_usize())
            != Some(module)
        {
            return;
        }
        let names = module.trim_start_matches('.');
        let mut end = module.len() - names.len();
        for part in names.split('.').filter(|part| !part.is_empty()) {
            let start = end;
            end += part.len();
            if self.is_it(&module[..end]) {
                let at = |offset: usize| {
                    range.start() + TextSize::new(u32::try_from(offset).unwrap_or(0))
                };
                self.add(TextRange::new(at(start), at(end)));
            }
            end += 1;
        }
    }

    /// `from package import module`, and its uses.
    fn taken(&mut self, scopes: &Scopes, stmt: &ImportStmt, from: &str, name: &ImportedName) {
        let dot = if from.ends_with('.') { "" } else { "." };
        if name.name == "*" || !self.is_it(&format!("{from}{dot}{}", name.name)) {
            return;
        }
        self.add(name.name_range);
        self.uses(scopes, stmt, name.bound(true), name);
    }

    /// `import package.module`, and its uses.
    fn imported(&mut self, scopes: &Scopes, stmt: &ImportStmt, name: &ImportedName) {
        self.dotted(&name.name, name.name_range);
        if name.alias.is_some() {
            if self.is_it(&name.name) {
                self.uses(scopes, stmt, name.bound(false), name);
            }
            return;
        }
        let first = name.bound(false).to_owned();
        for use_ in scopes.uses_of(stmt.scope, &first) {
            if name.range.contains_range(use_.range) {
                continue;
            }
            let mut dotted = first.clone();
            let mut range = use_.range;
            let mut parts = use_.parts.iter();
            loop {
                if self.is_it(&dotted) {
                    self.add(range);
                }
                let Some((part, place)) = parts.next() else {
                    break;
                };
                dotted = format!("{dotted}.{part}");
                range = *place;
            }
        }
    }

    fn uses(&mut self, scopes: &Scopes, stmt: &ImportStmt, bound: &str, name: &ImportedName) {
        for use_ in scopes.uses_of(stmt.scope, bound) {
            let is_own = name.range.contains_range(use_.range);
            if !is_own || name.alias.is_some() {
                self.add(use_.range);
            }
        }
    }
}
