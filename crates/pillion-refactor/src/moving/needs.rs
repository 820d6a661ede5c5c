//! What a definition needs of the module it leaves.

use std::collections::BTreeMap;

use pillion_catalogue::{Code, Error, Result};
use pillion_index::Index;
use pillion_index::modules::{Modules, bindings, submodule};
use pillion_index::scopes::{ImportStmt, ImportedName, MODULE, Role, Use, When};
use pillion_symbols::open_files::OpenFiles;
use ruff_text_size::TextRange;
use serde_json::json;

use super::imports::{Line, meaning};
use super::text::Text;

/// What has to come along.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Imports that the new module has to have.
    pub(super) imports: Vec<Line>,
    /// What the old module defines, and when it is needed.
    pub(super) of_origin: BTreeMap<String, When>,
    /// Changes of the definition itself: what it took from the new module it has there.
    pub(super) edits: Vec<(TextRange, String)>,
    /// Names of the new module that it uses, and when.
    pub(super) of_destination: BTreeMap<String, When>,
    pub(super) warnings: Vec<String>,
}

/// What is looked at to find them.
pub(super) struct Search<'a> {
    pub(super) index: &'a Index,
    pub(super) modules: &'a Modules,
    pub(super) origin: &'a Text,
    /// The file it goes to, and its key.
    pub(super) to: (&'a str, &'a str),
    pub(super) name: &'a str,
    /// The statements that move.
    pub(super) pieces: &'a [TextRange],
}

impl Search<'_> {
    pub(super) fn moves(&self, range: TextRange) -> bool {
        self.pieces.iter().any(|piece| piece.contains_range(range))
    }

    pub(super) fn find(&self, opened: &mut OpenFiles) -> Result<Needs> {
        let mut needs = Needs::default();
        let scopes = &self.origin.scopes;
        let bound = bindings(self.index, self.modules, &self.origin.file, scopes);
        for use_ in scopes.uses.iter().filter(|use_| self.moves(use_.range)) {
            match scopes.scope_of(use_) {
                Some(MODULE) if use_.name != self.name => {
                    let is_destination = bound
                        .get(&(MODULE, use_.name.clone()))
                        .is_some_and(|bound| bound.key == self.to.1 && !bound.is_plain);
                    match use_.parts.first() {
                        Some((part, range)) if is_destination => {
                            let all = TextRange::new(use_.range.start(), range.end());
                            needs.edits.push((all, part.clone()));
                            later(&mut needs.of_destination, part, use_.when);
                        }
                        _ => self.module_name(use_, &mut needs, opened)?,
                    }
                }
                None => self.unknown_name(use_, &mut needs),
                _ => {}
            }
        }
        self.local_imports(&mut needs);
        Ok(needs)
    }

    /// A name that the old module imports or defines.
    fn module_name(&self, use_: &Use, needs: &mut Needs, opened: &mut OpenFiles) -> Result<()> {
        if use_.role == Role::Change || use_.role == Role::Bind {
            return Err(self.conflict(
                opened,
                use_.range,
                &format!("`{}` changes `{}` of its module", self.name, use_.name),
                "leave it where it is, or hand the value over",
            ));
        }
        if let Some((statement, imported)) = self.origin.import_of(&use_.name) {
            self.imported(use_, statement, imported, needs);
            return Ok(());
        }
        let bound = self.origin.scopes.module_bindings();
        let all = bound.get(use_.name.as_str());
        let changes = all.and_then(|all| {
            let mut all = all.iter();
            all.find(|use_| use_.role == Role::Change && use_.when != When::Import)
                .or_else(|| all.find(|use_| use_.role != Role::Import && use_.when == When::Later))
        });
        if let Some(changed) = changes {
            return Err(self.conflict(
                opened,
                changed.range,
                &format!(
                    "`{}` needs `{}`, which changes while the program runs",
                    self.name, use_.name
                ),
                "an import would only see its first value; move both, or hand the value over",
            ));
        }
        later(&mut needs.of_origin, &use_.name, use_.when);
        Ok(())
    }

    fn imported(
        &self,
        use_: &Use,
        statement: &ImportStmt,
        imported: &ImportedName,
        needs: &mut Needs,
    ) {
        let Some((module, _)) = &statement.from else {
            needs.add(Line::plain(imported, statement.for_types));
            return;
        };
        let target = self.modules.find(&self.origin.file, module);
        if let Some(target) = &target
            && target.key == self.to.1
            && submodule(self.index, self.modules, &target.key, imported).is_none()
        {
            // It is at home there.
            later(&mut needs.of_destination, &imported.name, use_.when);
            if imported.alias.is_some() {
                needs.edits.push((use_.range, imported.name.clone()));
            }
            return;
        }
        let spelled = target.map(|target| {
            let is_relative = module.starts_with('.');
            self.modules
                .spell(self.to.0, &target.key, is_relative, &target.base)
        });
        let module = spelled.unwrap_or_else(|| module.clone());
        needs.add(Line::from(&module, imported, statement.for_types));
    }

    /// A builtin, or what an import of everything brought.
    fn unknown_name(&self, use_: &Use, needs: &mut Needs) {
        let stars = self.origin.scopes.imports.iter().filter(|statement| {
            statement.scope == MODULE && statement.names.iter().any(|name| name.name == "*")
        });
        for statement in stars {
            let Some((module, _)) = &statement.from else {
                continue;
            };
            let target = self.modules.find(&self.origin.file, module);
            let facts = target.as_ref().and_then(|target| {
                let file = self.modules.file(&target.key)?;
                self.index.get(file)
            });
            let Some((target, facts)) = target.as_ref().zip(facts) else {
                continue;
            };
            let mut defined = facts.symbols.iter().filter(|s| s.container.is_none());
            let imports = |import: &pillion_index::Import| {
                let bound = import.alias.as_ref().or(import.name.as_ref());
                bound.is_some_and(|bound| **bound == *use_.name)
            };
            if defined.any(|symbol| *symbol.name == *use_.name) || facts.imports.iter().any(imports)
            {
                let is_relative = module.starts_with('.');
                let module = self
                    .modules
                    .spell(self.to.0, &target.key, is_relative, &target.base);
                needs.add(Line {
                    module: Some(module),
                    name: use_.name.clone(),
                    alias: None,
                    for_types: false,
                });
                return;
            }
        }
        if matches!(
            use_.name.as_str(),
            "__name__" | "__file__" | "__package__" | "__path__" | "globals"
        ) {
            let what = format!("`{}` means another module after the move", use_.name);
            needs.warnings.push(what);
        }
    }

    /// Relative imports inside of what moves.
    fn local_imports(&self, needs: &mut Needs) {
        let statements = self.origin.scopes.imports.iter();
        for statement in statements.filter(|statement| self.moves(statement.range)) {
            let Some((module, range)) = &statement.from else {
                continue;
            };
            let target = self.modules.find(&self.origin.file, module);
            if let Some(target) = target.filter(|_| module.starts_with('.')) {
                let spelled = self
                    .modules
                    .spell(self.to.0, &target.key, true, &target.base);
                if spelled != *module {
                    needs.edits.push((*range, spelled));
                }
            }
        }
    }

    fn conflict(&self, opened: &mut OpenFiles, at: TextRange, what: &str, hint: &str) -> Error {
        let path = opened.root().join(&self.origin.file);
        let span = super::span_of(&self.origin.source, at);
        let location = opened.location(&path, span);
        let place = format!("{}:{}:{}", location.file, location.line, location.column);
        Error::new(Code::Conflict, format!("{what}: {place}"))
            .hint(hint)
            .data(json!({ "location": location }))
    }
}

impl Needs {
    fn add(&mut self, line: Line) {
        if !self.imports.contains(&line) {
            self.imports.push(line);
        }
    }
}

/// Note the most pressing need of a name.
fn later(all: &mut BTreeMap<String, When>, name: &str, when: When) {
    let known = all.entry(name.to_owned()).or_insert(when);
    *known = when.max(*known);
}

/// Whether a file means by a name what an import line would bind to it.
pub(super) fn means_same(modules: &Modules, text: &Text, line: &Line) -> Option<bool> {
    let bound = text.scopes.module_bindings();
    bound.get(line.bound())?;
    let Some((statement, imported)) = text.import_of(line.bound()) else {
        return Some(false);
    };
    let theirs = Line::of(statement, imported);
    // `import a.b` and `import a.c` both bind `a`.
    let is_plain = |line: &Line| line.module.is_none() && line.alias.is_none();
    if is_plain(line) && is_plain(&theirs) {
        return Some(true);
    }
    Some(meaning(modules, &text.file, &theirs) == meaning(modules, &text.file, line))
}
